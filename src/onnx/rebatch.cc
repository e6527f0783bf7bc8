#include "onnx/rebatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace sg {
namespace {

constexpr char kBatchSymbol[] = "batch";

void SetAxis(onnx::ValueInfoProto* info, int64_t batch) {
  auto* shape = info->mutable_type()->mutable_tensor_type()->mutable_shape();
  if (shape->dim_size() == 0) return;
  auto* dim = shape->mutable_dim(0);
  dim->Clear();
  if (batch > 0)
    dim->set_dim_value(batch);
  else
    dim->set_dim_param(kBatchSymbol);
}

/// Adds nodes to a graph; each is put in front of the node that asked for it.
class GraphEditor {
 public:
  explicit GraphEditor(onnx::GraphProto* graph) : graph_(graph) {
    for (const auto& tensor : graph->initializer()) names_.insert(tensor.name());
    for (const auto& input : graph->input()) names_.insert(input.name());
    for (const auto& node : graph->node()) {
      names_.insert(node.output().begin(), node.output().end());
    }
  }

  std::string AddIntegers(const std::vector<int64_t>& values) {
    auto* tensor = AddConstant(onnx::TensorProto::INT64, values.size());
    for (const int64_t value : values) tensor->add_int64_data(value);
    return tensor->name();
  }
  std::string AddFloats(const std::vector<float>& values) {
    auto* tensor = AddConstant(onnx::TensorProto::FLOAT, values.size());
    for (const float value : values) tensor->add_float_data(value);
    return tensor->name();
  }
  /// Names the output of a new node that stands in front of node `before`.
  std::string AddNode(int before, const std::string& op, const std::vector<std::string>& inputs,
                      int64_t axis = -1) {
    onnx::NodeProto node;
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(NewName(op));
    node.set_name(node.output(0));
    if (axis >= 0) {
      auto* attribute = node.add_attribute();
      attribute->set_name("axis");
      attribute->set_type(onnx::AttributeProto::INT);
      attribute->set_i(axis);
    }
    const std::string output = node.output(0);
    added_[before].push_back(std::move(node));
    return output;
  }
  /// "[batch]" as a value, read from the first input.
  std::string BatchVector(const std::string& picture_input) {
    if (batch_vector_.empty()) {
      const std::string shape = AddNode(0, "Shape", {picture_input});
      batch_vector_ = AddNode(0, "Slice", {shape, AddIntegers({0}), AddIntegers({1})});
    }
    return batch_vector_;
  }
  /// Puts the new nodes into the graph.
  void Finish() {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    for (int i = 0; i < graph_->node_size(); ++i) {
      for (auto& node : added_[i]) nodes.Add(std::move(node));
      nodes.Add(std::move(*graph_->mutable_node(i)));
    }
    graph_->mutable_node()->Swap(&nodes);
  }

 private:
  onnx::TensorProto* AddConstant(int type, size_t size) {
    auto* tensor = graph_->add_initializer();
    tensor->set_name(NewName("constant"));
    tensor->set_data_type(type);
    tensor->add_dims(static_cast<int64_t>(size));
    return tensor;
  }
  std::string NewName(const std::string& stem) {
    std::string name;
    do {
      name = fmt::format("rebatch_{}_{}", stem, counter_++);
    } while (!names_.insert(name).second);
    return name;
  }

