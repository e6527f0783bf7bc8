// What the samples of `streamgauge run` say: the unpaced peak, paced runs and their verdicts, the
// capacity, memory. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "measure/capacity.h"
#include "measure/memory.h"
#include "measure/run_folder.h"
#include "measure/stopping.h"
#include "measure/windows.h"

namespace sg {

/// How an unpaced start is measured; all of it is in run.json's options.
struct PeakRules {
  double time_limit_s = 120;
  double relative_half_width = 0.02;
  size_t least_windows = 30;
};

/// One unpaced start.
struct PeakStart {
  Window window;  ///< behind the warm-up
  double warmup_s = 0;
  Estimate fps;  ///< the sum over the streams; clean windows only, where most are clean
  std::vector<double> stream_fps;
  size_t worst_stream = 0;
  bool steady = true;
  std::string why_not_steady;
  std::string stop_name;  ///< of the criterion
  std::string stop_why;
  Taints taints;
  double cpu_cores = 0;
  double cpu_ms_per_frame = 0;
  uint64_t rss_bytes = 0;
};

/// Looks at the record as it was at each look (measure/stopping.h) until a criterion says stop;
/// what was recorded after that look does not count.
PeakStart MeasurePeakStart(const RunRecord& record, const PeakRules& rules);

/// Whether the run may stop now that `elapsed_s` after its first frame have been recorded.
Stop AskPeakStart(const RunRecord& record, const PeakRules& rules, double elapsed_s);

struct PacedPart {
  RunPart part;
  std::optional<CapacityVerdict> verdict;  ///< none: the part failed
  std::string failure;
};

struct RunResult {
  std::vector<PeakStart> peak;
  std::optional<Estimate> peak_fps;  ///< over the starts, or of the only one
  int peak_streams = 0;
  std::vector<PacedPart> paced;
  bool searched = false;
  std::optional<int> capacity;  ///< of the search; nothing when it was cut off
  bool capacity_is_limit = false;
  std::optional<double> engine_images_per_s;
  std::optional<int> simple_formula;  ///< floor(images/s ÷ pace): what a table would promise
  std::optional<MemoryPerStream> memory;
  std::optional<int> memory_ceiling;
  std::optional<Growth> growth;  ///< of the soak
  std::string verdict;           ///< one line
  bool holds = true;             ///< what was asked for is so

  Json ToJson() const;
};

PeakRules PeakRulesOf(const RunFolder& run);
CapacityLimits LimitsOf(const RunFolder& run);

/// The search with the paced parts so far told to it, in order.
CapacitySearch ReplaySearch(const LoadedRun& loaded);

/// kUser when no part has enough samples for a figure.
Result<RunResult> EvaluateRun(const LoadedRun& loaded);

}  // namespace sg
