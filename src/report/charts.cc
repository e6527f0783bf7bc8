#include "report/charts.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/files.h"
#include "base/subprocess.h"
#include "report/derived.h"
#include "report/text.h"

namespace sg {
namespace report {
namespace {

// Okabe and Ito's colours: told apart by colour-blind readers and, by lightness, in grey print.
constexpr char kBlue[] = "#0072B2";
constexpr char kOrange[] = "#E69F00";
constexpr char kGreen[] = "#009E73";
constexpr char kRed[] = "#C62828";
constexpr char kInk[] = "#1A1A1A";

constexpr size_t kTitleCharacters = 56;
constexpr size_t kLabelCharacters = 28;

/// A gnuplot string expression for `text`: single quotes, in which nothing is substituted, and the
/// line breaks between them.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\n')
      out += "'.\"\\n\".'";
    else if (c == '\'')
      out += "''";
    else
      out += c;
  }
  return out + "'";
}

/// The same for an axis label, where gnuplot reads % as a format.
std::string QuotedTic(const std::string& text) {
  std::string doubled;
  for (const char c : text) doubled += c == '%' ? std::string("%%") : std::string(1, c);
  return Quoted(doubled);
}

std::string Number(double value) { return fmt::format("{:.6g}", value); }

bool Drawable(const std::optional<double>& value) {
  constexpr double kLargest = 1e15;  // beyond any rate; keeps the axis' arithmetic finite
  return value && *value >= 0 && *value < kLargest;
}

struct Bar {
  std::string label;  ///< under the bar, may have lines
  std::optional<double> value;
  std::string value_text;  ///< above the bar
  const char* colour = kBlue;
  std::optional<double> low;  ///< interval, drawn as a whisker
  std::optional<double> high;
};

struct Line {
  std::optional<double> y;
  std::string title;
  const char* colour = kRed;
};

/// What all five have in common.
std::string Head(const Report& r, const std::string& file, const std::string& subtitle,
                 const std::string& y_label, double highest, bool has_key) {
  const double top = highest > 0 ? highest * 1.22 : 1;
  std::string script = fmt::format(
      "set terminal pngcairo size {},{} noenhanced font 'DejaVu Sans,18' background '#FFFFFF'\n"
      "set encoding utf8\n"
      "set output {}\n",
      kChartWidth, kChartHeight, Quoted(file));
  script += fmt::format(
      "set title {} noenhanced font 'DejaVu Sans:Bold,23' textcolor rgb '{}' offset 0,-0.3\n",
      Quoted(Shortened(OneLine(r.model.name), kTitleCharacters) + "\n" + subtitle), kInk);
  script += fmt::format(
      "set ylabel {} font 'DejaVu Sans,19'\n"
      "set yrange [0:{}]\n"
      "set border 3 linecolor rgb '#555555' linewidth 1.5\n"
      "set tics nomirror textcolor rgb '{}'\n"
      "set grid ytics linetype 1 linecolor rgb '#D8D8D8' linewidth 1\n"
      "set style textbox opaque noborder fillcolor rgb '#FFFFFF' margins 0.6,0.5\n"
      "set key at screen 0.53,0.035 center horizontal samplen 5 font 'DejaVu Sans,18'\n"
      "set lmargin at screen 0.085\nset rmargin at screen 0.97\n"
      "set tmargin at screen 0.86\nset bmargin at screen {}\n",
      Quoted(y_label), Number(top), kInk, has_key ? "0.20" : "0.13");
  return script;
}

std::string ValueLabel(double x, double y, const std::string& text, double offset_lines,
                       int font_size = 19) {
  return fmt::format(
      "set label {} at {},{} center front boxed noenhanced font 'DejaVu Sans:Bold,{}' "
      "textcolor rgb '{}' offset 0,{}\n",
      Quoted(text), Number(x), Number(y), font_size, kInk, Number(offset_lines));
}

std::string XTics(const std::vector<std::string>& labels) {
  std::string tics;
  for (size_t i = 0; i < labels.size(); ++i)
    tics += fmt::format("{}{} {}", i ? ", " : "", QuotedTic(labels[i]), i + 1);
  return fmt::format("set xtics scale 0 ({})\nset xrange [0.4:{}]\n", tics,
                     Number(static_cast<double>(labels.size()) + 0.6));
}

/// One `plot` over all: the dashed lines with their titles, or nothing visible.
std::string DashedLines(const std::vector<Line>& lines) {
  std::string plots;
  for (const Line& line : lines) {
    if (!Drawable(line.y)) continue;
    plots +=
        fmt::format("{}{} with lines dashtype (12,8) linewidth 3.5 linecolor rgb '{}' title {}",
                    plots.empty() ? "" : ", ", Number(*line.y), line.colour, Quoted(line.title));
  }
  return plots;
}

double Highest(const std::vector<Bar>& bars, const std::vector<Line>& lines) {
  double highest = 0;
  for (const Bar& bar : bars)
    for (const auto& value : {bar.value, bar.high})
      if (Drawable(value)) highest = std::max(highest, *value);
  for (const Line& line : lines)
    if (Drawable(line.y)) highest = std::max(highest, *line.y);
  return highest;
}

std::string BarChart(const Report& r, const std::string& file, const std::string& subtitle,
                     const std::string& y_label, const std::vector<Bar>& bars,
                     const std::vector<Line>& lines) {
  const double highest = Highest(bars, lines);
  std::string script = Head(r, file, subtitle, y_label, highest, !lines.empty());
  std::vector<std::string> labels;
  for (size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const double x = static_cast<double>(i) + 1;
    labels.push_back(bar.label);
    if (!Drawable(bar.value)) {
      script += ValueLabel(x, 0, "not measured", 1.2);
      continue;
    }
    const double half_width = bars.size() == 1 ? 0.16 : 0.28;
    script += fmt::format(
        "set object rectangle from {},0 to {},{} fillcolor rgb '{}' fillstyle solid noborder\n",
        Number(x - half_width), Number(x + half_width), Number(*bar.value), bar.colour);
    double label_y = *bar.value;
    double label_offset = 1.0;
    if (Drawable(bar.low) && Drawable(bar.high)) {
      script += fmt::format(
          "set arrow from {0},{1} to {0},{2} heads size screen 0.006,90 front linewidth 2.5 "
          "linecolor rgb '{3}'\n",
          Number(x), Number(*bar.low), Number(*bar.high), kInk);
      label_y = std::max(label_y, *bar.high);
      label_offset = 1.3;
    }
    script += ValueLabel(x, label_y, bar.value_text, label_offset);
  }
  const std::string dashed = DashedLines(lines);
  return script + XTics(labels) + "plot " + (dashed.empty() ? "-1 notitle" : dashed) + "\n";
}

std::string BatchLabel(const ReportEngineTiming& timing, const std::string& batch) {
  return "BS=" + batch + "\n" + Figure(timing.images_per_s, 1) + " images/s";
}

std::string Alone(const Report& r) {
  return Shortened(OneLine(NamesOf(r).engine_alone), kLabelCharacters);
}

std::string RunLabel(const Report& r, int number, const ReportRun& run) {
  return fmt::format("{} {}\n{} streams, worst {} fps", NamesOf(r).run, number, Whole(run.streams),
                     FpsBesideTarget(run.worst_fps, r.target_fps));
}

std::string BatchChart(const Report& r, const std::string& file) {
  const std::string max = Whole(r.engine.max_batch);
  return BarChart(
      r, file, fmt::format("{} QPS: BS=1 vs BS={}", Alone(r), max), "QPS (queries/s)",
      {{BatchLabel(r.engine_b1, "1"), r.engine_b1.qps, Figure(r.engine_b1.qps, 1), kBlue, {}, {}},
       {BatchLabel(r.engine_bmax, max),
        r.engine_bmax.qps,
        Figure(r.engine_bmax.qps, 1),
        kGreen,
        {},
        {}}},
      {});
}

std::string ThroughputChart(const Report& r, const std::string& file) {
  Line peak;
  if (r.peak_streams) peak.y = *r.peak_streams * r.target_fps;
  peak.title = fmt::format("PEAK_GPU_STREAMS {} × {} fps = {} images/s", Whole(r.peak_streams),
                           Shortest(r.target_fps), Figure(peak.y, 0));
  const std::optional<double>& images = r.engine_bmax.images_per_s;
  return BarChart(
      r, file,
      fmt::format("{} Throughput at BS={} (PEAK_GPU_STREAMS={})", NamesOf(r).unit,
                  Whole(r.engine.max_batch), Whole(r.peak_streams)),
      "Images / s",
      {{Alone(r) + " BS=" + Whole(r.engine.max_batch), images, Figure(images, 1), kBlue, {}, {}}},
      {peak});
}

struct Point {
  std::string name;
  const ReportRun* run;
};

/// Every run with a stream count and a result, by stream count; runs with the same count keep the
/// order in which they ran.
std::vector<Point> RunPoints(const Report& r) {
  std::vector<Point> points;
  const auto add = [&points](std::string name, const ReportRun& run) {
    if (run.streams && (Drawable(run.fps_per_stream) || Drawable(run.worst_fps)))
      points.push_back({std::move(name), &run});
  };
  add("Run 1", r.run1);
  for (size_t i = 0; i < r.tries.size(); ++i) add(fmt::format("Try {}", i + 1), r.tries[i]);
  add("Run 2", r.run2);
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return *a.run->streams < *b.run->streams;
  });
  return points;
}

