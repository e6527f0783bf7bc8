// The small integer vectors from which graphs compute shapes: Shape → Gather → Concat → Reshape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/graph_index.h"

namespace sg {

/// One integer of such a vector.
struct ShapeElement {
  int64_t value = 0;     ///< at the batch of the trace
  bool follows = false;  ///< it changes with the batch
};
using ShapeVector = std::vector<ShapeElement>;

/// Follows shape vectors along the nodes, which must be given in the graph's order.
class ShapeValues {
 public:
  /// Both must outlive it.
  ShapeValues(const GraphIndex& index, const ValueShapes& shapes)
      : index_(index), shapes_(shapes) {}

  /// Works out what the node's first output holds. `batch_axis` is the axis of its first input that
  /// carries the batch, -1 for none.
  void Visit(const onnx::NodeProto& node, int batch_axis);

  /// nullopt when the value is not a vector that could be followed.
  std::optional<ShapeVector> Find(const std::string& name) const;

 private:
  std::optional<ShapeVector> Evaluate(const onnx::NodeProto& node, int batch_axis) const;
  std::optional<ShapeVector> ShapeOf(const onnx::NodeProto& node, int batch_axis) const;
  std::optional<ShapeVector> Sliced(const onnx::NodeProto& node) const;
  std::optional<ShapeVector> Selected(const onnx::NodeProto& node) const;
  std::optional<ShapeVector> Arithmetic(const onnx::NodeProto& node) const;

  const GraphIndex& index_;
  const ValueShapes& shapes_;
  std::unordered_map<std::string, ShapeVector> vectors_;
};

}  // namespace sg
