#include "engine/openvino/constants_job.h"

#include <map>
#include <openvino/op/constant.hpp>
#include <openvino/openvino.hpp>
#include <openvino/pass/constant_folding.hpp>
#include <openvino/pass/manager.hpp>

#include "base/files.h"
#include "engine/openvino/compile.h"

namespace sg::openvino {
namespace {

/// The element type's number in ONNX (TensorProto.DataType); 0 for those that are left computed.
int OnnxType(const ov::element::Type& type) {
  static const std::map<ov::element::Type, int> kTypes = {
      {ov::element::f32, 1},  {ov::element::u8, 2},  {ov::element::i8, 3},
      {ov::element::i32, 6},  {ov::element::i64, 7}, {ov::element::boolean, 9},
      {ov::element::f16, 10}, {ov::element::f64, 11}};
  const auto found = kTypes.find(type);
  return found == kTypes.end() ? 0 : found->second;
}

}  // namespace

Result<Json> OnnxConstantsJob(const Json& request, const std::function<void(const Json&)>&) {
  std::string path;
  try {
    path = request.at("path").get<std::string>();
    ov::Core core;
    const auto model = core.read_model(path);
    // Folding evaluates in the values' own types: 64-bit numbers stay exact.
    ov::pass::Manager manager;
    manager.register_pass<ov::pass::ConstantFolding>();
    manager.run_passes(model);
    Json values = Json::array();
    std::string bytes;
    for (const auto& result : model->get_results()) {
      const auto constant =
          ov::as_type_ptr<ov::op::v0::Constant>(result->get_input_node_shared_ptr(0));
      if (constant == nullptr) continue;
      const int type = OnnxType(constant->get_element_type());
      const auto names = result->output(0).get_names();
      if (type == 0 || names.empty()) continue;
      const size_t size = constant->get_byte_size();
      bytes.append(static_cast<const char*>(constant->get_data_ptr()), size);
      for (const auto& name : names) {
        values.push_back(
            {{"name", name}, {"type", type}, {"shape", constant->get_shape()}, {"bytes", size}});
        break;
      }
    }
    SG_RETURN_IF_ERROR(WriteFileAtomic(request.at("to").get<std::string>(), bytes));
    return Json{{"values", values}};
  } catch (const Json::exception& e) {
    return UserError(std::string("onnx-constants request: ") + e.what());
  } catch (const std::exception& e) {
    return UnsupportedError(path +
                            ": its constants cannot be worked out: " + MeaningfulLine(e.what()));
  }
}

}  // namespace sg::openvino
