#include "deepstream/config_writer.h"

#include <gtest/gtest.h>

#include <clocale>

#include "base/files.h"
#include "deepstream/key_file.h"
#include "deepstream/nvinfer_config.h"

namespace sg {
namespace {

ModelCard Card() {
  ModelCard card;
  card.name = "rtdetr-l";
  card.labels = {"person", "car"};
  card.labels_source = "config.json id2label";
  card.preprocessing.net_scale_factor = 1.0 / 255;
  card.preprocessing.source = "preprocessor_config.json";
  card.input_width = 640;
  card.input_height = 320;
  card.head.outputs = {{OutputRole::kScores, "logits", {300, 2}, TensorType::kFloat},
                       {OutputRole::kBoxes, "pred_boxes", {300, 4}, TensorType::kFloat}};
  card.head.num_classes = 2;
  card.score_threshold = 0.5;
  card.score_threshold_source = "README.md: \"score >= 0.5\"";
  card.nms_iou_threshold = 0.7;
  card.nms_iou_source = "README.md: \"nms at iou 0.7\"";
  card.cluster_mode = 2;
  card.cluster_mode_reason = "measured: 9 of 100 boxes\nare duplicates";
  return card;
}

NvinferConfigPaths Paths() {
  NvinferConfigPaths paths;
  paths.onnx_file = "../model/rtdetr-l.onnx";
  paths.model_engine_file = "../benchmarks/engines/rtdetr-l_dynamic_b64.engine";
  paths.custom_lib_path = "../parser/libnvdsinfer_rtdetr_l_parser.so";
  paths.parse_bbox_func_name = "NvDsInferParseCustomRtdetrL";
  return paths;
}

constexpr const char* kExpected =
    R"(# nvinfer config of rtdetr-l, written by streamgauge import. Paths count from this file's folder.
[property]
gpu-id=0
# Pixels to network input, from preprocessor_config.json.
net-scale-factor=0.00392156862745098
model-color-format=0
infer-dims=3;320;640
# The model was trained on stretched pictures.
maintain-aspect-ratio=0
# Bilinear, as in training; nvinfer's own default takes the nearest pixel.
scaling-filter=1

onnx-file=../model/rtdetr-l.onnx
model-engine-file=../benchmarks/engines/rtdetr-l_dynamic_b64.engine
labelfile-path=labels.txt
batch-size=1
network-mode=2
network-type=0
process-mode=1
interval=0
gie-unique-id=1

# Classes, from config.json id2label.
num-detected-classes=2
output-blob-names=logits;pred_boxes
custom-lib-path=../parser/libnvdsinfer_rtdetr_l_parser.so
parse-bbox-func-name=NvDsInferParseCustomRtdetrL
# measured: 9 of 100 boxes are duplicates
cluster-mode=2

[class-attrs-all]
topk=200
# From README.md: "nms at iou 0.7".
nms-iou-threshold=0.7
# From README.md: "score >= 0.5".
pre-cluster-threshold=0.5
)";

class ConfigWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "config_writer_test.XXXXXX";
    folder_ = AbsolutePath(mkdtemp(pattern.data()));
  }
  void TearDown() override {
    std::setlocale(LC_ALL, "C");
    EXPECT_TRUE(RemoveAll(folder_).ok());
  }
  NvinferConfig ReadBack(const std::string& text) {
    const std::string path = JoinPath(folder_, "config.txt");
    EXPECT_TRUE(WriteFileAtomic(path, text).ok());
    auto config = ReadNvinferConfig(path);
    EXPECT_TRUE(config.ok()) << (config.ok() ? "" : config.error().message);
    return config.ok() ? *config : NvinferConfig();
  }
  std::string folder_;
};

TEST_F(ConfigWriterTest, NvinferConfigIsWrittenByteForByteInEveryLocale) {
  EXPECT_EQ(WriteNvinferConfig(Card(), Paths()), kExpected);
  for (const char* locale : {"de_DE.UTF-8", "tr_TR.UTF-8"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) GTEST_SKIP() << locale << " is not installed";
    EXPECT_EQ(WriteNvinferConfig(Card(), Paths()), kExpected) << locale;
  }
}

