#include "report/line_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/subprocess.h"
#include "report/text.h"

namespace sg {
namespace {

/// gnuplot's single quotes: only the quote itself is special. Foreign text goes through OneLine.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : report::OneLine(text)) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

std::string DataBlock(const ChartSeries& series, size_t index) {
  std::string block = fmt::format("$data{} << END_OF_ROWS\n", index);
  for (const ChartPoint& p : series.points)
    if (std::isfinite(p.x) && std::isfinite(p.y) && std::isfinite(p.low) && std::isfinite(p.high))
      block += fmt::format("{:.9g} {:.9g} {:.9g} {:.9g}\n", p.x, p.y, p.low, p.high);
  return block + "END_OF_ROWS\n";
}

bool HasPoints(const ChartSeries& series) {
  for (const ChartPoint& p : series.points)
    if (std::isfinite(p.x) && std::isfinite(p.y) && std::isfinite(p.low) && std::isfinite(p.high))
      return true;
  return false;
}

std::string PlotOf(const LineChart& chart, const ChartSeries& series, size_t index) {
  const char* axes = series.second_axis ? "x1y2" : "x1y1";
  const std::string title = Quoted(series.title);
  switch (chart.style) {
    case LineChart::Style::kLines:
      return fmt::format("$data{} using 1:2 axes {} with lines linewidth 2 title {}", index, axes,
                         title);
    case LineChart::Style::kLinesWithErrors:
      return fmt::format(
          "$data{0} using 1:2:3:4 axes {1} with yerrorlines linewidth 2 pointtype 7 title {2}",
          index, axes, title);
    case LineChart::Style::kBars:
      break;
  }
  // Side by side: the whole group is 0.7 wide, with its middle at x.
  const auto count = static_cast<double>(chart.series.size());
  const double shift = 0.7 * ((static_cast<double>(index) + 0.5) / count - 0.5);
  return fmt::format("$data{} using ($1{:+.4g}):2 axes {} with boxes fill solid 0.6 title {}",
                     index, shift, axes, title);
}

}  // namespace

std::string LineChartScript(const LineChart& chart) {
  std::string script = fmt::format(
      "set terminal svg size 1000,560 noenhanced font 'DejaVu Sans,15' background '#FFFFFF'\n"
      "set encoding utf8\nset output {}\nset title {}\nset xlabel {}\nset ylabel {}\n"
      "set grid ytics linecolor rgb '#D8D8D8'\nset key outside below horizontal\n"
      "set yrange [0:*]\nset tics nomirror\nset offsets graph 0.02, graph 0.02, 0, 0\n",
      Quoted(chart.file), Quoted(chart.title), Quoted(chart.x_label), Quoted(chart.y_label));
  if (chart.doubling_x) script += "set logscale x 2\nset xtics 2\n";
  if (chart.style == LineChart::Style::kBars)
    script += fmt::format("set boxwidth {:.4g}\nset xtics 1\n",
                          0.7 / static_cast<double>(std::max<size_t>(1, chart.series.size())));
  if (!chart.x_names.empty()) {
    std::string tics;
    for (size_t i = 0; i < chart.x_names.size(); ++i)
      tics += fmt::format("{}{} {}", i == 0 ? "" : ", ", Quoted(chart.x_names[i]), i + 1);
    script += fmt::format("set xtics ({}) rotate by -30\nset xrange [0.4:{}.6]\n", tics,
                          chart.x_names.size());
  }
  if (!chart.second_label.empty())
    script +=
        fmt::format("set y2label {}\nset y2tics\nset y2range [0:*]\n", Quoted(chart.second_label));
  std::string plots;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    if (!HasPoints(chart.series[i])) continue;
    script += DataBlock(chart.series[i], i);
    plots += (plots.empty() ? "" : ", ") + PlotOf(chart, chart.series[i], i);
  }
  if (chart.limit)
    plots +=
        fmt::format("{}{:.9g} with lines dashtype 2 linewidth 2 linecolor rgb '#C62828' title {}",
                    plots.empty() ? "" : ", ", *chart.limit, Quoted(chart.limit_title));
  if (plots.empty()) plots = "[0:1] [0:1] -1 title 'no samples'";
  return script + "plot " + plots + "\n";
}

Status DrawLineCharts(const std::vector<LineChart>& charts, const std::string& folder) {
  if (FindProgram("gnuplot").empty())
    return EnvironmentError("gnuplot is needed to draw charts: apt install gnuplot-nox");
  SG_RETURN_IF_ERROR(MakeFolders(folder));
  // Drawn beside their place, so that they appear whole.
  const std::string staging = JoinPath(folder, ".drawing");
  SG_RETURN_IF_ERROR(RemoveAll(staging));
  SG_RETURN_IF_ERROR(MakeFolders(staging));
  Subprocess gnuplot;
  gnuplot.argv = {"gnuplot", "-d", "-"};
  gnuplot.folder = staging;
  gnuplot.deadline_s = 60;
  for (const LineChart& chart : charts)
    gnuplot.stdin_text += LineChartScript(chart) + "unset output\nreset session\n";
  const Result<SubprocessExit> exit = RunSubprocess(gnuplot);
  Status status = exit.status();
  if (exit.ok() && exit->interrupted) status = InterruptedError();
  if (exit.ok() && !exit->interrupted && exit->code != 0)
    status =
        EnvironmentError("gnuplot did not draw the charts (exit code " +
                         std::to_string(exit->code) + "): " + report::OneLine(exit->stderr_tail));
  for (const LineChart& chart : charts)
    if (status.ok())
      status = RenameFile(JoinPath(staging, chart.file), JoinPath(folder, chart.file));
  const Status removed = RemoveAll(staging);
  return status.ok() ? removed : status;
}

}  // namespace sg
