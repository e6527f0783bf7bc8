#include "detector/box_compare.h"

#include <gtest/gtest.h>

namespace sg {
namespace {

TEST(BoxCompare, EqualBoxesDifferByNothing) {
  const std::vector<std::vector<Box>> boxes = {{{0, 10, 20, 30, 40, 0.9F}}, {}};
  const BoxDifference difference = CompareBoxes(boxes, boxes, 0.5);
  EXPECT_EQ(difference.frames, 2u);
  EXPECT_EQ(difference.matched, 1u);
  EXPECT_EQ(difference.unmatched, 0u);
  EXPECT_EQ(difference.max_box_px, 0);
}

TEST(BoxCompare, TheFarthestCornerAndScoreCount) {
  const BoxDifference difference =
      CompareBoxes({{{0, 10, 20, 30, 40, 0.9F}}}, {{{0, 10.5F, 20, 31, 40, 0.8F}}}, 0.5);
  EXPECT_NEAR(difference.max_box_px, 1.5, 1e-5);
  EXPECT_NEAR(difference.max_score, 0.1, 1e-5);
}

TEST(BoxCompare, OrderDoesNotMatterAndOverlapDecides) {
  const Box left{0, 0, 0, 10, 10, 0.9F};
  const Box right{0, 4, 0, 10, 10, 0.8F};
  const BoxDifference difference = CompareBoxes({{left, right}}, {{right, left}}, 0.5);
  EXPECT_EQ(difference.matched, 2u);
  EXPECT_EQ(difference.max_box_px, 0);
  EXPECT_EQ(difference.max_score, 0);
}

TEST(BoxCompare, OtherClassesAreNoPartners) {
  const BoxDifference difference =
      CompareBoxes({{{0, 0, 0, 10, 10, 0.75F}}}, {{{1, 0, 0, 10, 10, 0.55F}}}, 0.5);
  EXPECT_EQ(difference.matched, 0u);
  EXPECT_EQ(difference.unmatched, 2u);
  EXPECT_NEAR(difference.max_unmatched_margin, 0.25, 1e-6);
}

}  // namespace
}  // namespace sg
