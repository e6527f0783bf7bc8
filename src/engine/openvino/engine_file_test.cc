#include "engine/openvino/engine_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "base/files.h"
#include "engine/openvino/compile.h"
#include "engine/openvino/jobs.h"
#include "engine/openvino/timing.h"
#include "engine/openvino/tiny_model.h"

namespace sg::openvino {
namespace {

class EngineFileTest : public testing::Test {
 protected:
  EngineFileTest() {
    EXPECT_TRUE(MakeFolders(folder_).ok());
    request_.onnx_path = folder_ + "/tiny.onnx";
    request_.engines_folder = folder_ + "/engines";
    request_.model_file_stem = "tiny";
    request_.max_batch = 4;
    request_.precision = Precision::kFp32;
    WriteModel({});
    blob_ = OpenVinoEnginePath(request_);
  }
  ~EngineFileTest() override { (void)RemoveAll(folder_).ok(); }

  void WriteModel(const TinyModel& tiny) {
    EXPECT_TRUE(WriteFileAtomic(request_.onnx_path, TinyModelBytes(tiny)).ok());
  }

  EngineArtifact Build() {
    auto built = BuildEngineFile(request_, nullptr);
    if (!built.ok()) {
      ADD_FAILURE() << built.error().message;
      return {};
    }
    return *built;
  }

  /// The error of a build that must fail.
  Error BuildError() {
    auto built = BuildEngineFile(request_, nullptr);
    EXPECT_FALSE(built.ok());
    EXPECT_FALSE(FileExists(blob_));
    Error error = built.ok() ? Error{} : built.error();
    EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
    return error;
  }

  /// Builds, expects that the file there was not used, and gives the reason.
  std::string RebuildReason() {
    const EngineArtifact built = Build();
    EXPECT_FALSE(built.reused);
    const EngineArtifact again = Build();
    EXPECT_TRUE(again.reused) << again.rebuild_reason;
    return built.rebuild_reason;
  }

  void EditSidecar(const std::string& key, const Json& value) {
    Json json = *ReadJsonFile(blob_ + ".json");
    json[key] = value;
    EXPECT_TRUE(WriteFileAtomic(blob_ + ".json", ToJsonText(json)).ok());
  }

