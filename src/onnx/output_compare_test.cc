#include "onnx/output_compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sg {
namespace {

constexpr double kTolerance = 1e-3;

/// Three detections: scores [3,1] and boxes [3,2].
PictureOutputs Detections() {
  return {{"scores", {3, 1}, {0.9, 0.5, 0.4}}, {"boxes", {3, 2}, {1, 2, 3, 4, 5, 6}}};
}

TEST(OutputCompareTest, EqualOutputsAreEqual) {
  const OutputDifference difference = CompareOutputs(Detections(), Detections(), kTolerance);
  EXPECT_TRUE(difference.equal);
  EXPECT_EQ(difference.max_difference, 0);
  EXPECT_EQ(difference.moved_rows, 0);
}

TEST(OutputCompareTest, RowsMayMoveTogether) {
  const PictureOutputs moved = {{"scores", {3, 1}, {0.9, 0.4, 0.5}},
                                {"boxes", {3, 2}, {1, 2, 5, 6, 3, 4}}};
  const OutputDifference difference = CompareOutputs(Detections(), moved, kTolerance);
  EXPECT_TRUE(difference.equal);
  EXPECT_EQ(difference.moved_rows, 2);
}

TEST(OutputCompareTest, RowsMayNotMoveApart) {
  const PictureOutputs torn = {{"scores", {3, 1}, {0.9, 0.4, 0.5}},
                               {"boxes", {3, 2}, {1, 2, 3, 4, 5, 6}}};
  EXPECT_FALSE(CompareOutputs(Detections(), torn, kTolerance).equal);
}

TEST(OutputCompareTest, OneRowDoesNotStandForTwo) {
  const PictureOutputs twice = {{"scores", {3, 1}, {0.9, 0.9, 0.4}},
                                {"boxes", {3, 2}, {1, 2, 1, 2, 5, 6}}};
  const OutputDifference difference = CompareOutputs(Detections(), twice, kTolerance);
  EXPECT_FALSE(difference.equal);
  EXPECT_NEAR(difference.max_difference, 0.4, 1e-12);
  EXPECT_EQ(difference.output, "scores");
}

TEST(OutputCompareTest, ToleranceIsOfTheLargestValue) {
  PictureOutputs near = Detections();
  near[1].values[5] += 0.9 * kTolerance * 6;
  EXPECT_TRUE(CompareOutputs(Detections(), near, kTolerance).equal);
  near[1].values[5] += 0.2 * kTolerance * 6;
  EXPECT_FALSE(CompareOutputs(Detections(), near, kTolerance).equal);
}

TEST(OutputCompareTest, NotANumberEqualsOnlyItself) {
  PictureOutputs none = Detections();
  none[0].values[1] = NAN;
  EXPECT_TRUE(CompareOutputs(none, none, kTolerance).equal);
  EXPECT_FALSE(CompareOutputs(Detections(), none, kTolerance).equal);
  EXPECT_FALSE(CompareOutputs(none, Detections(), kTolerance).equal);
}

TEST(OutputCompareTest, MissingOutputsAndOtherShapesAreNamed) {
  PictureOutputs less = Detections();
  less.pop_back();
  EXPECT_EQ(CompareOutputs(Detections(), less, kTolerance).output, "boxes");
  PictureOutputs longer = Detections();
  longer[0] = {"scores", {4, 1}, {0.9, 0.5, 0.4, 0}};
  EXPECT_NE(CompareOutputs(Detections(), longer, kTolerance).why.find("[4,1]"), std::string::npos);
}

TEST(OutputCompareTest, BatchesAreTakenApart) {
  const auto pictures = SplitByPicture({{"a", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"b", {1, 1}, {7}}}, 2);
  ASSERT_EQ(pictures.size(), 2U);
  EXPECT_EQ(pictures[1][0].values, (std::vector<double>{4, 5, 6}));
  EXPECT_EQ(pictures[1][1].values, std::vector<double>{7});
  EXPECT_FALSE(pictures[1][0].whole);
}

TEST(OutputCompareTest, OutputThatHasABatchAxisAtOneBatchOnlyIsDifferent) {
  const auto one = SplitByPicture({{"a", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}}, 1);
  const auto two =
      SplitByPicture({{"a", {2, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}}}, 2);
  EXPECT_FALSE(CompareOutputs(one[0], two[0], kTolerance).equal);
}

}  // namespace
}  // namespace sg
