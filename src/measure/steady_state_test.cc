#include "measure/steady_state.h"

#include <gtest/gtest.h>

#include "measure/simulation_test.h"

namespace sg {
namespace {

std::vector<double> Joined(std::vector<double> a, const std::vector<double>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(SteadyState, FindsASlowBegin) {
  std::mt19937 random(1);
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    const auto series = Joined(simulation::Correlated(random, 6, 70, 3, 0.3),
                               simulation::Correlated(random, 40, 100, 3, 0.3));
    const SteadyState state = FindSteadyState(series);
    found += state.warmup_windows >= 5 && state.warmup_windows <= 8 ? 1 : 0;
    EXPECT_NEAR(state.mean.value, 100, 4);
  }
  EXPECT_GE(found, 190);
}

TEST(SteadyState, FindsABeginThatFades) {
  std::mt19937 random(2);
  std::vector<double> series = simulation::Correlated(random, 60, 100, 1, 0);
  for (size_t i = 0; i < series.size(); ++i)
    series[i] -= 60 * std::exp(-static_cast<double>(i) / 3);
  const SteadyState state = FindSteadyState(series);
  EXPECT_GE(state.warmup_windows, 6u);
  EXPECT_NEAR(state.mean.value, 100, 1);
}

TEST(SteadyState, FindsAFastBegin) {
  // Turbo clocks, empty queues.
  const SteadyState state =
      FindSteadyState(Joined(std::vector<double>(5, 150), std::vector<double>(30, 100)));
  EXPECT_EQ(state.warmup_windows, 5u);
  EXPECT_EQ(state.mean.value, 100);
  EXPECT_TRUE(state.steady);
}

TEST(SteadyState, CutsNothingOffNoise) {
  std::mt19937 random(3);
  for (const double phi : {0.0, 0.5}) {
    int cut = 0;
    int unsteady = 0;
    for (int i = 0; i < 1000; ++i) {
      const SteadyState state = FindSteadyState(simulation::Correlated(random, 60, 100, 4, phi));
      cut += state.warmup_windows > 0 ? 1 : 0;
      unsteady += state.steady ? 0 : 1;
    }
    EXPECT_LE(cut, 50) << phi;
    EXPECT_LE(unsteady, 50) << phi;
  }
}

TEST(SteadyState, OneOutlierIsNoWarmUp) {
  std::mt19937 random(4);
  std::vector<double> series = simulation::Correlated(random, 60, 100, 1, 0);
  series[8] = 20;
  EXPECT_LE(FindSteadyState(series).warmup_windows, 0u);
  EXPECT_TRUE(FindSteadyState(series).steady);
}

TEST(SteadyState, SaysThatARunDrifts) {
  std::mt19937 random(5);
  std::vector<double> series = simulation::Correlated(random, 60, 100, 1, 0);
  for (size_t i = 0; i < series.size(); ++i) series[i] -= 0.4 * static_cast<double>(i);
  const SteadyState state = FindSteadyState(series);
  EXPECT_FALSE(state.steady);
  EXPECT_FALSE(state.why_not.empty());
}

TEST(SteadyState, SaysThatALevelChangedLate) {
  std::mt19937 random(6);
  const SteadyState state = FindSteadyState(Joined(simulation::Correlated(random, 40, 100, 1, 0),
                                                   simulation::Correlated(random, 20, 85, 1, 0)));
  EXPECT_FALSE(state.steady);
  EXPECT_NE(state.why_not.find("changes from 100"), std::string::npos) << state.why_not;
}

TEST(SteadyState, ShortAndEmptySeriesAreTakenAsTheyAre) {
  EXPECT_EQ(FindSteadyState({}).warmup_windows, 0u);
  EXPECT_EQ(FindSteadyState({1, 100, 100}).warmup_windows, 0u);
  EXPECT_EQ(FindSteadyState(std::vector<double>(30, 0.0)).warmup_windows, 0u);
}

}  // namespace
}  // namespace sg
