// What deepstream-app prints with enable-perf-measurement=1: every few seconds one line with each
// stream's fps of the interval and, in parentheses, since the start.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

/// One "**PERF:" line: fps of each stream in the interval it ends.
using PerfLine = std::vector<double>;

/// The lines that hold values, in order; headers ("FPS 0 (Avg)") are none. "PERF(0):" of several
/// configs at once counts too. A line with a value that is no number is left out.
std::vector<PerfLine> ParsePerfLog(const std::string& log);

/// Figures of a run, from the lines behind the warm-up.
struct PerfSummary {
  std::vector<double> stream_fps;  ///< each stream's mean
  double aggregate_fps = 0;        ///< their sum
  int worst_stream = 0;
  double worst_fps = 0;
  int lines = 0;  ///< that were counted
};

/// Leaves the first `skip` lines out, and lines whose number of streams is not `streams` (sources
/// that are not there yet). kGate when fewer than two are left: there is nothing to judge by.
Result<PerfSummary> SummarisePerf(const std::vector<PerfLine>& lines, int streams, int skip);

}  // namespace sg
