// Figures from a run's samples. Pure functions.
//
// The fps of a stream is its frames ÷ wall time in the window, counted at the tap; the aggregate is
// the sum over the streams.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "measure/samples.h"
#include "measure/statistics.h"

namespace sg {

struct LatencySummary {
  uint64_t frames = 0;  ///< frames of the window that carry a capture time
  double mean_ms = 0;
  double p50_ms = 0;
  double p99_ms = 0;
};

struct FpsSummary {
  double window_s = 0;
  std::vector<double> stream_fps;
  std::vector<uint64_t> stream_frames;
  double aggregate_fps = 0;
  /// 95 % interval of the aggregate from the window's whole seconds (SeriesMean).
  double aggregate_low_fps = 0;
  double aggregate_high_fps = 0;
  int worst_stream = 0;
  double worst_fps = 0;
  LatencySummary latency;  ///< capture to arrival
  double cpu_cores = 0;    ///< process CPU seconds ÷ wall seconds; 0: not sampled
  double cpu_ms_per_frame = 0;
  int64_t rss_growth_bytes = 0;  ///< last second of the window − first
  uint64_t rss_peak_bytes = 0;
  double boxes_per_frame = 0;
};

/// Seconds since the run's start.
struct Window {
  double from_s = 0;
  double to_s = 0;
};

/// From the first frame + warm-up to the run's measured end, or to the last frame when it ended
/// earlier.
Window MeasuredWindow(const RunRecord& record);

/// Frames with from_s <= arrival < to_s. kUser "too short" below 2 s or with fewer than 2 frames.
Result<FpsSummary> Summarise(const RunRecord& record, double from_s, double to_s);

/// Frames that arrived in each whole second of the window (the rest at its end is left out).
std::vector<double> FramesPerSecond(const RunRecord& record, double from_s, double to_s);

}  // namespace sg
