#include "deepstream/nvinfer_config.h"

#include <gtest/gtest.h>

#include <clocale>

#include "base/files.h"

namespace sg {
namespace {

class NvinferConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "nvinfer_config_test.XXXXXX";
    folder_ = AbsolutePath(mkdtemp(pattern.data()));
  }
  void TearDown() override { EXPECT_TRUE(RemoveAll(folder_).ok()); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = JoinPath(folder_, name);
    EXPECT_TRUE(WriteFileAtomic(path, text).ok());
    return path;
  }
  NvinferConfig Read(const std::string& text, const std::string& name = "c.txt") {
    auto config = ReadNvinferConfig(Write(name, text));
    EXPECT_TRUE(config.ok()) << (config.ok() ? "" : config.error().message);
    return config.ok() ? *config : NvinferConfig();
  }
  std::string MessageOf(const std::string& text, const std::string& name = "c.txt") {
    auto config = ReadNvinferConfig(Write(name, text));
    EXPECT_FALSE(config.ok()) << text;
    if (config.ok()) return "";
    EXPECT_EQ(config.error().kind, ErrorKind::kUser);
    EXPECT_EQ(config.error().message.find('\n'), std::string::npos);
    return config.error().message;
  }

  std::string folder_;
};

constexpr const char* kText = R"([property]
gpu-id=0
net-scale-factor=0.00392156862745098
offsets=123.675;116.28;103.53
model-color-format=1
onnx-file=../model/m.onnx
model-engine-file=/abs/m_dynamic_b4.engine
labelfile-path=labels.txt
custom-lib-path=./p/../libp.so
parse-bbox-func-name=NvDsInferParseCustomM
output-blob-names=logits;pred_boxes
batch-size=4
network-mode=2
num-detected-classes=3
interval=2
gie-unique-id=1
cluster-mode=2
maintain-aspect-ratio=1
symmetric-padding=true
infer-dims=3;320;640
filter-out-class-ids=0;2

[class-attrs-all]
topk=200
nms-iou-threshold=0.45
pre-cluster-threshold=0.25

[class-attrs-1]
pre-cluster-threshold=0.5
detected-min-w=10
)";

constexpr const char* kYaml = R"(property:
  gpu-id: 0
  net-scale-factor: 0.00392156862745098
  offsets: 123.675;116.28;103.53
  model-color-format: 1
  onnx-file: ../model/m.onnx
  model-engine-file: /abs/m_dynamic_b4.engine
  labelfile-path: "labels.txt"
  custom-lib-path: ./p/../libp.so
  parse-bbox-func-name: NvDsInferParseCustomM
  output-blob-names: [logits, pred_boxes]
  batch-size: 4
  network-mode: 2
  num-detected-classes: 3
  interval: 2
  gie-unique-id: 1
  cluster-mode: 2
  maintain-aspect-ratio: 1
  symmetric-padding: true
  infer-dims: 3;320;640
  filter-out-class-ids: 0;2
class-attrs-all:
  topk: 200
  nms-iou-threshold: 0.45
  pre-cluster-threshold: 0.25
class-attrs-1:
  pre-cluster-threshold: 0.5
  detected-min-w: 10
)";

TEST_F(NvinferConfigTest, BothFormsGiveTheSameValues) {
  for (const char* name : {"c.txt", "c.yml", "c.yaml"}) {
    const bool yaml = std::string(name) != "c.txt";
    const NvinferConfig config = Read(yaml ? kYaml : kText, name);
    EXPECT_DOUBLE_EQ(config.net_scale_factor, 1.0 / 255) << name;
    EXPECT_EQ(config.offsets, (std::vector<double>{123.675, 116.28, 103.53}));
    EXPECT_EQ(config.model_color_format, 1);
    EXPECT_EQ(config.onnx_file, JoinPath(ParentFolder(folder_), "model/m.onnx"));
    EXPECT_EQ(config.model_engine_file, "/abs/m_dynamic_b4.engine");
    EXPECT_EQ(config.labelfile_path, JoinPath(folder_, "labels.txt"));
    EXPECT_EQ(config.custom_lib_path, JoinPath(folder_, "libp.so"));
    EXPECT_EQ(config.parse_bbox_func_name, "NvDsInferParseCustomM");
    EXPECT_EQ(config.output_blob_names, (std::vector<std::string>{"logits", "pred_boxes"}));
    EXPECT_EQ(config.batch_size, 4);
    EXPECT_EQ(config.network_mode, 2);
    EXPECT_EQ(config.num_detected_classes, 3);
    EXPECT_EQ(config.interval, 2);
    EXPECT_EQ(config.gie_unique_id, 1);
    EXPECT_EQ(config.cluster_mode, 2);
    EXPECT_TRUE(config.maintain_aspect_ratio);
    EXPECT_TRUE(config.symmetric_padding);
    EXPECT_EQ(config.infer_dims, (std::vector<int>{3, 320, 640}));
    EXPECT_EQ(config.filter_out_class_ids, (std::vector<int>{0, 2}));
    EXPECT_EQ(config.ForClass(0).topk, 200);
    EXPECT_DOUBLE_EQ(config.ForClass(2).pre_cluster_threshold, 0.25);
    EXPECT_DOUBLE_EQ(config.ForClass(1).pre_cluster_threshold, 0.5);
    EXPECT_DOUBLE_EQ(config.ForClass(1).nms_iou_threshold, 0.45);
    EXPECT_EQ(config.ForClass(1).detected_min_width, 10);
    EXPECT_TRUE(config.unknown_keys.empty());
  }
}

