#include "onnx/batch_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "onnx/batch_tracer.h"

namespace sg {
namespace {

const std::set<std::string>& ElementwiseOperators() {
  static const std::set<std::string> names = {"Add",
                                              "Sub",
                                              "Mul",
                                              "Div",
                                              "Pow",
                                              "Mod",
                                              "Max",
                                              "Min",
                                              "Mean",
                                              "Sum",
                                              "And",
                                              "Or",
                                              "Xor",
                                              "Not",
                                              "Equal",
                                              "Less",
                                              "Greater",
                                              "Where",
                                              "PRelu",
                                              "Clip",
                                              "Cast",
                                              "LessOrEqual",
                                              "Abs",
                                              "Neg",
                                              "Exp",
                                              "Log",
                                              "Sqrt",
                                              "Reciprocal",
                                              "Sigmoid",
                                              "Relu",
                                              "Tanh",
                                              "Erf",
                                              "Sin",
                                              "Cos",
                                              "Identity",
                                              "LeakyRelu",
                                              "Elu",
                                              "Selu",
                                              "Gelu",
                                              "HardSwish",
                                              "HardSigmoid",
                                              "Softplus",
                                              "Softsign",
                                              "Sign",
                                              "Floor",
                                              "Ceil",
                                              "Round",
                                              "IsNaN",
                                              "IsInf",
                                              "Dropout",
                                              "BitShift",
                                              "CastLike",
                                              "Mish",
                                              "Celu",
                                              "ThresholdedRelu",
                                              "Tan",
                                              "Atan",
                                              "Asin",
                                              "Acos",
                                              "Sinh",
                                              "Cosh",
                                              "GreaterOrEqual",
                                              "Asinh",
                                              "Acosh",
                                              "Atanh",
                                              "Swish",
                                              "BitwiseAnd",
                                              "BitwiseOr",
                                              "BitwiseXor",
                                              "BitwiseNot",
                                              "QuickGelu",
                                              "Shrink"};
  return names;
}

/// Pictures stay where they are along axis 0; the other axes are the picture's own.
const std::set<std::string>& PictureOperators() {
  static const std::set<std::string> names = {"Conv",
                                              "ConvTranspose",
                                              "MaxPool",
                                              "AveragePool",
                                              "GlobalMaxPool",
                                              "GlobalAveragePool",
                                              "LpPool",
                                              "GlobalLpPool",
                                              "BatchNormalization",
                                              "InstanceNormalization",
                                              "LRN",
                                              "DepthToSpace",
                                              "SpaceToDepth",
                                              "GroupNormalization",
                                              "ConvInteger",
                                              "QLinearConv",
                                              "DeformConv",
                                              "Upsample"};
  return names;
}

/// Operators whose rules look at a second input.
const std::set<std::string>& TwoInputOperators() {
  static const std::set<std::string> names = {
      "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "GridSample",
      "Expand", "Tile",           "MatMul",   "MatMulInteger",   "Gemm"};
  return names;
}

/// Rows come out for the whole batch together, as many as the pictures give.
const std::set<std::string>& DataDependentOperators() {
  static const std::set<std::string> names = {"NonZero", "Compress", "Unique"};
  return names;
}

const std::set<std::string>& TensorRtNms() {
  static const std::set<std::string> names = {"EfficientNMS_TRT", "BatchedNMS_TRT",
                                              "BatchedNMSDynamic_TRT", "EfficientNMSX_TRT"};
  return names;
}

}  // namespace

BatchTracer::BatchTracer(const BatchTraceRequest& request)
    : request_(request),
      index_(request.file),
      batch_(request.batch),
      values_(index_, request.shapes) {}

BatchTrace TraceBatch(const BatchTraceRequest& request) { return BatchTracer(request).Run(); }

BatchTrace BatchTracer::Run() {
  const onnx::GraphProto& graph = index_.graph();
  for (const auto& input : graph.input()) {
    if (index_.Constant(input.name()) != nullptr) continue;
    const Shape* shape = ShapeOf(input.name());
    const bool batched = shape != nullptr && !shape->empty() && shape->front() == batch_;
    if (batched) axes_[input.name()] = 0;
  }
  for (int i = 0; i < graph.node_size(); ++i) Follow(graph.node(i), i);
  for (const auto& output : graph.output()) {
    const int axis = AxisOf(output.name());
    const Shape* shape = ShapeOf(output.name());
    const bool lost = axis == kNone && !trace_.findings.empty() && shape != nullptr &&
                      !shape->empty() && shape->front() == batch_;
    if (axis == 0 || lost) {
      trace_.batched_outputs.push_back(output.name());
    } else if (axis > 0 && trace_.findings.empty()) {
      trace_.findings.push_back({fmt::format("output '{}'", output.name()),
                                 fmt::format("has the batch at axis {}, not first", axis), false});
    }
  }
  return std::move(trace_);
}

void BatchTracer::Follow(const onnx::NodeProto& node, int index) {
  if (node.op_type() == "Constant" || node.output_size() == 0) return;
  CompleteShape(node);
  int from = kNone;
  for (int i = 0; i < node.input_size() && from == kNone; ++i) {
    if (AxisOf(node.input(i)) != kNone) from = i;
  }
  values_.Visit(node, node.input_size() > 0 ? AxisOf(node.input(0)) : kNone);
  if (node.op_type() == "Shape" || node.op_type() == "Size") return;
  const int axis = from == kNone ? AxisFromShape(node)
                                 : AxisThrough({node, index, AxisOf(node.input(from)), from});
  if (axis < 0) return;
  for (const auto& output : node.output()) {
    const int rank = Rank(output);
    if (rank == kNone || axis < rank) axes_[output] = axis;
  }
}

void BatchTracer::CompleteShape(const onnx::NodeProto& node) {
  if (node.input_size() == 0 || ShapeOf(node.output(0)) != nullptr) return;
  const Shape* in = ShapeOf(node.input(0));
  if (in == nullptr) return;
  if (node.op_type() == "Identity") {
    further_shapes_[node.output(0)] = *in;
  } else if (node.op_type() == "Transpose") {
    Shape out(in->rbegin(), in->rend());
    if (const auto order = IntegersAttribute(node, "perm")) {
      if (order->size() != in->size()) return;
      for (size_t i = 0; i < out.size(); ++i) {
        const auto from = static_cast<size_t>((*order)[i]);
        if (from >= in->size()) return;
        out[i] = (*in)[from];
      }
    }
    further_shapes_[node.output(0)] = out;
  }
}

int BatchTracer::AxisFromShape(const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  if (op == "Range") {
    const auto limit = node.input_size() == 3 ? values_.Find(node.input(1)) : std::nullopt;
    return limit && limit->size() == 1 && (*limit)[0].follows ? 0 : kNone;
  }
  int shape_input = kNone;
  if (op == "ConstantOfShape") shape_input = 0;
  if (op == "Expand" || op == "Tile" || op == "Reshape") shape_input = 1;
  if (shape_input >= node.input_size() || shape_input == kNone) return kNone;
  const auto shape = values_.Find(node.input(shape_input));
  if (!shape) return kNone;
  for (size_t i = 0; i < shape->size(); ++i) {
    if ((*shape)[i].follows) return static_cast<int>(i);
  }
  return kNone;
}

int BatchTracer::AxisThrough(const Visit& visit) {
  const std::string& op = visit.node.op_type();
  if (const int rank = Rank(visit.node.input(visit.from)); rank != kNone && visit.axis >= rank)
    return Blocked(visit, "has shapes that do not fit together");
  if (TwoInputOperators().contains(op) && visit.node.input_size() < 2)
    return Blocked(visit, "lacks an input");
  if (ElementwiseOperators().contains(op)) return Elementwise(visit);
  if (PictureOperators().contains(op)) {
    if (visit.from == 0 && visit.axis == 0) return 0;
    return Blocked(visit, "takes the batch elsewhere than at its first axis");
  }
  if (op == "Reshape") return Reshape(visit);
  if (op == "Flatten") return Flatten(visit);
  if (op == "Transpose") return Transpose(visit);
  if (op == "Squeeze") return Squeeze(visit);
  if (op == "Unsqueeze") return Unsqueeze(visit);
  if (op == "Concat") return Concat(visit);
  if (op == "Slice") return Slice(visit);
  if (op == "Gather") return Gather(visit);
  if (op == "GatherElements" || op == "ScatterElements" || op == "GridSample")
    return GatherAlong(visit);
  if (op == "GatherND" || op == "ScatterND") return GatherNd(visit);
  if (op == "Expand") return Expand(visit);
  if (op == "Tile") return Tile(visit);
  if (op == "MatMul" || op == "MatMulInteger") return MatMul(visit);
  if (op == "Gemm") return Gemm(visit);
  if (op == "Einsum") return Einsum(visit);
  if (op.starts_with("Reduce") || op == "ArgMax" || op == "ArgMin") return Reduce(visit);
  if (op == "Resize") return Resize(visit);
  if (op == "Split") return AlongAxis(visit, 0);
  if (op == "CumSum" || op == "ReverseSequence") return AlongAxis(visit, 0);
  if (op == "TopK" || op == "LogSoftmax" || op == "Hardmax") return AlongAxis(visit, -1);
  if (op == "Softmax") return AlongAxis(visit, index_.opset() < 13 ? 1 : -1);
  if (TensorRtNms().contains(op)) return 0;
  if (op == "NonMaxSuppression")
    return Blocked(visit, "gives as many rows for the whole batch as the pictures happen to have");
  if (DataDependentOperators().contains(op))
    return Blocked(visit, "gives rows of the whole batch together");
  if (op == "If" || op == "Loop" || op == "Scan")
    return Blocked(visit, "has a graph inside, through which the batch is not followed");
  return SameAxis(visit);
}

int BatchTracer::SameAxis(const Visit& visit) {
  const Shape* in = ShapeOf(visit.node.input(visit.from));
  const Shape* out = OutputShape(visit);
  const auto axis = static_cast<size_t>(visit.axis);
  if (in != nullptr && out != nullptr && in->size() == out->size() && (*in)[axis] == (*out)[axis])
    return visit.axis;
  return Blocked(visit, "is an operator through which the batch is not followed");
}

int BatchTracer::Blocked(const Visit& visit, const std::string& why) {
  trace_.findings.push_back({NodeText(visit.node), why, false});
  return kNone;
}

void BatchTracer::Change(const Visit& visit, const std::string& why, BatchEdit edit) {
  trace_.findings.push_back({NodeText(visit.node), why, true});
  edit.node = visit.index;
  trace_.edits.push_back(std::move(edit));
}

std::string BatchTracer::OperandText(const std::string& value) const {
  if (index_.Constant(value) != nullptr) return fmt::format("the constant '{}'", value);
  const onnx::NodeProto* producer = index_.Producer(value);
  return producer == nullptr ? fmt::format("'{}'", value)
                             : fmt::format("what {} makes", NodeText(*producer));
}

void BatchTracer::NeedFirstCopy(const Visit& visit, int input, int axis) {
  BatchEdit edit;
  edit.kind = BatchEdit::Kind::kFirstCopy;
  edit.input = input;
  edit.axis = axis;
  edit.rank = Rank(visit.node.input(input));
  Change(visit,
         fmt::format("takes {}, which is made for some pictures of a batch",
                     OperandText(visit.node.input(input))),
         edit);
}

void BatchTracer::NeedFollow(const Visit& visit, int input, int axis) {
  BatchEdit edit;
  edit.kind = BatchEdit::Kind::kFollowBatch;
  edit.input = input;
  edit.axis = axis;
  edit.rank = Rank(visit.node.input(input));
  Change(visit,
         fmt::format("takes {}, which is made for {} picture{}",
                     OperandText(visit.node.input(input)), batch_, batch_ == 1 ? "" : "s"),
         edit);
}

int BatchTracer::AxisOf(const std::string& value) const {
  const auto found = axes_.find(value);
  return found == axes_.end() ? kNone : found->second;
}

const BatchTracer::Shape* BatchTracer::ShapeOf(const std::string& value) const {
  const auto found = request_.shapes.find(value);
  if (found != request_.shapes.end()) return &found->second;
  const auto further = further_shapes_.find(value);
  return further == further_shapes_.end() ? nullptr : &further->second;
}

const BatchTracer::Shape* BatchTracer::OutputShape(const Visit& visit) const {
  return ShapeOf(visit.node.output(0));
}

int BatchTracer::Rank(const std::string& value) const {
  if (const Shape* shape = ShapeOf(value)) return static_cast<int>(shape->size());
  const onnx::TensorProto* constant = index_.Constant(value);
  return constant == nullptr ? kNone : constant->dims_size();
}

std::optional<std::vector<int64_t>> BatchTracer::Axes(const onnx::NodeProto& node, int rank) const {
  std::optional<std::vector<int64_t>> axes = IntegersAttribute(node, "axes");
  if (!axes && node.input_size() > 1) axes = index_.Integers(node.input(1));
  if (!axes) return std::nullopt;
  for (int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
  return axes;
}

}  // namespace sg
