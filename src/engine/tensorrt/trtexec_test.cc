#include "engine/tensorrt/trtexec.h"

#include <gtest/gtest.h>

#include <clocale>

namespace sg {
namespace {

using Argv = std::vector<std::string>;

TrtBuild Build() {
  TrtBuild build;
  build.version = {10, 16, 0};
  build.onnx = "models/m/model/m.onnx";
  build.engine = "models/m/benchmarks/engines/m_dynamic_b64.engine";
  build.timing_cache = "models/m/benchmarks/engines/timing.cache";
  build.inputs = {{"pixel_values", {3, 640, 640}, true}};
  build.max_batch = 64;
  return build;
}

TEST(TrtBuildArgv, IsTheOneThatTheReferenceAsksFor) {
  EXPECT_EQ(TrtBuildArgv(Build()),
            (Argv{"trtexec", "--onnx=models/m/model/m.onnx", "--minShapes=pixel_values:1x3x640x640",
                  "--optShapes=pixel_values:64x3x640x640", "--maxShapes=pixel_values:64x3x640x640",
                  "--fp16", "--skipInference", "--memPoolSize=workspace:32768M",
                  "--timingCacheFile=models/m/benchmarks/engines/timing.cache",
                  "--saveEngine=models/m/benchmarks/engines/m_dynamic_b64.engine"}));
}

TEST(TrtBuildArgv, EveryDynamicInputHasShapesAndStaticOnesNone) {
  TrtBuild build = Build();
  build.inputs = {
      {"images", {3, 640, 640}, true}, {"orig_target_sizes", {2}, true}, {"k", {1}, false}};
  build.max_batch = 8;
  const Argv two = TrtBuildArgv(build);
  EXPECT_EQ(two[2], "--minShapes=images:1x3x640x640,orig_target_sizes:1x2");
  EXPECT_EQ(two[4], "--maxShapes=images:8x3x640x640,orig_target_sizes:8x2");
  build.inputs = {{"images", {3, 640, 640}, false}};
  for (const std::string& word : TrtBuildArgv(build))
    EXPECT_EQ(word.find("Shapes"), std::string::npos) << word;
}

TEST(TrtBuildArgv, PrecisionIsSaidOnceAndNeverBest) {
  TrtBuild build = Build();
  build.precision = TrtPrecision::kFp32;
  for (const std::string& word : TrtBuildArgv(build)) {
    EXPECT_NE(word, "--fp16");
    EXPECT_NE(word, "--int8");
  }
  build.precision = TrtPrecision::kInt8;
  build.calibration = "my table.cache";
  const Argv argv = TrtBuildArgv(build);
  EXPECT_EQ(argv[5], "--int8");
  EXPECT_EQ(argv[7], "--calib=my table.cache");
}

TEST(TrtBuildArgv, NamesOfAnyKindAreTheTailOfOneWord) {
  TrtBuild build = Build();
  build.onnx = "-v $(reboot) \"x\" 'y'.onnx";
  build.inputs[0].name = "in put:0";
  const Argv argv = TrtBuildArgv(build);
  EXPECT_EQ(argv[1], "--onnx=-v $(reboot) \"x\" 'y'.onnx");
  EXPECT_EQ(argv[2], "--minShapes=in put:0:1x3x640x640");
}

TEST(TrtBuildArgv, OlderTrtexecHasOlderFlags) {
  TrtBuild build = Build();
  build.version = {8, 5, 3};
  EXPECT_EQ(TrtBuildArgv(build)[6], "--buildOnly");
  build.version = {8, 6, 1};
  EXPECT_EQ(TrtBuildArgv(build)[6], "--skipInference");
}

TEST(TrtTimingArgv, LoadsTheEngineAndMovesNoData) {
  TrtTiming timing;
  timing.engine = "e.engine";
  timing.inputs = Build().inputs;
  timing.batch = 64;
  EXPECT_EQ(TrtTimingArgv(timing),
            (Argv{"trtexec", "--loadEngine=e.engine", "--shapes=pixel_values:64x3x640x640",
                  "--noDataTransfers", "--duration=10", "--warmUp=1000"}));
}

TEST(TensorRtVersion, IsReadInBothSpellings) {
  EXPECT_EQ(ParseTensorRtVersion("&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec").Text(),
            "8.6.1");
  EXPECT_EQ(ParseTensorRtVersion("&&&& RUNNING TensorRT.trtexec [TensorRT v101600] [b34]").Text(),
            "10.16.0");
  EXPECT_EQ(ParseTensorRtVersion("&&&& RUNNING TensorRT.trtexec [TensorRT v7103]").Text(), "7.1.3");
  for (const char* other : {"", "[TensorRT v]", "[TensorRT vx]", "[TensorRT v12]", "TensorRT 10"})
    EXPECT_EQ(ParseTensorRtVersion(other).Text(), "unknown") << other;
}

constexpr char kTen[] =
    "&&&& RUNNING TensorRT.trtexec [TensorRT v101600] [b34] # trtexec --loadEngine=e\n"
    "[12/01/2026-10:00:00] [I] === Performance summary ===\n"
    "[12/01/2026-10:00:00] [I] Throughput: 49.0281 qps\n"
    "[12/01/2026-10:00:00] [I] Latency: min = 20.1 ms, max = 21.9 ms, mean = 20.4 ms, median = "
    "20.3 ms, "
    "percentile(90%) = 20.6 ms, percentile(95%) = 20.7 ms, percentile(99%) = 21.1 ms\n"
    "[12/01/2026-10:00:00] [I] Enqueue Time: min = 0.3 ms, max = 0.9 ms, mean = 0.4 ms, median = "
    "0.4 ms, "
    "percentile(90%) = 0.5 ms, percentile(95%) = 0.5 ms, percentile(99%) = 0.6 ms\n"
    "[12/01/2026-10:00:00] [I] GPU Compute Time: min = 20.2 ms, max = 21.7 ms, mean = 20.3957 ms, "
    "median = 20.3 ms, percentile(90%) = 20.5 ms, percentile(95%) = 20.6 ms, percentile(99%) = "
    "21.0402 ms\n"
    "&&&& PASSED TensorRT.trtexec [TensorRT v101600] [b34] # trtexec --loadEngine=e\n";

TEST(TrtLog, ReadsTen) {
  const TrtLog log = ParseTrtLog(kTen);
  EXPECT_EQ(log.version.Text(), "10.16.0");
  EXPECT_DOUBLE_EQ(*log.throughput_qps, 49.0281);
  EXPECT_DOUBLE_EQ(*log.gpu_mean_ms, 20.3957);
  EXPECT_DOUBLE_EQ(*log.gpu_p99_ms, 21.0402);
  EXPECT_TRUE(log.passed);
  EXPECT_FALSE(log.failed);
  EXPECT_FALSE(log.build_s.has_value());
}

TEST(TrtLog, ReadsSevenWithItsOtherWords) {
  const TrtLog log = ParseTrtLog(
      "[07/02/2020-10:00:00] [I] GPU Compute\r\n"
      "[07/02/2020-10:00:00] [I] min: 2.1 ms\r\n"
      "[07/02/2020-10:00:00] [I] Throughput: 455.1 qps\r\n"
      "[07/02/2020-10:00:00] [I] GPU Compute: min: 2.1 ms, mean: 2.2 ms, 99% percentile: 2.6 "
      "ms\r\n");
  EXPECT_DOUBLE_EQ(*log.throughput_qps, 455.1);
  EXPECT_DOUBLE_EQ(*log.gpu_mean_ms, 2.2);
  EXPECT_DOUBLE_EQ(*log.gpu_p99_ms, 2.6);
}

TEST(TrtLog, ReadsAForeignLocalesCommasInEveryLocale) {
  for (const char* locale : {"C", "de_DE.UTF-8"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) GTEST_SKIP() << locale << " is not installed";
    const TrtLog log = ParseTrtLog(
        "[I] Throughput: 49,0281 qps\n"
        "[I] GPU Compute Time: min = 20,2 ms, max = 21,7 ms, mean = 20,3957 ms, median = 20,3 ms, "
        "percentile(99%) = 21,0402 ms\n");
    EXPECT_DOUBLE_EQ(*log.throughput_qps, 49.0281);
    EXPECT_DOUBLE_EQ(*log.gpu_mean_ms, 20.3957);
    EXPECT_DOUBLE_EQ(*log.gpu_p99_ms, 21.0402);
  }
  std::setlocale(LC_ALL, "C");
}

TEST(TrtLog, WhatIsNotThereIsNotFound) {
  for (const char* text :
       {"", "Throughput: n/a qps", "Throughput:", "GPU Compute Time: mean = nan ms",
        "Throughput: -1 qps", "Throughput: 1.2.3 qps"}) {
    const TrtLog log = ParseTrtLog(text);
    EXPECT_FALSE(log.throughput_qps.has_value()) << text;
    EXPECT_FALSE(log.gpu_mean_ms.has_value()) << text;
    EXPECT_FALSE(log.passed);
  }
}

TEST(TrtLog, FailuresAndHarmlessWarningsAreToldApart) {
  std::string text = "&&&& RUNNING TensorRT.trtexec [TensorRT v100300] # trtexec\n";
  for (int i = 0; i < 200; ++i)
    text +=
        "[12/01/2026-10:00:00] [W] [TRT] onnx2trt_utils.cpp:374: Your ONNX model has been "
        "generated with "
        "INT64 weights, while TensorRT does not natively support INT64. Attempting to cast down to "
        "INT32.\n";
  text +=
      "\x1b[31m[12/01/2026-10:00:01] [E] Error[10]: Could not find any implementation for node "
      "{ForeignNode[/model/Cast_2.../model/Sigmoid]}.\x1b[0m\n";
  text += "[12/01/2026-10:00:01] [E] Engine could not be created from network\n";
  text += "[12/01/2026-10:00:01] [E] Engine could not be created from network\n";
  text += "&&&& FAILED TensorRT.trtexec [TensorRT v100300] # trtexec\n";
  const TrtLog log = ParseTrtLog(text);
  EXPECT_EQ(log.int64_warnings, 200);
  EXPECT_EQ(log.errors.size(), 2U);
  EXPECT_TRUE(log.failed);
  EXPECT_EQ(FailedForeignNode(log), "ForeignNode[/model/Cast_2.../model/Sigmoid]");
}

TEST(TrtLog, AForeignNodeThatLacksWorkspaceIsAnotherFault) {
  const TrtLog log = ParseTrtLog(
      "[E] Error[10]: Could not find any implementation for node {ForeignNode[a...b]} due to "
      "insufficient workspace. See verbose log for requested sizes.\n");
  EXPECT_EQ(FailedForeignNode(log), "");
}

TEST(TrtLog, AWorkspaceOfAFewKilobytesIsSeen) {
  EXPECT_DOUBLE_EQ(
      *ParseTrtLog("[I] Memory Pools: workspace: 0.03125 MiB, dlaSRAM: default").workspace_mib,
      0.03125);
}

}  // namespace
}  // namespace sg