TEST_F(NvinferConfigTest, DefaultsAreNvinfers) {
  const NvinferConfig config = Read("[property]\n");
  EXPECT_EQ(config.batch_size, 1);
  EXPECT_EQ(config.cluster_mode, 0);
  EXPECT_EQ(config.network_mode, 0);
  EXPECT_DOUBLE_EQ(config.net_scale_factor, 1);
  EXPECT_FALSE(config.maintain_aspect_ratio);
  EXPECT_DOUBLE_EQ(config.ForClass(0).pre_cluster_threshold, 0.2);
  EXPECT_DOUBLE_EQ(config.ForClass(0).nms_iou_threshold, 0.3);
  EXPECT_EQ(config.ForClass(0).topk, -1);
}

TEST_F(NvinferConfigTest, NumbersDoNotFollowTheLocale) {
  for (const char* locale : {"de_DE.UTF-8", "tr_TR.UTF-8"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) GTEST_SKIP() << locale << " is not installed";
    const NvinferConfig config = Read(kText);
    const std::string message = MessageOf("[property]\nnet-scale-factor=0,5\n");
    std::setlocale(LC_ALL, "C");
    EXPECT_DOUBLE_EQ(config.net_scale_factor, 1.0 / 255);
    EXPECT_DOUBLE_EQ(config.offsets[1], 116.28);
    EXPECT_EQ(config.interval, 2);
    EXPECT_NE(message.find("'0,5' is not a number"), std::string::npos) << message;
  }
}

TEST_F(NvinferConfigTest, MalformedValuesAreNamedWithFileAndLine) {
  const std::string path = JoinPath(folder_, "c.txt");
  for (const char* line :
       {"batch-size=four", "batch-size=0", "batch-size=4 # streams",
        "batch-size=", "batch-size=1025", "batch-size=99999999999", "net-scale-factor=nan",
        "net-scale-factor=1e999", "offsets=1;x;3", "model-color-format=3", "infer-dims=3;320;-1",
        "cluster-mode=5", "interval=-1", "maintain-aspect-ratio=yes", "process-mode=3"}) {
    const std::string message = MessageOf(std::string("[property]\n") + line + "\n");
    EXPECT_NE(message.find(path + ":2 "), std::string::npos) << line << ": " << message;
  }
  EXPECT_NE(MessageOf("[property]\ninfer-dims=3;320\n").find("infer-dims"), std::string::npos);
  EXPECT_NE(MessageOf("[property]\noffsets=1;2\n").find("offsets"), std::string::npos);
  for (const char* line : {"topk=-1", "nms-iou-threshold=1.5", "pre-cluster-threshold=-0.1"}) {
    const std::string message =
        MessageOf(std::string("[property]\n[class-attrs-all]\n") + line + "\n");
    EXPECT_NE(message.find(path + ":3 "), std::string::npos) << message;
  }
}

