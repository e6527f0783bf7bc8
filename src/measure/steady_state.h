// Where a run's warm-up ends and whether it is steady behind it: change points in the frames per
// window. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "measure/statistics.h"

namespace sg {

/// A place where the level of a series changes.
struct Shift {
  bool found = false;
  size_t index = 0;      ///< first value of the new level
  double before = 0;     ///< mean before it
  double after = 0;      ///< mean from it on
  double statistic = 0;  ///< difference ÷ its standard error, the errors' correlation counted
};

struct ShiftRules {
  /// About the 1 % point of the largest of all places' statistics (Andrews 1993, supremum of Wald).
  double least_statistic = 3.5;
  double least_change = 0.01;  ///< of the later level; smaller ones do not matter
};

/// The most distinct change of level that begins before `end`. Single outliers count little: values
/// far from the later half's median are cut to it. Not found below 6 values.
Shift FindShift(const std::vector<double>& series, size_t end, const ShiftRules& rules = {});

struct SteadyState {
  size_t warmup_windows = 0;  ///< at the series' start; 0: none was found
  Shift warmup;               ///< the last change that was cut off
  bool steady = true;
  std::string why_not;  ///< with figures, when not steady
  Estimate mean;        ///< of the values behind the warm-up, 95 %
};

/// Cuts the warm-up off (changes of level within the first half) and looks whether the rest still
/// changes its level by more than 2 % or drifts by more than 2 % from its begin to its end.
SteadyState FindSteadyState(const std::vector<double>& series);

}  // namespace sg
