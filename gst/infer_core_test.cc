#include "gst/infer_core.h"

#include <gtest/gtest.h>

#include <cmath>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <list>
#include <thread>

#include "base/files.h"
#include "base/testing.h"
#include "gst/infer_settings.h"

namespace sg {
namespace {

using std::chrono::milliseconds;

/// What the fake engine is told and what it counts.
struct FakeBehaviour {
  std::vector<int> batches = {1, 4};
  int streams = 2;
  std::vector<InferOutput> outputs = {{"logits", {1, 1}}, {"pred_boxes", {1, 4}}};
  /// How long the inference of an image of this level takes.
  std::function<milliseconds(int level)> duration = [](int) { return milliseconds(0); };
  int failing_level = -1;  ///< an image of this level makes its request fail
  std::atomic<int> running = 0;
  std::atomic<int> most_running = 0;
  std::atomic<int> made = 0;
  std::atomic<int> started_of_four = 0;
};

constexpr int kSize = 8;

/// Answers each image of one level with one sure box, as wide as level ÷ 255 of the network.
class FakeRequest : public InferRequest {
 public:
  FakeRequest(FakeBehaviour* behaviour, int batch)
      : behaviour_(behaviour),
        input_(static_cast<size_t>(batch) * kSize * kSize * 3),
        logits_(batch),
        boxes_(static_cast<size_t>(batch) * 4) {
    ++behaviour_->made;
  }
  ~FakeRequest() override { (void)FakeRequest::Wait().ok(); }

  uint8_t* Input(size_t slot) override { return input_.data() + slot * kSize * kSize * 3; }
  Status Start() override {
    const int now = ++behaviour_->running;
    behaviour_->most_running = std::max<int>(behaviour_->most_running, now);
    if (logits_.size() == 4) ++behaviour_->started_of_four;
    done_ = std::async(std::launch::async, [this] {
      for (size_t slot = 0; slot < logits_.size(); ++slot) {
        const int level = *Input(slot);
        std::this_thread::sleep_for(behaviour_->duration(level));
        logits_[slot] = 10;
        const std::array<float, 4> box = {0.5F, 0.5F, static_cast<float>(level) / 255, 0.5F};
        std::copy(box.begin(), box.end(), boxes_.begin() + static_cast<ptrdiff_t>(slot) * 4);
        if (level == behaviour_->failing_level) failed_ = true;
      }
    });
    return OkStatus();
  }
  Status Wait() override {
    if (!done_.valid()) return OkStatus();
    done_.get();
    --behaviour_->running;
    if (failed_.exchange(false)) return InternalError("the fake engine failed");
    return OkStatus();
  }
  const void* Output(size_t index, size_t slot) override {
    return index == 0 ? &logits_[slot] : &boxes_[slot * 4];
  }

 private:
  FakeBehaviour* const behaviour_;
  std::vector<uint8_t> input_;
  std::vector<float> logits_;
  std::vector<float> boxes_;
  std::atomic<bool> failed_ = false;
  std::future<void> done_;
};

class FakeEngine : public InferEngine {
 public:
  explicit FakeEngine(FakeBehaviour* behaviour) : behaviour_(behaviour) {}
  int input_width() const override { return kSize; }
  int input_height() const override { return kSize; }
  const std::vector<InferOutput>& outputs() const override { return behaviour_->outputs; }
  const std::vector<int>& batches() const override { return behaviour_->batches; }
  int streams(int /*batch*/) override { return behaviour_->streams; }
  Result<std::unique_ptr<InferRequest>> NewRequest(int batch) override {
    return std::unique_ptr<InferRequest>(std::make_unique<FakeRequest>(behaviour_, batch));
  }