  const std::string folder_ = testing::TempDir() + "/engine." + std::to_string(getpid());
  EngineRequest request_;
  std::string blob_;
};

TEST_F(EngineFileTest, TheFirstBuildHasNoReasonAndTheSecondReusesIt) {
  const EngineArtifact built = Build();
  EXPECT_FALSE(built.reused);
  EXPECT_EQ(built.rebuild_reason, "");
  EXPECT_EQ(built.path, blob_);
  EXPECT_EQ(built.onnx_sha256, *Sha256File(request_.onnx_path));
  EXPECT_EQ(built.sha256, *Sha256File(blob_));
  EXPECT_EQ(built.size_bytes, *FileSize(blob_));
  EXPECT_EQ(built.precision_used, "f32");
  EXPECT_EQ(built.input.name, "x");
  EXPECT_EQ(built.input.shape, (std::vector<size_t>{3, 8, 8}));
  ASSERT_EQ(built.outputs.size(), 2U);
  EXPECT_EQ(built.outputs[0].name, "boxes");
  EXPECT_EQ(built.outputs[0].shape, (std::vector<size_t>{48, 4}));
  EXPECT_GT(built.build_s, 0);
  EXPECT_GT(built.load_s, 0);

  const EngineArtifact again = Build();
  EXPECT_TRUE(again.reused);
  EXPECT_EQ(again.build_s, built.build_s);
  EXPECT_EQ(again.sha256, built.sha256);
  EXPECT_EQ(*ListFolder(request_.engines_folder),
            (std::vector<std::string>{"tiny_dynamic_b4.blob", "tiny_dynamic_b4.blob.json"}));
}

TEST_F(EngineFileTest, ANewOnnxIsRebuilt) {
  Build();
  WriteModel({.weight = 0.5F});
  EXPECT_NE(RebuildReason().find("the ONNX changed (hash "), std::string::npos);
}

TEST_F(EngineFileTest, NewWeightsBesideTheOnnxAreRebuilt) {
  const std::string weights = folder_ + "/tiny.onnx.data";
  request_.external_data_paths = {weights};
  EXPECT_EQ(BuildError().kind, ErrorKind::kUser);  // not there
  ASSERT_TRUE(WriteFileAtomic(weights, "one").ok());
  Build();
  ASSERT_TRUE(WriteFileAtomic(weights, "two").ok());
  EXPECT_EQ(RebuildReason(), "the weights beside the ONNX changed");
}

TEST_F(EngineFileTest, AnotherPrecisionIsRebuilt) {
  Build();
  request_.precision = Precision::kFp16;
  EXPECT_EQ(RebuildReason(), "precision fp16 was asked, it holds fp32");
}

TEST_F(EngineFileTest, AnotherScaleOrOffsetIsRebuilt) {
  Build();
  request_.net_scale_factor = 0.5;
  EXPECT_NE(RebuildReason().find("net-scale-factor 0.5, offsets []"), std::string::npos);
  request_.offsets = {1, 2, 3};
  EXPECT_NE(RebuildReason().find("offsets [1.0,2.0,3.0]"), std::string::npos);
}

TEST_F(EngineFileTest, AnotherOpenVinoIsRebuilt) {
  Build();
  EditSidecar("runtime_version", "2020.1");
  EXPECT_NE(RebuildReason().find("built by OpenVINO 2020.1, this is 20"), std::string::npos);
}

TEST_F(EngineFileTest, AnotherProcessorIsRebuilt) {
  Build();
  EditSidecar("cpu_features", "avx2");
  EXPECT_NE(RebuildReason().find("(avx2), this is "), std::string::npos);
}

TEST_F(EngineFileTest, AnotherMaxBatchUnderTheSameNameIsRebuilt) {
  Build();
  EditSidecar("max_batch", 8);
  EXPECT_EQ(RebuildReason(), "max batch 4 was asked, it holds 8");
}

TEST_F(EngineFileTest, AMissingOrUnreadableSidecarIsRebuilt) {
  Build();
  ASSERT_TRUE(RemoveAll(blob_ + ".json").ok());  // as a kill between blob and sidecar leaves it
  EXPECT_EQ(RebuildReason(), "no sidecar");
  ASSERT_TRUE(WriteFileAtomic(blob_ + ".json", "{").ok());
  EXPECT_EQ(RebuildReason(), "its sidecar cannot be read");
}

TEST_F(EngineFileTest, ADamagedFileIsRebuiltAndDoesNotLoad) {
  Build();
  const std::string whole = *ReadFile(blob_);
  std::string flipped = whole;
  flipped[flipped.size() - 1] = static_cast<char>(flipped.back() ^ 1);
  const std::pair<std::string, const char*> kDamages[] = {
      {flipped, "the file is damaged (the model at batch 4 does not have the hash recorded)"},
      {whole.substr(0, whole.size() / 2), "the file is damaged (it ends within the model at batch"},
      {std::string(whole.size(), '\0'),
       "the file is damaged (it does not start as an engine file)"},
      {"", "the file is damaged (it is empty)"}};
  for (const auto& [bytes, reason] : kDamages) {
    ASSERT_TRUE(WriteFileAtomic(blob_, bytes).ok());
    auto loaded = LoadedEngine::Load(blob_, "");
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().kind, ErrorKind::kUser);
    EXPECT_NE(loaded.error().message.find("streamgauge engine build"), std::string::npos);
    EXPECT_EQ(RebuildReason().substr(0, std::string(reason).size()), reason);
  }
}

TEST_F(EngineFileTest, TheSidecarOfAnotherBuildDoesNotVouchForAFile) {
  Build();
  EditSidecar("sha256", std::string(64, '0'));
  EXPECT_EQ(RebuildReason(), "the file is damaged (not the one its sidecar describes)");
}

TEST_F(EngineFileTest, WhatAKilledBuildLeftIsRemoved) {
  ASSERT_TRUE(MakeFolders(request_.engines_folder).ok());
  ASSERT_TRUE(WriteFileAtomic(blob_ + ".part.Ab3Xyz", "half").ok());
  EXPECT_EQ(Build().rebuild_reason, "");
  EXPECT_FALSE(FileExists(blob_ + ".part.Ab3Xyz"));
}

TEST_F(EngineFileTest, LoadChecksTheOnnxAndThatTheFileIsThere) {
  Build();
  EXPECT_TRUE(LoadedEngine::Load(blob_, *Sha256File(request_.onnx_path)).ok());
  auto other = LoadedEngine::Load(blob_, std::string(64, 'f'));
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("built from another ONNX"), std::string::npos);
  EXPECT_EQ(LoadedEngine::Load(blob_ + ".absent", "").error().kind, ErrorKind::kUser);
}

