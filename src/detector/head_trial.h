// Which of several heads that fit the outputs makes sense on real pictures? Each decodes the same
// outputs; a right reading gives boxes that lie in the picture and that turn with it when the
// picture is mirrored.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "detector/head_recognition.h"
#include "detector/parser_source.h"

namespace sg {

/// Pictures that a trial wants at least.
inline constexpr int kTrialPictures = 20;
/// The best head must score this many times the next one's.
inline constexpr double kTrialMargin = 2;

struct TrialScore {
  int boxes = 0;        ///< in all pictures, after NMS where the head wants it
  double in_range = 0;  ///< share of boxes that lie in the picture and have a size
  double distinct = 0;  ///< share of boxes that are not another one again
  double mirrored = 0;  ///< share of boxes that the mirrored picture has too, mirrored
  double frames = 0;    ///< share of pictures with boxes
  /// The product of the four shares: 1 is a head that makes sense everywhere.
  double Total() const { return in_range * distinct * mirrored * frames; }
};

struct TrialSettings {
  int network_width = 0;
  int network_height = 0;
  float score_threshold = 0.25F;
};

/// `pictures` has one slot for each picture, `mirrored` the same pictures mirrored left to right.
/// kUser when an output is missing.
Result<TrialScore> TryHead(const Head& head, const RecordedTensors& pictures,
                           const RecordedTensors& mirrored, const TrialSettings& settings);

/// The candidate whose score is at least kTrialMargin times every other's. kGate, listing all of
/// them with their scores and what --head would take, when there is none. `scores` are in the
/// candidates' order.
Result<size_t> ChooseHead(const std::vector<HeadCandidate>& candidates,
                          const std::vector<TrialScore>& scores, const std::string& model);

}  // namespace sg
