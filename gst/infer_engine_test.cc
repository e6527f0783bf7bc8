// The core with the real engine: slots, batches, and what the engine file is checked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "base/testing.h"
#include "detector/parser_source.h"
#include "gst/infer_core.h"
#include "gst/infer_test_engine.h"

namespace sg {
namespace {

constexpr int kWidth = 640;
constexpr int kHeight = 480;

struct Scene {
  explicit Scene(int seed) : pixels(static_cast<size_t>(kWidth) * kHeight * 3) {
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const int level = DrawnScene::Level(seed, (x + 0.5) / kWidth, (y + 0.5) / kHeight);
        std::fill_n(pixels.begin() + (static_cast<ptrdiff_t>(y) * kWidth + x) * 3, 3,
                    static_cast<uint8_t>(level));
      }
    }
  }
  InferFrame Frame() const {
    Picture picture;
    picture.format = PixelFormat::kRgb;
    picture.width = kWidth;
    picture.height = kHeight;
    picture.planes[0] = pixels.data();
    picture.strides[0] = kWidth * 3;
    return {picture, 1280, 720};
  }
  std::vector<uint8_t> pixels;
};

NvinferConfig Config(int batch_size) {
  NvinferConfig config;
  config.num_detected_classes = 1;
  config.cluster_mode = 2;
  config.batch_size = batch_size;
  config.all_classes.pre_cluster_threshold = 0.05;
  config.all_classes.nms_iou_threshold = 0.7;
  config.net_scale_factor = 1.0 / 255;
  return config;
}

/// One core for each batch size, kept, since loading takes most of a test's time.
InferCore* CoreFor(int batch_size) {
  static std::map<int, std::unique_ptr<InferCore>> cores;
  std::unique_ptr<InferCore>& core = cores[batch_size];
  if (core == nullptr) {
    auto engine = LoadOpenVinoInferEngine(TestEngine(), TestOnnx(), {1.0 / 255, {}});
    EXPECT_TRUE(engine.ok()) << engine.error().message;
    if (!engine.ok()) return nullptr;
    auto made = InferCore::Create(Config(batch_size), std::move(*engine));
    EXPECT_TRUE(made.ok()) << made.error().message;
    if (made.ok()) core = std::move(*made);
  }
  return core.get();
}

std::vector<std::vector<Box>> Infer(int batch_size, const std::vector<const Scene*>& scenes) {
  InferCore* core = CoreFor(batch_size);
  if (core == nullptr) return std::vector<std::vector<Box>>(scenes.size());
  std::vector<InferFrame> frames;
  for (const Scene* scene : scenes) frames.push_back(scene->Frame());
  auto flight = core->Submit(frames);
  EXPECT_TRUE(flight.ok());
  const auto results = core->Collect(**flight);
  EXPECT_TRUE(results.ok());
  std::vector<std::vector<Box>> boxes;
  for (const FrameResult& result : *results) {
    EXPECT_TRUE(result.inferred);
    boxes.push_back(result.boxes);
  }
  return boxes;
}

void ExpectSameBoxes(const std::vector<Box>& a, const std::vector<Box>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i].left, b[i].left, 0.05);
    EXPECT_NEAR(a[i].top, b[i].top, 0.05);
    EXPECT_NEAR(a[i].width, b[i].width, 0.05);
    EXPECT_NEAR(a[i].height, b[i].height, 0.05);
    EXPECT_NEAR(a[i].score, b[i].score, 0.001);
  }
}

