#include "onnx/input_front.h"

#include <gtest/gtest.h>

#include <cstring>

#include "onnx/graph_file.h"
#include "onnx/graph_index.h"

namespace sg {
namespace {

const InputFront kImageNet = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, false, false};

struct TestGraph {
  int64_t opset = 17;
  int64_t pad = 0;
  bool bias = true;
  int32_t type = onnx::TensorProto::FLOAT;
  std::vector<int64_t> dims = {1, 3, 8, 8};
  std::vector<std::string> before = {};  ///< operators between the input "x" and the convolution
};

onnx::NodeProto* AddNode(onnx::GraphProto* graph, const std::string& op,
                         const std::vector<std::string>& inputs, const std::string& output) {
  auto* node = graph->add_node();
  node->set_op_type(op);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  return node;
}

void AddFloats(onnx::GraphProto* graph, const std::string& name, const std::vector<int64_t>& dims,
               const std::vector<float>& values) {
  auto* tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : dims) tensor->add_dims(dim);
  for (const float value : values) tensor->add_float_data(value);
}

/// x → (before) → Conv 1×1 of two filters → y.
std::string Bytes(const TestGraph& test) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(test.opset);
  auto* graph = model.mutable_graph();
  graph->set_name("g");
  auto* type = graph->add_input()->mutable_type()->mutable_tensor_type();
  graph->mutable_input(0)->set_name("x");
  type->set_elem_type(test.type);
  for (const int64_t dim : test.dims) type->mutable_shape()->add_dim()->set_dim_value(dim);
  std::string value = "x";
  for (const std::string& op : test.before) {
    AddNode(graph, op, {value}, value + "_" + op);
    value += "_" + op;
  }
  AddFloats(graph, "w", {2, 3, 1, 1}, {1, 2, 3, -1, 0.5, 4});
  std::vector<std::string> inputs = {value, "w"};
  if (test.bias) {
    AddFloats(graph, "b", {2}, {10, 20});
    inputs.push_back("b");
  }
  auto* conv = AddNode(graph, "Conv", inputs, "y");
  auto* pads = conv->add_attribute();
  pads->set_name("pads");
  pads->set_type(onnx::AttributeProto::INTS);
  for (int i = 0; i < 4; ++i) pads->add_ints(test.pad);
  graph->add_output()->set_name("y");
  return model.SerializeAsString();
}

class InputFrontTest : public testing::Test {
 protected:
  GraphFile Open(const TestGraph& test) {
    bytes_ = Bytes(test);
    auto file = GraphFile::FromBytes(bytes_, "test.onnx");
    EXPECT_TRUE(file.ok());
    return *std::move(file);
  }
  std::vector<float> Numbers(const GraphFile& file, const std::string& name) {
    const onnx::TensorProto* tensor = GraphIndex(file).Constant(name);
    EXPECT_NE(tensor, nullptr) << name;
    if (tensor == nullptr) return {};
    std::vector<float> values(tensor->raw_data().size() / sizeof(float));
    std::memcpy(values.data(), tensor->raw_data().data(), tensor->raw_data().size());
    return values;
  }
  std::vector<std::string> Operators(const GraphFile& file) {
    std::vector<std::string> operators;
    for (const auto& node : file.model().graph().node()) operators.push_back(node.op_type());
    return operators;
  }
  std::string bytes_;
};

TEST_F(InputFrontTest, OneConvolutionWithoutPaddingTakesMeanAndStdIntoItsWeights) {
  for (const bool bias : {true, false}) {
    GraphFile file = Open({.bias = bias});
    ASSERT_TRUE(FitsIntoWeights(file, "x", kImageNet));
    ASSERT_TRUE(PutFront(&file, "x", kImageNet, FrontPlace::kWeights).ok());
    EXPECT_EQ(Operators(file), std::vector<std::string>{"Conv"});
    EXPECT_EQ(file.model().graph().initializer_size(), 2);  // the old ones are gone
    const auto& node = file.model().graph().node(0);
    ASSERT_EQ(node.input_size(), 3);
    const std::vector<float> weights = Numbers(file, node.input(1));
    const std::vector<float> biases = Numbers(file, node.input(2));
    ASSERT_EQ(weights.size(), 6U);
    EXPECT_FLOAT_EQ(weights[4], static_cast<float>(0.5 / 0.224));
    EXPECT_FLOAT_EQ(biases[0], static_cast<float>((bias ? 10 : 0) - 0.485 / 0.229 -
                                                  2 * 0.456 / 0.224 - 3 * 0.406 / 0.225));
  }
}

