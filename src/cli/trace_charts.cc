#include "cli/trace_charts.h"

#include <algorithm>

namespace sg {
namespace {

constexpr size_t kMostElements = 12;
constexpr size_t kMostQueues = 6;
/// A picture has about a thousand columns.
constexpr size_t kMostPoints = 1000;

std::string NameOf(const trace::TraceFile& file, uint32_t element) {
  const auto found = file.elements.find(element);
  return found == file.elements.end() ? "?" : found->second.name;
}

LineChart ElementsChart(const trace::TraceSummary& summary, const std::string& stem) {
  std::vector<trace::ElementTime> elements = summary.times.elements;
  std::stable_sort(elements.begin(), elements.end(), [](const auto& a, const auto& b) {
    return std::max(a.held_ns(), a.cpu_ns()) > std::max(b.held_ns(), b.cpu_ns());
  });
  if (elements.size() > kMostElements) elements.resize(kMostElements);
  LineChart chart;
  chart.file = stem + "_elements.svg";
  chart.title = "Time of each element, % of the trace";
  chart.y_label = "% of the trace's time";
  chart.style = LineChart::Style::kBars;
  chart.series = {{"holds its thread", {}, false}, {"CPU, with helper threads", {}, false}};
  const double whole_ns = std::max(1.0, summary.times.duration_ns);
  for (const trace::ElementTime& element : elements) {
    chart.x_names.push_back(element.element.name);
    const auto x = static_cast<double>(chart.x_names.size());
    const double held = 100 * element.held_ns() / whole_ns;
    const double cpu = 100 * element.cpu_ns() / whole_ns;
    chart.series[0].points.push_back({x, held, held, held});
    chart.series[1].points.push_back({x, cpu, cpu, cpu});
  }
  return chart;
}

}  // namespace

std::vector<LineChart> TraceCharts(const trace::TraceFile& file, const trace::TraceSummary& summary,
                                   const std::string& stem) {
  std::vector<LineChart> charts = {ElementsChart(summary, stem)};
  LineChart queues;
  queues.file = stem + "_queues.svg";
  queues.title = "Buffers in the fullest queues";
  queues.x_label = "seconds";
  queues.y_label = "buffers";
  for (const trace::QueueLevels& levels : summary.levels) {
    if (queues.series.size() == kMostQueues) break;
    ChartSeries series{NameOf(file, levels.element), {}, false};
    const size_t step = levels.points.size() / kMostPoints + 1;
    for (size_t i = 0; i < levels.points.size(); i += step) {
      const auto buffers = static_cast<double>(levels.points[i].buffers);
      series.points.push_back({levels.points[i].time_s, buffers, buffers, buffers});
    }
    if (!series.points.empty()) queues.series.push_back(std::move(series));
  }
  if (!queues.series.empty()) charts.push_back(std::move(queues));
  return charts;
}

}  // namespace sg
