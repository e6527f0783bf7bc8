#include "onnx/onnx_contents.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "base/files.h"

namespace sg {
namespace {

OnnxContents Told(const std::map<std::string, uint64_t>& elements,
                  const std::vector<std::string>& operators = {}, std::set<int> bits = {}) {
  WeightFacts facts;
  facts.elements = elements;
  for (const std::string& type : operators) ++facts.operators[type];
  facts.block_bits = std::move(bits);
  OnnxContents contents;
  TellVariant(facts, &contents);
  return contents;
}

TEST(OnnxContents, MostWeightsNameTheVariant) {
  EXPECT_EQ(Told({{"float32", 1000}, {"int64", 5000}}).variant, "fp32");
  EXPECT_EQ(Told({{"float32", 1000}, {"int64", 5000}}).weights, "float32 weights");
  EXPECT_EQ(Told({{"float16", 900}, {"float32", 100}}).weights, "mostly float16 weights");
  EXPECT_EQ(Told({{"uint8", 600}, {"int8", 300}, {"float32", 800}}).variant, "int8");
  EXPECT_EQ(Told({{"uint4", 900}, {"float16", 100}}).variant, "int4");
  EXPECT_EQ(Told({{"float8e4m3fn", 900}}).variant, "fp8");
  EXPECT_EQ(Told({{"bfloat16", 900}}).variant, "bf16");
  EXPECT_EQ(Told({{"int64", 10}}).variant, "");
  EXPECT_EQ(Told({}).variant, "");
}

TEST(OnnxContents, GraphsThatComputeInEightBitsAreInt8) {
  EXPECT_EQ(Told({{"float32", 9}}, {"QuantizeLinear", "DequantizeLinear"}).variant, "int8");
  EXPECT_EQ(Told({{"float32", 9}}, {"DequantizeLinear"}).variant, "fp32");
  EXPECT_EQ(Told({{"float32", 9}, {"int8", 2}}, {"MatMulInteger"}).variant, "int8")
      << "a backbone that stayed in float32";
  EXPECT_EQ(Told({{"uint8", 9}, {"float32", 90}}, {"MatMulNBits"}, {4}).variant, "int4");
  EXPECT_EQ(Told({{"uint8", 9}, {"float32", 90}}, {"MatMulNBits"}, {8}).variant, "int8");
}

class OnnxContentsFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "onnx_contents_test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { EXPECT_TRUE(RemoveAll(folder_).ok()); }

  Result<OnnxContents> Read(const std::string& bytes) {
    const std::string path = JoinPath(folder_, "model.onnx");
    EXPECT_TRUE(WriteFileAtomic(path, bytes).ok());
    return ReadOnnxContents(path);
  }

  static void AddWeight(onnx::TensorProto* weight, int type, int64_t elements,
                        const std::string& location) {
    weight->set_data_type(type);
    weight->add_dims(elements);
    if (location.empty()) return;
    weight->set_data_location(onnx::TensorProto::EXTERNAL);
    auto* entry = weight->add_external_data();
    entry->set_key("location");
    entry->set_value(location);
  }

  std::string folder_;
};

TEST_F(OnnxContentsFile, SubgraphsFunctionsAndAbsentExternalFilesCount) {
  onnx::ModelProto model;
  auto* graph = model.mutable_graph();
  AddWeight(graph->add_initializer(), 10, 500, "model.onnx_data");
  auto* node = graph->add_node();
  node->set_op_type("If");
  auto* inner = node->add_attribute()->mutable_g();
  AddWeight(inner->add_initializer(), 1, 800, "inner.bin");
  auto* constant = inner->add_node();
  constant->set_op_type("Constant");
  AddWeight(constant->add_attribute()->mutable_t(), 1, 100, "");
  node = graph->add_node();
  node->set_op_type("MatMulNBits");
  node->set_domain("com.microsoft");
  auto* own = graph->add_node();
  own->set_op_type("Mine");
  own->set_domain("my.own");
  model.add_functions()->set_domain("my.own");

  const auto contents = Read(model.SerializeAsString());
  ASSERT_TRUE(contents.ok()) << contents.error().message;
  EXPECT_EQ(contents->variant, "int4") << "blocks of four bits, unless they say otherwise";
  EXPECT_EQ(contents->parameters, 1400u);
  EXPECT_EQ(contents->external_files, (std::vector<std::string>{"inner.bin", "model.onnx_data"}));
  EXPECT_EQ(contents->foreign_operators, std::vector<std::string>{"MatMulNBits (com.microsoft)"});
}

TEST_F(OnnxContentsFile, VariantsOfOneModelHaveOneSignature) {
  onnx::ModelProto model;
  AddWeight(model.mutable_graph()->add_initializer(), 1, 30, "");
  auto* input = model.mutable_graph()->add_input();
  input->set_name("pixel_values");
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(1);
  type->mutable_shape()->add_dim()->set_dim_param("batch");
  type->mutable_shape()->add_dim()->set_dim_value(320);
  const std::string fp32 = Read(model.SerializeAsString())->signature;
  type->set_elem_type(10);
  type->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  EXPECT_EQ(Read(model.SerializeAsString())->signature, fp32);
  type->mutable_shape()->mutable_dim(1)->set_dim_value(640);
  EXPECT_NE(Read(model.SerializeAsString())->signature, fp32);
}

TEST_F(OnnxContentsFile, OtherFilesAndPathsOutsideAreRefused) {
  EXPECT_FALSE(Read("version https://git-lfs.github.com/spec/v1\n").ok());
  EXPECT_FALSE(ReadOnnxContents(JoinPath(folder_, "none.onnx")).ok());
  for (const char* location : {"../weights.bin", "/etc/hostname", "a/../../b", ""}) {
    onnx::ModelProto model;
    AddWeight(model.mutable_graph()->add_initializer(), 1, 30, "x");
    auto* entry = model.mutable_graph()->mutable_initializer(0)->mutable_external_data(0);
    entry->set_value(location);
    const auto contents = Read(model.SerializeAsString());
    ASSERT_FALSE(contents.ok()) << location;
    EXPECT_NE(contents.error().message.find("outside its folder"), std::string::npos);
  }
}

}  // namespace
}  // namespace sg
