#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "measure/simulation_test.h"

namespace sg {
namespace {

TEST(StudentT, IsThatOfTheTables) {
  // NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2.
  EXPECT_NEAR(StudentT(0.975, 1), 12.706, 5e-4);
  EXPECT_NEAR(StudentT(0.975, 4), 2.776, 5e-4);
  EXPECT_NEAR(StudentT(0.975, 30), 2.042, 5e-4);
  EXPECT_NEAR(StudentT(0.995, 10), 3.169, 5e-4);
  EXPECT_NEAR(StudentT(0.025, 4), -2.776, 5e-4);
  EXPECT_NEAR(StudentT(0.975, 1e6), 1.960, 5e-4);
  EXPECT_NEAR(NormalQuantile(0.975), 1.95996, 1e-4);
}

TEST(IndependentMean, IsThatOfStudent) {
  // Mean 10, s 2 over five values: 10 ± 2.776 · 2 ÷ √5.
  const Estimate mean = IndependentMean({8, 8, 10, 12, 12});
  EXPECT_NEAR(mean.low, 10 - 2.7764 * 2 / std::sqrt(5.0), 1e-3);
  EXPECT_NEAR(mean.high, 10 + 2.7764 * 2 / std::sqrt(5.0), 1e-3);
}

TEST(IndependentMean, OneValueHasNoInterval) {
  const Estimate mean = IndependentMean({5});
  EXPECT_EQ(mean.value, 5);
  EXPECT_EQ(mean.degrees, 0);
  EXPECT_TRUE(std::isinf(mean.RelativeHalfWidth()));
  EXPECT_EQ(SeriesMean({}).degrees, 0);
}

/// How often the 95 % interval of the mean holds the truth, in percent.
double Coverage(size_t count, double phi, Estimate (*interval)(const std::vector<double>&, double),
                int rounds = 3000) {
  std::mt19937 random(20260101);
  int covered = 0;
  for (int i = 0; i < rounds; ++i) {
    const Estimate mean = interval(simulation::Correlated(random, count, 100, 5, phi), 0.95);
    covered += mean.low <= 100 && 100 <= mean.high ? 1 : 0;
  }
  return 100.0 * covered / rounds;
}

TEST(SeriesMean, CoversTheTruthInWhiteNoise) {
  for (const size_t count : {20, 30, 60, 120}) {
    const double percent = Coverage(count, 0, SeriesMean);
    EXPECT_GE(percent, 93) << count;
    EXPECT_LE(percent, 97) << count;
  }
}

TEST(SeriesMean, CoversTheTruthWhenSecondsAreCorrelated) {
  for (const double phi : {-0.4, 0.3, 0.5, 0.6}) {
    for (const size_t count : {30, 60, 120}) {
      const double percent = Coverage(count, phi, SeriesMean);
      EXPECT_GE(percent, 93) << count << " values, correlation " << phi;
      EXPECT_LE(percent, 97) << count << " values, correlation " << phi;
    }
  }
  EXPECT_GE(Coverage(120, 0.8, SeriesMean), 93);
}

TEST(SeriesMean, ThePlainIntervalWouldNotDo) { EXPECT_LT(Coverage(60, 0.5, IndependentMean), 80); }

TEST(SlopeOf, CoversTheTruth) {
  std::mt19937 random(7);
  for (const double phi : {0.0, 0.5}) {
    int covered = 0;
    for (int i = 0; i < 2000; ++i) {
      std::vector<double> y = simulation::Correlated(random, 60, 0, 1, phi);
      std::vector<double> x;
      for (size_t k = 0; k < y.size(); ++k) {
        x.push_back(static_cast<double>(k));
        y[k] += 0.25 * x[k];
      }
      const Estimate slope = SlopeOf(x, y);
      covered += slope.low <= 0.25 && 0.25 <= slope.high ? 1 : 0;
    }
    EXPECT_GE(covered, 1840) << phi;
    EXPECT_LE(covered, 1960) << phi;
  }
}

TEST(SlopeOf, AConstantXHasNoSlope) { EXPECT_EQ(SlopeOf({1, 1, 1}, {1, 2, 3}).degrees, 0); }

TEST(Quantile, IsLinearBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 3, 4}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 3, 4}, 1.0), 4);
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 3, 4}, 0.0), 1);
  EXPECT_DOUBLE_EQ(Quantile({7}, 0.99), 7);
  EXPECT_DOUBLE_EQ(Quantile({}, 0.5), 0);
}

TEST(QuantileOfSeries, CoversTheTruth) {
  std::mt19937 random(11);
  for (const auto& [fraction, truth] : {std::pair{0.5, 0.0}, std::pair{0.99, 2.3263}}) {
    int covered = 0;
    for (int i = 0; i < 1000; ++i) {
      const Estimate estimate =
          QuantileOfSeries(simulation::Correlated(random, 2000, 0, 1, 0.5), fraction);
      covered += estimate.low <= truth && truth <= estimate.high ? 1 : 0;
    }
    EXPECT_GE(covered, 930) << fraction;
  }
}

TEST(QuantileOfSeries, ABimodalServiceShowsItsSlowMode) {
  // Every 50th frame takes 80 ms instead of 10 ms: the median does not know, the 99th does.
  std::vector<double> latencies;
  for (int i = 0; i < 5000; ++i) latencies.push_back(i % 50 == 0 ? 80 : 10);
  EXPECT_EQ(QuantileOfSeries(latencies, 0.5).value, 10);
  EXPECT_EQ(QuantileOfSeries(latencies, 0.99).value, 80);
}

}  // namespace
}  // namespace sg
