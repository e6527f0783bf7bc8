// libFuzzer target: any bytes are a graph that is read, audited and traced, or refused; and what
// the reader leaves out of the messages it gives back whole.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "onnx/batch_trace.h"
#include "onnx/graph_audit.h"
#include "onnx/graph_file.h"
#include "onnx/onnx_file.h"

namespace {

/// The shapes that the graph itself claims, small enough for products of them.
sg::ValueShapes ClaimedShapes(const onnx::GraphProto& graph) {
  sg::ValueShapes shapes;
  const auto add = [&](const onnx::ValueInfoProto& info) {
    std::vector<int64_t> shape;
    for (const auto& dim : info.type().tensor_type().shape().dim()) {
      if (shape.size() == 8) break;
      shape.push_back(dim.has_dim_value() ? (dim.dim_value() & 15) : 1);
    }
    shapes[info.name()] = shape;
  };
  for (const auto& input : graph.input()) add(input);
  for (const auto& info : graph.value_info()) add(info);
  for (const auto& output : graph.output()) add(output);
  return shapes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = sg::GraphFile::FromBytes(bytes, "fuzz");
  if (!file.ok()) return 0;
  onnx::ModelProto plain;
  if (!plain.ParseFromArray(data, static_cast<int>(size))) __builtin_trap();
  const auto whole = file->WholeBytes();
  onnx::ModelProto again;
  if (!whole.ok() || !again.ParseFromString(*whole)) __builtin_trap();
  if (again.graph().initializer_size() != plain.graph().initializer_size()) __builtin_trap();
  for (int i = 0; i < plain.graph().initializer_size(); ++i) {
    const std::string& expected = plain.graph().initializer(i).raw_data();
    if (again.graph().initializer(i).raw_data() != expected && expected.size() >= 4096)
      __builtin_trap();
  }
  const auto summary = sg::Summarize(*file);
  if (!summary.ok()) return 0;
  sg::AuditGraph(*file, *summary);
  const sg::ValueShapes shapes = ClaimedShapes(file->model().graph());
  for (const int64_t batch : {1, 2}) sg::TraceBatch({*file, shapes, batch});
  return 0;
}