TEST_F(NvinferConfigTest, ClassGroupsMustBeClasses) {
  EXPECT_NE(MessageOf("[property]\nnum-detected-classes=2\n[class-attrs-2]\n").find("class 2"),
            std::string::npos);
  EXPECT_NE(MessageOf("[property]\nnum-detected-classes=2\n[class-attrs-x]\n").find("NUMBER"),
            std::string::npos);
  const NvinferConfig config = Read(
      "[property]\nnum-detected-classes=2\n[class-attrs-1]\ntopk=3\n[class-attrs-all]\ntopk=9\n"
      "nms-iou-threshold=0.6\n");
  EXPECT_EQ(config.ForClass(1).topk, 3);
  EXPECT_DOUBLE_EQ(config.ForClass(1).nms_iou_threshold, 0.6);
  EXPECT_EQ(config.ForClass(0).topk, 9);
}

TEST_F(NvinferConfigTest, UnknownKeysAreListedAndNotFatal) {
  const NvinferConfig config = Read(
      "[property]\nmodel-type=0\nworkspace-size=1000\n[other]\nx=1\n[class-attrs-all]\nfoo=1\n");
  ASSERT_EQ(config.unknown_keys.size(), 3U);
  EXPECT_NE(config.unknown_keys[0].find("c.txt:2 model-type"), std::string::npos);
  std::string all;
  for (const auto& key : config.unknown_keys) all += key + "\n";
  EXPECT_NE(all.find("[other]"), std::string::npos);
  EXPECT_NE(all.find("foo"), std::string::npos);
}

TEST_F(NvinferConfigTest, FilesThatAreNoConfigAreRefused) {
  EXPECT_NE(MessageOf("").find("[property]"), std::string::npos);
  EXPECT_NE(MessageOf("[tests]\n").find("not an nvinfer config"), std::string::npos);
  EXPECT_NE(MessageOf("<!doctype html>\n").find("c.txt:1"), std::string::npos);
  EXPECT_NE(MessageOf("a: [1\n", "c.yml").find("c.yml:"), std::string::npos);
  EXPECT_NE(MessageOf("- a\n- b\n", "c.yml").find("no groups"), std::string::npos);
  EXPECT_NE(MessageOf("property: 3\n", "c.yml").find("c.yml:1"), std::string::npos);
  EXPECT_NE(MessageOf("property:\n  batch-size: {a: 1}\n", "c.yml").find("c.yml:2"),
            std::string::npos);
  EXPECT_NE(MessageOf("property:\n  batch-size: x\n", "c.yml").find("c.yml:2 batch-size"),
            std::string::npos);
  EXPECT_FALSE(ReadNvinferConfig(JoinPath(folder_, "none.txt")).ok());
  EXPECT_FALSE(ReadNvinferConfig(folder_).ok());
}

TEST_F(NvinferConfigTest, NamesWithSpacesAndOddCharactersAreFiles) {
  const NvinferConfig config = Read("[property]\nonnx-file=a $(x) ö.onnx\n");
  EXPECT_EQ(config.onnx_file, JoinPath(folder_, "a $(x) ö.onnx"));
}

TEST_F(NvinferConfigTest, ClusterSettingsFollowTheConfig) {
  NvinferConfig config = Read(kText);
  auto settings = ClusterSettingsOf(config);
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->mode, 2);
  ASSERT_EQ(settings->classes.size(), 3U);
  EXPECT_FLOAT_EQ(settings->classes[1].pre_cluster, 0.5F);
  EXPECT_EQ(settings->classes[2].topk, 200);
  EXPECT_EQ(settings->filtered_classes, (std::vector<int>{0, 2}));
  // What DeepStream 9.1 makes of cluster-mode 0.
  config.cluster_mode = 0;
  settings = ClusterSettingsOf(config);
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->mode, 2);
  EXPECT_FLOAT_EQ(settings->classes[0].nms_iou, 0.5F);
  EXPECT_EQ(settings->classes[0].topk, 20);
  config.cluster_mode = 1;
  EXPECT_EQ(ClusterSettingsOf(config).error().kind, ErrorKind::kUnsupported);
}

TEST_F(NvinferConfigTest, LabelFilesAreReadAsNvinferReadsThem) {
  auto labels = ReadLabelFile(Write("l.txt", "person\r\n\ntraffic light\ncar;ignored\nlast"));
  ASSERT_TRUE(labels.ok());
  EXPECT_EQ(*labels, (std::vector<std::string>{"person", "traffic light", "car", "last"}));
  EXPECT_EQ(ReadLabelFile(Write("l.txt", "\n\r\n")).error().kind, ErrorKind::kUser);
  EXPECT_EQ(LabelFileText({"a b", "c"}), "a b\nc\n");
}

}  // namespace
}  // namespace sg
