// The tables, charts and reasons of a bench or a run. Pure functions of their results.
#pragma once

#include <string>
#include <vector>

#include "measure/bench_result.h"
#include "measure/run_result.h"
#include "report/line_charts.h"

namespace sg {

std::string BenchTable(const BenchResult& bench);
std::string BenchCsv(const BenchResult& bench);
std::vector<LineChart> BenchCharts(const LoadedRun& loaded, const BenchResult& bench);
/// One line for each rule: figure, limit, outcome, and the samples behind it.
std::vector<std::string> BenchReasons(const BenchResult& bench);

std::string RunTable(const RunResult& run);
std::string RunCsv(const RunResult& run);
std::vector<LineChart> RunCharts(const LoadedRun& loaded, const RunResult& run);
std::vector<std::string> RunReasons(const LoadedRun& loaded, const RunResult& run);

}  // namespace sg