TEST_F(EngineFileTest, TheHalfTypeThatIsUsedIsTheOneNamed) {
  request_.precision = Precision::kFp16;
  const EngineArtifact built = Build();
  EXPECT_TRUE(built.precision_used == "f32" || built.precision_used == "bf16" ||
              built.precision_used == "f16")
      << built.precision_used;
  auto engine = LoadedEngine::Load(blob_, "");
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  for (const int batch : (*engine)->batches())
    EXPECT_EQ(PrecisionUsed((*engine)->compiled(batch)), built.precision_used);
}

TEST_F(EngineFileTest, ABatchOfOneHasOnePart) {
  request_.max_batch = 1;
  blob_ = OpenVinoEnginePath(request_);
  Build();
  auto engine = LoadedEngine::Load(blob_, "");
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  EXPECT_EQ((*engine)->batches(), (std::vector<int>{1}));
  EXPECT_GE((*engine)->optimal_requests(1), 1);
}

TEST_F(EngineFileTest, ScaleOffsetsAndChannelOrderAreAsNvinfersFormula) {
  request_.net_scale_factor = 0.5;
  request_.offsets = {10, 20, 30};
  Build();
  auto engine = LoadedEngine::Load(blob_, "");
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  auto request = (*engine)->compiled(1).create_infer_request();
  ov::Tensor input = request.get_input_tensor();
  ASSERT_EQ(input.get_shape(), (ov::Shape{1, 8, 8, 3}));
  ASSERT_EQ(input.get_element_type(), ov::element::u8);
  for (size_t i = 0; i < input.get_size(); ++i)
    input.data<uint8_t>()[i] = static_cast<uint8_t>(100 + 50 * (i % 3));  // 100, 150, 200
  request.infer();
  const ov::Tensor means = request.get_tensor("means");
  const double network[3] = {0.5 * (100 - 10), 0.5 * (150 - 20), 0.5 * (200 - 30)};
  for (int out = 0; out < 3; ++out) {
    double expected = 0;
    for (int in = 0; in < 3; ++in) expected += 0.25 * (out * 3 + in + 1) * network[in];
    EXPECT_NEAR(means.data<float>()[out], expected, 1e-3);
  }
}

TEST_F(EngineFileTest, BadOnnxFilesAreOneClearLine) {
  const std::string whole = TinyModelBytes({});
  ASSERT_TRUE(WriteFileAtomic(request_.onnx_path, whole.substr(0, whole.size() / 2)).ok());
  Error error = BuildError();
  EXPECT_EQ(error.kind, ErrorKind::kUser);
  EXPECT_NE(error.message.find("cut short"), std::string::npos) << error.message;

  for (const char* bytes : {"", "<!DOCTYPE html><html></html>", "\x89PNG\r\n\x1a\n"}) {
    ASSERT_TRUE(WriteFileAtomic(request_.onnx_path, bytes).ok());
    error = BuildError();
    EXPECT_EQ(error.kind, ErrorKind::kUser);
    EXPECT_NE(error.message.find("tiny.onnx: is not an ONNX file"), std::string::npos)
        << error.message;
  }

  ASSERT_TRUE(RemoveAll(request_.onnx_path).ok());
  EXPECT_NE(BuildError().message.find("no such file"), std::string::npos);
}

TEST_F(EngineFileTest, AFixedBatchIsRefusedWithTheRemedy) {
  WriteModel({.batch = "1"});
  const Error error = BuildError();
  EXPECT_EQ(error.kind, ErrorKind::kUser);
  EXPECT_NE(error.message.find("input \"x\" has shape [1,3,8,8], so the batch is fixed at 1, and "
                               "batches 1 and 4 were asked for"),
            std::string::npos)
      << error.message;
  EXPECT_NE(error.message.find("streamgauge onnx rebatch"), std::string::npos);

  request_.max_batch = 1;  // what it is fixed at
  EXPECT_FALSE(Build().reused);
}

