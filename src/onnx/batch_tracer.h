// The inside of TraceBatch: one rule for each kind of operator.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/batch_trace.h"

namespace sg {

class BatchTracer {
 public:
  explicit BatchTracer(const BatchTraceRequest& request);
  BatchTrace Run();

 private:
  using Shape = std::vector<int64_t>;
  static constexpr int kNone = -1;

  /// The node that is being looked at.
  struct Visit {
    const onnx::NodeProto& node;
    int index;
    int axis;  ///< of the first input that carries the batch
    int from;  ///< that input
  };

  void Follow(const onnx::NodeProto& node, int index);
  /// The axis of the first output that carries the batch, kNone when none does any more.
  int AxisThrough(const Visit& visit);

  // One rule each; they return the output's axis.
  int Elementwise(const Visit& visit);
  int Reshape(const Visit& visit);
  int Flatten(const Visit& visit);
  int Transpose(const Visit& visit);
  int Squeeze(const Visit& visit);
  int Unsqueeze(const Visit& visit);
  int Concat(const Visit& visit);
  int Slice(const Visit& visit);
  int Gather(const Visit& visit);
  int GatherAlong(const Visit& visit);
  int GatherNd(const Visit& visit);
  int Expand(const Visit& visit);
  int Tile(const Visit& visit);
  int MatMul(const Visit& visit);
  int Gemm(const Visit& visit);
  int Einsum(const Visit& visit);
  int Reduce(const Visit& visit);
  int AlongAxis(const Visit& visit, int64_t fallback_axis);
  int Resize(const Visit& visit);
  int SameAxis(const Visit& visit);
  /// Every input has the batch at the visited axis, or must be made to follow it there.
  int SameInAllInputs(const Visit& visit);
  int Blocked(const Visit& visit, const std::string& why);
  /// The axis of a value that is made from a computed shape alone (Expand, ConstantOfShape, …).
  int AxisFromShape(const onnx::NodeProto& node);

  /// Works out the shape of an output that the shape inference does not tell.
  void CompleteShape(const onnx::NodeProto& node);
  int AxisOf(const std::string& value) const;
  const Shape* ShapeOf(const std::string& value) const;
  const Shape* OutputShape(const Visit& visit) const;
  int Rank(const std::string& value) const;
  /// Attribute or, from a later opset on, input; nullopt when there is neither or it is computed.
  std::optional<std::vector<int64_t>> Axes(const onnx::NodeProto& node, int rank) const;
  void Change(const Visit& visit, const std::string& why, BatchEdit edit);
  /// An operand without the batch whose extent along the batch's axis is the batch: equal copies.
  void NeedFirstCopy(const Visit& visit, int input, int axis);
  void NeedFollow(const Visit& visit, int input, int axis);
  std::string OperandText(const std::string& value) const;

  const BatchTraceRequest& request_;
  const GraphIndex index_;
  const int64_t batch_;
  ShapeValues values_;
  ValueShapes further_shapes_;  ///< of values that the shape inference optimised away
  std::unordered_map<std::string, int> axes_;
  BatchTrace trace_;
};

}  // namespace sg
