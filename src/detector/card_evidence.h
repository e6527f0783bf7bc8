// Thresholds that a model's own card gives in its prose.
#pragma once

#include <optional>
#include <string>

namespace sg {

struct CardEvidence {
  std::optional<double> score_threshold;
  std::string score_text;  ///< the words that say so, e.g. "score >= 0.5"
  std::optional<double> nms_iou;
  std::string nms_text;
  std::string licence;       ///< of the front matter; empty when it has none
  std::string pipeline_tag;  ///< the same
};

/// Reads a README.md. A number counts when the prose (not code, not the front matter) says
/// "score ≥ X", "score threshold X" or "NMS at IoU X" in one sentence, with X between 0 and 1.
/// Where the card gives several different numbers for the same thing, none counts.
CardEvidence ReadCardEvidence(const std::string& readme);

}  // namespace sg