TEST_F(EngineFileTest, ABatchBakedIntoTheGraphIsFound) {
  WriteModel({.reshape = {1, -1, 4}});
  EXPECT_NE(BuildError().message.find("output \"boxes\" has shape [1,192,4] at batch 4"),
            std::string::npos);
  WriteModel({.reshape = {1, 48, 4}});
  const Error error = BuildError();
  EXPECT_NE(error.message.find("Reshape boxes does not work at batch 4"), std::string::npos)
      << error.message;
}

TEST_F(EngineFileTest, InputsThatAreNotPicturesAreRefused) {
  WriteModel({.picture = {4, 8, 8}});
  EXPECT_NE(BuildError().message.find("a picture is [N,3,height,width]"), std::string::npos);
  WriteModel({.input_type = onnx::TensorProto::DOUBLE});
  EXPECT_EQ(BuildError().kind, ErrorKind::kUnsupported);
  WriteModel({.operation = "NoSuchOperation"});
  const Error error = BuildError();
  EXPECT_EQ(error.kind, ErrorKind::kUnsupported);
  EXPECT_NE(error.message.find("NoSuchOperation"), std::string::npos) << error.message;
  WriteModel({});
  request_.offsets = {1, 2};
  EXPECT_NE(BuildError().message.find("offsets: 2 values"), std::string::npos);
  request_.offsets.clear();
  request_.max_batch = 0;
  EXPECT_NE(BuildError().message.find("max batch 0"), std::string::npos);
}

TEST_F(EngineFileTest, TimingIsConsistentAndWritesItsLog) {
  Build();
  auto engine = LoadedEngine::Load(blob_, "");
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const TimeRequest time{
      .batch = 4, .warmup_s = 0.05, .seconds = 0.2, .log_path = folder_ + "/log"};
  double last_fraction = 0;
  auto timing = TimeEngine(**engine, time, [&](double fraction, const std::string&) {
    EXPECT_GE(fraction, last_fraction);
    EXPECT_LE(fraction, 1);
    last_fraction = fraction;
  });
  ASSERT_TRUE(timing.ok()) << timing.error().message;
  EXPECT_GE(timing->seconds, 0.2);
  EXPECT_GE(timing->inferences, kMinInferences);
  EXPECT_NEAR(timing->throughput_qps * timing->seconds, static_cast<double>(timing->inferences),
              1e-6);
  EXPECT_DOUBLE_EQ(timing->images_per_s, timing->throughput_qps * 4);
  EXPECT_GT(timing->latency_mean_ms, 0);
  EXPECT_GE(timing->latency_p99_ms, timing->latency_mean_ms * 0.5);
  EXPECT_GT(timing->cpu_ms_per_image, 0);
  // Little's law: what is in flight is what arrives a second times how long each stays.
  EXPECT_LE(timing->throughput_qps * timing->latency_mean_ms / 1e3,
            timing->requests_in_flight * 1.05);
  EXPECT_NE(ReadFile(folder_ + "/log")->find("batch: 4\n"), std::string::npos);
}

TEST_F(EngineFileTest, ABatchThatIsNotInTheFileIsRefusedByName) {
  Build();
  auto engine = LoadedEngine::Load(blob_, "");
  ASSERT_TRUE(engine.ok());
  auto timing = TimeEngine(**engine, {.batch = 2, .seconds = 0.1, .log_path = {}}, nullptr);
  ASSERT_FALSE(timing.ok());
  EXPECT_NE(timing.error().message.find("holds batch 1 and 4, and batch 2 was asked for"),
            std::string::npos);
}

