#include "detector/preprocessing_score.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sg {
namespace {

using Answer = PreprocessingVerdict::Answer;

Box At(float left, float score, int class_id = 0) { return {class_id, left, 10, 20, 40, score}; }

TEST(PreprocessingScoreTest, ItIsConfidenceTimesTheShareThatLasts) {
  const PreprocessingScore score =
      ScorePreprocessing({{At(10, 0.9F), At(100, 0.5F)}, {At(12, 0.8F)}, {At(14, 0.7F)}});
  EXPECT_EQ(score.frames, 3);
  EXPECT_EQ(score.boxes, 4);
  EXPECT_NEAR(score.mean_confidence, (0.9 + 0.5 + 0.8 + 0.7) / 4, 1e-6);
  EXPECT_NEAR(score.persistence, 0.75, 1e-9);
  // The box at 100 is gone in the next frame.
  EXPECT_NEAR(score.score, 0.725 * 0.75 * (1 - std::exp(-4.0 / 3)), 1e-6);
}

TEST(PreprocessingScoreTest, ABoxOfAnotherClassDoesNotLast) {
  EXPECT_EQ(ScorePreprocessing({{At(10, 0.9F, 0)}, {At(10, 0.9F, 1)}}).score, 0);
}

TEST(PreprocessingScoreTest, NoiseIsWorseThanFewSureBoxes) {
  std::vector<std::vector<Box>> noise, sure;
  for (int frame = 0; frame < 10; ++frame) {
    std::vector<Box> boxes;
    for (int i = 0; i < 30; ++i)
      boxes.push_back(At(static_cast<float>((frame * 37 + i * 61) % 997) * 20, 0.4F));
    noise.push_back(boxes);
    sure.push_back({At(50, 0.9F), At(300, 0.85F)});
  }
  EXPECT_GT(ScorePreprocessing(sure).score, ScorePreprocessing(noise).score);
}

/// What a real RT-DETR does on pictures that are normalised though it was trained without: many
/// steady boxes, and none of them sure.
TEST(PreprocessingScoreTest, ManySteadyUnsureBoxesAreWorseThanFewSureOnes) {
  std::vector<Box> many, few;
  for (int i = 0; i < 20; ++i) many.push_back(At(static_cast<float>(i) * 50, 0.7F));
  for (int i = 0; i < 4; ++i) few.push_back(At(static_cast<float>(i) * 50, 0.86F));
  EXPECT_GT(ScorePreprocessing({few, few}).score, ScorePreprocessing({many, many}).score);
  // One lucky box in many frames is not the best either.
  std::vector<std::vector<Box>> lucky(10);
  lucky[3] = lucky[4] = {At(10, 0.95F)};
  EXPECT_GT(ScorePreprocessing({few, few}).score, ScorePreprocessing(lucky).score);
}

TEST(PreprocessingScoreTest, OneFrameAndNoFramesAreScoredToo) {
  EXPECT_NEAR(ScorePreprocessing({{At(10, 0.5F)}}).score, 0.5 * (1 - std::exp(-1.0)), 1e-6);
  EXPECT_EQ(ScorePreprocessing({{}}).score, 0);
  EXPECT_EQ(ScorePreprocessing({}).frames, 0);
}

TEST(PreprocessingCandidatesTest, TheCardsOwnIsFirstAndEveryCombinationIsThereOnce) {
  Preprocessing card;
  card.net_scale_factor = 1.0 / 255;
  card.resize = ResizeMode::kLetterboxCentre;
  auto candidates = PreprocessingCandidates(card);
  EXPECT_EQ(candidates.size(), 4U * 2 * 3);
  EXPECT_TRUE(candidates[0].is_card);
  EXPECT_EQ(candidates[0].preprocessing.resize, ResizeMode::kLetterboxCentre);
  EXPECT_EQ(candidates[0].values, "÷ 255");
  EXPECT_EQ(std::count_if(candidates.begin(), candidates.end(),
                          [](const auto& candidate) { return candidate.is_card; }),
            1);
  card.net_scale_factor = 0.017;
  card.offsets = {103, 116, 123};
  card.bgr = true;
  candidates = PreprocessingCandidates(card);
  EXPECT_EQ(candidates.size(), 5U * 2 * 3);
  EXPECT_EQ(candidates[0].preprocessing.offsets, card.offsets);
  for (const auto& candidate : candidates) {
    if (candidate.values != "the card's" || candidate.preprocessing.bgr) continue;
    // RGB pixels want the numbers in their order.
    EXPECT_EQ(candidate.preprocessing.offsets, (std::vector<double>{123, 116, 103}));
  }
}

TEST(PreprocessingCandidatesTest, AGraphThatTakesBytesKeepsItsValues) {
  Preprocessing card;
  card.front.bytes = card.front.channels_last = true;
  const auto candidates = PreprocessingCandidates(card);
  EXPECT_EQ(candidates.size(), 6U);
  for (const auto& candidate : candidates) {
    EXPECT_EQ(candidate.preprocessing.net_scale_factor, 1);
    EXPECT_TRUE(candidate.preprocessing.front.channels_last);
  }
}

PreprocessingVerdict Judge(double own, double other) {
  const std::vector<PreprocessingCandidate> candidates = {
      {{}, "÷ 255", true}, {{}, "as they are", false}, {{}, "÷ 127.5 − 1", false}};
  std::vector<PreprocessingScore> scores(3);
  scores[0].score = own;
  scores[1].score = other;
  scores[2].score = other / 2;
  return JudgePreprocessing(candidates, scores);
}

TEST(PreprocessingVerdictTest, TheMarginDecides) {
  PreprocessingVerdict verdict = Judge(2, 1);
  EXPECT_EQ(verdict.answer, Answer::kCardIsBest);
  EXPECT_NEAR(verdict.margin, 1, 1e-9);
  EXPECT_EQ(verdict.best, 0U);
  verdict = Judge(1, 2);
  EXPECT_EQ(verdict.answer, Answer::kAnotherIsBetter);
  EXPECT_NEAR(verdict.margin, -0.5, 1e-9);
  EXPECT_EQ(verdict.best, 1U);
  EXPECT_NE(verdict.text.find("not the best"), std::string::npos);
  EXPECT_NE(verdict.text.find("as they are"), std::string::npos);
  EXPECT_EQ(Judge(1, 1.02).answer, Answer::kTooClose);
  EXPECT_EQ(Judge(1.02, 1).answer, Answer::kTooClose);
  EXPECT_EQ(Judge(0, 0).answer, Answer::kNothingFound);
  EXPECT_EQ(Judge(1, 0).answer, Answer::kCardIsBest);
  EXPECT_EQ(Judge(0, 1).answer, Answer::kAnotherIsBetter);
}

}  // namespace
}  // namespace sg