 private:
  FakeBehaviour* const behaviour_;
};

NvinferConfig Config() {
  NvinferConfig config;
  config.num_detected_classes = 1;
  config.cluster_mode = 4;
  config.batch_size = 4;
  return config;
}

std::unique_ptr<InferCore> MakeCore(FakeBehaviour* behaviour,
                                    const NvinferConfig& config = Config()) {
  auto core = InferCore::Create(config, std::make_unique<FakeEngine>(behaviour));
  EXPECT_TRUE(core.ok()) << core.error().message;
  return std::move(*core);
}

/// Frames of even grey levels in a mux space of 255 × 100, so that a box is as wide as its level
/// (to one part in 255: boxes end a pixel before the edge).
struct GreyFrames {
  explicit GreyFrames(const std::vector<int>& levels) {
    for (int level : levels) {
      pixels.emplace_back(16 * 16 * 3, static_cast<uint8_t>(level));
      Picture picture;
      picture.format = PixelFormat::kRgb;
      picture.width = picture.height = 16;
      picture.planes[0] = pixels.back().data();
      picture.strides[0] = 16 * 3;
      frames.push_back({picture, 255, 100});
    }
  }
  std::list<std::vector<uint8_t>> pixels;
  std::vector<InferFrame> frames;
};

std::vector<int> Levels(const Result<std::vector<FrameResult>>& results) {
  std::vector<int> levels;
  if (!results.ok()) return levels;
  for (const FrameResult& result : *results) {
    levels.push_back(result.boxes.size() == 1 ? static_cast<int>(std::lround(result.boxes[0].width))
                                              : -1);
  }
  return levels;
}

std::unique_ptr<InferCore::Flight> SubmitLevels(InferCore& core, const std::vector<int>& levels) {
  auto flight = core.Submit(GreyFrames(levels).frames);
  EXPECT_TRUE(flight.ok()) << flight.error().message;
  return flight.ok() ? std::move(*flight) : nullptr;
}

TEST(SplitBatch, FullBatchesRunAsOneRequestAndTheRestOneByOne) {
  using V = std::vector<int>;
  EXPECT_EQ(SplitBatch(4, {1, 4}, 0), V({4}));
  EXPECT_EQ(SplitBatch(3, {1, 4}, 0), V({1, 1, 1}));
  EXPECT_EQ(SplitBatch(9, {1, 4}, 0), V({4, 4, 1}));
  EXPECT_EQ(SplitBatch(2, {1}, 0), V({1, 1}));
  EXPECT_EQ(SplitBatch(4, {1, 4}, 2), V({1, 1, 1, 1})) << "batch-size is below the engine's";
  EXPECT_EQ(SplitBatch(4, {1, 4}, 8), V({4}));
  EXPECT_EQ(SplitBatch(0, {1, 4}, 0), V());
}

TEST(IntervalCounter, InfersTheFirstAndThenEveryNth) {
  for (unsigned interval : {0U, 1U, 3U}) {
    IntervalCounter counter(interval);
    for (unsigned i = 0; i < 20; ++i) EXPECT_EQ(counter.Next(), i % (interval + 1) == 0) << i;
  }
}

TEST(InferCore, ResultsKeepTheOrderWhateverEndsFirst) {
  FakeBehaviour behaviour;
  behaviour.duration = [](int level) { return milliseconds(level % 7 == 0 ? 12 : level % 3); };
  const auto core = MakeCore(&behaviour);
  std::vector<std::unique_ptr<InferCore::Flight>> flights;
  std::vector<std::vector<int>> want;
  std::vector<std::vector<int>> got;
  for (int i = 0; i < 40; ++i) {
    std::vector<int> levels;
    for (int k = 0; k <= i % 4; ++k) levels.push_back(20 + i * 4 + k);
    want.push_back(levels);
    flights.push_back(SubmitLevels(*core, levels));
    while (flights.size() - got.size() > 1) {
      auto& oldest = flights[got.size()];
      got.push_back(Levels(core->Collect(*oldest)));
      oldest.reset();
    }
  }
  got.push_back(Levels(core->Collect(*flights.back())));
  EXPECT_EQ(got, want);
  EXPECT_GT(behaviour.started_of_four, 0);
  EXPECT_GT(behaviour.most_running, 1);
}

TEST(InferCore, AFullBatchFillsEverySlotWithItsOwnFrame) {
  FakeBehaviour behaviour;
  const auto core = MakeCore(&behaviour);
  const auto flight = SubmitLevels(*core, {40, 90, 140, 190});
  EXPECT_EQ(Levels(core->Collect(*flight)), std::vector<int>({40, 90, 140, 190}));
  EXPECT_EQ(behaviour.started_of_four, 1);
}

TEST(InferCore, FramesWithoutAPicturePassAndTheOthersKeepTheirResults) {
  FakeBehaviour behaviour;
  const auto core = MakeCore(&behaviour);
  GreyFrames grey({40, 90, 140});
  grey.frames[1].picture.reset();
  auto flight = core->Submit(grey.frames);
  ASSERT_TRUE(flight.ok());
  const auto results = core->Collect(**flight);
  EXPECT_EQ(Levels(results), std::vector<int>({40, -1, 140}));
  EXPECT_FALSE((*results)[1].inferred);
  EXPECT_TRUE((*results)[2].inferred);
  EXPECT_EQ(core->stats().unusable, 1U);
  EXPECT_EQ(core->stats().inferences, 2U);
  EXPECT_EQ(core->stats().frames, 3U);
}

TEST(InferCore, SubmitWaitsForRequestsAndStoppingWakesIt) {
  FakeBehaviour behaviour;
  const auto core = MakeCore(&behaviour);
  std::vector<std::unique_ptr<InferCore::Flight>> flights;
  for (int i = 0; i < 4; ++i) flights.push_back(SubmitLevels(*core, {50}));
  EXPECT_EQ(core->stats().requests_in_flight, 4U);
  auto waiting =
      std::async(std::launch::async, [&] { return core->Submit(GreyFrames({60}).frames); });
  EXPECT_EQ(waiting.wait_for(milliseconds(30)), std::future_status::timeout);
  core->SetStopped(true);
  auto refused = waiting.get();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kInterrupted);
  core->SetStopped(false);
  flights.erase(flights.begin());
  EXPECT_NE(SubmitLevels(*core, {70}), nullptr);
}

TEST(InferCore, CollectingAFrameMakesRoomForTheNext) {
  FakeBehaviour behaviour;
  const auto core = MakeCore(&behaviour);
  std::vector<std::unique_ptr<InferCore::Flight>> flights;
  for (int i = 0; i < 4; ++i) flights.push_back(SubmitLevels(*core, {50}));
  auto waiting =
      std::async(std::launch::async, [&] { return SubmitLevels(*core, {60}) != nullptr; });
  EXPECT_EQ(Levels(core->Collect(*flights[0])), std::vector<int>({50}));
  EXPECT_TRUE(waiting.get());
}

TEST(InferCore, ABatchOfMoreFramesThanRequestsInFlightGoesThrough) {
  FakeBehaviour behaviour;
  behaviour.batches = {1};
  behaviour.streams = 1;
  const auto core = MakeCore(&behaviour);
  const std::vector<int> levels = {10, 20, 30, 40, 50, 60, 70, 80, 90};
  const auto first = SubmitLevels(*core, levels);
  const auto second = SubmitLevels(*core, levels);
  EXPECT_EQ(Levels(core->Collect(*first)), levels);
  EXPECT_EQ(Levels(core->Collect(*second)), levels);
}

TEST(InferCore, ADroppedFlightIsWaitedForAndItsRequestsAreUsedAgain) {
  FakeBehaviour behaviour;
  behaviour.duration = [](int) { return milliseconds(10); };
  const auto core = MakeCore(&behaviour);
  for (int i = 0; i < 5; ++i) SubmitLevels(*core, {50, 60, 70}).reset();
  EXPECT_EQ(behaviour.running, 0);
  EXPECT_EQ(behaviour.made, 3);
  EXPECT_EQ(core->stats().requests_in_flight, 0U);
  const auto flight = SubmitLevels(*core, {80});
  EXPECT_EQ(Levels(core->Collect(*flight)), std::vector<int>({80}));
}

TEST(InferCore, AFailedInferenceIsAnErrorAndTheNextOneWorks) {
  FakeBehaviour behaviour;
  behaviour.failing_level = 99;
  const auto core = MakeCore(&behaviour);
  auto flight = SubmitLevels(*core, {50, 99, 60});
  const auto results = core->Collect(*flight);
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().message, "the fake engine failed");
  flight.reset();
  EXPECT_EQ(core->stats().requests_in_flight, 0U);
  const auto next = SubmitLevels(*core, {70});
  EXPECT_EQ(Levels(core->Collect(*next)), std::vector<int>({70}));
}

