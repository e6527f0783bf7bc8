#include "onnx/simplify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sg {
namespace {

onnx::NodeProto* AddNode(onnx::GraphProto* graph, const std::string& op,
                         const std::vector<std::string>& inputs, const std::string& output) {
  auto* node = graph->add_node();
  node->set_op_type(op);
  for (const auto& input : inputs) node->add_input(input);
  node->add_output(output);
  return node;
}

void AddWeight(onnx::GraphProto* graph, const std::string& name, const std::vector<float>& values) {
  auto* tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  tensor->set_raw_data(values.data(), values.size() * sizeof(float));
}

onnx::ModelProto Model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  model.mutable_graph()->add_input()->set_name("x");
  model.mutable_graph()->add_output()->set_name("y");
  return model;
}

class SimplifyTest : public testing::Test {
 protected:
  GraphFile Open(const onnx::ModelProto& model) {
    bytes_ = model.SerializeAsString();
    auto file = GraphFile::FromBytes(bytes_, "test");
    EXPECT_TRUE(file.ok());
    return *file;
  }
  static std::vector<std::string> Ops(const GraphFile& file) {
    std::vector<std::string> ops;
    for (const auto& node : file.model().graph().node()) ops.push_back(node.op_type());
    return ops;
  }
  std::string bytes_;
};

using Strings = std::vector<std::string>;

TEST_F(SimplifyTest, ConstantPartIsWhatDependsOnNoInput) {
  onnx::ModelProto model = Model();
  auto* graph = model.mutable_graph();
  AddWeight(graph, "a", {1, 2});
  AddWeight(graph, "b", {3, 4});
  AddNode(graph, "Add", {"a", "b"}, "sum");
  AddNode(graph, "Sqrt", {"sum"}, "root");
  AddNode(graph, "Mul", {"x", "root"}, "y");
  GraphFile file = Open(model);
  const ConstantPart part = FindConstantPart(file);
  EXPECT_EQ(part.nodes, (std::set<int>{0, 1}));
  ASSERT_EQ(part.model.graph().output_size(), 1);
  EXPECT_EQ(part.model.graph().output(0).name(), "root");

  onnx::TensorProto value;
  value.set_name("root");
  value.set_data_type(onnx::TensorProto::FLOAT);
  value.set_raw_data(std::string(8, '\0'));
  EXPECT_EQ(ReplaceConstantPart(&file, part, {value}), 1);
  EXPECT_EQ(RemoveIdle(&file).nodes, 1);
  EXPECT_EQ(Ops(file), (Strings{"Mul"}));
  EXPECT_EQ(file.model().graph().initializer_size(), 1);
}

TEST_F(SimplifyTest, QuantisationAndRandomNumbersStay) {
  onnx::ModelProto model = Model();
  auto* graph = model.mutable_graph();
  AddWeight(graph, "w", {1, 2});
  AddNode(graph, "DequantizeLinear", {"w", "w"}, "d");
  AddNode(graph, "RandomNormalLike", {"w"}, "r");
  AddNode(graph, "Add", {"d", "r"}, "s");
  AddNode(graph, "Add", {"x", "s"}, "y");
  EXPECT_TRUE(FindConstantPart(Open(model)).nodes.empty());
}

TEST_F(SimplifyTest, ValuesThatGrowStayComputed) {
  onnx::ModelProto model = Model();
  auto* graph = model.mutable_graph();
  AddWeight(graph, "w", {1});
  AddNode(graph, "Expand", {"w", "w"}, "large");
  AddNode(graph, "Add", {"x", "large"}, "y");
  GraphFile file = Open(model);
  const ConstantPart part = FindConstantPart(file);
  onnx::TensorProto value;
  value.set_name("large");
  value.set_raw_data(std::string(1 << 20, '\0'));
  EXPECT_EQ(ReplaceConstantPart(&file, part, {value}), 0);
  EXPECT_EQ(Ops(file), (Strings{"Expand", "Add"}));
}

