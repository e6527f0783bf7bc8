// A network small enough to be compiled in milliseconds, for tests: a 1×1 convolution over pictures
// of 8×8, and an average, so that both a wrong picture and a wrong slot change the outputs.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sg::openvino {

struct TinyModel {
  std::string batch = "batch";  ///< a name: dynamic; digits: fixed
  std::vector<int64_t> picture = {3, 8, 8};
  int32_t input_type = onnx::TensorProto::FLOAT;
  /// The constant shape that the outputs are reshaped to; {0, -1, 4} follows the batch.
  std::vector<int64_t> reshape = {0, -1, 4};
  std::string operation = "Conv";  ///< another name: one that nobody knows
  float weight = 0.25F;
};

/// The ONNX file's bytes: x [N,3,8,8] → boxes [N,48,4] and means [N,3,1,1].
inline std::string TinyModelBytes(const TinyModel& tiny) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  auto* opset = model.add_opset_import();
  opset->set_version(17);
  auto* graph = model.mutable_graph();
  graph->set_name("tiny");

  auto* input = graph->add_input();
  input->set_name("x");
  auto* tensor = input->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(tiny.input_type);
  auto* batch = tensor->mutable_shape()->add_dim();
  if (tiny.batch.find_first_not_of("0123456789") == std::string::npos)
    batch->set_dim_value(std::stoll(tiny.batch));
  else
    batch->set_dim_param(tiny.batch);
  for (const int64_t size : tiny.picture) tensor->mutable_shape()->add_dim()->set_dim_value(size);

  const bool is_double = tiny.input_type == onnx::TensorProto::DOUBLE;
  const int64_t channels = tiny.picture.at(0);
  auto* weights = graph->add_initializer();
  weights->set_name("w");
  weights->set_data_type(is_double ? onnx::TensorProto::DOUBLE : onnx::TensorProto::FLOAT);
  for (const int64_t size : {int64_t{3}, channels, int64_t{1}, int64_t{1}}) weights->add_dims(size);
  for (int64_t i = 0; i < 3 * channels; ++i) {
    const float weight = tiny.weight * static_cast<float>(i + 1);
    if (is_double)
      weights->add_double_data(weight);
    else
      weights->add_float_data(weight);
  }

  auto* shape = graph->add_initializer();
  shape->set_name("s");
  shape->set_data_type(onnx::TensorProto::INT64);
  shape->add_dims(static_cast<int64_t>(tiny.reshape.size()));
  for (const int64_t size : tiny.reshape) shape->add_int64_data(size);

  const auto add = [&](const char* type, const std::vector<const char*>& inputs,
                       const char* output) {
    auto* node = graph->add_node();
    node->set_op_type(type);
    node->set_name(std::string("node_") + output);
    for (const char* name : inputs) node->add_input(name);
    node->add_output(output);
    return node;
  };
  auto* conv = add(tiny.operation.c_str(), {"x", "w"}, "c");
  if (tiny.operation != "Conv") {
    conv->set_domain("com.acme");
    auto* domain = model.add_opset_import();
    domain->set_domain("com.acme");
    domain->set_version(1);
  }
  add("Reshape", {"c", "s"}, "boxes");
  add("GlobalAveragePool", {"c"}, "means");
  for (const char* name : {"boxes", "means"}) {
    auto* output = graph->add_output();
    output->set_name(name);
    output->mutable_type()->mutable_tensor_type()->set_elem_type(weights->data_type());
  }
  return model.SerializeAsString();
}

}  // namespace sg::openvino
