// Charts of measured series as SVG, drawn by gnuplot: the same values give the same bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

struct ChartPoint {
  double x = 0;
  double y = 0;
  double low = 0;  ///< of the error bar; equal to y: none
  double high = 0;
};

struct ChartSeries {
  std::string title;
  std::vector<ChartPoint> points;
  bool second_axis = false;  ///< the scale at the right
};

struct LineChart {
  enum class Style { kLines, kLinesWithErrors, kBars };
  std::string file;  ///< "latency.svg"
  std::string title;
  std::string x_label;
  std::string y_label;
  std::string second_label;  ///< of the right scale
  Style style = Style::kLines;
  bool doubling_x = false;  ///< 1, 2, 4, … evenly spaced
  /// Of the places x = 1, 2, … of bars; the bars of several series stand side by side.
  std::vector<std::string> x_names;
  std::vector<ChartSeries> series;
  std::optional<double> limit;  ///< a dashed line
  std::string limit_title;
};

/// Draws all into `folder`, each whole or not at all. Values that are not finite are left out.
/// kEnvironment when gnuplot is missing or fails.
Status DrawLineCharts(const std::vector<LineChart>& charts, const std::string& folder);

/// What gnuplot is told for one chart.
std::string LineChartScript(const LineChart& chart);

}  // namespace sg
