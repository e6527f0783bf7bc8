#include "measure/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sg {
namespace {

constexpr int64_t kMs = 1'000'000;

/// `fps[i]` frames a second of stream i over `seconds`, each 10 ms after its capture.
RunRecord SteadyRun(const std::vector<int>& fps, int seconds, int64_t start_ms = 0) {
  RunRecord record;
  for (size_t stream = 0; stream < fps.size(); ++stream) {
    record.streams.push_back("stream");
    for (int i = 0; i <= fps[stream] * seconds; ++i) {
      FrameSample frame;
      frame.stream = static_cast<int>(stream);
      frame.frame = static_cast<uint64_t>(i);
      frame.arrival_ns = start_ms * kMs + int64_t{i} * 1'000'000'000 / fps[stream];
      frame.capture_ns = frame.arrival_ns - 10 * kMs;
      frame.boxes = 2;
      record.frames.push_back(frame);
    }
  }
  std::stable_sort(record.frames.begin(), record.frames.end(),
                   [](const auto& a, const auto& b) { return a.arrival_ns < b.arrival_ns; });
  for (int second = 0; second <= seconds; ++second) {
    SecondSample sample;
    sample.time_ns = start_ms * kMs + int64_t{second} * 1'000'000'000;
    sample.cpu_s = 0.5 * second;
    sample.rss_bytes = uint64_t{1000} + static_cast<uint64_t>(second);
    record.seconds.push_back(sample);
  }
  return record;
}

TEST(Summary, CountsEachStreamAndTheirSum) {
  const Result<FpsSummary> summary = Summarise(SteadyRun({20, 30}, 10), 0, 10);
  ASSERT_TRUE(summary.ok());
  EXPECT_NEAR(summary->stream_fps[0], 20, 1e-9);
  EXPECT_NEAR(summary->stream_fps[1], 30, 1e-9);
  EXPECT_NEAR(summary->aggregate_fps, 50, 1e-9);
  EXPECT_EQ(summary->worst_stream, 0);
  EXPECT_NEAR(summary->worst_fps, 20, 1e-9);
  EXPECT_NEAR(summary->boxes_per_frame, 2, 1e-9);
}

TEST(Summary, AStreamWithoutFramesIsTheWorst) {
  RunRecord record = SteadyRun({20}, 10);
  record.streams.push_back("silent");
  const Result<FpsSummary> summary = Summarise(record, 0, 10);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->worst_stream, 1);
  EXPECT_EQ(summary->worst_fps, 0);
}

TEST(Summary, TheWindowBeginsAfterTheWarmUpOfTheFirstFrame) {
  RunRecord record = SteadyRun({10}, 20, /*start_ms=*/3000);
  record.warmup_s = 5;
  record.measure_s = 10;
  const Window window = MeasuredWindow(record);
  EXPECT_DOUBLE_EQ(window.from_s, 8);
  EXPECT_DOUBLE_EQ(window.to_s, 18);
  const Result<FpsSummary> summary = Summarise(record, window.from_s, window.to_s);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->stream_frames[0], 100u);
}

TEST(Summary, TheWindowEndsWithTheLastFrame) {
  RunRecord record = SteadyRun({10}, 4);
  record.measure_s = 60;
  EXPECT_DOUBLE_EQ(MeasuredWindow(record).to_s, 4);
}

TEST(Summary, ASteadyRunHasNoSpread) {
  const Result<FpsSummary> summary = Summarise(SteadyRun({25}, 8), 0, 8);
  ASSERT_TRUE(summary.ok());
  EXPECT_NEAR(summary->aggregate_low_fps, 25, 1e-9);
  EXPECT_NEAR(summary->aggregate_high_fps, 25, 1e-9);
}

TEST(Summary, LatencyIsFromCaptureToArrival) {
  RunRecord record = SteadyRun({100}, 10);
  record.frames[500].capture_ns -= 90 * kMs;
  for (size_t i = 0; i < 100; ++i) record.frames[i].capture_ns = -1;
  const Result<FpsSummary> summary = Summarise(record, 0, 10);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->latency.frames, 900u);
  EXPECT_NEAR(summary->latency.p50_ms, 10, 1e-9);
  EXPECT_NEAR(summary->latency.p99_ms, 10, 1e-9);
  EXPECT_NEAR(summary->latency.mean_ms, 10.1, 1e-9);
}

TEST(Summary, CpuAndMemoryOfTheWindow) {
  const Result<FpsSummary> summary = Summarise(SteadyRun({50}, 10), 2, 8);
  ASSERT_TRUE(summary.ok());
  EXPECT_NEAR(summary->cpu_cores, 0.5, 1e-9);
  EXPECT_NEAR(summary->cpu_ms_per_frame, 10, 1e-9);
  EXPECT_EQ(summary->rss_growth_bytes, 6);
  EXPECT_EQ(summary->rss_peak_bytes, 1008u);
}

TEST(Summary, WithoutSecondsTheProcessIsUnknown) {
  RunRecord record = SteadyRun({50}, 10);
  record.seconds.clear();
  EXPECT_EQ(Summarise(record, 0, 10)->cpu_cores, 0);
}

TEST(Summary, RefusesWhatIsTooShort) {
  const Result<FpsSummary> brief = Summarise(SteadyRun({50}, 10), 0, 1.9);
  ASSERT_FALSE(brief.ok());
  EXPECT_EQ(brief.error().kind, ErrorKind::kUser);
  EXPECT_NE(brief.error().message.find("too short"), std::string::npos);
  EXPECT_FALSE(Summarise(SteadyRun({50}, 10), 20, 30).ok());
  EXPECT_FALSE(Summarise(RunRecord(), 0, 10).ok());
  EXPECT_FALSE(Summarise(SteadyRun({50}, 10), 5, 1).ok());
}

}  // namespace
}  // namespace sg
