#include "onnx/input_front.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "onnx/graph_index.h"

namespace sg {
namespace {

constexpr int64_t kChannels = 3;
/// From this opset on, operands broadcast as in NumPy.
constexpr int64_t kNumpyBroadcast = 7;
/// Before this version every initializer had to be an input too.
constexpr int64_t kFreeInitializers = 4;

/// All names of a graph and its subgraphs.
void CollectNames(const onnx::GraphProto& graph, std::set<std::string>* names) {
  for (const auto& tensor : graph.initializer()) names->insert(tensor.name());
  for (const auto& input : graph.input()) names->insert(input.name());
  for (const auto& output : graph.output()) names->insert(output.name());
  for (const auto& node : graph.node()) {
    names->insert(node.name());
    names->insert(node.input().begin(), node.input().end());
    names->insert(node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) CollectNames(attribute.g(), names);
      for (const auto& inner : attribute.graphs()) CollectNames(inner, names);
    }
  }
}

/// Lets every node, of subgraphs too, take `to` where it took `from`.
void Redirect(const std::string& from, const std::string& to, onnx::GraphProto* graph) {
  for (auto& node : *graph->mutable_node()) {
    for (auto& input : *node.mutable_input()) {
      if (input == from) input = to;
    }
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) Redirect(from, to, attribute.mutable_g());
      for (auto& inner : *attribute.mutable_graphs()) Redirect(from, to, &inner);
    }
  }
}

bool SubgraphTakes(const onnx::NodeProto& node, const std::string& name) {
  for (const auto& attribute : node.attribute()) {
    std::set<std::string> names;
    if (attribute.has_g()) CollectNames(attribute.g(), &names);
    for (const auto& inner : attribute.graphs()) CollectNames(inner, &names);
    if (names.count(name) != 0) return true;
  }
  return false;
}

bool IsOutput(const onnx::GraphProto& graph, const std::string& name) {
  return std::any_of(graph.output().begin(), graph.output().end(),
                     [&](const auto& output) { return output.name() == name; });
}

/// A float32 constant's numbers; nullopt for another type, or when they are not in the file.
std::optional<std::vector<float>> FloatsOf(const GraphFile& file, const onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto::FLOAT) return std::nullopt;
  size_t count = 1;
  for (const int64_t dim : tensor.dims()) count *= static_cast<size_t>(dim);
  const std::string_view raw = file.RawBytes(tensor);
  std::vector<float> values;
  if (!raw.empty()) {
    values.resize(raw.size() / sizeof(float));
    std::memcpy(values.data(), raw.data(), values.size() * sizeof(float));
  } else {
    values.assign(tensor.float_data().begin(), tensor.float_data().end());
  }
  if (values.size() != count) return std::nullopt;
  return values;
}

/// The one convolution that takes the picture and can hold a mean.
struct FirstConvolution {
  int node = 0;
  std::vector<int64_t> dims;  ///< of the weights: [filters, 3, height, width]
  std::vector<float> weights;
  std::vector<float> bias;
};

bool PadsNothing(const onnx::NodeProto& node) {
  const auto* automatic = FindAttribute(node, "auto_pad");
  if (automatic != nullptr && automatic->s() != "NOTSET" && automatic->s() != "VALID") return false;
  const auto pads = IntegersAttribute(node, "pads").value_or(std::vector<int64_t>());
  return std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
}

/// The index of the one node that takes the value, besides those that take its shape only; -1 when
/// there are others.
int OnlyConsumer(const onnx::GraphProto& graph, const std::string& value) {
  int consumer = -1;
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if (SubgraphTakes(node, value)) return -1;
    const auto& inputs = node.input();
    if (std::find(inputs.begin(), inputs.end(), value) == inputs.end()) continue;
    if (node.op_type() == "Shape" || node.op_type() == "Size") continue;
    if (consumer >= 0) return -1;
    consumer = i;
  }
  return consumer;
}

