#include "pipeline/pace_schedule.h"

#include <gtest/gtest.h>

#include <set>

namespace sg {
namespace {

TEST(PaceSchedule, FramesAreAPeriodApart) {
  const PaceSchedule schedule({25, 0, 1}, 0);
  EXPECT_EQ(schedule.DueNs(0), 0);
  EXPECT_EQ(schedule.DueNs(100), 4'000'000'000);
  EXPECT_EQ(schedule.PeriodNs(), 40'000'000);
}

TEST(PaceSchedule, LongRunsDoNotDrift) {
  const PaceSchedule schedule({30, 0, 1}, 0);
  EXPECT_NEAR(static_cast<double>(schedule.DueNs(30ull * 3600 * 24)), 86400e9, 1000);
}

TEST(PaceSchedule, StreamsHaveTheirOwnPhase) {
  std::set<int64_t> phases;
  for (int stream = 0; stream < 64; ++stream) {
    const int64_t phase = PaceSchedule({30, 0, 1}, stream).DueNs(0);
    EXPECT_LT(phase, 33'333'334);
    phases.insert(phase / 100'000);
  }
  EXPECT_EQ(phases.size(), 64u);
}

TEST(PaceSchedule, JitterIsSeededAndKeepsTheOrder) {
  const PaceSchedule a({30, 100, 7}, 2);
  const PaceSchedule again({30, 100, 7}, 2);
  const PaceSchedule other({30, 100, 8}, 2);
  const PaceSchedule exact({30, 0, 7}, 2);
  int different = 0;
  int64_t last = -1;
  for (uint64_t n = 0; n < 1000; ++n) {
    EXPECT_EQ(a.DueNs(n), again.DueNs(n));
    different += a.DueNs(n) != other.DueNs(n) ? 1 : 0;
    EXPECT_GE(a.DueNs(n), last);
    last = a.DueNs(n);
    EXPECT_LE(std::abs(a.DueNs(n) - exact.DueNs(n)), 16'666'668);
  }
  EXPECT_GT(different, 990);
}

}  // namespace
}  // namespace sg