TEST_F(SimplifyTest, IdleNodesGoAndNamesOfInputsAndOutputsStay) {
  onnx::ModelProto model = Model();
  auto* graph = model.mutable_graph();
  AddWeight(graph, "unused", {1});
  AddNode(graph, "Identity", {"x"}, "a");
  AddNode(graph, "Dropout", {"a"}, "b");
  AddNode(graph, "Relu", {"b"}, "c");
  AddNode(graph, "Relu", {"a"}, "nobody_reads_this");
  AddNode(graph, "Identity", {"c"}, "y");
  GraphFile file = Open(model);
  const CleanedUp cleaned = RemoveIdle(&file);
  EXPECT_EQ(cleaned.nodes, 3);
  EXPECT_EQ(cleaned.weights, 1);
  EXPECT_EQ(Ops(file), (Strings{"Relu", "Identity"}));
  EXPECT_EQ(file.model().graph().node(0).input(0), "x");
  EXPECT_EQ(file.model().graph().node(1).output(0), "y");
}

TEST_F(SimplifyTest, DropoutWhoseMaskIsReadStays) {
  onnx::ModelProto model = Model();
  auto* graph = model.mutable_graph();
  AddNode(graph, "Dropout", {"x"}, "a")->add_output("mask");
  AddNode(graph, "Where", {"mask", "a", "x"}, "y");
  GraphFile file = Open(model);
  EXPECT_EQ(RemoveIdle(&file).nodes, 0);
}

TEST_F(SimplifyTest, ValuesThatASubgraphReadsStay) {
  onnx::ModelProto model = Model();
  auto* graph = model.mutable_graph();
  AddWeight(graph, "w", {1});
  AddNode(graph, "Identity", {"x"}, "outer");
  auto* branch = AddNode(graph, "If", {"x"}, "y")->add_attribute();
  branch->set_name("then_branch");
  branch->mutable_g()->add_output()->set_name("z");
  AddNode(branch->mutable_g(), "Add", {"outer", "w"}, "z");
  GraphFile file = Open(model);
  EXPECT_EQ(RemoveIdle(&file).nodes, 1);
  EXPECT_EQ(file.model().graph().initializer_size(), 1);
  EXPECT_EQ(file.model().graph().node(0).attribute(0).g().node(0).input(0), "x");
}

TEST_F(SimplifyTest, WeightsAreHalvedWithACastAndThoseThatOverflowAreKept) {
  onnx::ModelProto model = Model();
  auto* graph = model.mutable_graph();
  std::vector<float> large(300, 1.0F);
  large[7] = 70000.0F;
  AddWeight(graph, "fits", std::vector<float>(3000, 0.5F));
  AddWeight(graph, "large", large);
  AddWeight(graph, "small", {1, 2});
  AddNode(graph, "Sum", {"x", "fits", "large", "small"}, "y");
  GraphFile file = Open(model);
  const HalvedWeights halved = HalveWeights(&file);
  EXPECT_EQ(halved.halved, 1);
  EXPECT_EQ(halved.saved_bytes, 6000U);
  EXPECT_EQ(halved.kept, (Strings{"large"}));
  EXPECT_EQ(Ops(file), (Strings{"Cast", "Sum"}));
  EXPECT_EQ(file.model().graph().node(0).output(0), "fits");
  EXPECT_EQ(file.model().graph().initializer(0).data_type(), onnx::TensorProto::FLOAT16);
}

float FloatOf(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const float sign = (half & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

TEST(HalfBitsTest, EveryHalfComesBack) {
  for (int bits = 0; bits < 65536; ++bits) {
    const float value = FloatOf(static_cast<uint16_t>(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(FloatOf(HalfBits(value))));
    else
      ASSERT_EQ(HalfBits(value), bits) << value;
  }
}

TEST(HalfBitsTest, RoundsToTheNearestAndTiesToEven) {
  for (int bits = 0; bits < 0x7BFF; ++bits) {
    const float low = FloatOf(static_cast<uint16_t>(bits));
    const float high = FloatOf(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(HalfBits(middle), (bits % 2 == 0) ? bits : bits + 1) << middle;
    ASSERT_EQ(HalfBits(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(HalfBits(std::nextafter(middle, INFINITY)), bits + 1);
  }
  EXPECT_EQ(HalfBits(65519.0F), 0x7BFF);
  EXPECT_EQ(HalfBits(65520.0F), 0x7C00);
  EXPECT_EQ(HalfBits(-1e30F), 0xFC00);
  EXPECT_EQ(HalfBits(std::ldexp(1.0F, -25)), 0);
  EXPECT_EQ(HalfBits(std::nextafter(std::ldexp(1.0F, -25), 1.0F)), 1);
}

}  // namespace
}  // namespace sg
