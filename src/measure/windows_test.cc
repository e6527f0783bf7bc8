#include "measure/windows.h"

#include <gtest/gtest.h>

namespace sg {
namespace {

/// 30 seconds of one stream at 100 fps; counters are set by the tests.
RunRecord Record() {
  RunRecord record;
  record.streams = {"a"};
  record.cores = 2;
  for (int i = 0; i < 3000; ++i)
    record.frames.push_back({0, static_cast<uint64_t>(i), -1, int64_t{i} * 10'000'000, 0});
  for (int second = 0; second <= 30; ++second) {
    SecondSample sample;
    sample.time_ns = int64_t{second} * 1'000'000'000;
    sample.cpu_s = second;
    record.seconds.push_back(sample);
  }
  return record;
}

Taints TaintsOf(const RunRecord& record) { return FindTaints(record, CutIntoWindows(0, 30)); }

TEST(Windows, AreOneSecondAndShorterInShortRuns) {
  EXPECT_EQ(CutIntoWindows(5, 35).count, 30u);
  EXPECT_DOUBLE_EQ(CutIntoWindows(5, 35).length_s, 1);
  EXPECT_EQ(CutIntoWindows(0, 3).count, 20u);
  EXPECT_EQ(CutIntoWindows(3, 3).count, 0u);
  EXPECT_EQ(CutIntoWindows(3, 1).count, 0u);
}

TEST(Windows, RatesAreFramesPerSecond) {
  RunRecord record = Record();
  const std::vector<double> rates = RatePerWindow(record, CutIntoWindows(0, 30));
  ASSERT_EQ(rates.size(), 30u);
  for (const double rate : rates) EXPECT_DOUBLE_EQ(rate, 100);
  record.images_per_line = 4;
  EXPECT_DOUBLE_EQ(RatePerWindow(record, CutIntoWindows(0, 30))[3], 400);
  EXPECT_DOUBLE_EQ(RatePerWindow(record, CutIntoWindows(0, 30), 1)[3], 0);
}

TEST(Taints, AQuietMachineHasNone) {
  EXPECT_EQ(TaintsOf(Record()).Count(), 0u);
  EXPECT_TRUE(TaintsOf(Record()).causes.empty());
}

TEST(Taints, NamesStealInItsWindows) {
  RunRecord record = Record();
  for (int i = 0; i <= 30; ++i) record.seconds[static_cast<size_t>(i)].steal_s = i < 11 ? 0 : 0.5;
  const Taints taints = TaintsOf(record);
  EXPECT_EQ(taints.Count(), 1u);
  EXPECT_TRUE(taints.tainted[10]);
  ASSERT_EQ(taints.causes.size(), 1u);
  EXPECT_EQ(taints.causes[0].words,
            "the hypervisor kept cores away in 1 of 30 windows, at worst 25 % at 10.0 s");
}

TEST(Taints, NamesThrottlingAndOtherPrograms) {
  RunRecord record = Record();
  for (int i = 0; i <= 30; ++i) {
    record.seconds[static_cast<size_t>(i)].throttled_s = i < 5 ? 0 : 0.2;
    record.seconds[static_cast<size_t>(i)].machine_cpu_s = 1000 + i + (i < 20 ? 0 : 0.5 * (i - 20));
  }
  const Taints taints = TaintsOf(record);
  ASSERT_EQ(taints.causes.size(), 2u);
  EXPECT_EQ(taints.causes[0].cause, Disturbance::kThrottled);
  EXPECT_EQ(taints.causes[0].windows, 1u);
  EXPECT_EQ(taints.causes[1].cause, Disturbance::kOtherPrograms);
  EXPECT_EQ(taints.causes[1].windows, 10u);
}

TEST(Taints, NamesAClockDrop) {
  RunRecord record = Record();
  for (int i = 0; i <= 30; ++i)
    record.seconds[static_cast<size_t>(i)].cpu_mhz = i > 24 ? 2000 : 3000;
  const Taints taints = TaintsOf(record);
  ASSERT_EQ(taints.causes.size(), 1u);
  EXPECT_EQ(taints.causes[0].cause, Disturbance::kClockDrop);
  EXPECT_NE(taints.causes[0].words.find("at worst 67 %"), std::string::npos);
}

TEST(Taints, AnIdleGpuMayClockDown) {
  RunRecord record = Record();
  for (int i = 0; i <= 30; ++i) {
    record.seconds[static_cast<size_t>(i)].gpu_mhz = i > 24 ? 345 : 1900;
    record.seconds[static_cast<size_t>(i)].gpu_percent = 3;
  }
  EXPECT_EQ(TaintsOf(record).Count(), 0u);
  for (SecondSample& second : record.seconds) second.gpu_percent = 97;
  EXPECT_EQ(TaintsOf(record).causes.at(0).cause, Disturbance::kClockDrop);
}

TEST(Taints, AClockPacedSinkTaintsEverything) {
  RunRecord record = Record();
  record.clock_paced_sinks = {"tap"};
  EXPECT_EQ(TaintsOf(record).Count(), 30u);
  record.pace_fps = 30;  // a paced run is paced anyway
  EXPECT_EQ(TaintsOf(record).Count(), 0u);
}

TEST(Taints, CleanValuesAreUsedWhileTheyAreTheMost) {
  Taints taints;
  taints.tainted = {false, true, false, false};
  EXPECT_EQ(CleanValues({1, 2, 3, 4}, taints), (std::vector<double>{1, 3, 4}));
  taints.tainted = {true, true, true, false};
  EXPECT_EQ(CleanValues({1, 2, 3, 4}, taints).size(), 4u);
}

}  // namespace
}  // namespace sg