std::optional<FirstConvolution> FindFirstConvolution(const GraphFile& file,
                                                     const std::string& input) {
  const GraphIndex index(file);
  FirstConvolution first;
  first.node = OnlyConsumer(index.graph(), input);
  if (first.node < 0 || IsOutput(index.graph(), input)) return std::nullopt;
  const onnx::NodeProto& node = index.graph().node(first.node);
  if (node.op_type() != "Conv" || !node.domain().empty() || node.input_size() < 2 ||
      node.input(0) != input || IntegerAttribute(node, "group", 1) != 1 || !PadsNothing(node)) {
    return std::nullopt;
  }
  const onnx::TensorProto* weights = index.Constant(node.input(1));
  if (weights == nullptr || weights->dims_size() != 4 || weights->dims(1) != kChannels) {
    return std::nullopt;
  }
  const auto numbers = FloatsOf(file, *weights);
  if (!numbers) return std::nullopt;
  first.dims.assign(weights->dims().begin(), weights->dims().end());
  first.weights = *numbers;
  first.bias.assign(static_cast<size_t>(weights->dims(0)), 0.0F);
  if (node.input_size() < 3 || node.input(2).empty()) return first;
  const onnx::TensorProto* bias = index.Constant(node.input(2));
  if (bias == nullptr) return std::nullopt;
  const auto bias_numbers = FloatsOf(file, *bias);
  if (!bias_numbers || bias_numbers->size() != first.bias.size()) return std::nullopt;
  first.bias = *bias_numbers;
  return first;
}

/// Makes nodes and constants with names that the graph does not have.
class FrontBuilder {
 public:
  FrontBuilder(onnx::ModelProto* model, int64_t opset)
      : graph_(model->mutable_graph()), opset_(opset) {
    CollectNames(*graph_, &names_);
    if (model->ir_version() < kFreeInitializers) model->set_ir_version(kFreeInitializers);
  }

  std::string NewName(const std::string& stem) {
    std::string name = "front_" + stem;
    for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("front_{}_{}", stem, i);
    return name;
  }

  std::string AddFloats(const std::string& stem, const std::vector<int64_t>& dims,
                        const std::vector<float>& values) {
    auto* tensor = graph_->add_initializer();
    tensor->set_name(NewName(stem));
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : dims) tensor->add_dims(dim);
    tensor->set_raw_data(values.data(), values.size() * sizeof(float));
    return tensor->name();
  }

  /// One number a channel, in the form that the opset broadcasts.
  std::string AddChannels(const std::string& stem, const std::vector<double>& values) {
    const std::vector<float> floats(values.begin(), values.end());
    if (opset_ < kNumpyBroadcast) return AddFloats(stem, {kChannels}, floats);
    return AddFloats(stem, {1, kChannels, 1, 1}, floats);
  }

  /// Appends a node to the front; returns its output.
  std::string Add(const std::string& op, const std::vector<std::string>& inputs) {
    onnx::NodeProto node;
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(NewName(op));
    node.set_name(node.output(0));
    if (inputs.size() == 2 && opset_ < kNumpyBroadcast) {
      SetInteger("broadcast", 1, &node);
      SetInteger("axis", 1, &node);
    }
    nodes_.push_back(std::move(node));
    return nodes_.back().output(0);
  }
  std::string AddCast(const std::string& value, int64_t type) {
    const std::string output = Add("Cast", {value});
    SetInteger("to", type, &nodes_.back());
    return output;
  }
  std::string AddChannelsLast(const std::string& value) {
    const std::string output = Add("Transpose", {value});
    auto* perm = nodes_.back().add_attribute();
    perm->set_name("perm");
    perm->set_type(onnx::AttributeProto::INTS);
    for (const int64_t axis : {0, 2, 3, 1}) perm->add_ints(axis);
    return output;
  }

  /// Puts the nodes in front of the graph's.
  void Finish() {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    for (auto& node : nodes_) nodes.Add(std::move(node));
    for (auto& node : *graph_->mutable_node()) nodes.Add(std::move(node));
    graph_->mutable_node()->Swap(&nodes);
  }

 private:
  static void SetInteger(const char* name, int64_t value, onnx::NodeProto* node) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(value);
  }

  onnx::GraphProto* const graph_;
  const int64_t opset_;
  std::set<std::string> names_;
  std::vector<onnx::NodeProto> nodes_;
};

