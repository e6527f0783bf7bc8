#include "measure/bench_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "measure/result_json.h"
#include "measure/steady_state.h"

namespace sg {
namespace {

constexpr double kNsPerS = 1e9;
constexpr double kMsPerS = 1e3;
constexpr double kNotWorse = 0.98;

double Seconds(int64_t ns) { return static_cast<double>(ns) / kNsPerS; }

/// Windows that hold at least three inferences each, so that their rates are not all 0 or 1.
Windows EngineWindows(const RunRecord& record, double from_s, double to_s) {
  constexpr double kInferences = 3;
  Windows windows = CutIntoWindows(from_s, to_s);
  const auto count = static_cast<double>(record.frames.size());
  const double least_s = count > 0 ? kInferences * (to_s - from_s) / count : to_s - from_s;
  windows.length_s = std::max(windows.length_s, least_s);
  windows.count =
      windows.length_s > 0 ? static_cast<size_t>((to_s - from_s) / windows.length_s + 1e-6) : 0;
  return windows;
}

void MeasureProcess(const RunRecord& record, double from_s, EnginePart* part) {
  const SecondSample* first = nullptr;
  const SecondSample* last = nullptr;
  for (const SecondSample& second : record.seconds) {
    part->rss_bytes = std::max(part->rss_bytes, second.rss_bytes);
    if (first == nullptr || Seconds(second.time_ns) <= from_s) first = &second;
    last = &second;
  }
  if (first == nullptr || last == first) return;
  const double span_s = Seconds(last->time_ns - first->time_ns);
  if (span_s > 0 && part->images_per_s > 0)
    part->cpu_ms_per_image = kMsPerS * (last->cpu_s - first->cpu_s) / (span_s * part->images_per_s);
}

void AddRound(const RunPart& part, const EnginePart& measured, BatchResult* batch,
              std::vector<double>* latencies_ms) {
  batch->requests = part.requests;
  const auto round = static_cast<size_t>(part.round);
  if (batch->rounds.size() < round)
    batch->rounds.resize(round, std::numeric_limits<double>::quiet_NaN());
  if (round > 0) batch->rounds[round - 1] = measured.images_per_s;
  latencies_ms->insert(latencies_ms->end(), measured.latencies_ms.begin(),
                       measured.latencies_ms.end());
  batch->rss_bytes = std::max(batch->rss_bytes, measured.rss_bytes);
  batch->longest_warmup_s = std::max(batch->longest_warmup_s, measured.warmup_s);
  for (const Taint& taint : measured.taints)
    batch->taints.push_back(
        fmt::format("round {}: {}: {}", part.round, DisturbanceName(taint.cause), taint.words));
  if (!measured.taints.empty()) ++batch->tainted_rounds;
}

Json ToJson(const BatchResult& b) {
  Json sweep = Json::array();
  for (const RequestsTried& tried : b.sweep)
    sweep.push_back(
        {{"requests", tried.requests}, {"images_per_s", FigureJson(tried.images_per_s)}});
  Json rounds = Json::array();
  for (const double value : b.rounds) rounds.push_back(FigureJson(value));
  return {{"batch", b.batch},
          {"requests", b.requests},
          {"images_per_s", EstimateJson(b.images_per_s)},
          {"rounds", rounds},
          {"latency_ms",
           {{"p50", EstimateJson(b.p50_ms)},
            {"p95", EstimateJson(b.p95_ms)},
            {"p99", EstimateJson(b.p99_ms)}}},
          {"cpu_ms_per_image", FigureJson(b.cpu_ms_per_image)},
          {"rss_bytes", b.rss_bytes},
          {"longest_warmup_s", FigureJson(b.longest_warmup_s)},
          {"requests_sweep", sweep},
          {"tainted_rounds", b.tainted_rounds},
          {"taints", b.taints}};
}

const char* StateName(Plateau::State state) {
  switch (state) {
    case Plateau::State::kDecided:
      return "decided";
    case Plateau::State::kNotReached:
      return "not reached";
    case Plateau::State::kUndecided:
      break;
  }
  return "undecided";
}

const char* GainName(Gain gain) {
  switch (gain) {
    case Gain::kBelow:
      return "below";
    case Gain::kAtLeast:
      return "at least";
    case Gain::kUndecided:
      break;
  }
  return "undecided";
}

Json ToJson(const Plateau& plateau) {
  Json doublings = Json::array();
  for (const Doubling& d : plateau.doublings)
    doublings.push_back({{"batch", d.batch},
                         {"doubled", d.doubled},
                         {"gain", EstimateJson(d.gain)},
                         {"against_5_percent", GainName(d.decision)}});
  return {{"state", StateName(plateau.state)},
          {"batch", plateau.batch ? Json(*plateau.batch) : Json()},
          {"candidates", plateau.candidates},
          {"words", plateau.Words()},
          {"doublings", doublings}};
}

}  // namespace

EnginePart MeasureEnginePart(const RunRecord& record) {
  EnginePart part;
  part.images_per_s = std::numeric_limits<double>::quiet_NaN();
  const double to_s = record.LastArrival();
  const Windows windows = EngineWindows(record, 0, to_s);
  const SteadyState state = FindSteadyState(RatePerWindow(record, windows));
  part.warmup_s = windows.length_s * static_cast<double>(state.warmup_windows);
  // From the first end behind the warm-up to the last one: whole inferences, no rounding.
  double first_s = -1;
  for (const FrameSample& inference : record.frames) {
    const double end_s = Seconds(inference.arrival_ns);
    if (end_s < part.warmup_s) continue;
    part.latencies_ms.push_back(static_cast<double>(inference.arrival_ns - inference.capture_ns) /
                                kNsPerS * kMsPerS);
    if (first_s < 0) {
      first_s = end_s;
      continue;
    }
    ++part.inferences;
    part.measured_s = end_s - first_s;
  }
  if (part.measured_s > 0)
    part.images_per_s =
        static_cast<double>(part.inferences) * record.images_per_line / part.measured_s;
  MeasureProcess(record, part.warmup_s, &part);
  part.taints = FindTaints(record, EngineWindows(record, part.warmup_s, to_s)).causes;
  return part;
}

int ChooseRequests(const std::vector<RequestsTried>& tried) {
  double best = 0;
  for (const RequestsTried& one : tried) best = std::max(best, one.images_per_s);
  int fewest = 0;
  for (const RequestsTried& one : tried)
    if (one.images_per_s >= kNotWorse * best && (fewest == 0 || one.requests < fewest))
      fewest = one.requests;
  return fewest;
}

BenchResult EvaluateBench(const LoadedRun& loaded) {
  std::map<int, BatchResult> batches;
  std::map<int, std::vector<double>> latencies_ms;
  std::map<int, std::vector<double>> cpu_ms;
  for (size_t i = 0; i < loaded.run.parts.size(); ++i) {
    const RunPart& part = loaded.run.parts[i];
    if (part.sha256.empty() || !part.failure.empty()) continue;
    BatchResult& batch = batches[part.batch];
    batch.batch = part.batch;
    const EnginePart measured = MeasureEnginePart(loaded.records[i]);
    if (part.role == "sweep") {
      batch.sweep.push_back({part.requests, measured.images_per_s});
      continue;
    }
    AddRound(part, measured, &batch, &latencies_ms[part.batch]);
    if (measured.cpu_ms_per_image > 0) cpu_ms[part.batch].push_back(measured.cpu_ms_per_image);
  }
  BenchResult result;
  std::vector<BatchRounds> rounds;
  for (auto& [number, batch] : batches) {
    if (batch.rounds.empty()) continue;
    std::vector<double> known;
    for (const double value : batch.rounds)
      if (std::isfinite(value)) known.push_back(value);
    batch.images_per_s = IndependentMean(known);
    batch.p50_ms = QuantileOfSeries(latencies_ms[number], 0.5);
    batch.p95_ms = QuantileOfSeries(latencies_ms[number], 0.95);
    batch.p99_ms = QuantileOfSeries(latencies_ms[number], 0.99);
    batch.cpu_ms_per_image = Mean(cpu_ms[number]);
    rounds.push_back({number, batch.rounds});
    result.batches.push_back(batch);
  }
  PlateauRules rules;
  const int most = loaded.run.options.value("max_rounds", 1);
  rules.looks = static_cast<int>(RoundLooks(most).size());
  result.plateau = FindPlateau(rounds, rules);
  const size_t count = rounds.empty() ? 0 : rounds[0].images_per_s.size();
  if (result.plateau.state != Plateau::State::kUndecided)
    result.stopped = fmt::format("decided after {} rounds", count);
  else if (count >= static_cast<size_t>(most))
    result.stopped = fmt::format("undecided after the most rounds, {}", count);
  else
    result.stopped =
        fmt::format("ended after {} of {} rounds, by the time limit or the user", count, most);
  return result;
}

Json BenchResult::ToJson() const {
  Json json = {{"plateau", sg::ToJson(plateau)}, {"stopped", stopped}, {"batches", Json::array()}};
  for (const BatchResult& batch : batches) json["batches"].push_back(sg::ToJson(batch));
  return json;
}

}  // namespace sg
