// Finds the constants and attributes of a graph's nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/graph_file.h"

namespace sg {

/// Shapes of a graph's values by name; -1 is an axis that the data decide.
using ValueShapes = std::unordered_map<std::string, std::vector<int64_t>>;

/// Refers to the GraphFile, which must outlive it and stay unchanged.
class GraphIndex {
 public:
  explicit GraphIndex(const GraphFile& file);

  const onnx::GraphProto& graph() const { return file_.model().graph(); }
  /// The initializer or Constant node of that name; nullptr when it is computed or an input.
  const onnx::TensorProto* Constant(const std::string& name) const;
  /// The integers of a constant of type int64 or int32; nullopt for anything else, or when it holds
  /// more than 64 Ki of them.
  std::optional<std::vector<int64_t>> Integers(const std::string& name) const;
  /// The node that makes the value; nullptr for inputs and initializers.
  const onnx::NodeProto* Producer(const std::string& name) const;
  /// The opset of the standard operators.
  int64_t opset() const { return opset_; }

 private:
  const GraphFile& file_;
  std::unordered_map<std::string, const onnx::TensorProto*> constants_;
  std::unordered_map<std::string, const onnx::NodeProto*> producers_;
  std::unordered_map<std::string, std::vector<int64_t>> constant_integers_;
  int64_t opset_ = 0;
};

/// The integers of a tensor of type int64, int32 or bool; nullopt for another type.
std::optional<std::vector<int64_t>> IntegersOf(const GraphFile& file,
                                               const onnx::TensorProto& tensor);

const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node, const std::string& name);
int64_t IntegerAttribute(const onnx::NodeProto& node, const std::string& name, int64_t fallback);
/// nullopt when the node has no such attribute.
std::optional<std::vector<int64_t>> IntegersAttribute(const onnx::NodeProto& node,
                                                      const std::string& name);

/// "Reshape '/decoder/Reshape_3'": how nodes are named to people.
std::string NodeText(const onnx::NodeProto& node);

}  // namespace sg