TEST_F(EngineFileTest, TheWorkersJobsDoTheSameFromJson) {
  std::vector<Json> events;
  const auto emit = [&](const Json& event) { events.push_back(event); };
  auto built = EngineBuildJob(request_.ToJson(), emit);
  ASSERT_TRUE(built.ok()) << built.error().message;
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back()["event"], "progress");
  EXPECT_EQ(events.back()["fraction"], 1);
  const Json time = {{"path", (*built)["path"]},
                     {"onnx_sha256", (*built)["onnx_sha256"]},
                     {"batch", 1},
                     {"warmup_s", 0},
                     {"seconds", 0.1},
                     {"log_path", folder_ + "/b1.log"}};
  auto timing = EngineTimeJob(time, emit);
  ASSERT_TRUE(timing.ok()) << timing.error().message;
  EXPECT_TRUE(EngineTiming::FromJson(*timing).ok());
  EXPECT_TRUE(FileExists(folder_ + "/b1.log"));
  EXPECT_EQ(EngineTimeJob({{"path", 3}}, emit).error().kind, ErrorKind::kUser);
  EXPECT_EQ(EngineBuildJob({{"onnx_path", 3}}, emit).error().kind, ErrorKind::kUser);
}

TEST(OpenVinoMessages, AreReducedToTheLineThatSaysWhatIsWrong) {
  EXPECT_EQ(MeaningfulLine("Exception from src/a.cpp:84:\nCheck 'x' failed at src/b.cpp:1:\n"
                           "FrontEnd API failed with GeneralFailure:\nModel can't be parsed\n\n"),
            "Model can't be parsed");
  EXPECT_EQ(MeaningfulLine("Model wasn't fully converted.\nSummary:\n-- No rule for: A\n"),
            "No rule for: A");
  EXPECT_EQ(MeaningfulLine("plain."), "plain");
  EXPECT_EQ(MeaningfulLine(""), "OpenVINO gives no reason");
}

/// Pictures with soft structure, different in each slot.
void FillPicture(uint8_t* pixels, int width, int height, int slot) {
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c)
        *pixels++ = static_cast<uint8_t>(
            127 + 80 * std::sin((x + 37 * slot) * 0.05 + c) * std::cos(y * 0.03 * (slot + 1)) +
            40 * std::sin((x * y) * 0.0007));
    }
  }
}

TEST(DemoEngine, EachSlotOfABatchGivesWhatItsPictureGivesAlone) {
  EngineRequest request;
  request.onnx_path = SG_SOURCE_DIR "/assets/pedestrian-rtdetr/onnx/model.onnx";
  const std::string folder = testing::TempDir() + "/demo_engine." + std::to_string(getpid());
  request.engines_folder = folder;
  request.model_file_stem = "model";
  request.max_batch = 4;
  request.precision = Precision::kFp32;
  request.net_scale_factor = 1 / 255.0;
  auto built = BuildEngineFile(request, nullptr);
  ASSERT_TRUE(built.ok()) << built.error().message;
  EXPECT_EQ(built->precision_used, "f32");
  // 0.3 s against 1.7 s on a quiet 2-core EPYC; the ratio also holds on a busy machine.
  EXPECT_LT(built->load_s, built->build_s / 2);
  auto engine = LoadedEngine::Load(built->path, "");
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const int width = (*engine)->input_width(), height = (*engine)->input_height();
  EXPECT_EQ(width, 320);
  EXPECT_EQ(height, 320);

  auto whole = (*engine)->compiled(4).create_infer_request();
  auto single = (*engine)->compiled(1).create_infer_request();
  for (int slot = 0; slot < 4; ++slot)
    FillPicture(whole.get_input_tensor().data<uint8_t>() + slot * width * height * 3, width, height,
                slot);
  whole.infer();
  double difference_between_slots = 0;
  for (int slot = 0; slot < 4; ++slot) {
    FillPicture(single.get_input_tensor().data<uint8_t>(), width, height, slot);
    single.infer();
    for (const OutputSpec& output : (*engine)->outputs()) {
      size_t count = 1;
      for (const size_t size : output.shape) count *= size;
      const float* alone = single.get_tensor(output.name).data<float>();
      const float* in_batch = whole.get_tensor(output.name).data<float>();
      for (size_t i = 0; i < count; ++i) {
        ASSERT_NEAR(in_batch[static_cast<size_t>(slot) * count + i], alone[i], 1e-4)
            << output.name << " slot " << slot << " value " << i;
        difference_between_slots += std::abs(in_batch[i] - alone[i]);
      }
    }
  }
  EXPECT_GT(difference_between_slots, 1);  // the pictures do differ for the network
  EXPECT_TRUE(RemoveAll(folder).ok());
}

}  // namespace
}  // namespace sg::openvino
