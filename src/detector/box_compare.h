// How far two detectors' boxes are from each other on the same frames.
#pragma once

#include <cstdint>
#include <vector>

#include "detector/decoder.h"

namespace sg {

struct BoxDifference {
  uint64_t frames = 0;
  uint64_t matched = 0;    ///< pairs of the same class with IoU ≥ 0.5, best overlap first
  uint64_t unmatched = 0;  ///< boxes that only one side has
  double max_box_px = 0;   ///< largest difference of a corner coordinate over all pairs
  double max_score = 0;    ///< largest difference of a score over all pairs
  double max_unmatched_margin =
      0;  ///< of the boxes without a partner: their largest score above `threshold`
};

/// Compares frame by frame. REQUIRES: both have as many frames. `threshold` is the score from which
/// a box is kept: a box just above it on one side may be just below it on the other.
BoxDifference CompareBoxes(const std::vector<std::vector<Box>>& a,
                           const std::vector<std::vector<Box>>& b, double threshold);

}  // namespace sg
