#include "onnx/simplify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "onnx/graph_index.h"

namespace sg {
namespace {

constexpr uint64_t kAlwaysFoldBytes = 64 << 10;
constexpr int64_t kSmallestHalvedWeight = 256;
constexpr float kLargestHalf = 65504.0F;

bool CanFold(const onnx::NodeProto& node) {
  static const std::set<std::string> kNever = {"Constant",
                                               "QuantizeLinear",
                                               "DequantizeLinear",
                                               "DynamicQuantizeLinear",
                                               "RandomNormal",
                                               "RandomUniform",
                                               "RandomNormalLike",
                                               "RandomUniformLike",
                                               "Multinomial",
                                               "Bernoulli",
                                               "If",
                                               "Loop",
                                               "Scan",
                                               "Optional",
                                               "SequenceConstruct"};
  if (!node.domain().empty() && node.domain() != "ai.onnx") return false;
  return node.input_size() > 0 && kNever.count(node.op_type()) == 0;
}

void AddUsedNames(const onnx::GraphProto& graph, std::set<std::string>* names);

void AddUsedNames(const onnx::NodeProto& node, std::set<std::string>* names) {
  for (const std::string& input : node.input()) names->insert(input);
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) AddUsedNames(attribute.g(), names);
    for (const onnx::GraphProto& graph : attribute.graphs()) AddUsedNames(graph, names);
  }
}

void AddUsedNames(const onnx::GraphProto& graph, std::set<std::string>* names) {
  for (const onnx::NodeProto& node : graph.node()) AddUsedNames(node, names);
  for (const onnx::ValueInfoProto& output : graph.output()) names->insert(output.name());
}

/// Initializers whose bytes are here, and Constant nodes.
std::map<std::string, const onnx::TensorProto*> PlainConstants(const GraphFile& file) {
  const onnx::GraphProto& graph = file.model().graph();
  std::set<std::string> inputs;
  for (const onnx::ValueInfoProto& input : graph.input()) inputs.insert(input.name());
  std::map<std::string, const onnx::TensorProto*> constants;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    const bool external =
        tensor.data_location() == onnx::TensorProto::EXTERNAL && !file.IsMapped(tensor);
    if (!external && inputs.count(tensor.name()) == 0) constants[tensor.name()] = &tensor;
  }
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() != "Constant" || node.output_size() != 1) continue;
    const onnx::AttributeProto* value = FindAttribute(node, "value");
    if (value != nullptr && value->has_t()) constants[node.output(0)] = &value->t();
  }
  return constants;
}

onnx::TensorProto WithBytes(const GraphFile& file, const onnx::TensorProto& tensor,
                            const std::string& name) {
  onnx::TensorProto whole = tensor;
  whole.set_name(name);
  if (file.IsMapped(tensor)) {
    const std::string_view bytes = file.RawBytes(tensor);
    whole.set_raw_data(bytes.data(), bytes.size());
    whole.clear_data_location();
    whole.clear_external_data();
  }
  return whole;
}

/// Bytes of a tensor's elements, however they are stored; good enough to compare sizes.
uint64_t StoredBytes(const GraphFile& file, const onnx::TensorProto& tensor) {
  if (file.IsMapped(tensor)) return file.RawBytes(tensor).size();
  return tensor.ByteSizeLong();
}

void RemoveNodes(onnx::GraphProto* graph, const std::set<int>& nodes) {
  int kept = 0;
  for (int i = 0; i < graph->node_size(); ++i) {
    if (nodes.count(i) != 0) continue;
    if (kept != i) graph->mutable_node()->SwapElements(kept, i);
    ++kept;
  }
  graph->mutable_node()->DeleteSubrange(kept, graph->node_size() - kept);
}

/// Gives every reader of `from`, subgraphs included, `to` instead.
void Redirect(onnx::GraphProto* graph, const std::map<std::string, std::string>& to) {
  for (onnx::NodeProto& node : *graph->mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      for (auto next = to.find(input); next != to.end(); next = to.find(input))
        input = next->second;
    }
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) Redirect(attribute.mutable_g(), to);
      for (onnx::GraphProto& inner : *attribute.mutable_graphs()) Redirect(&inner, to);
    }
  }
}

/// Identity, or Dropout whose mask nobody reads and that is not told to train.
bool IsIdle(const onnx::NodeProto& node, const std::set<std::string>& used) {
  if (!node.domain().empty() || node.input_size() < 1 || node.output_size() < 1) return false;
  if (node.op_type() == "Identity") return true;
  if (node.op_type() != "Dropout") return false;
  const bool mask_is_read = node.output_size() > 1 && used.count(node.output(1)) != 0;
  const bool may_train = node.input_size() > 2 && !node.input(2).empty();
  return !mask_is_read && !may_train;
}

