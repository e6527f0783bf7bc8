// Whether a machine carries N paced streams: the verdict of one run, and the search for the largest
// N. Pure.
//
// In a paced run each source has its own schedule, as cameras have: frame n is due at
// start + phase + n ÷ F, whether or not the pipeline is ready. Latency counts from there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/samples.h"
#include "measure/statistics.h"
#include "measure/summary.h"
#include "measure/windows.h"

namespace sg {

struct CapacityLimits {
  double least_fps_share = 0.99;  ///< of the pace, by the worst stream
  double most_late_share = 0.01;  ///< of any stream's due frames
  double late_after_ms = 0;       ///< 0: three frame periods
  std::optional<double> latency_p99_ms;
};

/// One rule, what it looked at and what it said; `explain` prints these.
struct RuleOutcome {
  std::string rule;
  double value = 0;
  double limit = 0;
  std::string unit;
  bool holds = true;
  std::string where;  ///< "stream 2, frames due 3.0 to 33.0 s"
};

struct PacedStream {
  uint64_t due = 0;      ///< frames due in the window
  uint64_t arrived = 0;  ///< frames that arrived in the window, whenever due
  uint64_t late = 0;     ///< of the due ones: arrived late, or not at all
  double fps = 0;
  double late_share = 0;
  Estimate latency_p50_ms;
  Estimate latency_p99_ms;
  Estimate backlog_per_s;  ///< frames that are due and not there: slope over time
  bool backlog_grows = false;
};

struct CapacityVerdict {
  int streams = 0;
  double pace_fps = 0;
  double late_after_ms = 0;
  Window window;
  std::vector<PacedStream> each;
  size_t worst_stream = 0;  ///< by late frames, then by fps
  double jain_index = 1;    ///< of the streams' fps
  double aggregate_fps = 0;
  std::vector<RuleOutcome> rules;
  bool holds = false;
  Taints taints;
  /// It fails, and windows are tainted: the machine was disturbed, so try again.
  bool disturbed = false;
};

/// kUser when the record is not of a paced run or too short (below 2 s behind the warm-up).
Result<CapacityVerdict> JudgePacedRun(const RunRecord& record, const CapacityLimits& limits);

/// (Σx)² ÷ (n Σx²): 1 when all are equal, 1/n when one has everything (Jain, Chiu & Hawe 1984).
double JainIndex(const std::vector<double>& values);

/// The largest N that holds: doubling until one fails, bisection between, then N once more at full
/// length. Ask Next, run it, Tell.
class CapacitySearch {
 public:
  enum class Outcome { kHolds, kFails, kDisturbed };

  CapacitySearch(int first, int most) : next_(std::min(first, most)), most_(most) {}

  struct Try {
    int streams = 0;
    bool confirm = false;  ///< the last one, at full length
  };
  std::optional<Try> Next() const;
  /// What the try that Next named gave. A disturbed one is tried once more, then counts as failed.
  void Tell(Outcome outcome);

  /// Of a finished search; 0: not even one stream holds.
  int capacity() const { return holds_; }
  /// The limit `most` was reached and held: the capacity is at least that.
  bool at_limit() const { return holds_ == most_; }

 private:
  void Choose();

  int next_;
  int most_;
  int holds_ = 0;
  int fails_ = 0;  ///< smallest that failed; 0: none yet
  bool confirming_ = false;
  bool repeated_ = false;
  bool done_ = false;
};

}  // namespace sg