TEST(InferCore, ConfigsThatItCannotServeAreRefusedWithTheReason) {
  FakeBehaviour behaviour;
  const auto message_of = [&](const std::function<void(NvinferConfig*)>& change) {
    NvinferConfig config = Config();
    change(&config);
    auto core = InferCore::Create(config, std::make_unique<FakeEngine>(&behaviour));
    return core.ok() ? std::string() : core.error().message;
  };
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  EXPECT_EQ(message_of([](NvinferConfig*) {}), "");
  expect(message_of([](NvinferConfig* c) { c->num_detected_classes = 0; }), "num-detected-classes");
  expect(message_of([](NvinferConfig* c) {
           c->infer_dims = {3, 640, 640};
         }),
         "infer-dims=3;640;640, but the engine takes 3;8;8");
  expect(message_of([](NvinferConfig* c) { c->cluster_mode = 1; }), "cluster-mode");
  expect(message_of([](NvinferConfig* c) { c->network_type = 1; }), "network-type=1");
  expect(message_of([](NvinferConfig* c) { c->process_mode = 2; }), "process-mode=2");
  expect(message_of([](NvinferConfig* c) { c->model_color_format = 2; }), "model-color-format=2");
  expect(message_of([](NvinferConfig* c) { c->custom_lib_path = "/nowhere/parser.so"; }),
         "parse-bbox-func-name");
  expect(message_of([](NvinferConfig* c) {
           c->custom_lib_path = "/nowhere/parser.so";
           c->parse_bbox_func_name = "F";
         }),
         "/nowhere/parser.so");
  expect(message_of([](NvinferConfig* c) { c->num_detected_classes = 7; }),
         "the built-in decoder needs outputs [Q,7]");
}

