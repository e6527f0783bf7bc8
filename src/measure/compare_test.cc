#include "measure/compare.h"

#include <gtest/gtest.h>

#include "measure/simulation_test.h"

namespace sg {
namespace {

/// A run of several starts that differ from start to start, with correlated windows within.
ComparedSide Side(std::mt19937& random, double mean, int starts, double start_deviation = 0.01) {
  std::normal_distribution<double> normal(0, start_deviation * mean);
  ComparedSide side;
  for (int i = 0; i < starts; ++i)
    side.starts.push_back(
        SeriesMean(simulation::Correlated(random, 30, mean + normal(random), 0.02 * mean, 0.4)));
  return side;
}

TEST(Compare, SaysFasterAndSlowerWhereTheyAre) {
  std::mt19937 random(1);
  const ComparedSide a = Side(random, 100, 5);
  const ComparedSide b = Side(random, 110, 5);
  const Comparison up = Compare(a, b);
  EXPECT_EQ(up.word, Comparison::Word::kFaster) << up.low << " " << up.high;
  EXPECT_NEAR(up.change, 0.10, 0.03);
  EXPECT_LT(up.low, up.change);
  EXPECT_GT(up.high, up.change);
  const Comparison down = Compare(b, a);
  EXPECT_EQ(down.word, Comparison::Word::kSlower);
  EXPECT_NEAR((1 + up.change) * (1 + down.change), 1, 1e-9);
}

TEST(Compare, IsRarelyWrongAboutEqualRuns) {
  std::mt19937 random(2);
  for (const int starts : {1, 2, 5}) {
    int same = 0;
    int wrong = 0;
    for (int i = 0; i < 1000; ++i) {
      const Comparison c = Compare(Side(random, 100, starts), Side(random, 100, starts));
      same += c.word == Comparison::Word::kNoDifference ? 1 : 0;
      wrong += c.word == Comparison::Word::kFaster || c.word == Comparison::Word::kSlower ? 1 : 0;
    }
    EXPECT_LE(wrong, 50) << starts;
    // One start says little about the next: then most are undecided.
    EXPECT_GE(same, starts == 1 ? 250 : starts == 2 ? 850 : 950) << starts;
  }
}

TEST(Compare, IsRarelyWrongWhenStartsDifferMuch) {
  std::mt19937 random(3);
  int wrong = 0;
  for (int i = 0; i < 1000; ++i) {
    const Comparison c = Compare(Side(random, 100, 5, 0.06), Side(random, 100, 5, 0.06));
    wrong += c.word == Comparison::Word::kFaster || c.word == Comparison::Word::kSlower ? 1 : 0;
  }
  EXPECT_LE(wrong, 50);
}

TEST(Compare, SaysUndecidedWhenItCannotTell) {
  ComparedSide a;
  ComparedSide b;
  for (const double v : {80.0, 100.0, 120.0}) a.starts.push_back({v, 1, 10, 0, 0});
  for (const double v : {90.0, 110.0, 130.0}) b.starts.push_back({v, 1, 10, 0, 0});
  const Comparison c = Compare(a, b);
  EXPECT_EQ(c.word, Comparison::Word::kUndecided);
  EXPECT_NE(c.why.find("measure longer"), std::string::npos);
}

TEST(Compare, ATinyDifferenceIsNone) {
  ComparedSide a;
  ComparedSide b;
  for (int i = 0; i < 5; ++i) {
    a.starts.push_back({100 + 0.001 * i, 0.001, 20, 0, 0});
    b.starts.push_back({100.5 + 0.001 * i, 0.001, 20, 0, 0});
  }
  EXPECT_EQ(Compare(a, b).word, Comparison::Word::kNoDifference);
}

TEST(Compare, NothingIsUndecided) {
  EXPECT_EQ(Compare({}, {}).word, Comparison::Word::kUndecided);
  ComparedSide zero;
  zero.starts.push_back({0, 0, 10, 0, 0});
  EXPECT_EQ(Compare(zero, zero).word, Comparison::Word::kUndecided);
}

}  // namespace
}  // namespace sg
