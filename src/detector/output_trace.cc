#include "detector/output_trace.h"

#include <deque>

#include "onnx/graph_index.h"

namespace sg {
namespace {

bool OnlyMoves(const std::string& op) {
  static const std::set<std::string> kMovers = {
      "Identity",  "Cast",      "Reshape", "Transpose",        "Squeeze",
      "Unsqueeze", "Flatten",   "Slice",   "Gather",           "GatherElements",
      "GatherND",  "Concat",    "Split",   "Expand",           "Tile",
      "Dropout",   "ScatterND", "Pad",     "DequantizeLinear", "QuantizeLinear"};
  return kMovers.count(op) > 0;
}

bool IsLearned(const std::string& op) {
  static const std::set<std::string> kLearned = {"Conv",
                                                 "ConvTranspose",
                                                 "MatMul",
                                                 "Gemm",
                                                 "QLinearConv",
                                                 "LSTM",
                                                 "BatchNormalization",
                                                 "LayerNormalization",
                                                 "ConvInteger",
                                                 "Einsum"};
  return kLearned.count(op) > 0;
}

/// Walks back from a value over the nodes that `passes` lets through and collects those where it
/// ends; each node once.
template <typename Visit>
void WalkBack(const GraphIndex& index, const std::string& value, const Visit& visit) {
  std::set<const onnx::NodeProto*> seen;
  std::deque<std::string> values = {value};
  while (!values.empty()) {
    const onnx::NodeProto* node = index.Producer(values.front());
    values.pop_front();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (!visit(*node)) continue;
    // Shapes, indices and axes are not where the numbers come from.
    const bool first_only = OnlyMoves(node->op_type()) && node->op_type() != "Concat";
    for (int i = 0; i < (first_only ? std::min(1, node->input_size()) : node->input_size()); ++i)
      values.push_back(node->input(i));
  }
}

bool FollowsSoftmax(const GraphIndex& index, const onnx::NodeProto& node) {
  const onnx::NodeProto* before = node.input_size() > 0 ? index.Producer(node.input(0)) : nullptr;
  while (before != nullptr && OnlyMoves(before->op_type()) && before->input_size() > 0)
    before = index.Producer(before->input(0));
  return before != nullptr && before->op_type() == "Softmax";
}

void AddChannels(const GraphIndex& index, const onnx::NodeProto& node,
                 std::set<int64_t>* channels) {
  if (node.input_size() < 2) return;
  const onnx::TensorProto* weights = index.Constant(node.input(1));
  if (weights != nullptr && weights->dims_size() > 0) channels->insert(weights->dims(0));
}

}  // namespace

std::map<std::string, OutputTrace> TraceOutputs(const GraphFile& file) {
  const GraphIndex index(file);
  std::map<std::string, OutputTrace> traces;
  for (const auto& output : file.model().graph().output()) {
    OutputTrace& trace = traces[output.name()];
    WalkBack(index, output.name(), [&](const onnx::NodeProto& node) {
      if (OnlyMoves(node.op_type())) return true;
      if (node.op_type() != "Constant") trace.makers.insert(node.op_type());
      return false;
    });
    WalkBack(index, output.name(), [&](const onnx::NodeProto& node) {
      if (IsLearned(node.op_type())) {
        if (node.op_type() == "Conv" && !FollowsSoftmax(index, node))
          AddChannels(index, node, &trace.conv_channels);
        return false;
      }
      if (node.op_type() != "Constant") trace.tail.insert(node.op_type());
      return true;
    });
  }
  return traces;
}

}  // namespace sg