std::string StreamsChart(const Report& r, const std::string& file) {
  const std::vector<Point> points = RunPoints(r);
  const int font_size = points.size() <= 8 ? 19 : points.size() <= 14 ? 14 : 9;
  double highest = r.target_fps;
  std::string mean_rows, worst_rows, values;
  std::vector<std::string> labels;
  for (size_t i = 0; i < points.size(); ++i) {
    const ReportRun& run = *points[i].run;
    const double x = static_cast<double>(i) + 1;
    labels.push_back(fmt::format("{}\n{}", *run.streams, points[i].name));
    if (Drawable(run.fps_per_stream)) {
      highest = std::max(highest, *run.fps_per_stream);
      mean_rows += Number(x) + " " + Number(*run.fps_per_stream) + "\n";
      values += ValueLabel(x, *run.fps_per_stream,
                           FpsBesideTarget(run.fps_per_stream, r.target_fps), 1.3, font_size);
    }
    if (Drawable(run.worst_fps)) {
      highest = std::max(highest, *run.worst_fps);
      worst_rows += Number(x) + " " + Number(*run.worst_fps) + "\n";
      values += ValueLabel(x, *run.worst_fps, FpsBesideTarget(run.worst_fps, r.target_fps), -1.3,
                           font_size);
    }
  }
  std::string script = Head(r, file, NamesOf(r).pipeline + ": FPS per Stream by Number of Streams",
                            "FPS / stream", highest, true);
  if (labels.empty()) {
    labels.push_back("no run");
    values = ValueLabel(1, 0, "not measured", 1.2);
  }
  script += values + "set xlabel 'Streams' font 'DejaVu Sans,19' offset 0,-0.6\n" + XTics(labels);
  std::string plots =
      DashedLines({{r.target_fps, fmt::format("real time: {} fps", Shortest(r.target_fps)), kRed}});
  const auto series = [&](const std::string& name, const std::string& rows, const char* colour,
                          int point_type, const char* title) {
    if (rows.empty()) return;
    script += "$" + name + " << END_OF_ROWS\n" + rows + "END_OF_ROWS\n";
    plots += fmt::format(
        "{}${} using 1:2 with linespoints linewidth 3.5 pointtype {} pointsize 2.4 linecolor rgb "
        "'{}' title '{}'",
        plots.empty() ? "" : ", ", name, point_type, colour, title);
  };
  series("mean", mean_rows, kBlue, 7, "mean of the streams");
  series("worst", worst_rows, kOrange, 9, "worst stream");
  return script + "plot " + (plots.empty() ? "-1 notitle" : plots) + "\n";
}

