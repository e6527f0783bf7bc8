// When the frames of paced sources are due. Pure.
#pragma once

#include <cstdint>

#include "pipeline/run_job.h"

namespace sg {

/// Frame n of a stream is due at phase + n ÷ fps (+ jitter) after the start. The phases of the
/// streams are spread over one period, evenly for any number of them (multiples of the golden
/// section), as cameras that were switched on one after the other.
class PaceSchedule {
 public:
  PaceSchedule(const PaceOptions& options, int stream) : options_(options), stream_(stream) {}

  /// Nanoseconds after the start, never below 0 and never before the frame before it.
  int64_t DueNs(uint64_t frame) const;

  int64_t PeriodNs() const { return static_cast<int64_t>(1e9 / options_.fps); }

 private:
  PaceOptions options_;
  int stream_;
};

}  // namespace sg