/// Removes a constant that nothing takes any more.
void RemoveUnused(const std::string& name, onnx::GraphProto* graph) {
  std::set<std::string> taken;
  for (const auto& node : graph->node()) {
    taken.insert(node.input().begin(), node.input().end());
    if (SubgraphTakes(node, name)) return;
  }
  if (taken.count(name) != 0 || IsOutput(*graph, name)) return;
  const auto remove = [&](auto* list, const auto& is_it) {
    for (int i = list->size() - 1; i >= 0; --i) {
      if (is_it(list->Get(i))) list->DeleteSubrange(i, 1);
    }
  };
  const auto has_name = [&](const auto& item) { return item.name() == name; };
  remove(graph->mutable_initializer(), has_name);
  remove(graph->mutable_input(), has_name);
  remove(graph->mutable_node(), [&](const onnx::NodeProto& node) {
    return node.output_size() == 1 && node.output(0) == name && node.op_type() == "Constant";
  });
}

void FoldIntoWeights(const FirstConvolution& first, const InputFront& front, FrontBuilder* builder,
                     onnx::GraphProto* graph) {
  std::vector<float> weights(first.weights.size());
  std::vector<float> bias(first.bias.size());
  const size_t plane = static_cast<size_t>(first.dims[2] * first.dims[3]);
  for (size_t filter = 0; filter < bias.size(); ++filter) {
    double sum = first.bias[filter];
    for (size_t i = 0; i < kChannels * plane; ++i) {
      const size_t at = filter * kChannels * plane + i;
      const double scaled = first.weights[at] / front.std[i / plane];
      weights[at] = static_cast<float>(scaled);
      sum -= scaled * front.mean[i / plane];
    }
    bias[filter] = static_cast<float>(sum);
  }
  onnx::NodeProto* node = graph->mutable_node(first.node);
  std::vector<std::string> old = {node->input(1)};
  node->set_input(1, builder->AddFloats("weights", first.dims, weights));
  const std::string new_bias = builder->AddFloats("bias", {first.dims[0]}, bias);
  if (node->input_size() > 2) {
    old.push_back(node->input(2));
    node->set_input(2, new_bias);
  } else {
    node->add_input(new_bias);
  }
  for (const std::string& name : old) RemoveUnused(name, graph);
}

/// The values that hold the bytes on their way to a cast, when all of them get there: they can be
/// floats as well, and no cast to bytes is needed, which TensorRT has not inside a graph.
std::optional<std::set<std::string>> ValuesBeforeCasts(const onnx::GraphProto& graph,
                                                       const std::string& input) {
  static constexpr const char* kMoves[] = {"Transpose", "Reshape", "Identity", "Squeeze",
                                           "Unsqueeze", "Flatten", "Slice",    "Gather"};
  std::set<std::string> values = {input};
  for (const auto& node : graph.node()) {  // in topological order
    for (const std::string& value : values) {
      if (SubgraphTakes(node, value)) return std::nullopt;
    }
    bool takes = false;
    for (int i = 0; i < node.input_size(); ++i) {
      if (values.count(node.input(i)) == 0) continue;
      if (i > 0) return std::nullopt;
      takes = true;
    }
    if (!takes || node.op_type() == "Cast" || node.op_type() == "Shape") continue;
    if (std::find(std::begin(kMoves), std::end(kMoves), node.op_type()) == std::end(kMoves)) {
      return std::nullopt;
    }
    values.insert(node.output().begin(), node.output().end());
  }
  for (const std::string& value : values) {
    if (IsOutput(graph, value)) return std::nullopt;
  }
  return values;
}

