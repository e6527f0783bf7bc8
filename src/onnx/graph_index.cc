#include "onnx/graph_index.h"

#include <fmt/format.h>

#include <cstring>

namespace sg {
namespace {

constexpr size_t kMostIntegers = 65536;

template <typename T>
std::vector<int64_t> FromRaw(std::string_view raw) {
  std::vector<int64_t> values(raw.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<int64_t>(value);
  }
  return values;
}

}  // namespace

std::optional<std::vector<int64_t>> IntegersOf(const GraphFile& file,
                                               const onnx::TensorProto& tensor) {
  const std::string_view raw = file.RawBytes(tensor);
  if (raw.size() > kMostIntegers * sizeof(int64_t)) return std::nullopt;
  switch (tensor.data_type()) {
    case onnx::TensorProto::INT64:
      if (!raw.empty()) return FromRaw<int64_t>(raw);
      return std::vector<int64_t>(tensor.int64_data().begin(), tensor.int64_data().end());
    case onnx::TensorProto::INT32:
      if (!raw.empty()) return FromRaw<int32_t>(raw);
      return std::vector<int64_t>(tensor.int32_data().begin(), tensor.int32_data().end());
    case onnx::TensorProto::BOOL:
      if (!raw.empty()) return FromRaw<int8_t>(raw);
      return std::vector<int64_t>(tensor.int32_data().begin(), tensor.int32_data().end());
    default:
      return std::nullopt;
  }
}

GraphIndex::GraphIndex(const GraphFile& file) : file_(file) {
  for (const auto& opset : file.model().opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") opset_ = opset.version();
  }
  for (const auto& tensor : graph().initializer()) constants_[tensor.name()] = &tensor;
  for (const auto& node : graph().node()) {
    for (const auto& output : node.output()) producers_[output] = &node;
    if (node.op_type() != "Constant" || node.output_size() != 1) continue;
    for (const auto& attribute : node.attribute()) {
      const std::string& output = node.output(0);
      if (attribute.name() == "value" && attribute.has_t())
        constants_[output] = &attribute.t();
      else if (attribute.name() == "value_int")
        constant_integers_[output] = {attribute.i()};
      else if (attribute.name() == "value_ints")
        constant_integers_[output] = {attribute.ints().begin(), attribute.ints().end()};
    }
  }
}

const onnx::TensorProto* GraphIndex::Constant(const std::string& name) const {
  const auto found = constants_.find(name);
  return found == constants_.end() ? nullptr : found->second;
}

std::optional<std::vector<int64_t>> GraphIndex::Integers(const std::string& name) const {
  if (const auto found = constant_integers_.find(name); found != constant_integers_.end())
    return found->second;
  const onnx::TensorProto* tensor = Constant(name);
  return tensor == nullptr ? std::nullopt : IntegersOf(file_, *tensor);
}

const onnx::NodeProto* GraphIndex::Producer(const std::string& name) const {
  const auto found = producers_.find(name);
  return found == producers_.end() ? nullptr : found->second;
}

const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node, const std::string& name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t IntegerAttribute(const onnx::NodeProto& node, const std::string& name, int64_t fallback) {
  const onnx::AttributeProto* attribute = FindAttribute(node, name);
  return attribute == nullptr ? fallback : attribute->i();
}

std::optional<std::vector<int64_t>> IntegersAttribute(const onnx::NodeProto& node,
                                                      const std::string& name) {
  const onnx::AttributeProto* attribute = FindAttribute(node, name);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::string NodeText(const onnx::NodeProto& node) {
  if (!node.name().empty()) return fmt::format("{} '{}'", node.op_type(), node.name());
  return fmt::format("{} that makes '{}'", node.op_type(),
                     node.output_size() > 0 ? node.output(0) : "nothing");
}

}  // namespace sg
