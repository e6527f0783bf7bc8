// The plateau batch: the smallest batch where doubling it gains less than 5 % images/s, decided
// with intervals. Pure functions.
//
// Every round measures every batch once, so a pair of batches is compared within its rounds: what
// disturbs a whole round (a neighbour, a clock) is in both and cancels. Rounds are restarts of the
// process, so what differs from start to start is in the spread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/statistics.h"

namespace sg {

/// Images/s of one batch, a value per round; a round in which it was not measured is not finite.
struct BatchRounds {
  int batch = 1;
  std::vector<double> images_per_s;
};

enum class Gain { kBelow, kAtLeast, kUndecided };

/// One doubling.
struct Doubling {
  int batch = 1;
  int doubled = 2;
  Estimate gain;  ///< 0.05: 5 % more images/s at the doubled batch
  Gain decision = Gain::kUndecided;
};

struct PlateauRules {
  double least_gain = 0.05;
  /// Times that FindPlateau will be asked while rounds are added. The error of 5 % is shared
  /// between them, so that looking often does not make a wrong decision likelier.
  int looks = 1;
  size_t least_rounds = 4;
};

struct Plateau {
  enum class State {
    kDecided,     ///< `batch` is the plateau
    kNotReached,  ///< every doubling gains at least 5 %
    kUndecided,   ///< `candidates` cannot be told apart
  };
  State state = State::kUndecided;
  std::optional<int> batch;
  std::vector<int> candidates;  ///< batches that may be the plateau
  std::vector<Doubling> doublings;
  std::string Words() const;  ///< one sentence
};

/// REQUIRES: batches ascend. Batches that are not the double of the one before are left out.
Plateau FindPlateau(const std::vector<BatchRounds>& batches, const PlateauRules& rules = {});

/// Rounds after which to look: 5, 7, 10, 14, 20, … up to `most`, which is the last.
std::vector<int> RoundLooks(int most);

}  // namespace sg