int RemovePassThrough(onnx::GraphProto* graph) {
  std::set<std::string> used;
  AddUsedNames(*graph, &used);
  std::set<std::string> outputs;
  for (const onnx::ValueInfoProto& output : graph->output()) outputs.insert(output.name());
  std::map<std::string, std::string> redirected;
  std::set<int> removed;
  for (int i = 0; i < graph->node_size(); ++i) {
    const onnx::NodeProto& node = graph->node(i);
    // An output of the graph keeps its name, so the node that gives it that name stays.
    if (!IsIdle(node, used) || outputs.count(node.output(0)) != 0) continue;
    redirected[node.output(0)] = node.input(0);
    removed.insert(i);
  }
  Redirect(graph, redirected);
  RemoveNodes(graph, removed);
  return static_cast<int>(removed.size());
}

int RemoveUnneeded(onnx::GraphProto* graph) {
  std::set<std::string> needed;
  for (const onnx::ValueInfoProto& output : graph->output()) needed.insert(output.name());
  std::set<int> removed;
  for (int i = graph->node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = graph->node(i);
    bool is_needed = false;
    for (const std::string& output : node.output())
      is_needed = is_needed || (!output.empty() && needed.count(output) != 0);
    if (is_needed)
      AddUsedNames(node, &needed);
    else
      removed.insert(i);
  }
  RemoveNodes(graph, removed);
  return static_cast<int>(removed.size());
}

int RemoveUnusedWeights(onnx::GraphProto* graph) {
  std::set<std::string> used;
  AddUsedNames(*graph, &used);
  auto* weights = graph->mutable_initializer();
  int kept = 0;
  for (int i = 0; i < weights->size(); ++i) {
    if (used.count(weights->Get(i).name()) == 0) continue;
    if (kept != i) weights->SwapElements(kept, i);
    ++kept;
  }
  const int removed = weights->size() - kept;
  weights->DeleteSubrange(kept, removed);
  return removed;
}

/// The f32 elements; empty for another type or when they are elsewhere.
std::vector<float> Floats(const GraphFile& file, const onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto::FLOAT) return {};
  if (tensor.float_data_size() > 0) return {tensor.float_data().begin(), tensor.float_data().end()};
  const std::string_view bytes = file.RawBytes(tensor);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

bool FitsHalf(const std::vector<float>& values) {
  for (const float value : values)
    if (std::isfinite(value) && std::fabs(value) > kLargestHalf) return false;
  return true;
}

/// Names that quantisation nodes and Resize read: their numbers are not weights.
std::set<std::string> NotWeights(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const onnx::NodeProto& node : graph.node()) {
    const bool special = node.op_type() == "Resize" || node.op_type() == "QuantizeLinear" ||
                         node.op_type() == "DequantizeLinear";
    if (special) names.insert(node.input().begin(), node.input().end());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) AddUsedNames(attribute.g(), &names);
    }
  }
  for (const onnx::ValueInfoProto& value : graph.input()) names.insert(value.name());
  for (const onnx::ValueInfoProto& value : graph.output()) names.insert(value.name());
  return names;
}

}  // namespace

ConstantPart FindConstantPart(const GraphFile& file) {
  const onnx::GraphProto& graph = file.model().graph();
  const auto constants = PlainConstants(file);
  ConstantPart part;
  std::set<std::string> made;
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if (!CanFold(node)) continue;
    bool all_constant = true;
    for (const std::string& input : node.input())
      all_constant =
          all_constant && (input.empty() || constants.count(input) != 0 || made.count(input) != 0);
    if (!all_constant) continue;
    part.nodes.insert(i);
    made.insert(node.output().begin(), node.output().end());
  }
  if (part.nodes.empty()) return part;

  std::set<std::string> read_outside;
  std::set<std::string> read_inside;
  for (int i = 0; i < graph.node_size(); ++i) {
    const bool inside = part.nodes.count(i) != 0;
    AddUsedNames(graph.node(i), inside ? &read_inside : &read_outside);
  }
  for (const onnx::ValueInfoProto& output : graph.output()) read_outside.insert(output.name());

  part.model.set_ir_version(file.model().ir_version());
  *part.model.mutable_opset_import() = file.model().opset_import();
  onnx::GraphProto* small = part.model.mutable_graph();
  small->set_name("constants");
  for (const auto& [name, tensor] : constants) {
    if (read_inside.count(name) != 0) *small->add_initializer() = WithBytes(file, *tensor, name);
  }
  for (const int i : part.nodes) {
    *small->add_node() = graph.node(i);
    for (const std::string& output : graph.node(i).output()) {
      if (!output.empty() && read_outside.count(output) != 0) small->add_output()->set_name(output);
    }
  }
  return part;
}

