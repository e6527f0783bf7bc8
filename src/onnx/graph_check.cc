#include "onnx/graph_check.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <string_view>
#include <unordered_set>

#include "base/files.h"

namespace sg {
namespace {

struct ElementType {
  int number;  ///< TensorProto.DataType
  const char* name;
  int bits;  ///< in raw data; 0: no fixed size
};

// Numbers of onnx.proto up to IR 11; the installed headers may know fewer.
constexpr ElementType kElementTypes[] = {
    {1, "float32", 32},    {2, "uint8", 8},           {3, "int8", 8},
    {4, "uint16", 16},     {5, "int16", 16},          {6, "int32", 32},
    {7, "int64", 64},      {8, "string", 0},          {9, "bool", 8},
    {10, "float16", 16},   {11, "float64", 64},       {12, "uint32", 32},
    {13, "uint64", 64},    {14, "complex64", 64},     {15, "complex128", 128},
    {16, "bfloat16", 16},  {17, "float8e4m3fn", 8},   {18, "float8e4m3fnuz", 8},
    {19, "float8e5m2", 8}, {20, "float8e5m2fnuz", 8}, {21, "uint4", 4},
    {22, "int4", 4},       {23, "float4e2m1", 4},
};

const ElementType* FindElementType(int number) {
  for (const ElementType& type : kElementTypes) {
    if (type.number == number) return &type;
  }
  return nullptr;
}

using Names = std::unordered_set<std::string_view>;

/// The values that a graph and those around it have.
struct Scope {
  const Scope* outer = nullptr;
  Names names;
  bool Has(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      if (scope->names.contains(name)) return true;
    }
    return false;
  }
};

class Checker {
 public:
  Checker(const GraphFile& file, GraphFacts* facts)
      : file_(file),
        path_(file.path()),
        folder_(AbsolutePath(ParentFolder(file.path()))),
        facts_(facts) {}

  Status Graph(const onnx::GraphProto& graph, const Scope* outer) {
    Scope scope;
    scope.outer = outer;
    for (const auto& input : graph.input()) scope.names.insert(input.name());
    for (const auto& tensor : graph.initializer()) scope.names.insert(tensor.name());
    for (const auto& tensor : graph.sparse_initializer()) {
      scope.names.insert(tensor.values().name());
    }
    SG_RETURN_IF_ERROR(Nodes(graph.node(), &scope));
    for (const auto& output : graph.output()) {
      if (!scope.Has(output.name())) {
        return Damaged(fmt::format("nothing makes its output '{}'", output.name()));
      }
    }
    for (const auto& tensor : graph.initializer()) SG_RETURN_IF_ERROR(Tensor(tensor));
    return OkStatus();
  }

  Status Function(const onnx::FunctionProto& function) {
    Scope scope;
    for (const auto& input : function.input()) scope.names.insert(input);
    return Nodes(function.node(), &scope);
  }

 private:
  Status Damaged(const std::string& why) const {
    return UserError(fmt::format("{}: damaged: {}; download or export it again", path_, why));
  }

  template <typename NodeList>
  Status Nodes(const NodeList& nodes, Scope* scope) {
    for (const auto& node : nodes) {
      ++facts_->operators[{node.domain() == "ai.onnx" ? "" : node.domain(), node.op_type()}];
      for (const auto& output : node.output()) scope->names.insert(output);
    }
    for (const auto& node : nodes) {
      for (const auto& input : node.input()) {
        // An empty name is an optional input that is left out.
        if (!input.empty() && !scope->Has(input)) {
          return Damaged(fmt::format("nothing makes '{}', which {} '{}' takes", input,
                                     node.op_type(), node.name()));
        }
      }
      for (const auto& attribute : node.attribute()) {
        SG_RETURN_IF_ERROR(Attribute(attribute, *scope));
      }
    }
    return OkStatus();
  }

  Status Attribute(const onnx::AttributeProto& attribute, const Scope& scope) {
    if (attribute.has_g()) SG_RETURN_IF_ERROR(Graph(attribute.g(), &scope));
    for (const auto& graph : attribute.graphs()) SG_RETURN_IF_ERROR(Graph(graph, &scope));
    if (attribute.has_t()) SG_RETURN_IF_ERROR(Tensor(attribute.t()));
    for (const auto& tensor : attribute.tensors()) SG_RETURN_IF_ERROR(Tensor(tensor));
    return OkStatus();
  }

