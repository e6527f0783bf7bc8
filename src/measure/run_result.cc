#include "measure/run_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/bench_result.h"
#include "measure/result_json.h"
#include "measure/steady_state.h"
#include "measure/summary.h"

namespace sg {
namespace {

constexpr double kNsPerS = 1e9;
constexpr double kShortestRunS = 2;

double Seconds(int64_t ns) { return static_cast<double>(ns) / kNsPerS; }

std::vector<std::unique_ptr<StoppingCriterion>> Criteria(const PeakRules& rules) {
  std::vector<std::unique_ptr<StoppingCriterion>> criteria;
  criteria.push_back(
      std::make_unique<PreciseEnough>(rules.relative_half_width, rules.least_windows));
  criteria.push_back(std::make_unique<TimeIsUp>(rules.time_limit_s));
  return criteria;
}

/// The windows from the first frame up to `elapsed_s` behind it.
struct Look {
  Windows windows;
  SteadyState state;  ///< of the clean windows
  Taints taints;      ///< of the windows behind the warm-up
};

Look LookAt(const RunRecord& record, double elapsed_s) {
  Look look;
  const double from_s = record.FirstArrival() + record.warmup_s;
  look.windows = CutIntoWindows(from_s, record.FirstArrival() + elapsed_s);
  const std::vector<double> rates = RatePerWindow(record, look.windows);
  const Taints all = FindTaints(record, look.windows);
  const SteadyState whole = FindSteadyState(rates);
  look.windows.from_s += look.windows.length_s * static_cast<double>(whole.warmup_windows);
  look.windows.count -= whole.warmup_windows;
  const std::vector<double> behind(
      rates.begin() + static_cast<std::ptrdiff_t>(whole.warmup_windows), rates.end());
  look.taints = FindTaints(record, look.windows);
  const std::vector<double> clean = CleanValues(behind, look.taints);
  // Disturbed windows may have made the level look unsteady.
  look.state = clean.size() == behind.size() ? whole : FindSteadyState(clean);
  look.state.mean = AfterLooking(SeriesMean(clean));
  return look;
}

double RecordedSeconds(const RunRecord& record) {
  const double end_s = record.measure_s > 0
                           ? std::min(record.LastArrival(),
                                      record.FirstArrival() + record.warmup_s + record.measure_s)
                           : record.LastArrival();
  return end_s - record.FirstArrival();
}

Progressed ProgressedAt(const Look& look, double elapsed_s) {
  return {look.state.mean, look.windows.count, elapsed_s, look.state.steady};
}

/// The record's load and memory in a window.
void MeasureProcess(const RunRecord& record, PeakStart* start) {
  const SecondSample* first = nullptr;
  const SecondSample* last = nullptr;
  for (const SecondSample& second : record.seconds) {
    start->rss_bytes = std::max(start->rss_bytes, second.rss_bytes);
    const double at_s = Seconds(second.time_ns);
    if (at_s < start->window.from_s || at_s > start->window.to_s) continue;
    if (first == nullptr) first = &second;
    last = &second;
  }
  if (first == nullptr || first == last) return;
  const double span_s = Seconds(last->time_ns - first->time_ns);
  start->cpu_cores = span_s > 0 ? (last->cpu_s - first->cpu_s) / span_s : 0;
  if (start->fps.value > 0) start->cpu_ms_per_frame = 1e3 * start->cpu_cores / start->fps.value;
}

uint64_t PeakRss(const RunRecord& record) {
  uint64_t peak = 0;
  for (const SecondSample& second : record.seconds) peak = std::max(peak, second.rss_bytes);
  return peak;
}

Growth GrowthOf(const RunRecord& record) {
  std::vector<double> times_s;
  std::vector<double> bytes;
  for (const SecondSample& second : record.seconds) {
    times_s.push_back(Seconds(second.time_ns));
    bytes.push_back(static_cast<double>(second.rss_bytes));
  }
  return TestGrowth(times_s, bytes);
}

PacedPart JudgePart(const RunPart& part, const RunRecord& record, const CapacityLimits& limits) {
  PacedPart paced;
  paced.part = part;
  paced.failure = part.failure;
  if (part.sha256.empty() || !part.failure.empty()) return paced;
  const Result<CapacityVerdict> verdict = JudgePacedRun(record, limits);
  if (verdict.ok())
    paced.verdict = *verdict;
  else
    paced.failure = verdict.error().message;
  return paced;
}

bool IsPaced(const RunPart& part) { return part.pace_fps > 0 && part.role != "engine"; }

CapacitySearch::Outcome OutcomeOf(const PacedPart& paced) {
  if (!paced.verdict) return CapacitySearch::Outcome::kFails;
  if (paced.verdict->holds) return CapacitySearch::Outcome::kHolds;
  return paced.verdict->disturbed ? CapacitySearch::Outcome::kDisturbed
                                  : CapacitySearch::Outcome::kFails;
}

CapacitySearch NewSearch(const RunFolder& run) {
  return {run.options.value("first_streams", 1), run.options.value("most_streams", 1)};
}

void FitMemoryOf(const LoadedRun& loaded, RunResult* result) {
  std::vector<MemoryPoint> points;
  for (size_t i = 0; i < loaded.run.parts.size(); ++i) {
    const RunPart& part = loaded.run.parts[i];
    if (part.streams > 0 && IsPaced(part) && PeakRss(loaded.records[i]) > 0)
      points.push_back({part.streams, static_cast<double>(PeakRss(loaded.records[i]))});
  }
  result->memory = FitMemory(points);
  const Json available = loaded.run.machine.value("memory_available_bytes", Json());
  if (result->memory && available.is_number())
    result->memory_ceiling = result->memory->StreamsWithin(available.get<double>());
}

/// ": frames later than 300 ms 3.2 % (limit 1 %), stream 2" of the first rule that does not hold.
std::string FailingRule(const PacedPart& paced) {
  if (!paced.verdict) return "";
  for (const RuleOutcome& rule : paced.verdict->rules) {
    if (rule.holds) continue;
    return fmt::format(": {} {:.3g} {} (limit {:.3g}), {}", rule.rule, rule.value, rule.unit,
                       rule.limit, rule.where);
  }
  return "";
}

/// A failure on a disturbed machine says little about a quiet one.
std::string DisturbedWords(const PacedPart& paced) {
  if (!paced.verdict || !paced.verdict->disturbed) return "";
  const Taints& taints = paced.verdict->taints;
  return fmt::format(" on a disturbed machine ({} in {} of {} windows): measure again",
                     DisturbanceName(taints.causes.front().cause), taints.Count(),
                     taints.tainted.size());
}

void Conclude(const LoadedRun& loaded, RunResult* result) {
  const double pace_fps = loaded.run.options.value("pace_fps", 0.0);
  std::vector<std::string> words;
  if (result->searched) {
    if (result->capacity && *result->capacity > 0)
      words.push_back(fmt::format("capacity at {:g} fps: {}{} stream{}", pace_fps,
                                  result->capacity_is_limit ? "at least " : "", *result->capacity,
                                  *result->capacity == 1 ? "" : "s"));
    else if (result->capacity)
      words.push_back(fmt::format("not even one stream holds {:g} fps", pace_fps));
    else
      words.push_back("the search for the capacity was cut off");
    result->holds = result->capacity.value_or(0) > 0;
  } else {
    for (const PacedPart& paced : result->paced) {
      const bool holds = paced.verdict && paced.verdict->holds;
      words.push_back(fmt::format("{} stream{} at {:g} fps: {}{}", paced.part.streams,
                                  paced.part.streams == 1 ? "" : "s", paced.part.pace_fps,
                                  holds ? "HOLDS" : "FAILS" + FailingRule(paced),
                                  DisturbedWords(paced)));
      result->holds = result->holds && holds;
    }
  }
  if (result->peak_fps)
    words.push_back(fmt::format("unpaced peak {:.1f} fps ({:.1f} to {:.1f}) with {} stream{}",
                                result->peak_fps->value, result->peak_fps->low,
                                result->peak_fps->high, result->peak_streams,
                                result->peak_streams == 1 ? "" : "s"));
  if (result->simple_formula)
    words.push_back(fmt::format("the simple formula (images/s / {:g}) says {}", pace_fps,
                                *result->simple_formula));
  if (result->growth) {
    words.push_back(result->growth->words);
    result->holds = result->holds && !result->growth->grows;
  }
  for (const std::string& word : words)
    result->verdict += (result->verdict.empty() ? "" : "; ") + word;
}

Json ToJson(const std::vector<Taint>& taints) {
  Json json = Json::array();
  for (const Taint& taint : taints)
    json.push_back({{"cause", DisturbanceName(taint.cause)},
                    {"windows", taint.windows},
                    {"words", taint.words}});
  return json;
}

Json ToJson(const PeakStart& start) {
  Json streams = Json::array();
  for (const double fps : start.stream_fps) streams.push_back(FigureJson(fps));
  return {{"from_s", FigureJson(start.window.from_s)},
          {"to_s", FigureJson(start.window.to_s)},
          {"warmup_s", FigureJson(start.warmup_s)},
          {"fps", EstimateJson(start.fps)},
          {"stream_fps", streams},
          {"worst_stream", start.worst_stream},
          {"worst_fps",
           start.stream_fps.empty() ? Json() : FigureJson(start.stream_fps[start.worst_stream])},
          {"steady", start.steady},
          {"why_not_steady", start.why_not_steady},
          {"stopped_by", start.stop_name},
          {"stopped_because", start.stop_why},
          {"cpu_cores", FigureJson(start.cpu_cores)},
          {"cpu_ms_per_frame", FigureJson(start.cpu_ms_per_frame)},
          {"rss_bytes", start.rss_bytes},
          {"tainted_windows", start.taints.Count()},
          {"taints", ToJson(start.taints.causes)}};
}

Json ToJson(const PacedStream& stream) {
  return {{"fps", FigureJson(stream.fps)},
          {"due", stream.due},
          {"arrived", stream.arrived},
          {"late", stream.late},
          {"late_share", FigureJson(stream.late_share)},
          {"latency_p50_ms", EstimateJson(stream.latency_p50_ms)},
          {"latency_p99_ms", EstimateJson(stream.latency_p99_ms)},
          {"backlog_frames_per_s", EstimateJson(stream.backlog_per_s)},
          {"backlog_grows", stream.backlog_grows}};
}

Json ToJson(const RuleOutcome& rule) {
  return {{"rule", rule.rule},
          {"value", FigureJson(rule.value)},
          {"limit", FigureJson(rule.limit)},
          {"unit", rule.unit},
          {"holds", rule.holds},
          {"where", rule.where}};
}

Json ToJson(const PacedPart& paced) {
  Json json = {{"streams", paced.part.streams}, {"batch", paced.part.batch},
               {"role", paced.part.role},       {"pace_fps", FigureJson(paced.part.pace_fps)},
               {"samples", paced.part.samples}, {"holds", paced.verdict && paced.verdict->holds},
               {"failure", paced.failure}};
  if (!paced.verdict) return json;
  const CapacityVerdict& verdict = *paced.verdict;
  json["disturbed"] = verdict.disturbed;
  json["from_s"] = FigureJson(verdict.window.from_s);
  json["to_s"] = FigureJson(verdict.window.to_s);
  json["late_after_ms"] = FigureJson(verdict.late_after_ms);
  json["aggregate_fps"] = FigureJson(verdict.aggregate_fps);
  json["worst_stream"] = verdict.worst_stream;
  json["jain_index"] = FigureJson(verdict.jain_index);
  json["rules"] = Json::array();
  for (const RuleOutcome& rule : verdict.rules) json["rules"].push_back(ToJson(rule));
  json["each"] = Json::array();
  for (const PacedStream& stream : verdict.each) json["each"].push_back(ToJson(stream));
  json["tainted_windows"] = verdict.taints.Count();
  json["taints"] = ToJson(verdict.taints.causes);
  return json;
}

}  // namespace

Stop AskPeakStart(const RunRecord& record, const PeakRules& rules, double elapsed_s) {
  const auto criteria = Criteria(rules);
  Stop stop;
  for (const double look_s :
       LookTimes(static_cast<double>(rules.least_windows) + record.warmup_s, rules.time_limit_s)) {
    if (look_s > elapsed_s || stop.now) break;
    stop = AskCriteria(criteria, ProgressedAt(LookAt(record, look_s), look_s));
  }
  return stop;
}

PeakStart MeasurePeakStart(const RunRecord& record, const PeakRules& rules) {
  PeakStart start;
  double used_s = RecordedSeconds(record);
  const auto criteria = Criteria(rules);
  Stop stop;
  for (const double look_s :
       LookTimes(static_cast<double>(rules.least_windows) + record.warmup_s, rules.time_limit_s)) {
    // The last frame may be a little earlier than the look it was asked at.
    constexpr double kSlackS = 0.5;
    if (look_s > used_s + kSlackS) break;
    stop = AskCriteria(criteria, ProgressedAt(LookAt(record, look_s), look_s));
    if (!stop.now) continue;
    used_s = std::min(used_s, look_s);
    break;
  }
  const Look look = LookAt(record, used_s);
  start.window = {look.windows.from_s, look.windows.End()};
  start.warmup_s = look.windows.from_s - record.FirstArrival();
  start.fps = look.state.mean;
  start.steady = look.state.steady;
  start.why_not_steady = look.state.why_not;
  start.stop_name = stop.now ? stop.name : record.ended_by.empty() ? "cut off" : record.ended_by;
  start.stop_why = stop.now ? stop.why
                            : fmt::format("the run ended after {:.1f} s ({})", used_s,
                                          record.ended_by.empty() ? "killed" : record.ended_by);
  start.taints = look.taints;
  for (int stream = 0; stream < static_cast<int>(record.streams.size()); ++stream)
    start.stream_fps.push_back(Mean(RatePerWindow(record, look.windows, stream)));
  start.worst_stream =
      static_cast<size_t>(std::min_element(start.stream_fps.begin(), start.stream_fps.end()) -
                          start.stream_fps.begin());
  MeasureProcess(record, &start);
  return start;
}

PeakRules PeakRulesOf(const RunFolder& run) {
  PeakRules rules;
  rules.time_limit_s = run.options.value("time_limit_s", rules.time_limit_s);
  rules.relative_half_width = run.options.value("relative_half_width", rules.relative_half_width);
  return rules;
}

CapacityLimits LimitsOf(const RunFolder& run) {
  CapacityLimits limits;
  limits.late_after_ms = run.options.value("late_after_ms", 0.0);
  const Json p99 = run.options.value("latency_p99_ms", Json());
  if (p99.is_number()) limits.latency_p99_ms = p99.get<double>();
  return limits;
}

CapacitySearch ReplaySearch(const LoadedRun& loaded) {
  CapacitySearch search = NewSearch(loaded.run);
  for (size_t i = 0; i < loaded.run.parts.size(); ++i) {
    const RunPart& part = loaded.run.parts[i];
    if (part.role == "try" || part.role == "confirm")
      search.Tell(OutcomeOf(JudgePart(part, loaded.records[i], LimitsOf(loaded.run))));
  }
  return search;
}

Result<RunResult> EvaluateRun(const LoadedRun& loaded) {
  RunResult result;
  const RunFolder& run = loaded.run;
  for (size_t i = 0; i < run.parts.size(); ++i) {
    const RunPart& part = run.parts[i];
    const RunRecord& record = loaded.records[i];
    if (part.role == "engine" && !part.sha256.empty()) {
      result.engine_images_per_s = MeasureEnginePart(record).images_per_s;
    } else if (IsPaced(part)) {
      result.paced.push_back(JudgePart(part, record, LimitsOf(run)));
    } else if (part.role == "peak" && RecordedSeconds(record) >= kShortestRunS) {
      result.peak.push_back(MeasurePeakStart(record, PeakRulesOf(run)));
      result.peak_streams = static_cast<int>(record.streams.size());
    }
    if (part.role == "soak" && !record.seconds.empty()) result.growth = GrowthOf(record);
  }
  std::vector<double> means;
  for (const PeakStart& start : result.peak) means.push_back(start.fps.value);
  if (means.size() == 1) result.peak_fps = result.peak[0].fps;
  if (means.size() >= 2) result.peak_fps = IndependentMean(means);
  result.searched = run.options.value("search", false);
  if (result.searched) {
    const CapacitySearch search = ReplaySearch(loaded);
    if (!search.Next()) result.capacity = search.capacity();
    result.capacity_is_limit = !search.Next() && search.at_limit();
  }
  const double pace_fps = run.options.value("pace_fps", 0.0);
  if (result.engine_images_per_s && std::isfinite(*result.engine_images_per_s) && pace_fps > 0)
    result.simple_formula = static_cast<int>(std::floor(*result.engine_images_per_s / pace_fps));
  FitMemoryOf(loaded, &result);
  if (result.peak.empty() && result.paced.empty() && !result.growth)
    return UserError(
        fmt::format("{}: no part of the run is as long as the {:g} s that a figure needs; "
                    "run longer, use a longer clip, or --loop",
                    loaded.path, kShortestRunS));
  Conclude(loaded, &result);
  return result;
}

Json RunResult::ToJson() const {
  Json json = {{"verdict", verdict}, {"holds", holds}};
  json["capacity"] = searched ? Json({{"streams", capacity ? Json(*capacity) : Json()},
                                      {"is_search_limit", capacity_is_limit}})
                              : Json();
  json["unpaced_peak"] = Json();
  if (peak_fps) {
    json["unpaced_peak"] = {
        {"streams", peak_streams}, {"fps", EstimateJson(*peak_fps)}, {"starts", Json::array()}};
    for (const PeakStart& start : peak) json["unpaced_peak"]["starts"].push_back(sg::ToJson(start));
  }
  json["simple_formula"] =
      simple_formula
          ? Json({{"images_per_s", FigureJson(*engine_images_per_s)}, {"streams", *simple_formula}})
          : Json();
  json["paced"] = Json::array();
  for (const PacedPart& part : paced) json["paced"].push_back(sg::ToJson(part));
  json["memory"] = Json();
  if (memory)
    json["memory"] = {{"bytes_per_stream", EstimateJson(memory->bytes_per_stream)},
                      {"base_bytes", FigureJson(memory->base_bytes)},
                      {"ceiling_streams", memory_ceiling ? Json(*memory_ceiling) : Json()}};
  json["growth"] = Json();
  if (growth)
    json["growth"] = {{"grows", growth->grows},
                      {"bytes_per_s", EstimateJson(growth->bytes_per_s)},
                      {"span_s", FigureJson(growth->span_s)},
                      {"words", growth->words}};
  return json;
}

}  // namespace sg
