// What memory says about more streams and longer runs. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/statistics.h"

namespace sg {

/// Resident bytes of a run with so many streams.
struct MemoryPoint {
  int streams = 0;
  double bytes = 0;
};

struct MemoryPerStream {
  Estimate bytes_per_stream;
  double base_bytes = 0;  ///< of no stream: what the line through the points begins with
  /// The most streams that fit; nothing when a stream costs nothing that can be told.
  std::optional<int> StreamsWithin(double available_bytes) const;
};

/// The line through the points; nothing with fewer than two different stream counts. An interval
/// only from three points on.
std::optional<MemoryPerStream> FitMemory(const std::vector<MemoryPoint>& points);

struct Growth {
  Estimate bytes_per_s;
  double span_s = 0;
  bool grows = false;
  std::string words;
};

/// Whether memory grows: the slope's 95 % interval is above 0 and it grows by 256 KiB a minute or
/// more. The first third is left out, where caches and pools fill. REQUIRES: equally many of both.
Growth TestGrowth(const std::vector<double>& times_s, const std::vector<double>& bytes);

}  // namespace sg
