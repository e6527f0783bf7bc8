// How full the queues were, and what they dropped.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace_reader.h"

namespace sg::trace {

struct LevelPoint {
  double time_s = 0;  ///< since the trace's first record
  uint64_t buffers = 0;
  uint64_t bytes = 0;
  double media_s = 0;  ///< what the queue itself says it holds
};

struct QueueLevels {
  uint32_t element = 0;
  std::vector<LevelPoint> points;
  double mean_buffers = 0;
  uint64_t max_buffers = 0;
  uint64_t last_buffers = 0;
  double empty_share = 0;  ///< of the samples
  /// Pushed in, less pushed out and less what it held last; 0 unless the queue leaks.
  uint64_t dropped = 0;
};

/// Elements that store, fullest first.
std::vector<QueueLevels> MeasureLevels(const TraceFile& trace);

}  // namespace sg::trace
