#include "onnx/onnx_file.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files.h"

namespace sg {
namespace {

const char* const kDemo = SG_SOURCE_DIR "/assets/pedestrian-rtdetr/onnx/model.onnx";

class OnnxFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "onnx_file_test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { EXPECT_TRUE(RemoveAll(folder_).ok()); }

  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = JoinPath(folder_, name);
    EXPECT_TRUE(WriteFileAtomic(path, bytes).ok());
    return path;
  }
  std::string Write(const onnx::ModelProto& model) {
    return Write("model.onnx", model.SerializeAsString());
  }
  Error ErrorOf(const std::string& path) {
    auto summary = ReadOnnxFile(path);
    EXPECT_FALSE(summary.ok());
    return summary.ok() ? Error{} : summary.error();
  }

  /// y = x + w, with w of two floats.
  static onnx::ModelProto AddModel() {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    auto* graph = model.mutable_graph();
    auto* node = graph->add_node();
    node->set_op_type("Add");
    node->add_input("x");
    node->add_input("w");
    node->add_output("y");
    for (auto* info : {graph->add_input(), graph->add_output()}) {
      auto* type = info->mutable_type()->mutable_tensor_type();
      type->set_elem_type(1);
      type->mutable_shape()->add_dim()->set_dim_param("batch");
      type->mutable_shape()->add_dim()->set_dim_value(2);
    }
    graph->mutable_input(0)->set_name("x");
    graph->mutable_output(0)->set_name("y");
    auto* weight = graph->add_initializer();
    weight->set_name("w");
    weight->set_data_type(1);
    weight->add_dims(2);
    weight->set_raw_data(std::string(8, '\0'));
    return model;
  }
  static void MakeExternal(onnx::ModelProto* model, const std::string& location,
                           const std::string& offset) {
    auto* weight = model->mutable_graph()->mutable_initializer(0);
    weight->clear_raw_data();
    weight->set_data_location(onnx::TensorProto::EXTERNAL);
    auto* entry = weight->add_external_data();
    entry->set_key("location");
    entry->set_value(location);
    entry = weight->add_external_data();
    entry->set_key("offset");
    entry->set_value(offset);
  }

  std::string folder_;
};

TEST_F(OnnxFileTest, DemoModelIsDescribed) {
  auto summary = ReadOnnxFile(kDemo);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->opset, 17);
  ASSERT_EQ(summary->inputs.size(), 1U);
  EXPECT_EQ(summary->inputs[0].name, "pixel_values");
  ASSERT_EQ(summary->inputs[0].dims.size(), 4U);
  EXPECT_FALSE(summary->inputs[0].dims[0].value.has_value());
  EXPECT_EQ(summary->inputs[0].dims[3].value, 320);
  const OnnxTensor* logits = summary->FindOutput("logits");
  ASSERT_NE(logits, nullptr);
  EXPECT_EQ(logits->elem_type, "float32");
  EXPECT_EQ(summary->size_bytes, 8928374U);
  EXPECT_EQ(summary->sha256.size(), 64U);
  EXPECT_GT(summary->weight_bytes.at("float32"), 8000000U);
  EXPECT_FALSE(summary->has_external_data);
  EXPECT_FALSE(FixedBatch(*summary).has_value());
  EXPECT_TRUE(CheckOperatorDomains(*summary).ok());
}

TEST_F(OnnxFileTest, EveryPrefixOfTheDemoModelIsRefusedWithTheRemedy) {
  auto bytes = ReadFile(kDemo);
  ASSERT_TRUE(bytes.ok());
  for (size_t part = 0; part < 50; ++part) {
    const std::string path = Write("cut.onnx", bytes->substr(0, bytes->size() * part / 50));
    const Error error = ErrorOf(path);
    EXPECT_EQ(error.kind, ErrorKind::kUser) << part;
    EXPECT_NE(error.message.find("download"), std::string::npos) << part << error.message;
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
  }
}

TEST_F(OnnxFileTest, PrefixesThatEndBetweenFieldsAreRefused) {
  const std::string bytes = AddModel().SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadOnnxFile(Write("cut.onnx", bytes.substr(0, size))).ok()) << size;
  }
  EXPECT_TRUE(ReadOnnxFile(Write("whole.onnx", bytes)).ok());
}

TEST_F(OnnxFileTest, MissingFileAndFolderAndPagesAreNamed) {
  EXPECT_NE(ErrorOf(folder_ + "/none.onnx").message.find("no such file"), std::string::npos);
  EXPECT_NE(ErrorOf(folder_).message.find("folder"), std::string::npos);
  EXPECT_NE(ErrorOf(Write("a.onnx", "\n<!doctype html>")).message.find("web page"),
            std::string::npos);
  EXPECT_NE(ErrorOf(Write("b.onnx", "version https://git-lfs.github.com/spec/v1\n"))
                .message.find("git lfs pull"),
            std::string::npos);
}