  onnx::GraphProto* const graph_;
  std::set<std::string> names_;
  std::map<int, std::vector<onnx::NodeProto>> added_;
  std::string batch_vector_;
  int counter_ = 0;
};

void Apply(const BatchEdit& edit, int64_t batch, const std::string& picture_input,
           onnx::GraphProto* graph, GraphEditor* editor) {
  onnx::NodeProto* node = graph->mutable_node(edit.node);
  switch (edit.kind) {
    case BatchEdit::Kind::kIntegers:
      node->set_input(edit.input, editor->AddIntegers(edit.integers));
      // A zero of the new shape is an extent of zero only where the old one's were.
      return;
    case BatchEdit::Kind::kScales:
      node->set_input(2, editor->AddFloats(edit.scales));
      node->mutable_input()->RemoveLast();
      return;
    case BatchEdit::Kind::kFirstCopy:
    case BatchEdit::Kind::kFollowBatch:
      break;
  }
  std::string operand = node->input(edit.input);
  if (batch > 1 || edit.kind == BatchEdit::Kind::kFirstCopy) {
    operand = editor->AddNode(edit.node, "Slice",
                              {operand, editor->AddIntegers({0}), editor->AddIntegers({1}),
                               editor->AddIntegers({edit.axis})});
  }
  if (edit.kind == BatchEdit::Kind::kFollowBatch) {
    std::vector<std::string> parts;
    if (edit.axis > 0)
      parts.push_back(editor->AddIntegers(std::vector<int64_t>(static_cast<size_t>(edit.axis), 1)));
    parts.push_back(editor->BatchVector(picture_input));
    if (const int behind = edit.rank - edit.axis - 1; behind > 0)
      parts.push_back(editor->AddIntegers(std::vector<int64_t>(static_cast<size_t>(behind), 1)));
    const std::string shape =
        parts.size() == 1 ? parts[0] : editor->AddNode(edit.node, "Concat", parts, 0);
    operand = editor->AddNode(edit.node, "Expand", {operand, shape});
  }
  node->set_input(edit.input, operand);
}

bool IsConstant(const onnx::GraphProto& graph, const std::string& name) {
  return std::any_of(graph.initializer().begin(), graph.initializer().end(),
                     [&](const auto& tensor) { return tensor.name() == name; });
}

/// What is known about further inputs of detection exports, by name.
struct KnownInput {
  const char* name;
  enum class Value { kOne, kHeightWidth, kWidthHeight } value;
  const char* meaning;
};
constexpr KnownInput kKnownInputs[] = {
    {"pixel_mask", KnownInput::Value::kOne, "ones: no pixel is padding"},
    {"scale_factor", KnownInput::Value::kOne, "ones: boxes in the network's pixels"},
    {"im_shape", KnownInput::Value::kHeightWidth, "the network's height and width"},
    {"orig_target_sizes", KnownInput::Value::kWidthHeight, "the network's width and height"},
};

}  // namespace

void MakeBatchDynamic(GraphFile* file, const BatchTrace& trace, int64_t batch,
                      const std::string& picture_input) {
  onnx::GraphProto* graph = file->model().mutable_graph();
  GraphEditor editor(graph);
  for (const BatchEdit& edit : trace.edits) Apply(edit, batch, picture_input, graph, &editor);
  editor.Finish();
  graph->clear_value_info();
  for (auto& input : *graph->mutable_input()) {
    if (!IsConstant(*graph, input.name())) SetAxis(&input, 0);
  }
  for (auto& output : *graph->mutable_output()) {
    const auto& batched = trace.batched_outputs;
    if (std::find(batched.begin(), batched.end(), output.name()) != batched.end())
      SetAxis(&output, 0);
  }
}

void MakeBatchStatic(GraphFile* file, const std::vector<std::string>& batched_outputs,
                     int64_t batch) {
  onnx::GraphProto* graph = file->model().mutable_graph();
  graph->clear_value_info();
  for (auto& input : *graph->mutable_input()) {
    if (!IsConstant(*graph, input.name())) SetAxis(&input, batch);
  }
  for (auto& output : *graph->mutable_output()) {
    if (std::find(batched_outputs.begin(), batched_outputs.end(), output.name()) !=
        batched_outputs.end())
      SetAxis(&output, batch);
  }
}

