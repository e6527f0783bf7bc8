#include "detector/decoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sg {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<Box> Decode(const std::vector<float>& logits, const std::vector<float>& boxes,
                        const std::vector<float>& thresholds, int width = 320, int height = 192) {
  const int queries = static_cast<int>(boxes.size() / 4);
  const int classes = static_cast<int>(thresholds.size());
  Head head;
  head.outputs = {{OutputRole::kScores, "logits", {queries, classes}, TensorType::kFloat},
                  {OutputRole::kBoxes, "pred_boxes", {queries, 4}, TensorType::kFloat}};
  head.num_classes = classes;
  const auto decoded =
      DecodeHead(head,
                 {{"pred_boxes", {queries, 4}, TensorType::kFloat, boxes.data()},
                  {"logits", {queries, classes}, TensorType::kFloat, logits.data()}},
                 {width, height, thresholds});
  EXPECT_TRUE(decoded.ok());
  return decoded.ok() ? *decoded : std::vector<Box>();
}

TEST(DecodeSigmoidQueriesTest, CentreAndSizeBecomePixelsOfTheNetwork) {
  const auto boxes = Decode({0}, {0.5F, 0.25F, 0.25F, 0.125F}, {0.5F});
  ASSERT_EQ(boxes.size(), 1U);
  EXPECT_FLOAT_EQ(boxes[0].score, 0.5F);
  EXPECT_FLOAT_EQ(boxes[0].left, 120);
  EXPECT_FLOAT_EQ(boxes[0].top, 36);
  EXPECT_FLOAT_EQ(boxes[0].width, 80);
  EXPECT_FLOAT_EQ(boxes[0].height, 24);
}

TEST(DecodeSigmoidQueriesTest, ScoreAtTheThresholdCountsAndBelowDoesNot) {
  const std::vector<float> box = {0.5F, 0.5F, 0.1F, 0.1F};
  EXPECT_EQ(Decode({0}, box, {0.5F}).size(), 1U);
  EXPECT_EQ(Decode({-0.001F}, box, {0.5F}).size(), 0U);
}

TEST(DecodeSigmoidQueriesTest, FirstAndLastClassAreFoundWithTheirOwnThresholds) {
  const std::vector<float> box = {0.5F, 0.5F, 0.1F, 0.1F, 0.4F, 0.4F, 0.1F, 0.1F};
  const auto boxes = Decode({5, -9, -9, -9, -9, 1}, box, {0.9F, 0.5F, 0.6F});
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_EQ(boxes[0].class_id, 0);
  EXPECT_EQ(boxes[1].class_id, 2);
  EXPECT_TRUE(Decode({1, -9, -9, -9, -9, 0}, box, {0.9F, 0.5F, 0.6F}).empty());
}

TEST(DecodeSigmoidQueriesTest, OneQueryCanBeTwoClassesButNeverMoreBoxesThanQueries) {
  const std::vector<float> box = {0.5F, 0.5F, 0.1F, 0.1F, 0.4F, 0.4F, 0.1F, 0.1F};
  EXPECT_EQ(Decode({3, 2, -9, -9}, box, {0.5F, 0.5F}).size(), 2U);
  const auto boxes = Decode({3, 2, 4, 1}, box, {0.5F, 0.5F});
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_NEAR(boxes[0].left, 0.35F * 320, 1e-3);
  EXPECT_NEAR(boxes[1].left, 0.45F * 320, 1e-3);
}

TEST(DecodeSigmoidQueriesTest, BoxesOutsideAreClampedAndKept) {
  const auto boxes =
      Decode({1, 1, 1}, {2, 2, 0.5F, 0.5F, 0.5F, 0.5F, 4, 4, -1, 0.5F, 0.1F, 0.1F}, {0.5F});
  ASSERT_EQ(boxes.size(), 3U);
  EXPECT_EQ(boxes[0].left, 319);
  EXPECT_EQ(boxes[0].top, 191);
  EXPECT_EQ(boxes[0].width, 0);
  EXPECT_EQ(boxes[1].left, 0);
  EXPECT_EQ(boxes[1].width, 319);
  EXPECT_EQ(boxes[1].height, 191);
  EXPECT_EQ(boxes[2].left, 0);
  EXPECT_EQ(boxes[2].width, 0);
}

TEST(DecodeSigmoidQueriesTest, NegativeSizesNeverMakeNegativeBoxes) {
  const auto boxes = Decode({1}, {0.5F, 0.5F, -0.2F, -0.2F}, {0.5F});
  ASSERT_EQ(boxes.size(), 1U);
  EXPECT_GE(boxes[0].width, 0);
  EXPECT_GE(boxes[0].height, 0);
}

TEST(DecodeSigmoidQueriesTest, ValuesThatAreNotFiniteMakeNoBox) {
  for (const float bad : {kNan, kInf, -kInf}) {
    EXPECT_TRUE(Decode({bad}, {0.5F, 0.5F, 0.1F, 0.1F}, {0.5F}).empty());
    EXPECT_TRUE(Decode({1}, {0.5F, bad, 0.1F, 0.1F}, {0.5F}).empty());
  }
}

TEST(DecodeSigmoidQueriesTest, NoQueriesGiveNoBoxes) {
  EXPECT_TRUE(Decode({}, {}, {0.5F}).empty());
}

TEST(IntersectionOverUnionTest, IsAreaShared) {
  const Box a = {0, 0, 0, 10, 10, 1};
  EXPECT_FLOAT_EQ(IntersectionOverUnion(a, a), 1);
  EXPECT_FLOAT_EQ(IntersectionOverUnion(a, {0, 5, 0, 10, 10, 1}), 50.0F / 150);
  EXPECT_FLOAT_EQ(IntersectionOverUnion(a, {0, 10, 0, 10, 10, 1}), 0);
  EXPECT_FLOAT_EQ(IntersectionOverUnion({0, 1, 1, 0, 0, 1}, {0, 1, 1, 0, 0, 1}), 0);
}

}  // namespace
}  // namespace sg
