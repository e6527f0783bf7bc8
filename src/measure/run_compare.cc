#include "measure/run_compare.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "measure/bench_result.h"
#include "measure/result_json.h"
#include "measure/run_result.h"

namespace sg {
namespace {

/// What can be compared: figure → its starts.
std::map<std::string, ComparedSide> SidesOf(const LoadedRun& loaded) {
  std::map<std::string, ComparedSide> sides;
  if (loaded.run.kind == "bench") {
    for (const BatchResult& batch : EvaluateBench(loaded).batches)
      for (const double value : batch.rounds)
        if (std::isfinite(value)) {
          Estimate start;
          start.value = value;
          sides[fmt::format("images/s at batch {:3}", batch.batch)].starts.push_back(start);
        }
    return sides;
  }
  const Result<RunResult> run = EvaluateRun(loaded);
  if (!run.ok()) return sides;
  for (const PeakStart& start : run->peak)
    sides[fmt::format("unpaced fps of {} streams", run->peak_streams)].starts.push_back(start.fps);
  return sides;
}

void CompareInputs(const LoadedRun& a, const LoadedRun& b, std::vector<std::string>* differences) {
  std::map<std::string, std::set<std::string>> roles[2];
  for (int side = 0; side < 2; ++side)
    for (const RunInput& input : (side == 0 ? a : b).run.inputs)
      roles[side][input.role].insert(input.sha256);
  std::set<std::string> names;
  for (const auto& side : roles)
    for (const auto& [role, hashes] : side) names.insert(role);
  for (const std::string& name : names)
    if (roles[0][name] != roles[1][name]) differences->push_back("another " + name);
}

/// Values of the machine that change from minute to minute are no difference.
bool Changes(const std::string& key) { return key == "memory_available_bytes"; }

void CompareObjects(const std::string& what, const Json& a, const Json& b,
                    std::vector<std::string>* differences) {
  std::set<std::string> keys;
  for (const Json* json : {&a, &b})
    for (const auto& [key, value] : json->items()) keys.insert(key);
  for (const std::string& key : keys) {
    if (Changes(key)) continue;
    const Json left = a.value(key, Json());
    const Json right = b.value(key, Json());
    if (left != right)
      differences->push_back(
          fmt::format("{} {}: {} -> {}", what, key, ToJsonLine(left), ToJsonLine(right)));
  }
}

}  // namespace

Result<RunComparison> CompareRuns(const LoadedRun& a, const LoadedRun& b) {
  if (a.run.kind != b.run.kind)
    return UserError(
        fmt::format("{} is of streamgauge {}, {} of streamgauge {}: they have no "
                    "figure in common",
                    a.path, a.run.kind, b.path, b.run.kind));
  RunComparison result;
  const auto left = SidesOf(a);
  const auto right = SidesOf(b);
  for (const auto& [name, side] : left) {
    const auto other = right.find(name);
    if (other == right.end()) continue;
    const auto mean = [](const ComparedSide& s) {
      std::vector<double> values;
      for (const Estimate& start : s.starts) values.push_back(start.value);
      return Mean(values);
    };
    result.figures.push_back({name, mean(side), mean(other->second), Compare(side, other->second)});
  }
  if (result.figures.empty())
    return UserError(
        fmt::format("{} and {} have no figure in common: compare two benches with the "
                    "same batches, or two unpaced runs with as many streams",
                    a.path, b.path));
  CompareInputs(a, b, &result.differences);
  CompareObjects("option", a.run.options, b.run.options, &result.differences);
  CompareObjects("machine", a.run.machine, b.run.machine, &result.differences);
  if (a.run.tool_version != b.run.tool_version)
    result.differences.push_back(a.run.tool_version + " -> " + b.run.tool_version);
  return result;
}

Json RunComparison::ToJson() const {
  Json json = {{"format", "streamgauge-comparison"}, {"version", 1}, {"figures", Json::array()}};
  for (const ComparedFigure& f : figures)
    json["figures"].push_back({{"name", f.name},
                               {"a", FigureJson(f.a)},
                               {"b", FigureJson(f.b)},
                               {"says", f.comparison.WordText()},
                               {"change", FigureJson(f.comparison.change)},
                               {"low", FigureJson(f.comparison.low)},
                               {"high", FigureJson(f.comparison.high)},
                               {"level", f.comparison.level},
                               {"why", f.comparison.why}});
  json["differences"] = differences;
  return json;
}

}  // namespace sg