void DropTypes(const std::set<std::string>& values, onnx::GraphProto* graph) {
  auto* infos = graph->mutable_value_info();
  for (int i = infos->size() - 1; i >= 0; --i) {
    if (values.count(infos->Get(i).name()) != 0) infos->DeleteSubrange(i, 1);
  }
}

onnx::ValueInfoProto* FindInput(onnx::GraphProto* graph, const std::string& name) {
  for (auto& input : *graph->mutable_input()) {
    if (input.name() == name && input.type().tensor_type().shape().dim_size() == 4) return &input;
  }
  return nullptr;
}

/// The input becomes float32 [N,3,H,W].
void RetypeInput(const InputFront& front, onnx::ValueInfoProto* input) {
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  if (!front.channels_last) return;
  auto* shape = type->mutable_shape();
  const onnx::TensorShapeProto old = *shape;
  *shape->mutable_dim(1) = old.dim(3);
  *shape->mutable_dim(2) = old.dim(1);
  *shape->mutable_dim(3) = old.dim(2);
}

}  // namespace

bool FitsIntoWeights(const GraphFile& file, const std::string& input, const InputFront& front) {
  if (front.mean.empty() || front.channels_last || front.bytes) return false;
  for (const auto& info : file.model().graph().input()) {
    if (info.name() == input && info.type().tensor_type().elem_type() != onnx::TensorProto::FLOAT) {
      return false;
    }
  }
  return FindFirstConvolution(file, input).has_value();
}

Result<std::string> PutFront(GraphFile* file, const std::string& input, const InputFront& front,
                             FrontPlace place) {
  onnx::GraphProto* graph = file->model().mutable_graph();
  onnx::ValueInfoProto* info = FindInput(graph, input);
  if (info == nullptr) {
    return UserError(fmt::format("{}: has no input '{}' of four axes", file->path(), input));
  }
  if (front.mean.size() != front.std.size() ||
      (!front.mean.empty() && front.mean.size() != kChannels)) {
    return UserError(fmt::format("{}: mean and std must be three numbers each", file->path()));
  }
  const int own_type = info->type().tensor_type().elem_type();
  const int64_t opset = GraphIndex(*file).opset();
  if (place == FrontPlace::kWeights) {
    const auto first = FindFirstConvolution(*file, input);
    SG_CHECK_OP(first.has_value(), ==, true);
    FrontBuilder builder(&file->model(), opset);
    FoldIntoWeights(*first, front, &builder, graph);
    return fmt::format("mean [{:g}] and std [{:g}] are in the weights of its first convolution",
                       fmt::join(front.mean, ", "), fmt::join(front.std, ", "));
  }

  FrontBuilder builder(&file->model(), opset);
  std::vector<std::string> done;
  std::string value = input;
  std::optional<std::set<std::string>> floats;
  if (front.bytes) floats = ValuesBeforeCasts(*graph, input);
  RetypeInput(front, info);
  if (!front.mean.empty()) {
    value = builder.Add("Sub", {value, builder.AddChannels("mean", front.mean)});
    value = builder.Add("Div", {value, builder.AddChannels("std", front.std)});
    done.push_back(fmt::format("(x − [{:g}]) ÷ [{:g}] is computed in front of it",
                               fmt::join(front.mean, ", "), fmt::join(front.std, ", ")));
  }
  if (floats) {
    DropTypes(*floats, graph);
    done.push_back("its bytes are taken as floats, which it makes of them anyhow");
  } else if (own_type != onnx::TensorProto::FLOAT) {
    value = builder.AddCast(value, own_type);
    done.push_back(front.bytes ? "floats are cast to its bytes" : "floats are cast to its type");
  }
  if (front.channels_last) {
    value = builder.AddChannelsLast(value);
    done.push_back("its input's channels are last, so pictures are transposed in front of it");
  }
  Redirect(input, value, graph);
  builder.Finish();
  return fmt::format("{}", fmt::join(done, "; "));
}

}  // namespace sg