  Status Tensor(const onnx::TensorProto& tensor) {
    uint64_t elements = 1;
    for (const int64_t dim : tensor.dims()) {
      if (dim < 0) return Damaged(fmt::format("weight '{}' has a negative axis", tensor.name()));
      if (dim != 0 && elements > std::numeric_limits<uint32_t>::max() * uint64_t{256} /
                                     static_cast<uint64_t>(dim)) {
        return Damaged(fmt::format("weight '{}' has an impossible shape", tensor.name()));
      }
      elements *= static_cast<uint64_t>(dim);
    }
    const ElementType* type = FindElementType(tensor.data_type());
    if (type == nullptr) {
      return UnsupportedError(fmt::format("{}: weight '{}' has the unknown element type {}", path_,
                                          tensor.name(), tensor.data_type()));
    }
    if (type->bits == 0) return OkStatus();
    const uint64_t need_bytes = (elements * static_cast<uint64_t>(type->bits) + 7) / 8;
    facts_->weight_bytes[type->name] += need_bytes;
    if (tensor.has_raw_data() || file_.IsMapped(tensor)) {
      const size_t size = file_.RawBytes(tensor).size();
      if (size == need_bytes) return OkStatus();
      return Damaged(fmt::format("weight '{}' has {} bytes, its shape needs {}", tensor.name(),
                                 size, need_bytes));
    }
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
      return ExternalTensor(tensor, need_bytes);
    }
    return TypedTensor(tensor, elements, type->bits);
  }

  /// Weights in the typed fields (float_data and so on) instead of raw bytes.
  Status TypedTensor(const onnx::TensorProto& tensor, uint64_t elements, int bits) {
    const uint64_t parts = tensor.data_type() == 14 || tensor.data_type() == 15 ? 2 : 1;
    const auto found = static_cast<uint64_t>(tensor.float_data_size()) +
                       static_cast<uint64_t>(tensor.int32_data_size()) +
                       static_cast<uint64_t>(tensor.int64_data_size()) +
                       static_cast<uint64_t>(tensor.double_data_size()) +
                       static_cast<uint64_t>(tensor.uint64_data_size());
    // Four-bit elements are packed two to a number.
    const uint64_t needed = bits == 4 ? (elements + 1) / 2 : elements * parts;
    if (found == needed) return OkStatus();
    return Damaged(
        fmt::format("weight '{}' has {} values, its shape needs {}", tensor.name(), found, needed));
  }

  Status ExternalTensor(const onnx::TensorProto& tensor, uint64_t need_bytes) {
    std::string location;
    uint64_t offset = 0;
    uint64_t length = need_bytes;
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") location = entry.value();
      uint64_t* number = entry.key() == "offset"   ? &offset
                         : entry.key() == "length" ? &length
                                                   : nullptr;
      if (number == nullptr) continue;
      const std::string& text = entry.value();
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
      if (error != std::errc() || end != text.data() + text.size()) {
        return Damaged(
            fmt::format("weight '{}' has the external {} '{}'", tensor.name(), entry.key(), text));
      }
    }
    const std::string file = AbsolutePath(JoinPath(folder_, location));
    if (!StaysInFolder(folder_, location)) {
      return UserError(
          fmt::format("{}: weight '{}' points to '{}', outside the model's folder, and is refused",
                      path_, tensor.name(), location));
    }
    facts_->external_files.insert(location);
    if (!FileExists(file)) {
      return UserError(
          fmt::format("{}: its weights are in '{}', which is missing; put it beside "
                      "the model",
                      path_, location));
    }
    SG_ASSIGN_OR_RETURN(const uint64_t size, FileSize(file));
    if (length != need_bytes) {
      return Damaged(fmt::format("weight '{}' has {} external bytes, its shape needs {}",
                                 tensor.name(), length, need_bytes));
    }
    if (offset > size || length > size - offset) {
      return UserError(fmt::format(
          "{}: truncated: {} bytes, weight '{}' needs {} from byte {}; download it again", file,
          size, tensor.name(), length, offset));
    }
    return OkStatus();
  }

  const GraphFile& file_;
  const std::string path_;
  const std::string folder_;
  GraphFacts* const facts_;
};

}  // namespace

std::string OnnxTypeName(int elem_type) {
  const ElementType* type = FindElementType(elem_type);
  return type != nullptr ? type->name : fmt::format("type {}", elem_type);
}

Status CheckGraph(const GraphFile& file, GraphFacts* facts) {
  const onnx::ModelProto& model = file.model();
  Checker checker(file, facts);
  SG_RETURN_IF_ERROR(checker.Graph(model.graph(), nullptr));
  for (const auto& function : model.functions()) SG_RETURN_IF_ERROR(checker.Function(function));
  return OkStatus();
}

}  // namespace sg