TEST(InferEngine, ABatchOfFourEqualsFourSingleRunsInEverySlot) {
  const std::array<Scene, 4> scenes = {Scene(1), Scene(2), Scene(3), Scene(4)};
  const auto batch = Infer(4, {&scenes[0], &scenes[1], &scenes[2], &scenes[3]});
  const auto turned = Infer(4, {&scenes[3], &scenes[2], &scenes[1], &scenes[0]});
  ASSERT_EQ(batch.size(), 4U);
  for (size_t slot = 0; slot < 4; ++slot) {
    const auto single = Infer(1, {&scenes[slot]});
    EXPECT_GE(single[0].size(), 2U) << "nothing to compare";
    ExpectSameBoxes(batch[slot], single[0]);
    ExpectSameBoxes(turned[3 - slot], single[0]);
  }
  EXPECT_GT(std::abs(batch[0][0].left - batch[1][0].left), 1) << "the scenes are too alike";
}

TEST(InferEngine, APartOfABatchEqualsSingleRuns) {
  const std::array<Scene, 3> scenes = {Scene(5), Scene(6), Scene(7)};
  const auto part = Infer(4, {&scenes[0], &scenes[1], &scenes[2]});
  for (size_t i = 0; i < 3; ++i) ExpectSameBoxes(part[i], Infer(1, {&scenes[i]})[0]);
}

TEST(InferEngine, TheGeneratedParserGivesTheBuiltInDecodersBoxes) {
  ModelCard card;
  card.name = "pedestrian-rtdetr";
  card.labels = {"person"};
  card.input_width = card.input_height = 320;
  card.head.outputs = {{OutputRole::kScores, "logits", {50, 1}, TensorType::kFloat},
                       {OutputRole::kBoxes, "pred_boxes", {50, 4}, TensorType::kFloat}};
  card.head.num_classes = 1;
  const TempFolder folder;
  const ParserSource source = GenerateParser(card);
  ASSERT_TRUE(WriteParser(source, folder.path()).ok());
  const auto library = CompileParser(folder.path(), source.names);
  ASSERT_TRUE(library.ok()) << library.error().message;
  NvinferConfig config = Config(1);
  config.custom_lib_path = *library;
  config.parse_bbox_func_name = source.names.function_name;
  auto engine = LoadOpenVinoInferEngine(TestEngine(), TestOnnx(), {1.0 / 255, {}});
  ASSERT_TRUE(engine.ok());
  auto core = InferCore::Create(config, std::move(*engine));
  ASSERT_TRUE(core.ok()) << core.error().message;
  const Scene scene(2);
  auto flight = (*core)->Submit({scene.Frame()});
  ASSERT_TRUE(flight.ok());
  const auto results = (*core)->Collect(**flight);
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_GE((*results)[0].boxes.size(), 2U);
  ExpectSameBoxes((*results)[0].boxes, Infer(1, {&scene})[0]);
}

TEST(InferEngine, ANewRequestsInputIsZero) {
  auto engine = LoadOpenVinoInferEngine(TestEngine(), "", {1.0 / 255, {}});
  ASSERT_TRUE(engine.ok());
  auto request = (*engine)->NewRequest(kTestMaxBatch);
  ASSERT_TRUE(request.ok());
  const uint8_t* input = (*request)->Input(0);
  EXPECT_EQ((*request)->Input(3) - input, 3 * 320 * 320 * 3);
  EXPECT_TRUE(std::all_of(input, input + 4 * 320 * 320 * 3, [](uint8_t v) { return v == 0; }));
}

TEST(InferEngine, AnEngineOfAnotherScalingOrModelIsRefused) {
  const auto scaled = LoadOpenVinoInferEngine(TestEngine(), "", {1.0, {}});
  ASSERT_FALSE(scaled.ok());
  EXPECT_NE(scaled.error().message.find("net-scale-factor"), std::string::npos);
  const TempFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "other.onnx", "another model").ok());
  const auto other = LoadOpenVinoInferEngine(TestEngine(), folder / "other.onnx", {1.0 / 255, {}});
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("another ONNX"), std::string::npos);
  EXPECT_FALSE(LoadOpenVinoInferEngine(folder / "none.blob", "", {1.0 / 255, {}}).ok());
}

}  // namespace
}  // namespace sg
