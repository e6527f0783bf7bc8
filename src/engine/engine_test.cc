#include "engine/engine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"

namespace sg {
namespace {

TEST(EngineValues, ARequestSurvivesJson) {
  EngineRequest request;
  request.onnx_path = "/m/a b.onnx";
  request.engines_folder = "/m/engines";
  request.model_file_stem = "model";
  request.max_batch = 8;
  request.precision = Precision::kFp32;
  request.net_scale_factor = 1 / 255.0;
  request.offsets = {123.675, 116.28, 103.53};
  auto read = EngineRequest::FromJson(*ParseJson(ToJsonLine(request.ToJson()), "test"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->ToJson(), request.ToJson());
  EXPECT_EQ(read->net_scale_factor, request.net_scale_factor);  // to the last bit
  EXPECT_EQ(OpenVinoEnginePath(request), "/m/engines/model_dynamic_b8.blob");
}

TEST(EngineValues, ARequestOfTheWrongShapeIsAnError) {
  Json json = EngineRequest().ToJson();
  json["max_batch"] = "four";
  EXPECT_FALSE(EngineRequest::FromJson(json).ok());
  json = EngineRequest().ToJson();
  json["precision"] = "int8";
  EXPECT_FALSE(EngineRequest::FromJson(json).ok());
  json.erase("precision");
  EXPECT_FALSE(EngineRequest::FromJson(json).ok());
  EXPECT_FALSE(EngineRequest::FromJson(Json::array()).ok());
}

TEST(EngineValues, AnArtifactAndATimingSurviveJson) {
  EngineArtifact artifact;
  artifact.path = "x.blob";
  artifact.input = {"x", "f32", {3, 8, 8}};
  artifact.outputs = {{"boxes", "f32", {48, 4}}, {"means", "f32", {3, 1, 1}}};
  artifact.load_s = 0.25;
  artifact.reused = true;
  auto read = EngineArtifact::FromJson(artifact.ToJson());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->ToJson(), artifact.ToJson());

  EngineTiming timing;
  timing.batch = 4;
  timing.inferences = 12;
  timing.cpu_ms_per_image = 11.5;
  auto read_timing = EngineTiming::FromJson(timing.ToJson());
  ASSERT_TRUE(read_timing.ok()) << read_timing.error().message;
  EXPECT_EQ(read_timing->ToJson(), timing.ToJson());
}

TEST(EngineSidecar, IsReadFromBesideTheEngineWhereverItIsNow) {
  const std::string path = testing::TempDir() + "/sidecar." + std::to_string(getpid()) + ".blob";
  EXPECT_FALSE(ReadSidecar(path).ok());
  EngineArtifact artifact;
  artifact.path = "elsewhere.blob";
  artifact.runtime_version = "1";
  ASSERT_TRUE(WriteFileAtomic(path + ".json", ToJsonText(artifact.ToJson())).ok());
  auto read = ReadSidecar(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->path, path);
  EXPECT_EQ(read->runtime_version, "1");
  ASSERT_TRUE(WriteFileAtomic(path + ".json", "{\"path\": 3").ok());
  EXPECT_NE(ReadSidecar(path).error().message.find(path + ".json"), std::string::npos);
  EXPECT_TRUE(RemoveAll(path + ".json").ok());
}

}  // namespace
}  // namespace sg
