#include "onnx/graph_file.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing.h"
#include "onnx/batch_trace.h"
#include "onnx/graph_audit.h"
#include "onnx/wire_walk.h"

namespace sg {
namespace {

/// y = x + w, with w of 4096 floats, and a subgraph that holds another such weight.
onnx::ModelProto LargeModel() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto* graph = model.mutable_graph();
  auto* node = graph->add_node();
  node->set_op_type("Add");
  node->add_input("x");
  node->add_input("w");
  node->add_output("y");
  graph->add_input()->set_name("x");
  graph->add_output()->set_name("y");
  auto* attribute = node->add_attribute();
  attribute->set_name("body");
  for (auto* tensor : {graph->add_initializer(), attribute->mutable_g()->add_initializer(),
                       attribute->mutable_t()}) {
    tensor->set_name("w");
    tensor->set_data_type(1);
    tensor->add_dims(4096);
    std::string raw(4096 * sizeof(float), '\0');
    for (size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<char>(i % 63);
    tensor->set_raw_data(raw);
  }
  return model;
}

TEST(GraphFileTest, LargeWeightsAreNotInTheMessagesAndComeBackWhole) {
  const onnx::ModelProto model = LargeModel();
  const std::string bytes = model.SerializeAsString();
  auto file = GraphFile::FromBytes(bytes, "test");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const onnx::TensorProto& weight = file->model().graph().initializer(0);
  EXPECT_TRUE(weight.raw_data().empty());
  ASSERT_TRUE(file->IsMapped(weight));
  EXPECT_EQ(file->RawBytes(weight), model.graph().initializer(0).raw_data());
  EXPECT_GE(file->RawBytes(weight).data(), bytes.data());  // they are the file's own
  EXPECT_LT(file->RawBytes(weight).data(), bytes.data() + bytes.size());
  EXPECT_LT(file->model().ByteSizeLong(), 1000U);
  auto whole = file->WholeBytes();
  ASSERT_TRUE(whole.ok());
  onnx::ModelProto again;
  ASSERT_TRUE(again.ParseFromString(*whole));
  EXPECT_EQ(again.SerializeAsString(), bytes);
}

TEST(GraphFileTest, SkeletonTakesLargeWeightsAsInputs) {
  const std::string bytes = LargeModel().SerializeAsString();
  auto file = GraphFile::FromBytes(bytes, "test");
  ASSERT_TRUE(file.ok());
  onnx::ModelProto skeleton;
  ASSERT_TRUE(skeleton.ParseFromString(file->SkeletonBytes()));
  EXPECT_EQ(skeleton.graph().initializer_size(), 0);
  ASSERT_EQ(skeleton.graph().input_size(), 2);
  EXPECT_EQ(skeleton.graph().input(1).name(), "w");
  EXPECT_EQ(skeleton.graph().input(1).type().tensor_type().shape().dim(0).dim_value(), 4096);
}

TEST(GraphFileTest, EveryCutIsRefusedOrReadAsProtobufReadsIt) {
  const std::string bytes = LargeModel().SerializeAsString();
  for (size_t size = 1; size < bytes.size(); size += size < 200 ? 1 : 97) {
    onnx::ModelProto plain;
    const bool reads = plain.ParseFromString(bytes.substr(0, size));
    EXPECT_EQ(WithoutWeights(std::string_view(bytes).substr(0, size), "m").has_value(), reads)
        << size;
  }
}

TEST(GraphFileTest, ForgedPlacesOfWeightsAreNotBelieved) {
  auto model = LargeModel();
  auto* weight = model.mutable_graph()->mutable_initializer(0);
  weight->clear_raw_data();
  weight->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = weight->add_external_data();
  entry->set_key("\x01mapped-0000000000000000-0");
  entry->set_value("16384");
  const std::string bytes = model.SerializeAsString();
  auto file = GraphFile::FromBytes(bytes, "test");
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->IsMapped(file->model().graph().initializer(0)));
}

TEST(GraphFileTest, CorpusOfTheFuzzerIsReadOrRefused) {
  const std::string folder = SG_SOURCE_DIR "/fuzz/corpus/onnx";
  auto names = ListFolder(folder);
  ASSERT_TRUE(names.ok());
  EXPECT_GT(names->size(), 20U);
  for (const std::string& name : *names) {
    auto bytes = ReadFile(JoinPath(folder, name));
    ASSERT_TRUE(bytes.ok());
    const auto file = GraphFile::FromBytes(*bytes, name);
    EXPECT_EQ(file.ok(), name != "half" && name != "empty") << name;
    if (!file.ok()) continue;
    const auto summary = Summarize(*file);
    ASSERT_TRUE(summary.ok()) << name << summary.error().message;
    AuditGraph(*file, *summary);
    TraceBatch({*file, {}, 1});
  }
}

}  // namespace
}  // namespace sg