TEST_F(OnnxFileTest, WeightWithTooFewBytesIsRefused) {
  auto model = AddModel();
  model.mutable_graph()->mutable_initializer(0)->set_raw_data("1234567");
  const Error error = ErrorOf(Write(model));
  EXPECT_NE(error.message.find("'w' has 7 bytes, its shape needs 8"), std::string::npos)
      << error.message;
}

TEST_F(OnnxFileTest, ValueThatNothingMakesIsRefused) {
  auto model = AddModel();
  model.mutable_graph()->mutable_node(0)->set_input(1, "v");
  EXPECT_NE(ErrorOf(Write(model)).message.find("nothing makes 'v'"), std::string::npos);
  model = AddModel();
  model.mutable_graph()->mutable_output(0)->set_name("z");
  EXPECT_NE(ErrorOf(Write(model)).message.find("output 'z'"), std::string::npos);
}

TEST_F(OnnxFileTest, SubgraphSeesTheValuesAroundIt) {
  auto model = AddModel();
  auto* attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("body");
  auto* node = attribute->mutable_g()->add_node();
  node->set_op_type("Relu");
  node->add_input("w");
  node->add_output("inner");
  auto summary = ReadOnnxFile(Write(model));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->operators.size(), 2U);
  node->set_input(0, "nowhere");
  EXPECT_FALSE(ReadOnnxFile(Write(model)).ok());
}

TEST_F(OnnxFileTest, ForeignOperatorsAreListedWithTheirDomain) {
  auto model = AddModel();
  model.mutable_graph()->mutable_node(0)->set_domain("com.microsoft");
  model.mutable_graph()->mutable_node(0)->set_op_type("FusedConv");
  auto summary = ReadOnnxFile(Write(model));
  ASSERT_TRUE(summary.ok());
  const Status status = CheckOperatorDomains(*summary);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(status.error().message.find("FusedConv (com.microsoft)"), std::string::npos);
}

TEST_F(OnnxFileTest, ModelsOwnFunctionsAreNotForeign) {
  auto model = AddModel();
  model.mutable_graph()->mutable_node(0)->set_domain("my.functions");
  auto* function = model.add_functions();
  function->set_domain("my.functions");
  function->set_name("Add");
  auto summary = ReadOnnxFile(Write(model));
  ASSERT_TRUE(summary.ok());
  EXPECT_TRUE(CheckOperatorDomains(*summary).ok());
}

TEST_F(OnnxFileTest, FixedBatchIsFound) {
  auto model = AddModel();
  auto* dim = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  dim->mutable_shape()->mutable_dim(0)->set_dim_value(1);
  auto summary = ReadOnnxFile(Write(model));
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(FixedBatch(*summary), 1);
}

TEST_F(OnnxFileTest, ExternalWeightsMustBeThereAndLongEnough) {
  auto model = AddModel();
  MakeExternal(&model, "weights.bin", "4");
  EXPECT_NE(ErrorOf(Write(model)).message.find("'weights.bin', which is missing"),
            std::string::npos);
  Write("weights.bin", std::string(11, 'x'));
  EXPECT_NE(ErrorOf(Write(model)).message.find("truncated: 11 bytes"), std::string::npos);
  Write("weights.bin", std::string(12, 'x'));
  auto summary = ReadOnnxFile(Write(model));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_TRUE(summary->has_external_data);
  EXPECT_EQ(summary->external_files, std::vector<std::string>{"weights.bin"});
}

TEST_F(OnnxFileTest, WeightsOfTheHubsCacheAreLinksAndStayWithTheModel) {
  auto model = AddModel();
  MakeExternal(&model, "weights.bin", "0");
  const std::string snapshot = JoinPath(folder_, "models--a--b/snapshots/0a1b/onnx");
  ASSERT_TRUE(MakeFolders(snapshot).ok());
  ASSERT_TRUE(MakeFolders(JoinPath(folder_, "models--a--b/blobs")).ok());
  Write("models--a--b/blobs/1", std::string(8, 'x'));
  Write("elsewhere", std::string(8, 'x'));
  const std::string path = JoinPath(snapshot, "model.onnx");
  ASSERT_TRUE(WriteFileAtomic(path, model.SerializeAsString()).ok());
  const std::string link = JoinPath(snapshot, "weights.bin");
  ASSERT_EQ(symlink("../../../blobs/1", link.c_str()), 0);
  EXPECT_TRUE(ReadOnnxFile(path).ok());
  ASSERT_EQ(unlink(link.c_str()), 0);
  ASSERT_EQ(symlink("../../../../elsewhere", link.c_str()), 0);
  EXPECT_NE(ErrorOf(path).message.find("outside the model's folder"), std::string::npos);
}

TEST_F(OnnxFileTest, ExternalWeightsOutsideTheFolderAreRefused) {
  for (const char* location : {"../weights.bin", "/etc/hostname", "a/../../weights.bin", ""}) {
    auto model = AddModel();
    MakeExternal(&model, location, "0");
    EXPECT_NE(ErrorOf(Write(model)).message.find("outside the model's folder"), std::string::npos)
        << location;
  }
}

}  // namespace
}  // namespace sg
