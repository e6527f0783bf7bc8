// Two runs told apart. Pure.
#pragma once

#include <string>
#include <vector>

#include "measure/statistics.h"

namespace sg {

/// One side of a comparison: each start of the process with its own mean. The higher, the better.
struct ComparedSide {
  std::vector<Estimate> starts;
};

struct CompareRules {
  /// Of the interval. Higher than elsewhere: a wrong "faster" costs more than another measurement.
  double level = 0.99;
  /// Changes smaller than this are never called faster or slower: where code and data come to lie
  /// in memory does as much.
  double least_change = 0.01;
  /// "No difference" is said when the interval lies within ± this.
  double no_difference = 0.05;
  /// What a start differs from the next by chance; used with fewer than three starts, whose own
  /// spread says too little.
  double start_spread = 0.01;
};

struct Comparison {
  enum class Word { kFaster, kSlower, kNoDifference, kUndecided };
  Word word = Word::kUndecided;
  double change = 0;  ///< of B against A: 0.05 is 5 % more
  double low = 0;
  double high = 0;
  double level = 0;
  std::string why;  ///< the rule that decided, with figures
  const char* WordText() const;
};

/// B against A. Undecided without a positive mean on both sides.
Comparison Compare(const ComparedSide& a, const ComparedSide& b, const CompareRules& rules = {});

}  // namespace sg
