#include "onnx/graph_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <unordered_map>

#include "onnx/graph_index.h"
#include "onnx/standard_operators.h"

namespace sg {
namespace {

constexpr double kLargestHalf = 65504;

/// Looks at one graph; subgraphs are graphs of their own.
class GraphWalk {
 public:
  GraphWalk(const GraphFile& file, GraphAudit* audit) : file_(file), audit_(audit) {}

  void Graph(const onnx::GraphProto& graph) {
    for (const auto& tensor : graph.initializer()) Constant(tensor, tensor.name());
    for (const auto& node : graph.node()) Node(node);
    FindLayerNorms(graph);
  }

 private:
  void Node(const onnx::NodeProto& node) {
    const std::string& op = node.op_type();
    if (op == "NonMaxSuppression" || IsTensorRtNms(op)) {
      audit_->nms_nodes.push_back(NodeText(node));
      audit_->nms_is_tensorrt |= IsTensorRtNms(op);
    }
    if (op == "QuantizeLinear" || op == "DynamicQuantizeLinear") ++audit_->quantize_nodes;
    if (op == "DequantizeLinear") ++audit_->dequantize_nodes;
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_t())
        Constant(attribute.t(), node.output_size() > 0 ? node.output(0) : node.name());
      if (attribute.has_g()) Graph(attribute.g());
      for (const auto& graph : attribute.graphs()) Graph(graph);
    }
  }

  void Constant(const onnx::TensorProto& tensor, const std::string& name) {
    if (tensor.data_type() == onnx::TensorProto::INT64) ++audit_->int64_constants;
    LargeConstant large{name, 0, 0};
    const auto look = [&large](double value) {
      const double magnitude = std::abs(value);
      if (!(magnitude > kLargestHalf) || std::isinf(magnitude)) return;
      large.magnitude = std::max(large.magnitude, magnitude);
      ++large.count;
    };
    if (tensor.data_type() == onnx::TensorProto::FLOAT) {
      ForEach<float>(file_.RawBytes(tensor), look);
      for (const float value : tensor.float_data()) look(value);
    } else if (tensor.data_type() == onnx::TensorProto::DOUBLE) {
      ForEach<double>(file_.RawBytes(tensor), look);
      for (const double value : tensor.double_data()) look(value);
    }
    if (large.count > 0) audit_->large_constants.push_back(large);
  }

  template <typename T, typename Look>
  static void ForEach(std::string_view raw, const Look& look) {
    for (size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, raw.data() + at, sizeof(T));
      look(static_cast<double>(value));
    }
  }

  using Producers = std::unordered_map<std::string, const onnx::NodeProto*>;

  /// The node of that operator that makes one of the node's inputs; nullptr when there is none.
  static const onnx::NodeProto* Maker(const Producers& producers, const onnx::NodeProto& node,
                                      const char* op) {
    for (const auto& input : node.input()) {
      const auto found = producers.find(input);
      if (found != producers.end() && found->second->op_type() == op) return found->second;
    }
    return nullptr;
  }

  /// x − mean, squared, mean, + ε, √, ÷: a layer normalisation in parts, walked from its end.
  void FindLayerNorms(const onnx::GraphProto& graph) {
    Producers producers;
    for (const auto& node : graph.node()) {
      for (const auto& output : node.output()) producers[output] = &node;
    }
    for (const auto& node : graph.node()) {
      if (node.op_type() != "Div" && node.op_type() != "Mul") continue;
      const onnx::NodeProto* root = Maker(producers, node, "Sqrt");
      if (node.op_type() == "Mul") {
        const auto* inverse = Maker(producers, node, "Reciprocal");
        root = inverse != nullptr ? Maker(producers, *inverse, "Sqrt") : nullptr;
      }
      const auto* sum = root != nullptr ? Maker(producers, *root, "Add") : nullptr;
      const auto* mean = sum != nullptr ? Maker(producers, *sum, "ReduceMean") : nullptr;
      if (mean == nullptr) continue;
      const auto* square = Maker(producers, *mean, "Pow");
      if (square == nullptr) square = Maker(producers, *mean, "Mul");
      const auto* centred = square != nullptr ? Maker(producers, *square, "Sub") : nullptr;
      // A cast to fp32 in front of the square is what guards it.
      if (centred == nullptr || Maker(producers, *centred, "ReduceMean") == nullptr) continue;
      audit_->exploded_layer_norms.push_back(NodeText(*square));
    }
  }

  const GraphFile& file_;
  GraphAudit* const audit_;
};

}  // namespace

GraphAudit AuditGraph(const GraphFile& file, const OnnxSummary& summary) {
  GraphAudit audit;
  GraphWalk(file, &audit).Graph(file.model().graph());
  std::set<std::string> plugins;
  for (const OnnxOperator& op : summary.operators) {
    const auto& own = summary.function_domains;
    if (std::find(own.begin(), own.end(), op.domain) != own.end()) continue;
    if (op.domain == "ai.onnx.ml") continue;
    if (op.domain.empty() && IsStandardOperator(op.type)) continue;
    if (IsTensorRtPlugin(op.type))
      plugins.insert(op.type);
    else
      audit.unknown_operators.push_back(
          op.domain.empty() ? op.type : fmt::format("{} ({})", op.type, op.domain));
  }
  audit.tensorrt_plugins.assign(plugins.begin(), plugins.end());
  for (const OnnxTensor& output : summary.outputs) {
    if (output.elem_type == "int64") audit.int64_outputs.push_back(output.name);
  }
  return audit;
}

}  // namespace sg
