#include "detector/card_evidence.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace sg {
namespace {

TEST(CardEvidenceTest, DemoModelsCardGivesItsThresholdsAndLicence) {
  auto readme = ReadFile(SG_SOURCE_DIR "/assets/pedestrian-rtdetr/README.md");
  ASSERT_TRUE(readme.ok());
  const CardEvidence evidence = ReadCardEvidence(*readme);
  EXPECT_EQ(evidence.score_threshold, 0.5);
  EXPECT_EQ(evidence.score_text, "score >= 0.5");
  EXPECT_EQ(evidence.nms_iou, 0.7);
  EXPECT_EQ(evidence.nms_text, "nms at iou 0.7");
  EXPECT_EQ(evidence.licence, "apache-2.0");
}

TEST(CardEvidenceTest, ThresholdsAreReadInTheirUsualWordings) {
  for (const char* text :
       {"Use a score threshold of 0.35.", "Confidence threshold: 0.35", "score > 0.35",
        "scores ≥ 0.35 count", "with score_threshold = 0.35", "SCORE THRESHOLD IS 0.35"}) {
    EXPECT_EQ(ReadCardEvidence(text).score_threshold, 0.35) << text;
  }
  for (const char* text : {"NMS at IoU 0.6 is needed", "NMS with an IoU threshold of 0.6",
                           "(NMS, IoU = 0.6)", "NMS threshold: 0.6"}) {
    EXPECT_EQ(ReadCardEvidence(text).nms_iou, 0.6) << text;
  }
}

TEST(CardEvidenceTest, NumbersThatAreSomethingElseDoNotCount) {
  for (const char* text :
       {"", "The best score is 0.53.", "A score of 0.9 mAP", "score ≥ 50", "score ≥ 1.0",
        "AP at IoU 0.5", "score. Threshold 0.5", "`score >= 0.5`", "```\nscore >= 0.5\n```",
        "F1 score | 0.87", "score\n\n>= 0.5", "score threshold v0.5.1"}) {
    EXPECT_FALSE(ReadCardEvidence(text).score_threshold.has_value()) << text;
  }
  for (const char* text : {"IoU 0.7", "It needs no NMS at IoU 0.7", "without NMS at IoU 0.7",
                           "NMS-free. IoU 0.7", "NMS takes 0.7 ms", "NMS at IoU 7"}) {
    EXPECT_FALSE(ReadCardEvidence(text).nms_iou.has_value()) << text;
  }
}

TEST(CardEvidenceTest, NumbersThatContradictEachOtherDoNotCount) {
  EXPECT_FALSE(ReadCardEvidence("score ≥ 0.5 here, score ≥ 0.3 there").score_threshold);
  EXPECT_EQ(ReadCardEvidence("score ≥ 0.5 here, score threshold 0.5").score_threshold, 0.5);
  EXPECT_FALSE(ReadCardEvidence("score ≥ 0.5, score ≥ 0.3, score ≥ 0.5").score_threshold);
}

TEST(CardEvidenceTest, FrontMatterIsNotProseAndMayBeDamaged) {
  const CardEvidence evidence = ReadCardEvidence(
      "---\nlicense: other\nlicense_name: my-licence\nnote: score >= 0.5\n---\nText\n");
  EXPECT_EQ(evidence.licence, "my-licence");
  EXPECT_FALSE(evidence.score_threshold);
  EXPECT_EQ(ReadCardEvidence("---\nlicense:\n- mit\n---\n").licence, "mit");
  EXPECT_EQ(ReadCardEvidence("---\n[: {\n---\nscore >= 0.5").score_threshold, 0.5);
  EXPECT_EQ(ReadCardEvidence("---\nno end").licence, "");
}

TEST(CardEvidenceTest, TheFrontMatterNamesTheTask) {
  const CardEvidence evidence =
      ReadCardEvidence("---\nlicense: mit\npipeline_tag: image-segmentation\n---\n");
  EXPECT_EQ(evidence.pipeline_tag, "image-segmentation");
  EXPECT_EQ(evidence.licence, "mit");
  EXPECT_EQ(ReadCardEvidence("pipeline_tag: x").pipeline_tag, "");
  EXPECT_EQ(ReadCardEvidence("---\npipeline_tag: {a: b}\n---\n").pipeline_tag, "");
}

}  // namespace
}  // namespace sg
