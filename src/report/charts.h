// The five charts: what they are called and the gnuplot scripts that draw them.
#pragma once

#include <array>
#include <string>

#include "report/report.h"

namespace sg::report {

struct ChartFile {
  std::string file;     ///< "chart_efficiency.png"
  std::string caption;  ///< inert Markdown, plain ASCII words
};

/// The five, in the order they appear in the report.
std::array<ChartFile, 5> ChartFiles(const Report& report);

/// A gnuplot script that draws chart `index` into a file of its name in gnuplot's working folder.
/// Foreign text is in it as quoted strings only.
std::string ChartScript(const Report& report, size_t index);

constexpr int kChartWidth = 1500;
constexpr int kChartHeight = 900;

}  // namespace sg::report
