#include "deepstream/perf_log.h"

#include <gtest/gtest.h>

namespace sg {
namespace {

constexpr char kLog[] =
    "\n**PERF:  FPS 0 (Avg)\tFPS 1 (Avg)\t\n"
    "**PERF:  0.00 (0.00)\t0.00 (0.00)\t\n"
    "** INFO: <bus_callback:291>: Pipeline running\n\n"
    "**PERF:  41.20 (39.00)\t38.80 (38.00)\t\n"
    "**PERF:  40.80 (40.00)\t39.20 (38.50)\t\r\n"
    "**PERF:  41.00 (40.";

TEST(PerfLog, ReadsEveryStreamOfEveryLine) {
  const std::vector<PerfLine> lines = ParsePerfLog(kLog);
  EXPECT_EQ(lines, (std::vector<PerfLine>{{0, 0}, {41.2, 38.8}, {40.8, 39.2}}));
  const auto summary = SummarisePerf(lines, 2, 1);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->lines, 2);
  EXPECT_DOUBLE_EQ(summary->stream_fps[0], 41);
  EXPECT_DOUBLE_EQ(summary->aggregate_fps, 80);
  EXPECT_EQ(summary->worst_stream, 1);
  EXPECT_DOUBLE_EQ(summary->worst_fps, 39);
}

TEST(PerfLog, OtherSpellingsAndForeignCommas) {
  EXPECT_EQ(ParsePerfLog("PERF(0): 30.00 (30.00)\t\n**PERF:  29,97 (30,01)\t\n"),
            (std::vector<PerfLine>{{30}, {29.97}}));
}

TEST(PerfLog, WhatIsNoValueIsLeftOut) {
  for (const char* text : {"", "**PERF:", "**PERF:  nan (nan)\t", "**PERF:  -1.0 (2)\t", "PERF 30",
                           "**PERF:  (30.0)", "**PERF:  30 30 x", "**PERF:  FPS 0 (Avg)\t"}) {
    EXPECT_TRUE(ParsePerfLog(text).empty()) << text;
  }
}

TEST(PerfLog, ARunWithoutItsStreamsIsNoResult) {
  const auto none = SummarisePerf(ParsePerfLog(kLog), 3, 0);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::kGate);
  EXPECT_FALSE(SummarisePerf(ParsePerfLog(kLog), 2, 2).ok());
}

}  // namespace
}  // namespace sg