std::string TotalsChart(const Report& r, const std::string& file) {
  const auto run_bar = [&r](int number, const ReportRun& run, const char* colour) {
    return Bar{RunLabel(r, number, run), run.total_fps,     Figure(run.total_fps, 1), colour,
               run.total_fps_low,        run.total_fps_high};
  };
  const std::optional<double>& images = r.engine_bmax.images_per_s;
  return BarChart(r, file, fmt::format("{} vs {}: Total Images/s", Alone(r), NamesOf(r).pipeline),
                  "Images / s",
                  {{Alone(r) + " alone\nBS=" + Whole(r.engine.max_batch),
                    images,
                    Figure(images, 1),
                    kBlue,
                    {},
                    {}},
                   run_bar(1, r.run1, kOrange),
                   run_bar(2, r.run2, kGreen)},
                  {});
}

std::string EfficiencyChart(const Report& r, const std::string& file) {
  const auto run_bar = [&r](int number, const ReportRun& run, const char* colour) {
    std::optional<double> percent = Efficiency(r, run);
    if (percent) *percent *= 100;
    return Bar{RunLabel(r, number, run), percent, Figure(percent, 1, "%"), colour, {}, {}};
  };
  return BarChart(r, file, fmt::format("{} Efficiency vs {} Alone", NamesOf(r).pipeline, Alone(r)),
                  "Efficiency (%)", {run_bar(1, r.run1, kOrange), run_bar(2, r.run2, kGreen)},
                  {{100.0, fmt::format("100 % = {} alone", Alone(r)), kInk}});
}

