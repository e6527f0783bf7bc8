// From run folders to results: bench_result.h, run_result.h, run_compare.h, run_folder.h.
#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "base/testing.h"
#include "measure/bench_result.h"
#include "measure/run_compare.h"
#include "measure/run_result.h"
#include "measure/simulation_test.h"

namespace sg {
namespace {

/// One start of an engine: `per_s` inferences a second, half as many in a slow begin.
RunRecord EngineRecord(int batch, double per_s, double seconds, double slow_s = 0) {
  RunRecord record;
  record.streams = {"batch"};
  record.images_per_line = batch;
  record.cores = 2;
  record.ended_by = "duration";
  double at_s = 0;
  for (uint64_t n = 0; at_s < seconds; ++n) {
    const double length_s = (at_s < slow_s ? 2 : 1) / per_s;
    record.frames.push_back(
        {0, n, static_cast<int64_t>(at_s * 1e9), static_cast<int64_t>((at_s + length_s) * 1e9), 0});
    at_s += length_s;
  }
  return record;
}

LoadedRun Bench(const std::vector<std::vector<double>>& images_per_s) {
  LoadedRun loaded;
  loaded.path = "bench";
  loaded.run.kind = "bench";
  loaded.run.options = {{"max_rounds", 20}};
  for (size_t b = 0; b < images_per_s.size(); ++b)
    for (size_t round = 0; round < images_per_s[b].size(); ++round) {
      RunPart part;
      part.role = "round";
      part.batch = 1 << b;
      part.requests = 2;
      part.round = static_cast<int>(round) + 1;
      part.sha256 = "x";
      loaded.run.parts.push_back(part);
      loaded.records.push_back(EngineRecord(part.batch, images_per_s[b][round] / part.batch, 3));
    }
  return loaded;
}

TEST(EnginePart, LeavesTheSlowBeginOut) {
  const EnginePart part = MeasureEnginePart(EngineRecord(4, 50, 3, 0.6));
  EXPECT_NEAR(part.images_per_s, 200, 2);
  EXPECT_NEAR(part.warmup_s, 0.6, 0.31);
  EXPECT_NEAR(Median(part.latencies_ms), 20, 0.1);
}

TEST(EnginePart, OneInferenceHasNoRate) {
  RunRecord record = EngineRecord(1, 1, 0.5);
  EXPECT_TRUE(std::isnan(MeasureEnginePart(record).images_per_s));
  EXPECT_TRUE(std::isnan(MeasureEnginePart(RunRecord()).images_per_s));
}

TEST(ChooseRequests, TakesTheFewestThatAreAsGood) {
  EXPECT_EQ(ChooseRequests({{4, 100}, {1, 60}, {8, 101}}), 4);
  EXPECT_EQ(ChooseRequests({{4, 100}, {1, 98}, {8, 101}}), 4);
  EXPECT_EQ(ChooseRequests({{4, 100}, {1, 99.5}, {8, 101}}), 1);
  EXPECT_EQ(ChooseRequests({}), 0);
}

TEST(BenchResult, SaysThePlateauAndWhyItStopped) {
  const BenchResult bench = EvaluateBench(
      Bench({{100, 101, 99, 100, 100}, {150, 151, 149, 150, 151}, {151, 152, 150, 152, 151}}));
  ASSERT_EQ(bench.batches.size(), 3u);
  EXPECT_EQ(bench.plateau.batch, 2);
  EXPECT_EQ(bench.stopped, "decided after 5 rounds");
  EXPECT_NEAR(bench.batches[1].images_per_s.value, 150.2, 0.5);
  EXPECT_EQ(
      bench.ToJson().dump(),
      EvaluateBench(
          Bench({{100, 101, 99, 100, 100}, {150, 151, 149, 150, 151}, {151, 152, 150, 152, 151}}))
          .ToJson()
          .dump());
}

TEST(BenchResult, AFailedPartIsNoFigure) {
  LoadedRun loaded = Bench({{100, 100, 100, 100, 100}});
  loaded.run.parts[2].failure = "crashed";
  loaded.run.parts[3].sha256 = "";
  const BenchResult bench = EvaluateBench(loaded);
  ASSERT_EQ(bench.batches.size(), 1u);
  EXPECT_NEAR(bench.batches[0].images_per_s.value, 100, 1);
  EXPECT_TRUE(EvaluateBench(LoadedRun()).batches.empty());
}

/// `count` unpaced starts of two streams that give `fps` in all.
LoadedRun Peak(double fps, int count, uint32_t seed) {
  std::mt19937 random(seed);
  LoadedRun loaded;
  loaded.path = "run";
  loaded.run.kind = "run";
  loaded.run.options = {{"time_limit_s", 60.0}};
  for (int start = 0; start < count; ++start) {
    RunRecord record;
    record.streams = {"a", "b"};
    record.measure_s = 60;
    record.ended_by = "interrupt";
    record.cores = 2;
    std::normal_distribution<double> noise(1, 0.05);
    double at_s = 0.1;
    for (uint64_t n = 0; at_s < 55; ++n) {
      record.frames.push_back({static_cast<int>(n % 2), n / 2, static_cast<int64_t>(at_s * 1e9) - 5,
                               static_cast<int64_t>(at_s * 1e9), 1});
      at_s += (at_s < 3 ? 2 : 1) * std::max(0.1, noise(random)) / fps;
    }
    RunPart part;
    part.role = "peak";
    part.streams = 2;
    part.sha256 = "x";
    loaded.run.parts.push_back(part);
    loaded.records.push_back(record);
  }
  return loaded;
}

TEST(RunResult, APeakKnowsItsWarmUpItsIntervalAndWhyItStopped) {
  const Result<RunResult> run = EvaluateRun(Peak(100, 1, 1));
  ASSERT_TRUE(run.ok()) << run.error().message;
  const PeakStart& start = run->peak.at(0);
  EXPECT_NEAR(start.fps.value, 100, 0.5);
  EXPECT_NEAR(start.warmup_s, 3, 1.1);
  EXPECT_EQ(start.stop_name, "interval");
  EXPECT_TRUE(start.steady);
  EXPECT_NEAR(start.stream_fps[0], 50, 0.5);
  EXPECT_TRUE(run->holds);
}

TEST(RunResult, OnlineAndAfterwardsTheSameLookStops) {
  const LoadedRun loaded = Peak(100, 1, 2);
  const PeakRules rules = PeakRulesOf(loaded.run);
  EXPECT_FALSE(AskPeakStart(loaded.records[0], rules, 50).now);
  EXPECT_TRUE(AskPeakStart(loaded.records[0], rules, 51).now);
  EXPECT_EQ(MeasurePeakStart(loaded.records[0], rules).stop_why,
            AskPeakStart(loaded.records[0], rules, 51).why);
}

TEST(RunResult, RefusesWhatIsTooShort) {
  LoadedRun loaded = Peak(100, 1, 3);
  std::erase_if(loaded.records[0].frames,
                [](const FrameSample& frame) { return frame.arrival_ns > 1'000'000'000; });
  EXPECT_EQ(EvaluateRun(loaded).error().kind, ErrorKind::kUser);
  EXPECT_EQ(EvaluateRun(LoadedRun()).error().kind, ErrorKind::kUser);
}

/// A search against a simulated machine of `capacity_fps` frames a second.
LoadedRun Searched(double service_s, int most) {
  LoadedRun loaded;
  loaded.path = "run";
  loaded.run.kind = "run";
  loaded.run.options = {{"search", true}, {"pace_fps", 30.0}, {"most_streams", most}};
  loaded.run.machine = {{"memory_available_bytes", 1e9}};
  while (const auto next = ReplaySearch(loaded).Next()) {
    simulation::PacedServer server;
    server.streams = next->streams;
    server.service_s = service_s;
    server.seconds = 10;
    RunPart part;
    part.role = next->confirm ? "confirm" : "try";
    part.streams = next->streams;
    part.batch = 4;
    part.pace_fps = 30;
    part.sha256 = "x";
    loaded.run.parts.push_back(part);
    loaded.records.push_back(server.Run());
    for (SecondSample& second : loaded.records.back().seconds)
      second.rss_bytes = 100'000'000 + 20'000'000 * static_cast<uint64_t>(next->streams);
  }
  return loaded;
}

TEST(RunResult, TheSearchFindsWhatTheServerCarries) {
  const Result<RunResult> run = EvaluateRun(Searched(1.0 / 200, 64));
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->capacity, 6);  // 200 ÷ 30
  EXPECT_FALSE(run->capacity_is_limit);
  EXPECT_EQ(run->verdict.rfind("capacity at 30 fps: 6 streams", 0), 0u) << run->verdict;
  ASSERT_TRUE(run->memory.has_value());
  EXPECT_NEAR(run->memory->bytes_per_stream.value, 20e6, 1e3);
  EXPECT_EQ(run->memory_ceiling, 45);
}

TEST(RunResult, ACutOffSearchHasNoCapacity) {
  LoadedRun loaded = Searched(1.0 / 200, 64);
  loaded.run.parts.pop_back();
  loaded.records.pop_back();
  const Result<RunResult> run = EvaluateRun(loaded);
  ASSERT_TRUE(run.ok());
  EXPECT_FALSE(run->capacity.has_value());
  EXPECT_NE(run->verdict.find("cut off"), std::string::npos);
}

TEST(RunCompare, TellsRunsApartAndWhatDiffers) {
  LoadedRun a = Peak(100, 3, 4);
  LoadedRun b = Peak(112, 3, 5);
  a.run.inputs = {{"engine", "e", "1", 1}};
  b.run.inputs = {{"engine", "e", "2", 1}};
  const Result<RunComparison> result = CompareRuns(a, b);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->figures.at(0).comparison.word, Comparison::Word::kFaster);
  EXPECT_EQ(result->differences, std::vector<std::string>{"another engine"});
  const Result<RunComparison> same = CompareRuns(a, Peak(100, 3, 6));
  EXPECT_EQ(same->figures.at(0).comparison.word, Comparison::Word::kNoDifference);
}

TEST(RunCompare, RefusesWhatHasNothingInCommon) {
  EXPECT_EQ(CompareRuns(Peak(100, 1, 1), Bench({{1, 1}})).error().kind, ErrorKind::kUser);
  EXPECT_EQ(CompareRuns(Searched(0.005, 8), Searched(0.005, 8)).error().kind, ErrorKind::kUser);
}

TEST(RunFolder, ReadsWhatItWroteAndRefusesTheRest) {
  RunFolder run;
  run.kind = "run";
  run.name = "x";
  run.options = {{"pace_fps", 30.0}};
  run.inputs = {{"video", "a.mp4", "00", 5}};
  RunPart part;
  part.samples = "p.samples.jsonl";
  part.warnings = {"w"};
  run.parts = {part};
  const Result<RunFolder> again = RunFolder::FromJson(run.ToJson(), "run.json");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->ToJson().dump(), run.ToJson().dump());
  const auto error = [&](const char* key, const Json& value) {
    Json json = run.ToJson();
    json[key] = value;
    const Result<RunFolder> read = RunFolder::FromJson(json, "run.json");
    return read.ok() ? ErrorKind::kInternal : read.error().kind;
  };
  EXPECT_EQ(error("format", "other"), ErrorKind::kUser);
  EXPECT_EQ(error("version", 2), ErrorKind::kUnsupported);
  EXPECT_EQ(error("version", "1"), ErrorKind::kUnsupported);
  EXPECT_EQ(error("kind", "dance"), ErrorKind::kUnsupported);
  EXPECT_EQ(error("parts", 5), ErrorKind::kUser);
  EXPECT_EQ(error("inputs", Json::array({1})), ErrorKind::kUser);
  Json outside = run.ToJson();
  outside["parts"][0]["samples"] = "../../etc/passwd";
  EXPECT_FALSE(RunFolder::FromJson(outside, "run.json").ok());
}

TEST(LoadRun, RefusesSamplesThatWereChanged) {
  const TempFolder folder;
  RunFolder run;
  run.kind = "run";
  RunPart part;
  part.samples = "p.jsonl";
  const std::string text =
      "{\"format\":\"streamgauge-samples\",\"version\":1,\"streams\":[\"a\"]}\n";
  part.sha256 = Sha256(text);
  run.parts = {part};
  ASSERT_TRUE(WriteFileAtomic(folder / kRunFile, ToJsonText(run.ToJson())).ok());
  ASSERT_TRUE(WriteFileAtomic(folder / "p.jsonl", text).ok());
  const std::string path = ParentFolder(folder / "p.jsonl");
  EXPECT_TRUE(LoadRun(path).ok());
  ASSERT_TRUE(WriteFileAtomic(folder / "p.jsonl", text + "[0,0,1,2,3]\n").ok());
  EXPECT_NE(LoadRun(path).error().message.find("not what was measured"), std::string::npos);
  EXPECT_EQ(LoadRun("/nowhere").error().kind, ErrorKind::kUser);
}

}  // namespace
}  // namespace sg
