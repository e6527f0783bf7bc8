#include "cli/run_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "cli/run_tables.h"
#include "cli/trace_charts.h"
#include "measure/bench_result.h"
#include "measure/run_result.h"
#include "report/line_charts.h"
#include "report/text.h"

namespace sg {
namespace {

/// What all files are made of.
struct Derived {
  Json result;
  std::string verdict;
  std::string table;  ///< for a terminal, also in the report
  std::string csv;
  std::vector<LineChart> charts;
  std::vector<std::string> reasons;
};

Result<Derived> Derive(const LoadedRun& loaded) {
  Derived derived;
  if (loaded.run.kind == "bench") {
    const BenchResult bench = EvaluateBench(loaded);
    if (bench.batches.empty())
      return UserError(loaded.path + ": no round was measured to its end, so there is no figure");
    derived.result = bench.ToJson();
    derived.verdict = bench.plateau.Words();
    derived.table = BenchTable(bench);
    derived.csv = BenchCsv(bench);
    derived.charts = BenchCharts(loaded, bench);
    derived.reasons = BenchReasons(bench);
  } else {
    SG_ASSIGN_OR_RETURN(const RunResult run, EvaluateRun(loaded));
    derived.result = run.ToJson();
    derived.verdict = run.verdict;
    derived.table = RunTable(run);
    derived.csv = RunCsv(run);
    derived.charts = RunCharts(loaded, run);
    derived.reasons = RunReasons(loaded, run);
  }
  return derived;
}

/// The charts of each part's trace, where `run --trace` left one.
void AddTraceCharts(const LoadedRun& loaded, std::vector<LineChart>* charts) {
  for (const RunPart& part : loaded.run.parts) {
    const std::string stem = part.samples.substr(0, part.samples.find('.'));
    const std::string path = JoinPath(loaded.path, stem + ".sgtrace");
    if (!FileExists(path)) continue;
    const Result<trace::TraceFile> file = trace::TraceFile::Open(path);
    if (!file.ok() || file->records == 0) continue;  // run.json's notes say why
    for (LineChart& chart : TraceCharts(*file, trace::Summarize(*file), stem))
      charts->push_back(std::move(chart));
  }
}

Json WholeJson(const LoadedRun& loaded, const Json& result) {
  const Json run = loaded.run.ToJson();
  return {{"format", "streamgauge-result"},
          {"version", 1},
          {"kind", loaded.run.kind},
          {"name", loaded.run.name},
          {"created_at", loaded.run.created_at},
          {"tool_version", loaded.run.tool_version},
          {"options", loaded.run.options},
          {"inputs", run["inputs"]},
          {"machine", loaded.run.machine},
          {"notes", loaded.run.notes},
          {"result", result}};
}

std::string Markdown(const LoadedRun& loaded, const Derived& derived, bool with_charts) {
  std::string text = fmt::format("# streamgauge {}: {}\n\n**{}**\n\n", loaded.run.kind,
                                 report::Inert(loaded.run.name), report::Inert(derived.verdict));
  text += fmt::format("Measured {} with {}.\n\n", report::Inert(loaded.run.created_at),
                      report::Inert(loaded.run.tool_version));
  text += report::Fenced(derived.table, "text") + "\n";
  if (with_charts)
    for (const LineChart& chart : derived.charts)
      text += fmt::format("![{}](charts/{})\n\n", report::Inert(chart.title), chart.file);
  text += "## Why\n\n";
  for (const std::string& reason : derived.reasons) text += report::InertItem(reason);
  if (!loaded.run.notes.empty()) text += "\n## Notes\n\n";
  for (const std::string& note : loaded.run.notes) text += report::InertItem(note);
  text += "\n## Inputs\n\n| what | file | SHA-256 |\n|---|---|---|\n";
  for (const RunInput& input : loaded.run.inputs)
    text += fmt::format("| {} | {} | {} |\n", report::Inert(input.role), report::Inert(input.path),
                        input.sha256);
  return text;
}

}  // namespace

Result<Json> ResultJson(const LoadedRun& loaded) {
  SG_ASSIGN_OR_RETURN(const Derived derived, Derive(loaded));
  return WholeJson(loaded, derived.result);
}

Status WriteResults(const std::string& folder, const Console& console, bool json) {
  SG_ASSIGN_OR_RETURN(const LoadedRun loaded, LoadRun(folder));
  SG_ASSIGN_OR_RETURN(Derived derived, Derive(loaded));
  AddTraceCharts(loaded, &derived.charts);
  const std::string result = ToJsonText(WholeJson(loaded, derived.result));
  SG_RETURN_IF_ERROR(WriteFileAtomic(JoinPath(folder, "result.json"), result));
  SG_RETURN_IF_ERROR(WriteFileAtomic(JoinPath(folder, "result.csv"), derived.csv));
  const Status drawn = DrawLineCharts(derived.charts, JoinPath(folder, "charts"));
  if (!drawn.ok() && drawn.error().kind != ErrorKind::kEnvironment) return drawn;
  SG_RETURN_IF_ERROR(
      WriteFileAtomic(JoinPath(folder, "report.md"), Markdown(loaded, derived, drawn.ok())));
  console.Say(derived.table);
  console.Say(derived.verdict);
  if (!drawn.ok()) console.Say("Without charts: " + drawn.error().message);
  console.Say("Run folder: " + folder);
  if (json) std::fputs(result.c_str(), stdout);
  return OkStatus();
}

Result<std::vector<std::string>> ExplainRun(const std::string& folder) {
  SG_ASSIGN_OR_RETURN(const LoadedRun loaded, LoadRun(folder));
  SG_ASSIGN_OR_RETURN(Derived derived, Derive(loaded));
  derived.reasons.insert(derived.reasons.begin(), derived.verdict);
  return derived.reasons;
}

}  // namespace sg
