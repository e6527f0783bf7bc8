#include "measure/memory.h"

#include <gtest/gtest.h>

#include "measure/simulation_test.h"

namespace sg {
namespace {

constexpr double kMiB = 1024 * 1024;

TEST(Memory, FindsBytesPerStream) {
  const auto fit =
      FitMemory({{1, 320 * kMiB}, {2, 340.5 * kMiB}, {4, 379.8 * kMiB}, {8, 460.1 * kMiB}});
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->bytes_per_stream.value / kMiB, 20, 0.2);
  EXPECT_LE(fit->bytes_per_stream.low / kMiB, 20);
  EXPECT_GE(fit->bytes_per_stream.high / kMiB, 20);
  EXPECT_NEAR(fit->base_bytes / kMiB, 300, 1);
  EXPECT_EQ(fit->StreamsWithin(990 * kMiB), 34);
  EXPECT_EQ(fit->StreamsWithin(100 * kMiB), 0);
}

TEST(Memory, OnePointIsNoLine) {
  EXPECT_FALSE(FitMemory({}).has_value());
  EXPECT_FALSE(FitMemory({{4, 1e9}, {4, 1.1e9}}).has_value());
}

TEST(Memory, StreamsThatCostNothingHaveNoCeiling) {
  EXPECT_FALSE(FitMemory({{1, 100}, {2, 100}})->StreamsWithin(1e9).has_value());
}

Growth GrowthOf(std::mt19937& random, double mib_per_min) {
  std::vector<double> t;
  std::vector<double> m = simulation::Correlated(random, 300, 400 * kMiB, 0.5 * kMiB, 0.6);
  for (size_t i = 0; i < m.size(); ++i) {
    t.push_back(static_cast<double>(i));
    m[i] += mib_per_min * kMiB * t[i] / 60 - 60 * kMiB * std::exp(-t[i] / 10);  // pools fill
  }
  return TestGrowth(t, m);
}

TEST(Memory, ALeakIsFoundAndNoiseIsNone) {
  std::mt19937 random(1);
  int leaks = 0;
  int false_leaks = 0;
  for (int i = 0; i < 200; ++i) {
    leaks += GrowthOf(random, 1).grows ? 1 : 0;
    false_leaks += GrowthOf(random, 0).grows ? 1 : 0;
  }
  EXPECT_GE(leaks, 190);
  EXPECT_LE(false_leaks, 10);
}

TEST(Memory, AShortRunDecidesNothing) {
  const Growth growth = TestGrowth({0, 1, 2}, {1, 2e9, 4e9});
  EXPECT_FALSE(growth.grows);
  EXPECT_EQ(growth.words.rfind("undecided", 0), 0u);
  EXPECT_FALSE(TestGrowth({}, {}).grows);
}

}  // namespace
}  // namespace sg
