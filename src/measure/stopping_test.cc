#include "measure/stopping.h"

#include <gtest/gtest.h>

#include "measure/simulation_test.h"
#include "measure/steady_state.h"

namespace sg {
namespace {

std::vector<std::unique_ptr<StoppingCriterion>> Usual(double limit_s) {
  std::vector<std::unique_ptr<StoppingCriterion>> criteria;
  criteria.push_back(std::make_unique<PreciseEnough>());
  criteria.push_back(std::make_unique<TimeIsUp>(limit_s));
  return criteria;
}

Progressed After(const std::vector<double>& series) {
  const SteadyState state = FindSteadyState(series);
  return {AfterLooking(state.mean), series.size() - state.warmup_windows,
          static_cast<double>(series.size()), state.steady};
}

TEST(Stopping, StopsWhenTheIntervalIsNarrow) {
  const auto criteria = Usual(60);
  EXPECT_FALSE(AskCriteria(criteria, After(std::vector<double>(30, 100))).now);  // luck, perhaps
  const Stop stop = AskCriteria(criteria, After(std::vector<double>(39, 100)));
  EXPECT_TRUE(stop.now);
  EXPECT_EQ(stop.name, "interval");
}

TEST(Stopping, GoesOnWhileTheIntervalIsWide) {
  std::mt19937 random(1);
  const auto series = simulation::Correlated(random, 30, 100, 30, 0);
  EXPECT_FALSE(AskCriteria(Usual(60), After(series)).now);
  EXPECT_EQ(AskCriteria(Usual(30), After(series)).name, "time limit");
}

TEST(Stopping, AnUnsteadyRunIsNotPreciseHoweverNarrowItsInterval) {
  Progressed so_far = After(std::vector<double>(40, 100));
  so_far.steady = false;
  const auto criteria = Usual(60);
  EXPECT_FALSE(AskCriteria(criteria, so_far).now);
  EXPECT_FALSE(AskCriteria(criteria, so_far).now);
}

TEST(Stopping, FewWindowsAreNotEnough) {
  const auto criteria = Usual(60);
  EXPECT_FALSE(AskCriteria(criteria, After(std::vector<double>(28, 100))).now);
  EXPECT_FALSE(AskCriteria(criteria, After(std::vector<double>(29, 100))).now);
}

TEST(Stopping, LooksEndAtTheLimit) {
  const std::vector<double> looks = LookTimes(20, 60);
  EXPECT_EQ(looks.front(), 20);
  EXPECT_EQ(looks.back(), 60);
  EXPECT_LE(looks.size(), 7u);
  EXPECT_EQ(LookTimes(20, 10), std::vector<double>{10});
}

/// A run that is looked at again and again until it is precise enough.
Estimate MeasuredWithStops(std::mt19937& random, double phi) {
  const auto whole = simulation::Correlated(random, 120, 100, 4, phi);
  const auto criteria = Usual(120);
  for (const double look_s : LookTimes(30, 120)) {
    const std::vector<double> so_far(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(look_s));
    const Progressed progressed = After(so_far);
    if (AskCriteria(criteria, progressed).now) return progressed.mean;
  }
  return {};
}

TEST(Stopping, TheIntervalCoversTheTruthAlsoWhenTheRunStoppedForIt) {
  std::mt19937 random(2);
  for (const double phi : {0.0, 0.3, 0.5}) {
    int covered = 0;
    for (int i = 0; i < 1000; ++i) {
      const Estimate mean = MeasuredWithStops(random, phi);
      covered += mean.low <= 100 && 100 <= mean.high ? 1 : 0;
    }
    EXPECT_GE(covered, 930) << phi;
    EXPECT_LE(covered, 970) << phi;
  }
}

}  // namespace
}  // namespace sg