/// A folder that goes away with this value.
class ScratchFolder {
 public:
  static Result<std::string> Make(const std::string& parent) {
    std::string path = JoinPath(parent, ".drawing.XXXXXX");
    if (::mkdtemp(path.data()) == nullptr)
      return EnvironmentError(parent + ": no folder can be made in it");
    return path;
  }
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  ~ScratchFolder() { (void)RemoveAll(path_).ok(); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

std::array<ChartFile, 5> ChartFiles(const Report& r) {
  const std::string alone = Inert(NamesOf(r).engine_alone);
  const std::string& pipeline = NamesOf(r).pipeline;
  return {{{"chart_trtexec_bs1_vs_bsmax.png", alone + " queries/s at batch 1 and at MAX"},
           {"chart_trtexec_throughput.png", alone + " images/s at MAX beside the peak streams"},
           {"chart_ds_streams_vs_fps.png", pipeline + " fps per stream by number of streams"},
           {"chart_trt_vs_ds.png", alone + " alone beside the two " + pipeline + " runs, images/s"},
           {"chart_efficiency.png", pipeline + " efficiency of the two runs"}}};
}

std::string ChartScript(const Report& r, size_t index) {
  using Draw = std::string (*)(const Report&, const std::string&);
  constexpr std::array<Draw, 5> kDraw = {BatchChart, ThroughputChart, StreamsChart, TotalsChart,
                                         EfficiencyChart};
  return kDraw.at(index)(r, ChartFiles(r)[index].file);
}

}  // namespace report

Status WriteCharts(const Report& r, const std::string& charts_folder) {
  using namespace report;
  SG_RETURN_IF_ERROR(CheckReportTools());
  SG_RETURN_IF_ERROR(MakeFolders(charts_folder));
  SG_ASSIGN_OR_RETURN(std::string scratch_path, ScratchFolder::Make(charts_folder));
  const ScratchFolder scratch(std::move(scratch_path));
  // One gnuplot for all; "reset" so that nothing of one chart is left for the next.
  std::string script;
  for (size_t i = 0; i < ChartFiles(r).size(); ++i)
    script += ChartScript(r, i) + "unset output\nreset session\n";

  Subprocess gnuplot;
  gnuplot.argv = {"gnuplot", "-d", "-"};
  gnuplot.folder = scratch.path();
  gnuplot.stdin_text = script;
  gnuplot.deadline_s = 60;
  SG_ASSIGN_OR_RETURN(const SubprocessExit exit, RunSubprocess(gnuplot));
  if (exit.interrupted) return InterruptedError();
  for (const ChartFile& chart : ChartFiles(r)) {
    const Result<std::string> png = ReadFile(JoinPath(scratch.path(), chart.file));
    if (exit.code != 0 || !png.ok() || png->rfind("\x89PNG", 0) != 0)
      return EnvironmentError(chart.file + ": gnuplot did not draw it (exit code " +
                              std::to_string(exit.code) + "): " + OneLine(exit.stderr_tail));
    SG_RETURN_IF_ERROR(WriteFileAtomic(JoinPath(charts_folder, chart.file), *png));
  }
  return OkStatus();
}

}  // namespace sg