TEST_F(InputFrontTest, WeightsThatSomethingElseTakesStay) {
  GraphFile file = Open({});
  AddNode(file.model().mutable_graph(), "Identity", {"w"}, "z");
  ASSERT_TRUE(PutFront(&file, "x", kImageNet, FrontPlace::kWeights).ok());
  EXPECT_NE(GraphIndex(file).Constant("w"), nullptr);
  EXPECT_EQ(GraphIndex(file).Constant("b"), nullptr);
}

TEST_F(InputFrontTest, APaddedOrSharedFirstConvolutionGetsNodesInstead) {
  // A padded zero is not a padded mean.
  EXPECT_FALSE(FitsIntoWeights(Open({.pad = 1}), "x", kImageNet));
  EXPECT_FALSE(FitsIntoWeights(Open({.before = {"Relu"}}), "x", kImageNet));
  EXPECT_FALSE(FitsIntoWeights(Open({.type = onnx::TensorProto::FLOAT16}), "x", kImageNet));
  GraphFile file = Open({});
  AddNode(file.model().mutable_graph(), "Relu", {"x"}, "z");
  EXPECT_FALSE(FitsIntoWeights(file, "x", kImageNet));
  file = Open({});
  AddNode(file.model().mutable_graph(), "Shape", {"x"}, "z");
  EXPECT_TRUE(FitsIntoWeights(file, "x", kImageNet));
  auto* same = file.model().mutable_graph()->mutable_node(0)->add_attribute();
  same->set_name("auto_pad");
  same->set_s("SAME_UPPER");
  EXPECT_FALSE(FitsIntoWeights(file, "x", kImageNet));
}

TEST_F(InputFrontTest, NodesStandInFrontAndTheInputKeepsItsName) {
  GraphFile file = Open({.pad = 1});
  ASSERT_TRUE(PutFront(&file, "x", kImageNet, FrontPlace::kNodes).ok());
  EXPECT_EQ(Operators(file), (std::vector<std::string>{"Sub", "Div", "Conv"}));
  const auto& graph = file.model().graph();
  EXPECT_EQ(graph.input(0).name(), "x");
  EXPECT_EQ(graph.node(0).input(0), "x");
  EXPECT_EQ(graph.node(2).input(0), graph.node(1).output(0));
  EXPECT_EQ(Numbers(file, graph.node(0).input(1)), (std::vector<float>{0.485F, 0.456F, 0.406F}));
  const auto* mean = GraphIndex(file).Constant(graph.node(0).input(1));
  EXPECT_EQ(mean->dims_size(), 4);
  EXPECT_EQ(mean->dims(1), 3);
  EXPECT_EQ(graph.node(0).attribute_size(), 0);
}

TEST_F(InputFrontTest, OldOpsetsBroadcastByAttribute) {
  GraphFile file = Open({.opset = 6, .pad = 1});
  ASSERT_TRUE(PutFront(&file, "x", kImageNet, FrontPlace::kNodes).ok());
  const auto& sub = file.model().graph().node(0);
  EXPECT_EQ(IntegerAttribute(sub, "broadcast", 0), 1);
  EXPECT_EQ(IntegerAttribute(sub, "axis", 0), 1);
  EXPECT_EQ(GraphIndex(file).Constant(sub.input(1))->dims_size(), 1);
}

TEST_F(InputFrontTest, NamesThatTheGraphHasAreNotTakenAgain) {
  GraphFile file = Open({.pad = 1});
  AddFloats(file.model().mutable_graph(), "front_mean", {1}, {1});
  AddNode(file.model().mutable_graph(), "Identity", {"front_mean"}, "front_Sub");
  ASSERT_TRUE(PutFront(&file, "x", kImageNet, FrontPlace::kNodes).ok());
  EXPECT_EQ(file.model().graph().node(0).output(0), "front_Sub_2");
}

