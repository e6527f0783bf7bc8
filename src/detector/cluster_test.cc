#include "detector/cluster.h"

#include <gtest/gtest.h>

namespace sg {
namespace {

Box At(float left, float score, int class_id = 0) { return {class_id, left, 0, 10, 10, score}; }

ClusterSettings Settings(int mode, int classes = 2) {
  ClusterSettings settings;
  settings.mode = mode;
  settings.classes.assign(classes, {0.25F, 0, 0.5F, -1});
  return settings;
}

TEST(ClusterTest, NmsKeepsTheBetterOfTwoThatOverlap) {
  const auto boxes = Cluster({At(0, 0.5F), At(1, 0.9F), At(30, 0.4F)}, Settings(2));
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_FLOAT_EQ(boxes[0].score, 0.9F);
  EXPECT_FLOAT_EQ(boxes[1].left, 30);
}

TEST(ClusterTest, NmsIsPerClass) {
  EXPECT_EQ(Cluster({At(0, 0.5F, 0), At(0, 0.9F, 1)}, Settings(2)).size(), 2U);
}

TEST(ClusterTest, OverlapEqualToTheThresholdIsKept) {
  auto settings = Settings(2);
  settings.classes[0].nms_iou = 1.0F / 3;  // what a shift by half a width gives
  EXPECT_EQ(Cluster({At(0, 0.9F), At(5, 0.8F)}, settings).size(), 2U);
  settings.classes[0].nms_iou = 0.33F;
  EXPECT_EQ(Cluster({At(0, 0.9F), At(5, 0.8F)}, settings).size(), 1U);
}

TEST(ClusterTest, SuppressedBoxSuppressesNothing) {
  auto settings = Settings(2);
  settings.classes[0].nms_iou = 0.3F;
  // 0 suppresses 5, which alone would suppress 10.
  EXPECT_EQ(Cluster({At(0, 0.9F), At(5, 0.8F), At(10, 0.7F)}, settings).size(), 2U);
}

TEST(ClusterTest, ModeNoneKeepsOverlaps) {
  const auto boxes = Cluster({At(0, 0.5F), At(0, 0.9F), At(0, 0.1F)}, Settings(4));
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_GT(boxes[0].score, boxes[1].score);
}

TEST(ClusterTest, TopkIsPerClassAndTakesTheBest) {
  for (const int mode : {2, 4}) {
    auto settings = Settings(mode);
    settings.classes[0].topk = 1;
    settings.classes[1].topk = 0;
    const auto boxes =
        Cluster({At(0, 0.5F), At(20, 0.9F), At(40, 0.6F), At(60, 0.8F, 1)}, settings);
    ASSERT_EQ(boxes.size(), 1U);
    EXPECT_FLOAT_EQ(boxes[0].score, 0.9F);
  }
}

TEST(ClusterTest, PostThresholdHoldsForNmsOnly) {
  auto settings = Settings(2);
  settings.classes[0].post_cluster = 0.6F;
  EXPECT_EQ(Cluster({At(0, 0.6F), At(20, 0.7F)}, settings).size(), 1U);
  settings.mode = 4;
  EXPECT_EQ(Cluster({At(0, 0.6F), At(20, 0.7F)}, settings).size(), 2U);
}

TEST(ClusterTest, UnknownAndFilteredClassesAreDropped) {
  auto settings = Settings(2);
  settings.filtered_classes = {1};
  const auto boxes =
      Cluster({At(0, 0.9F, 0), At(20, 0.9F, 1), At(40, 0.9F, 2), At(60, 0.9F, -1)}, settings);
  ASSERT_EQ(boxes.size(), 1U);
  EXPECT_EQ(boxes[0].class_id, 0);
}

TEST(ClusterTest, OtherModesAndImpossibleThresholdsAreRefused) {
  EXPECT_TRUE(CheckClusterSettings(Settings(2)).ok());
  EXPECT_TRUE(CheckClusterSettings(Settings(4)).ok());
  for (const int mode : {0, 1, 3, 5}) {
    const Status status = CheckClusterSettings(Settings(mode));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::kUnsupported);
  }
  auto settings = Settings(2);
  settings.classes[1].nms_iou = 1.5F;
  EXPECT_EQ(CheckClusterSettings(settings).error().kind, ErrorKind::kUser);
}

TEST(DuplicateRateTest, CountsBoxesWithABetterOneOfTheirClassInTheirFrame) {
  const auto rate = MeasureDuplicateRate(
      {{At(0, 0.5F), At(0, 0.9F), At(0, 0.9F, 1), At(40, 0.9F)}, {At(40, 0.3F)}, {}}, 0.7);
  EXPECT_EQ(rate.boxes, 5);
  EXPECT_EQ(rate.duplicates, 1);
  EXPECT_DOUBLE_EQ(rate.rate, 0.2);
}

TEST(DuplicateRateTest, DecidesTheClusterModeWithTheNumbers) {
  const ClusterDecision nms = DecideClusterMode({1000, 92, 0.092, 0.7}, false);
  EXPECT_EQ(nms.cluster_mode, 2);
  EXPECT_NE(nms.reason.find("92 of 1000 boxes (9.2 %)"), std::string::npos) << nms.reason;
  EXPECT_EQ(DecideClusterMode({1000, 1, 0.001, 0.7}, false).cluster_mode, 4);
  EXPECT_EQ(DecideClusterMode({}, false).cluster_mode, 4);
}

TEST(DecideClusterModeTest, DenseHeadsWantNmsWhateverWasMeasured) {
  for (const DuplicateRate& rate : {DuplicateRate{}, DuplicateRate{100, 0, 0.0, 0.7}}) {
    const ClusterDecision decision = DecideClusterMode(rate, true);
    EXPECT_EQ(decision.cluster_mode, 2);
    EXPECT_NE(decision.reason.find("dense head"), std::string::npos);
  }
}

}  // namespace
}  // namespace sg