TEST_F(ConfigWriterTest, WhatIsWrittenReadsBackEqual) {
  ModelCard card = Card();
  card.preprocessing.net_scale_factor = 1.0 / 255 / 0.226;
  card.preprocessing.offsets = {0.485 * 255, 116.28, 1.0 / 3};
  card.preprocessing.bgr = true;
  card.preprocessing.resize = ResizeMode::kLetterboxCentre;
  NvinferConfigPaths paths = Paths();
  paths.onnx_file = " a\\b c.onnx";
  paths.batch_size = 16;
  paths.network_mode = 0;
  const NvinferConfig config = ReadBack(WriteNvinferConfig(card, paths));
  EXPECT_EQ(config.net_scale_factor, card.preprocessing.net_scale_factor);
  EXPECT_EQ(config.offsets, card.preprocessing.offsets);
  EXPECT_EQ(config.model_color_format, 1);
  EXPECT_TRUE(config.maintain_aspect_ratio);
  EXPECT_TRUE(config.symmetric_padding);
  EXPECT_EQ(config.infer_dims, (std::vector<int>{3, 320, 640}));
  EXPECT_EQ(config.onnx_file, JoinPath(folder_, " a\\b c.onnx"));
  EXPECT_EQ(config.labelfile_path, JoinPath(folder_, "labels.txt"));
  EXPECT_EQ(config.output_blob_names, (std::vector<std::string>{"logits", "pred_boxes"}));
  EXPECT_EQ(config.batch_size, 16);
  EXPECT_EQ(config.network_mode, 0);
  EXPECT_EQ(config.num_detected_classes, 2);
  EXPECT_EQ(config.cluster_mode, 2);
  EXPECT_EQ(config.gie_unique_id, 1);
  EXPECT_EQ(config.all_classes.topk, 200);
  EXPECT_EQ(config.all_classes.nms_iou_threshold, 0.7);
  EXPECT_EQ(config.all_classes.pre_cluster_threshold, 0.5);
  EXPECT_TRUE(config.unknown_keys.empty());
}

TEST_F(ConfigWriterTest, ClusteringThatIsNotDecidedYetIsNone) {
  ModelCard card = Card();
  card.cluster_mode.reset();
  EXPECT_EQ(ReadBack(WriteNvinferConfig(card, Paths())).cluster_mode, 4);
}

TEST_F(ConfigWriterTest, LegacyKeysAreNeverWritten) {
  EXPECT_EQ(WriteNvinferConfig(Card(), Paths()).find("model-type"), std::string::npos);
}

constexpr const char* kBenchmark = R"([application]
enable-perf-measurement=1
perf-measurement-interval-sec=2

[tiled-display]
enable=0

[source0]
enable=1
type=3
# deepstream-app takes the URI for a printf format, so each % is doubled.
uri=file:///clips/a%%20%%25s.mp4
num-sources=12
gpu-id=0

[sink0]
enable=1
type=1
sync=0

[osd]
enable=0

[streammux]
live-source=0
batch-size=12
batched-push-timeout=-1
width=1280
height=720

[primary-gie]
enable=1
batch-size=12
gie-unique-id=1
config-file=../benchmarks/ds/config_infer_ds_m.txt

[tests]
file-loop=1
)";

TEST_F(ConfigWriterTest, BenchmarkAppConfigIsWrittenByteForByte) {
  AppConfig config;
  config.infer_config = "../benchmarks/ds/config_infer_ds_m.txt";
  config.video = "/clips/a %s.mp4";
  config.streams = 12;
  EXPECT_EQ(WriteBenchmarkAppConfig(config), kBenchmark);
}

TEST_F(ConfigWriterTest, KittiAppConfigRunsTheClipOnceIntoTheFolder) {
  AppConfig config;
  config.infer_config = "c.txt";
  config.video = "/v.mp4";
  auto file = KeyFile::Parse(WriteKittiAppConfig(config, "/out/kitti"), "app");
  ASSERT_TRUE(file.ok());
  const auto value = [&](const char* group, const char* key) -> std::string {
    for (const auto& entry : file->FindGroup(group)->entries) {
      if (entry.key == key) return entry.value;
    }
    return "missing";
  };
  EXPECT_EQ(value("application", "gie-kitti-output-dir"), "/out/kitti");
  EXPECT_EQ(value("tests", "file-loop"), "0");
  EXPECT_EQ(value("source0", "num-sources"), "1");
  EXPECT_EQ(value("streammux", "batch-size"), value("primary-gie", "batch-size"));
  EXPECT_EQ(value("osd", "enable"), "0");
  EXPECT_EQ(value("tiled-display", "enable"), "0");
}

TEST_F(ConfigWriterTest, UrisHoldAnyFileName) {
  EXPECT_EQ(FileUri("/a b/$(x)-ö.mp4"), "file:///a%20b/%24%28x%29-%C3%B6.mp4");
}

}  // namespace
}  // namespace sg