int ReplaceConstantPart(GraphFile* file, const ConstantPart& part,
                        const std::vector<onnx::TensorProto>& values) {
  uint64_t source_bytes = 0;
  for (const onnx::TensorProto& tensor : part.model.graph().initializer())
    source_bytes += StoredBytes(*file, tensor);
  onnx::GraphProto* graph = file->model().mutable_graph();
  std::map<std::string, const onnx::TensorProto*> known;
  for (const onnx::TensorProto& value : values) {
    if (value.raw_data().size() > std::max(kAlwaysFoldBytes, 2 * source_bytes)) continue;
    known[value.name()] = &value;
  }
  // A node goes when every output that anyone reads is known; what only it needed is then idle.
  std::set<std::string> outputs;
  for (const onnx::ValueInfoProto& output : part.model.graph().output())
    outputs.insert(output.name());
  std::set<int> removed;
  for (const int i : part.nodes) {
    bool all_known = true;
    bool is_read = false;
    for (const std::string& output : graph->node(i).output()) {
      if (outputs.count(output) == 0) continue;
      is_read = true;
      all_known = all_known && known.count(output) != 0;
    }
    if (!is_read || !all_known) continue;
    removed.insert(i);
    for (const std::string& output : graph->node(i).output()) {
      if (outputs.count(output) != 0) *graph->add_initializer() = *known.at(output);
    }
  }
  RemoveNodes(graph, removed);
  return static_cast<int>(removed.size());
}

CleanedUp RemoveIdle(GraphFile* file) {
  onnx::GraphProto* graph = file->model().mutable_graph();
  CleanedUp cleaned;
  cleaned.nodes = RemovePassThrough(graph) + RemoveUnneeded(graph);
  cleaned.weights = RemoveUnusedWeights(graph);
  return cleaned;
}

uint16_t HalfBits(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return sign | 0x7E00U;   // NaN
  if (magnitude >= 0x47800000U) return sign | 0x7C00U;  // 65536 and more, infinity
  if (magnitude < 0x33000000U) return sign;             // below 2^-25
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
  // The bits that do not fit are rounded to the nearest even; a carry may move the exponent.
  const int dropped = exponent < -14 ? 13 + (-14 - exponent) : 13;
  const uint32_t base = exponent < -14 ? 0 : static_cast<uint32_t>(exponent + 14) << 10;
  uint32_t half = base + (mantissa >> dropped);
  const uint32_t rest = mantissa & ((1U << dropped) - 1);
  const uint32_t middle = 1U << (dropped - 1);
  if (rest > middle || (rest == middle && (half & 1U) != 0)) ++half;
  return static_cast<uint16_t>(sign | half);
}

HalvedWeights HalveWeights(GraphFile* file) {
  onnx::GraphProto* graph = file->model().mutable_graph();
  const std::set<std::string> untouchable = NotWeights(*graph);
  HalvedWeights result;
  std::vector<onnx::NodeProto> casts;
  for (onnx::TensorProto& tensor : *graph->mutable_initializer()) {
    if (untouchable.count(tensor.name()) != 0) continue;
    const std::vector<float> values = Floats(*file, tensor);
    if (static_cast<int64_t>(values.size()) < kSmallestHalvedWeight) continue;
    if (!FitsHalf(values)) {
      result.kept.push_back(tensor.name());
      continue;
    }
    std::string raw(values.size() * sizeof(uint16_t), '\0');
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t half = HalfBits(values[i]);
      std::memcpy(raw.data() + i * sizeof(half), &half, sizeof(half));
    }
    onnx::TensorProto halved;
    halved.set_name(tensor.name() + "_f16");
    halved.set_data_type(onnx::TensorProto::FLOAT16);
    *halved.mutable_dims() = tensor.dims();
    halved.set_raw_data(std::move(raw));
    onnx::NodeProto cast;
    cast.set_op_type("Cast");
    cast.set_name(tensor.name() + "_f32");
    cast.add_input(halved.name());
    cast.add_output(tensor.name());
    onnx::AttributeProto* to = cast.add_attribute();
    to->set_name("to");
    to->set_type(onnx::AttributeProto::INT);
    to->set_i(onnx::TensorProto::FLOAT);
    casts.push_back(std::move(cast));
    result.saved_bytes += values.size() * sizeof(uint16_t);
    ++result.halved;
    tensor = std::move(halved);
  }
  // Nodes are in the order in which they run: the casts come first.
  const int old_nodes = graph->node_size();
  for (onnx::NodeProto& cast : casts) *graph->add_node() = std::move(cast);
  auto* nodes = graph->mutable_node();
  std::rotate(nodes->pointer_begin(), nodes->pointer_begin() + old_nodes, nodes->pointer_end());
  return result;
}

}  // namespace sg
