// A run as consecutive windows of equal length: frames, and what disturbed each. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "measure/samples.h"

namespace sg {

struct Windows {
  double from_s = 0;    ///< since the run's start
  double length_s = 1;  ///< of each
  size_t count = 0;
  double End() const { return from_s + length_s * static_cast<double>(count); }
};

/// Whole windows in a span: of 1 s, or of a twentieth of a span shorter than 20 s.
Windows CutIntoWindows(double from_s, double to_s);

/// Frames (or images) per second in each window; of one stream, or of all for -1.
std::vector<double> RatePerWindow(const RunRecord& record, const Windows& windows, int stream = -1);

enum class Disturbance {
  kSteal,          ///< the hypervisor gave our cores to another machine
  kThrottled,      ///< the control group's CPU quota stopped us
  kClockDrop,      ///< the cores (or the GPU) ran slower than in the rest of the run
  kOtherPrograms,  ///< other programs used the cores
  kClockPacedSink  ///< a sink with sync=true: the clock is measured, not the machine
};
const char* DisturbanceName(Disturbance disturbance);

struct Taint {
  Disturbance cause = Disturbance::kSteal;
  size_t windows = 0;  ///< tainted by it
  std::string words;   ///< with the worst figure and where
};

struct Taints {
  std::vector<bool> tainted;  ///< per window
  std::vector<Taint> causes;
  size_t Count() const;
};

/// Steal or other programs above 2 and 10 % of the usable cores' time, throttling above 1 % of the
/// time, a clock below 90 % of the run's median.
Taints FindTaints(const RunRecord& record, const Windows& windows);

/// The values of windows that are not tainted; all of them when fewer than half are clean.
std::vector<double> CleanValues(const std::vector<double>& values, const Taints& taints);

}  // namespace sg
