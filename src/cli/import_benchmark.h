// Step 7 of an import: the multi-stream runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/import_capacity.h"
#include "cli/import_context.h"
#include "cli/import_engine.h"
#include "cli/import_validation.h"
#include "measure/summary.h"

namespace sg {

/// One run of N streams with batch == N.
struct BenchmarkRun {
  int streams = 0;
  FpsSummary fps;
  double warmup_s = 0;
  double measured_s = 0;
  std::string log;  ///< relative to the model's folder
  std::string samples;
  std::string outcome;  ///< why it was kept or not
};

struct Benchmark {
  BenchmarkRun run1;                ///< at peak streams
  BenchmarkRun run2;                ///< at the most streams that keep the target rate
  std::vector<BenchmarkRun> tries;  ///< stream counts that were tried for run 2 and did not hold
  Capacity capacity;                ///< of paced streams, found after run 2
  double decode_only_fps = 0;       ///< run 1's pipeline with the inference taken out
  double decode_cpu_ms = 0;         ///< CPU time a frame of that
  double run1_seconds = 0;
  double run2_seconds = 0;
  bool run1_reused = false;
  bool run2_reused = false;
};

Result<Benchmark> RunBenchmark(ImportContext* context, const TimedEngine& engine);

/// What limits run 1, from two independent signals: an ablation (inference taken out, decoding
/// taken out) and how busy the cores were. Empty `resource`: they do not agree.
struct Limit {
  std::string resource;
  std::string evidence;
};
struct LimitSignals {
  double pipeline_fps = 0;
  double without_inference_fps = 0;  ///< decode and mux only
  double without_decoding_fps = 0;   ///< the engine alone
  double cores_used = 0;
  double cores_allowed = 0;
};
Limit FindLimit(const LimitSignals& signals);

}  // namespace sg
