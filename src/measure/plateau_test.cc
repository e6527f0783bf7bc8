#include "measure/plateau.h"

#include <gtest/gtest.h>

#include "measure/simulation_test.h"

namespace sg {
namespace {

/// Rounds of batches 1, 2, 4, …; each round shifts all batches together by `common`, and each value
/// by `own` (standard deviations, as shares).
std::vector<BatchRounds> Rounds(std::mt19937& random, const std::vector<double>& truth, int rounds,
                                double common, double own) {
  std::normal_distribution<double> normal(0, 1);
  std::vector<BatchRounds> batches;
  for (size_t i = 0; i < truth.size(); ++i) batches.push_back({1 << i, {}});
  for (int r = 0; r < rounds; ++r) {
    const double shared = 1 + common * normal(random);
    for (size_t i = 0; i < truth.size(); ++i)
      batches[i].images_per_s.push_back(truth[i] * shared * (1 + own * normal(random)));
  }
  return batches;
}

/// Adds rounds until it is decided, as `bench` does.
Plateau Measured(std::mt19937& random, const std::vector<double>& truth, double common,
                 double own) {
  constexpr int kMost = 20;
  const auto all = Rounds(random, truth, kMost, common, own);
  PlateauRules rules;
  rules.looks = static_cast<int>(RoundLooks(kMost).size());
  Plateau plateau;
  for (const int rounds : RoundLooks(kMost)) {
    auto so_far = all;
    for (BatchRounds& batch : so_far) batch.images_per_s.resize(static_cast<size_t>(rounds));
    plateau = FindPlateau(so_far, rules);
    if (plateau.state != Plateau::State::kUndecided) return plateau;
  }
  return plateau;
}

TEST(Plateau, IsTheSmallestBatchWhoseDoublingGainsLittle) {
  std::mt19937 random(1);
  const Plateau plateau = FindPlateau(Rounds(random, {100, 150, 180, 183, 184}, 6, 0.05, 0.005));
  EXPECT_EQ(plateau.state, Plateau::State::kDecided);
  EXPECT_EQ(plateau.batch, 4);
  EXPECT_EQ(plateau.Words(), "plateau batch 4: doubling it gains less than 5 %");
}

TEST(Plateau, ALargerBatchThatIsSlowerEndsItToo) {
  std::mt19937 random(2);
  EXPECT_EQ(FindPlateau(Rounds(random, {100, 90, 200}, 6, 0.02, 0.005)).batch, 1);
}

TEST(Plateau, IsNotReachedWhileEveryDoublingGains) {
  std::mt19937 random(3);
  const Plateau plateau = FindPlateau(Rounds(random, {100, 150, 220}, 6, 0.02, 0.005));
  EXPECT_EQ(plateau.state, Plateau::State::kNotReached);
  EXPECT_FALSE(plateau.batch.has_value());
}

TEST(Plateau, SaysUndecidedWithTheCandidates) {
  std::mt19937 random(4);
  const Plateau plateau = FindPlateau(Rounds(random, {100, 105, 105.5}, 5, 0.02, 0.05));
  EXPECT_EQ(plateau.state, Plateau::State::kUndecided);
  EXPECT_FALSE(plateau.batch.has_value());
  EXPECT_GE(plateau.candidates.size(), 2u);
  EXPECT_EQ(plateau.Words().rfind("undecided", 0), 0u);
}

TEST(Plateau, FewRoundsDecideNothing) {
  std::mt19937 random(5);
  EXPECT_EQ(FindPlateau(Rounds(random, {100, 101}, 3, 0, 0.0001)).state,
            Plateau::State::kUndecided);
  EXPECT_EQ(FindPlateau({}).state, Plateau::State::kUndecided);
  EXPECT_EQ(FindPlateau({{1, {100, 100}}}).Words(),
            "undecided: fewer than two batches were measured");
}

TEST(Plateau, AMissingRoundIsLeftOut) {
  std::mt19937 random(6);
  auto batches = Rounds(random, {100, 150, 151}, 7, 0.02, 0.005);
  batches[1].images_per_s[2] = std::nan("");
  EXPECT_EQ(FindPlateau(batches).batch, 2);
}

TEST(Plateau, WhatDisturbsAWholeRoundCancels) {
  std::mt19937 random(7);
  EXPECT_EQ(Measured(random, {100, 150, 153}, 0.20, 0.01).batch, 2);
}

TEST(Plateau, IsWronglyNamedInAtMostFiveOfAHundred) {
  std::mt19937 random(8);
  // The worst truth: a doubling gains exactly what decides.
  for (const double own : {0.01, 0.03}) {
    int wrong = 0;
    int decided = 0;
    for (int i = 0; i < 1000; ++i) {
      const Plateau at_limit = Measured(random, {100, 105, 105}, 0.05, own);
      wrong += at_limit.batch == 1 ? 1 : 0;
      const Plateau clear = Measured(random, {100, 130, 133}, 0.05, own);
      wrong += clear.batch.has_value() && clear.batch != 2 ? 1 : 0;
      decided += clear.batch == 2 ? 1 : 0;
    }
    EXPECT_LE(wrong, 50) << own;
    EXPECT_GE(decided, own < 0.02 ? 950 : 500) << own;
  }
}

}  // namespace
}  // namespace sg