Result<std::vector<FoldedInput>> KnownFurtherInputs(const GraphFile& file,
                                                    const std::string& picture_input,
                                                    const std::vector<int64_t>& picture) {
  std::vector<FoldedInput> inputs;
  const onnx::GraphProto& graph = file.model().graph();
  for (const auto& input : graph.input()) {
    if (input.name() == picture_input || IsConstant(graph, input.name())) continue;
    const auto known =
        std::find_if(std::begin(kKnownInputs), std::end(kKnownInputs),
                     [&](const KnownInput& candidate) { return candidate.name == input.name(); });
    if (known == std::end(kKnownInputs)) {
      return UnsupportedError(
          fmt::format("{}: takes a second input '{}' besides the picture '{}', and what to feed it "
                      "is not known; export the model again with the picture as its only input",
                      file.path(), input.name(), picture_input));
    }
    FoldedInput folded{input.name(), {2}, {1}, known->meaning};
    const auto height = static_cast<double>(picture[1]);
    const auto width = static_cast<double>(picture[2]);
    if (known->value == KnownInput::Value::kHeightWidth) folded.values = {height, width};
    if (known->value == KnownInput::Value::kWidthHeight) folded.values = {width, height};
    const auto& dims = input.type().tensor_type().shape().dim();
    if (input.name() == "pixel_mask") {
      folded.shape = {picture[1], picture[2]};
      // Some masks are of the network's stride, not of its size.
      for (int i = 1; i < dims.size() && dims.size() == 3; ++i) {
        if (dims[i].has_dim_value()) folded.shape[static_cast<size_t>(i - 1)] = dims[i].dim_value();
      }
    }
    if (dims.size() != static_cast<int>(folded.shape.size()) + 1) {
      return UnsupportedError(fmt::format(
          "{}: its second input '{}' has {} axes, {} are expected; export the model again with the "
          "picture as its only input",
          file.path(), input.name(), dims.size(), folded.shape.size() + 1));
    }
    inputs.push_back(folded);
  }
  return inputs;
}

Status FoldInputs(GraphFile* file, const std::vector<FoldedInput>& inputs,
                  const std::string& picture_input) {
  onnx::GraphProto* graph = file->model().mutable_graph();
  GraphEditor editor(graph);
  for (const FoldedInput& folded : inputs) {
    auto* infos = graph->mutable_input();
    int type = 0;
    for (int i = infos->size() - 1; i >= 0; --i) {
      if (infos->Get(i).name() != folded.name) continue;
      type = infos->Get(i).type().tensor_type().elem_type();
      infos->DeleteSubrange(i, 1);
    }
    auto* tensor = graph->add_initializer();
    tensor->set_name(folded.name + "_for_one_picture");
    tensor->set_data_type(type);
    tensor->add_dims(1);
    int64_t count = 1;
    for (const int64_t dim : folded.shape) {
      tensor->add_dims(dim);
      count *= dim;
    }
    for (int64_t i = 0; i < count; ++i) {
      const double value = folded.values[static_cast<size_t>(i) % folded.values.size()];
      switch (type) {
        case onnx::TensorProto::FLOAT:
          tensor->add_float_data(static_cast<float>(value));
          break;
        case onnx::TensorProto::INT64:
          tensor->add_int64_data(static_cast<int64_t>(value));
          break;
        case onnx::TensorProto::INT32:
        case onnx::TensorProto::BOOL:
          tensor->add_int32_data(static_cast<int32_t>(value));
          break;
        default:
          return UnsupportedError(
              fmt::format("{}: its second input '{}' has a type that is not "
                          "supported",
                          file->path(), folded.name));
      }
    }
    const std::string shape = editor.AddNode(
        0, "Concat", {editor.BatchVector(picture_input), editor.AddIntegers(folded.shape)}, 0);
    const std::string repeated = editor.AddNode(0, "Expand", {tensor->name(), shape});
    for (auto& node : *graph->mutable_node()) {
      for (auto& input : *node.mutable_input()) {
        if (input == folded.name) input = repeated;
      }
    }
  }
  editor.Finish();
  return OkStatus();
}

}  // namespace sg