TEST(EmbeddedEnginePath, MapsTheEngineNameToTheBlobBesideIt) {
  const TempFolder folder;
  NvinferConfig config;
  EXPECT_FALSE(EmbeddedEnginePath(config).ok());
  config.model_engine_file = folder / "m_dynamic_b4.engine";
  const auto missing = EmbeddedEnginePath(config);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::kUser);
  EXPECT_NE(missing.error().message.find(folder / "m_dynamic_b4.blob"), std::string::npos);
  EXPECT_NE(missing.error().message.find("streamgauge engine build"), std::string::npos);
  ASSERT_TRUE(WriteFileAtomic(folder / "m_dynamic_b4.blob", "x").ok());
  EXPECT_EQ(*EmbeddedEnginePath(config), folder / "m_dynamic_b4.blob");
}

TEST(ToMuxSpace, UndoesEachResizeMode) {
  const Box box = {.class_id = 0, .left = 160, .top = 180, .width = 80, .height = 90, .score = 1};
  const Box stretched = ToMuxSpace(box, {{0, 0, 320, 320}, 1280, 720});
  EXPECT_FLOAT_EQ(stretched.left, 640);
  EXPECT_FLOAT_EQ(stretched.top, 405);
  EXPECT_FLOAT_EQ(stretched.width, 320);
  EXPECT_FLOAT_EQ(stretched.height, 202.5);
  const Box corner = ToMuxSpace(box, {{0, 0, 320, 180}, 1280, 720});
  EXPECT_FLOAT_EQ(corner.top, 719) << "below the picture: flat, at its edge";
  EXPECT_FLOAT_EQ(corner.height, 0);
  const Box centre = ToMuxSpace(box, {{0, 70, 320, 180}, 1280, 720});
  EXPECT_FLOAT_EQ(centre.top, 440);
  EXPECT_FLOAT_EQ(centre.height, 279) << "cut at the picture's last row";
}

TEST(InferSettings, PropertiesGoOnTopOfTheConfig) {
  const TempFolder folder;
  const std::string path = folder / "config.txt";
  ASSERT_TRUE(WriteFileAtomic(path,
                              "[property]\nbatch-size=2\ninterval=3\ngie-unique-id=5\n"
                              "model-engine-file=a.engine\nnum-detected-classes=4\n"
                              "filter-out-class-ids=1\n")
                  .ok());
  InferSettings only_path;
  only_path.config_path = path;
  const auto as_read = ReadInferConfig(only_path);
  ASSERT_TRUE(as_read.ok()) << as_read.error().message;
  EXPECT_EQ(as_read->interval, 3);
  EXPECT_EQ(as_read->batch_size, 2);
  const auto changed = ReadInferConfig({.config_path = path,
                                        .engine_path = "/b.engine",
                                        .batch_size = 8,
                                        .interval = 0,
                                        .unique_id = 9,
                                        .filter_out_classes = "0;2:3"});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->interval, 0);
  EXPECT_EQ(changed->batch_size, 8);
  EXPECT_EQ(changed->gie_unique_id, 9);
  EXPECT_EQ(changed->model_engine_file, "/b.engine");
  EXPECT_EQ(changed->filter_out_class_ids, std::vector<int>({0, 2, 3}));
  EXPECT_FALSE(ReadInferConfig({}).ok());
  for (const char* bad : {"x", "1,2", "-1", "1;;2", "99999999999"}) {
    EXPECT_FALSE(ParseClassIds(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace sg