TEST_F(InputFrontTest, HalfFloatsAreCastAfterTheArithmetic) {
  GraphFile file = Open({.type = onnx::TensorProto::FLOAT16});
  ASSERT_TRUE(PutFront(&file, "x", kImageNet, FrontPlace::kNodes).ok());
  EXPECT_EQ(Operators(file), (std::vector<std::string>{"Sub", "Div", "Cast", "Conv"}));
  EXPECT_EQ(file.model().graph().input(0).type().tensor_type().elem_type(),
            onnx::TensorProto::FLOAT);
  EXPECT_EQ(IntegerAttribute(file.model().graph().node(2), "to", 0), onnx::TensorProto::FLOAT16);
}

TEST_F(InputFrontTest, ChannelsLastAreTransposedAndTheInputTurned) {
  GraphFile file = Open({.dims = {1, 4, 8, 3}, .before = {"Transpose"}});
  const InputFront front = {kImageNet.mean, kImageNet.std, true, false};
  EXPECT_FALSE(FitsIntoWeights(file, "x", front));
  ASSERT_TRUE(PutFront(&file, "x", front, FrontPlace::kNodes).ok());
  EXPECT_EQ(Operators(file),
            (std::vector<std::string>{"Sub", "Div", "Transpose", "Transpose", "Conv"}));
  const auto& shape = file.model().graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(1).dim_value(), 3);
  EXPECT_EQ(shape.dim(2).dim_value(), 4);
  EXPECT_EQ(shape.dim(3).dim_value(), 8);
}

TEST_F(InputFrontTest, BytesThatAreCastAnyhowBecomeFloatsWithoutANode) {
  const InputFront front = {{}, {}, false, true};
  GraphFile file = Open(
      {.type = onnx::TensorProto::UINT8, .dims = {1, 3, 4, 8}, .before = {"Identity", "Cast"}});
  auto* stale = file.model().mutable_graph()->add_value_info();
  stale->set_name("x_Identity");
  stale->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::UINT8);
  ASSERT_TRUE(PutFront(&file, "x", front, FrontPlace::kNodes).ok());
  EXPECT_EQ(Operators(file), (std::vector<std::string>{"Identity", "Cast", "Conv"}));
  EXPECT_EQ(file.model().graph().value_info_size(), 0);
  EXPECT_EQ(file.model().graph().input(0).type().tensor_type().elem_type(),
            onnx::TensorProto::FLOAT);
  // Something that works on bytes gets bytes.
  file = Open({.type = onnx::TensorProto::UINT8, .before = {"DequantizeLinear"}});
  ASSERT_TRUE(PutFront(&file, "x", front, FrontPlace::kNodes).ok());
  EXPECT_EQ(Operators(file), (std::vector<std::string>{"Cast", "DequantizeLinear", "Conv"}));
  EXPECT_EQ(IntegerAttribute(file.model().graph().node(0), "to", 0), onnx::TensorProto::UINT8);
}

TEST_F(InputFrontTest, SubgraphsTakeTheFrontsValueToo) {
  GraphFile file = Open({.pad = 1});
  auto* branch = AddNode(file.model().mutable_graph(), "If", {"c"}, "z")->add_attribute();
  branch->set_name("then_branch");
  branch->set_type(onnx::AttributeProto::GRAPH);
  AddNode(branch->mutable_g(), "Relu", {"x"}, "inner");
  EXPECT_FALSE(FitsIntoWeights(file, "x", kImageNet));
  ASSERT_TRUE(PutFront(&file, "x", kImageNet, FrontPlace::kNodes).ok());
  EXPECT_EQ(file.model().graph().node(3).attribute(0).g().node(0).input(0), "front_Div");
}

TEST_F(InputFrontTest, WhatIsNoFrontIsRefused) {
  GraphFile file = Open({});
  EXPECT_EQ(PutFront(&file, "nobody", kImageNet, FrontPlace::kNodes).status().error().kind,
            ErrorKind::kUser);
  EXPECT_FALSE(PutFront(&file, "x", {{1}, {1}, false, false}, FrontPlace::kNodes).ok());
}

}  // namespace
}  // namespace sg
