// Which preprocessing does a model want? Other ones than the card's are tried on real frames, and
// scored by the boxes that come out. Pure functions; who runs them is cli/check_preprocessing.cc.
#pragma once

#include <string>
#include <vector>

#include "detector/decoder.h"
#include "detector/model_card.h"

namespace sg {

/// One way to prepare pictures, in full.
struct PreprocessingCandidate {
  Preprocessing preprocessing;
  std::string values;  ///< "1/255", "ImageNet mean and std", … for the table
  bool is_card = false;
};

/// The card's own, first, and every combination of: pixels as they are, ÷ 255, ÷ 127.5 − 1 and
/// ImageNet's mean and std; RGB and BGR, with mean and std turned along; stretch, corner and centre
/// letterbox. A graph that takes bytes does its own arithmetic: its values are not varied.
std::vector<PreprocessingCandidate> PreprocessingCandidates(const Preprocessing& card);

/// "RGB", "BGR" and "stretch", "corner letterbox", "centre letterbox".
const char* ColourName(const Preprocessing& preprocessing);
const char* ResizeName(ResizeMode mode);

struct PreprocessingScore {
  int frames = 0;
  int boxes = 0;
  double boxes_per_frame = 0;
  double mean_confidence = 0;  ///< of all boxes; 0 without any
  double persistence = 0;      ///< share of boxes that last (below); 0 without any
  /// mean_confidence × persistence × (1 − e^−boxes_per_frame): how sure and how steady the boxes
  /// are. More boxes count only until there is about one a frame: a network that gets pictures it
  /// was not trained on often finds many, and is less sure of each.
  double score = 0;
};

/// A box lasts when the next frame (of the last one: the frame before) has one of its class that
/// overlaps it by at least kLastingIou; in a single frame all do.
PreprocessingScore ScorePreprocessing(const std::vector<std::vector<Box>>& boxes_of_frames);
inline constexpr double kLastingIou = 0.3;

struct PreprocessingVerdict {
  enum class Answer { kCardIsBest, kTooClose, kAnotherIsBetter, kNothingFound } answer;
  size_t best = 0;   ///< index of the highest score; the card's among equals
  size_t rival = 0;  ///< of the highest score that is not the card's
  /// card's score ÷ rival's − 1; +0.1: the card's own is 10 % better. 0 when both are 0.
  double margin = 0;
  std::string text;  ///< for people, one line
};

/// Scores closer than this share tell nothing.
inline constexpr double kClearMargin = 0.03;

/// REQUIRES: as many scores as candidates, one of which is the card's.
PreprocessingVerdict JudgePreprocessing(const std::vector<PreprocessingCandidate>& candidates,
                                        const std::vector<PreprocessingScore>& scores);

}  // namespace sg
