#include "detector/head_trial.h"

#include <gtest/gtest.h>

namespace sg {
namespace {

constexpr int kWidth = 320;
constexpr int kHeight = 192;
constexpr int kPictures = 20;

Head Reading(const char* family, BoxFormat format, BoxUnit unit) {
  Head head;
  head.kind = HeadKind::kFinalBoxes;
  head.family = family;
  head.activation = Activation::kNone;
  head.num_classes = 3;
  head.box_format = format;
  head.box_unit = unit;
  head.outputs = {{OutputRole::kRows, "output0", {4, 6}, TensorType::kFloat}};
  return head;
}

/// Objects that move through the pictures, as rows of corners in pixels, score and class.
RecordedTensors Rows(bool mirrored) {
  RecordedTensors tensors;
  tensors.batch = kPictures;
  RecordedOutput output{"output0", {4, 6}, {}, TensorType::kFloat};
  for (int picture = 0; picture < kPictures; ++picture) {
    for (int i = 0; i < 4; ++i) {
      float left = 20.0F + 60 * i + picture;
      float right = left + 30;
      if (mirrored) std::swap(left = kWidth - left, right = kWidth - right);
      const float top = 20.0F + 25 * i;
      output.values.insert(output.values.end(),
                           {left, top, right, top + 60, 0.9F, static_cast<float>(i % 3)});
    }
  }
  tensors.outputs = {output};
  return tensors;
}

TrialScore Try(const Head& head) {
  auto score = TryHead(head, Rows(false), Rows(true), {kWidth, kHeight, 0.25F});
  EXPECT_TRUE(score.ok());
  return score.ok() ? *score : TrialScore();
}

std::vector<HeadCandidate> Candidates() {
  std::vector<HeadCandidate> candidates;
  for (const auto& [family, format, unit] :
       {std::tuple("xyxy", BoxFormat::kXyxy, BoxUnit::kPixels),
        std::tuple("xyxy-unit", BoxFormat::kXyxy, BoxUnit::kFraction),
        std::tuple("cxcywh", BoxFormat::kCxcywh, BoxUnit::kPixels),
        std::tuple("yxyx", BoxFormat::kYxyx, BoxUnit::kPixels),
        std::tuple("xywh", BoxFormat::kXywh, BoxUnit::kPixels)}) {
    HeadCandidate candidate;
    candidate.head = Reading(family, format, unit);
    candidates.push_back(candidate);
  }
  return candidates;
}

TEST(HeadTrial, TheRightReadingAloneMakesSense) {
  const std::vector<HeadCandidate> candidates = Candidates();
  std::vector<TrialScore> scores;
  for (const HeadCandidate& candidate : candidates) scores.push_back(Try(candidate.head));
  EXPECT_DOUBLE_EQ(scores[0].Total(), 1);
  auto chosen = ChooseHead(candidates, scores, "m.onnx");
  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  EXPECT_EQ(*chosen, 0U);
}

TEST(HeadTrial, TwoReadingsThatBothMakeSenseAreRefusedWithTheList) {
  std::vector<HeadCandidate> candidates = {Candidates()[0], Candidates()[0]};
  candidates[1].head.family = "another";
  const std::vector<TrialScore> scores = {Try(candidates[0].head), Try(candidates[1].head)};
  auto chosen = ChooseHead(candidates, scores, "m.onnx");
  ASSERT_FALSE(chosen.ok());
  EXPECT_EQ(chosen.error().kind, ErrorKind::kGate);
  for (const char* part : {"m.onnx", "xyxy 1.00", "another 1.00", "80 boxes", "--head"})
    EXPECT_NE(chosen.error().message.find(part), std::string::npos) << chosen.error().message;
}

TEST(HeadTrial, PicturesWithoutBoxesSayNothing) {
  RecordedTensors empty = Rows(false);
  for (float& value : empty.outputs[0].values) value = 0;
  auto score = TryHead(Candidates()[0].head, empty, empty, {kWidth, kHeight, 0.25F});
  ASSERT_TRUE(score.ok());
  EXPECT_EQ(score->Total(), 0);
  EXPECT_FALSE(ChooseHead({Candidates()[0], Candidates()[1]}, {*score, *score}, "m").ok());
}

TEST(HeadTrial, TheSameBoxAgainAndAgainIsNotDistinct) {
  RecordedTensors repeated = Rows(false);
  std::vector<float>& values = repeated.outputs[0].values;
  for (size_t i = 6; i < values.size(); ++i) values[i] = values[i % 6];
  auto score = TryHead(Candidates()[0].head, repeated, repeated, {kWidth, kHeight, 0.25F});
  ASSERT_TRUE(score.ok());
  EXPECT_DOUBLE_EQ(score->distinct, 0.25);
}

TEST(HeadTrial, AMissingOutputIsAnError) {
  Head head = Candidates()[0].head;
  head.outputs[0].name = "other";
  EXPECT_FALSE(TryHead(head, Rows(false), Rows(true), {kWidth, kHeight, 0.25F}).ok());
}

}  // namespace
}  // namespace sg
