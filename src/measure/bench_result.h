// What a bench run's samples say: images/s and latency of each batch, and the plateau. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "measure/plateau.h"
#include "measure/run_folder.h"
#include "measure/windows.h"

namespace sg {

/// One start of the engine at one batch, behind its warm-up.
struct EnginePart {
  double warmup_s = 0;  ///< found by the change of level
  double measured_s = 0;
  uint64_t inferences = 0;
  double images_per_s = 0;  ///< NaN below two inferences
  std::vector<double> latencies_ms;
  uint64_t rss_bytes = 0;
  double cpu_ms_per_image = 0;
  std::vector<Taint> taints;
};
EnginePart MeasureEnginePart(const RunRecord& record);

/// Requests in flight and what they gave in the sweep.
struct RequestsTried {
  int requests = 0;
  double images_per_s = 0;
};
/// The fewest whose images/s are within 2 % of the best. 0 without any.
int ChooseRequests(const std::vector<RequestsTried>& tried);

struct BatchResult {
  int batch = 1;
  std::vector<RequestsTried> sweep;
  int requests = 0;            ///< in the rounds
  std::vector<double> rounds;  ///< images/s; NaN: the round has no figure
  Estimate images_per_s;       ///< over the rounds
  Estimate p50_ms;  ///< of all rounds' inferences; start to end, requests in flight as given
  Estimate p95_ms;
  Estimate p99_ms;
  double cpu_ms_per_image = 0;
  uint64_t rss_bytes = 0;
  double longest_warmup_s = 0;
  std::vector<std::string> taints;  ///< named, with the round
  size_t tainted_rounds = 0;
};

struct BenchResult {
  std::vector<BatchResult> batches;
  Plateau plateau;
  std::string stopped;  ///< why no more rounds were measured
  Json ToJson() const;
};

BenchResult EvaluateBench(const LoadedRun& loaded);

}  // namespace sg
