#include "cli/run_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "measure/summary.h"

namespace sg {
namespace {

constexpr double kNsPerS = 1e9;
constexpr double kMebibyte = 1024.0 * 1024;

double Seconds(int64_t ns) { return static_cast<double>(ns) / kNsPerS; }

/// "100.0 ±1.2"; without an interval only the value.
std::string WithSpread(const Estimate& estimate, int decimals) {
  if (estimate.degrees <= 0) return fmt::format("{:.{}f}", estimate.value, decimals);
  return fmt::format("{:.{}f} ±{:.{}f}", estimate.value, decimals,
                     (estimate.high - estimate.low) / 2, decimals);
}

std::string Bounds(const Estimate& estimate) {
  if (estimate.degrees <= 0) return ",,";
  return fmt::format(",{:.6g},{:.6g}", estimate.low, estimate.high);
}

ChartPoint Point(double x, const Estimate& estimate) {
  if (estimate.degrees <= 0) return {x, estimate.value, estimate.value, estimate.value};
  return {x, estimate.value, estimate.low, estimate.high};
}

/// Share of latencies up to each value, at 200 places.
ChartSeries LatencyCurve(const std::string& title, std::vector<double> latencies_ms) {
  constexpr int kPlaces = 200;
  ChartSeries series;
  series.title = title;
  std::sort(latencies_ms.begin(), latencies_ms.end());
  for (int i = 0; i <= kPlaces && !latencies_ms.empty(); ++i) {
    const double share = static_cast<double>(i) / kPlaces;
    const double value = Quantile(latencies_ms, share);
    series.points.push_back({value, share, share, share});
  }
  return series;
}

LineChart LatencyChart(std::vector<ChartSeries> series) {
  LineChart chart;
  chart.file = "latency.svg";
  chart.title = "Latency: share of frames up to each value";
  chart.x_label = "ms";
  chart.y_label = "share";
  chart.series = std::move(series);
  return chart;
}

/// Frames and busy cores in each second.
LineChart TimeLine(const std::string& title, const RunRecord& record) {
  LineChart chart;
  chart.file = "timeline.svg";
  chart.title = title;
  chart.x_label = "s since the start";
  chart.y_label = "frames/s";
  chart.second_label = "cores";
  ChartSeries fps{"frames/s", {}, false};
  ChartSeries cores{"busy cores", {}, true};
  const Windows windows = CutIntoWindows(record.FirstArrival(), record.LastArrival());
  const std::vector<double> rates = RatePerWindow(record, windows);
  for (size_t i = 0; i < rates.size(); ++i) {
    const double at_s = windows.from_s + windows.length_s * (static_cast<double>(i) + 0.5);
    fps.points.push_back({at_s, rates[i], rates[i], rates[i]});
  }
  for (size_t i = 1; i < record.seconds.size(); ++i) {
    const SecondSample& a = record.seconds[i - 1];
    const SecondSample& b = record.seconds[i];
    const double span_s = Seconds(b.time_ns - a.time_ns);
    const double busy = span_s > 0 ? (b.cpu_s - a.cpu_s) / span_s : std::nan("");
    cores.points.push_back({Seconds(b.time_ns), busy, busy, busy});
  }
  chart.series = {fps, cores};
  return chart;
}

LineChart StreamsChart(const std::string& title, const std::vector<double>& fps,
                       std::optional<double> limit) {
  LineChart chart;
  chart.file = "fps_per_stream.svg";
  chart.title = title;
  chart.x_label = "stream";
  chart.y_label = "fps";
  chart.style = LineChart::Style::kBars;
  ChartSeries series{"fps", {}, false};
  for (size_t i = 0; i < fps.size(); ++i)
    series.points.push_back({static_cast<double>(i), fps[i], fps[i], fps[i]});
  chart.series = {series};
  chart.limit = limit;
  chart.limit_title = "what every stream must keep";
  return chart;
}

void AddTaintReasons(const std::string& where, const Taints& taints,
                     std::vector<std::string>* reasons) {
  for (const Taint& taint : taints.causes)
    reasons->push_back(
        fmt::format("{}: tainted by {}: {}", where, DisturbanceName(taint.cause), taint.words));
}

/// Latencies of a paced record, all streams, in ms.
std::vector<double> LatenciesOf(const RunRecord& record, int stream) {
  std::vector<double> latencies_ms;
  for (const FrameSample& frame : record.frames)
    if (frame.stream == stream && frame.capture_ns >= 0)
      latencies_ms.push_back(Seconds(frame.arrival_ns - frame.capture_ns) * 1e3);
  return latencies_ms;
}

const RunRecord* RecordOf(const LoadedRun& loaded, const std::string& samples) {
  for (size_t i = 0; i < loaded.run.parts.size(); ++i)
    if (loaded.run.parts[i].samples == samples) return &loaded.records[i];
  return nullptr;
}

std::string PacedLine(const PacedPart& paced) {
  if (!paced.verdict)
    return fmt::format("{:>7}  {:>5}  {:<7}  FAILS  {}", paced.part.streams, paced.part.batch,
                       paced.part.role, paced.failure);
  const CapacityVerdict& v = *paced.verdict;
  const PacedStream& worst = v.each[v.worst_stream];
  return fmt::format(
      "{:>7}  {:>5}  {:<7}  {:<5}  {:>8.2f}  {:>8.3f}  {:>8.1f}  {:>8.1f}  {:>6.4f}  {:>8}",
      paced.part.streams, paced.part.batch, paced.part.role, v.holds ? "HOLDS" : "FAILS", worst.fps,
      100 * worst.late_share, worst.latency_p50_ms.value, worst.latency_p99_ms.value, v.jain_index,
      fmt::format("{}/{}", v.taints.Count(), v.taints.tainted.size()));
}

/// "+8.1 % (+7.2 to +9.0)"; one round has no spread.
std::string GainText(const Estimate& gain) {
  if (gain.degrees <= 0) return fmt::format("{:+.1f} % (one round: no interval)", 100 * gain.value);
  return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f})", 100 * gain.value, 100 * gain.low,
                     100 * gain.high);
}

}  // namespace

std::string BenchTable(const BenchResult& bench) {
  std::string text = fmt::format("{:>5}  {:>8}  {:>16}  {:>9}  {:>9}  {:>9}  {:>10}  {:>9}  {}\n",
                                 "batch", "requests", "images/s (95 %)", "p50 ms", "p95 ms",
                                 "p99 ms", "CPU ms/img", "RSS MiB", "gain by doubling");
  for (const BatchResult& b : bench.batches) {
    std::string gain = "-";
    for (const Doubling& d : bench.plateau.doublings)
      if (d.batch == b.batch) gain = GainText(d.gain);
    // ± is two bytes and one column.
    text += fmt::format(
        "{:>5}  {:>8}  {:>16}  {:>9.2f}  {:>9.2f}  {:>9.2f}  {:>10.2f}  {:>9.0f}  {}\n", b.batch,
        b.requests, WithSpread(b.images_per_s, 1), b.p50_ms.value, b.p95_ms.value, b.p99_ms.value,
        b.cpu_ms_per_image, static_cast<double>(b.rss_bytes) / kMebibyte, gain);
  }
  return text + bench.stopped + "\n";
}

std::string BenchCsv(const BenchResult& bench) {
  std::string csv =
      "batch,requests,images_per_s,images_per_s_low,images_per_s_high,p50_ms,p50_low,p50_high,"
      "p95_ms,p95_low,p95_high,p99_ms,p99_low,p99_high,cpu_ms_per_image,rss_bytes,rounds,"
      "tainted_rounds\n";
  for (const BatchResult& b : bench.batches) {
    csv += fmt::format("{},{}", b.batch, b.requests);
    for (const Estimate* e : {&b.images_per_s, &b.p50_ms, &b.p95_ms, &b.p99_ms})
      csv += fmt::format(",{:.6g}{}", e->value, Bounds(*e));
    csv += fmt::format(",{:.6g},{},{},{}\n", b.cpu_ms_per_image, b.rss_bytes, b.rounds.size(),
                       b.tainted_rounds);
  }
  return csv;
}

std::vector<LineChart> BenchCharts(const LoadedRun& loaded, const BenchResult& bench) {
  LineChart throughput;
  throughput.file = "throughput.svg";
  throughput.title = "Inference alone: images/s by batch, 95 % intervals";
  throughput.x_label = "batch";
  throughput.y_label = "images/s";
  throughput.style = LineChart::Style::kLinesWithErrors;
  throughput.doubling_x = true;
  throughput.series.push_back({"images/s", {}, false});
  std::vector<ChartSeries> latencies;
  for (const BatchResult& b : bench.batches) {
    throughput.series[0].points.push_back(Point(b.batch, b.images_per_s));
    std::vector<double> all_ms;
    for (size_t i = 0; i < loaded.run.parts.size(); ++i)
      if (loaded.run.parts[i].role == "round" && loaded.run.parts[i].batch == b.batch) {
        const std::vector<double> ms = MeasureEnginePart(loaded.records[i]).latencies_ms;
        all_ms.insert(all_ms.end(), ms.begin(), ms.end());
      }
    latencies.push_back(LatencyCurve(fmt::format("batch {}", b.batch), all_ms));
  }
  return {throughput, LatencyChart(latencies)};
}

std::vector<std::string> BenchReasons(const BenchResult& bench) {
  std::vector<std::string> reasons;
  reasons.push_back(
      "rule: the plateau is the smallest batch where doubling it gains less than 5 % "
      "images/s, decided with intervals over rounds; " +
      bench.stopped);
  for (const Doubling& d : bench.plateau.doublings) {
    const char* word = d.decision == Gain::kBelow     ? "less than 5 %"
                       : d.decision == Gain::kAtLeast ? "5 % or more"
                                                      : "undecided";
    reasons.push_back(
        fmt::format("batch {} to {}: gain {}: {}; samples b{}_round*.samples.jsonl and "
                    "b{}_round*.samples.jsonl, "
                    "paired by round",
                    d.batch, d.doubled, GainText(d.gain), word, d.batch, d.doubled));
  }
  for (const BatchResult& b : bench.batches) {
    std::vector<std::string> tried;
    for (const RequestsTried& t : b.sweep)
      tried.push_back(fmt::format("{}: {:.1f}", t.requests, t.images_per_s));
    reasons.push_back(fmt::format(
        "batch {}: {} requests in flight, the fewest within 2 % of the best of the sweep ({}); "
        "warm-up of at most {:.2f} s cut off",
        b.batch, b.requests, fmt::join(tried, ", "), b.longest_warmup_s));
    for (const std::string& taint : b.taints)
      reasons.push_back(fmt::format("batch {}: {}", b.batch, taint));
  }
  return reasons;
}

std::string RunTable(const RunResult& run) {
  std::string text;
  if (!run.paced.empty())
    text += fmt::format("{:>7}  {:>5}  {:<7}  {:<5}  {:>8}  {:>8}  {:>8}  {:>8}  {:>6}  {:>8}\n",
                        "streams", "batch", "part", "says", "worstfps", "late %", "p50 ms",
                        "p99 ms", "Jain", "tainted");
  for (const PacedPart& paced : run.paced) text += PacedLine(paced) + "\n";
  for (size_t i = 0; i < run.peak.size(); ++i) {
    const PeakStart& start = run.peak[i];
    text += fmt::format(
        "unpaced start {}: {} fps with {} streams, worst stream {} {:.2f} fps; warm-up {:.1f} s; "
        "{:.2f} cores busy; {}{}\n",
        i + 1, WithSpread(start.fps, 2), start.stream_fps.size(), start.worst_stream,
        start.stream_fps[start.worst_stream], start.warmup_s, start.cpu_cores, start.stop_why,
        start.steady ? "" : "; UNSTABLE: " + start.why_not_steady);
  }
  if (run.memory)
    text += fmt::format(
        "memory: {:.1f} MiB a stream on top of {:.0f} MiB{}\n",
        run.memory->bytes_per_stream.value / kMebibyte, run.memory->base_bytes / kMebibyte,
        run.memory_ceiling ? fmt::format("; room for {} streams", *run.memory_ceiling) : "");
  return text;
}

std::string RunCsv(const RunResult& run) {
  std::string csv =
      "part,streams,batch,pace_fps,holds,stream,fps,due,late,late_share,p50_ms,p99_ms,p99_low,"
      "p99_high,backlog_frames_per_s\n";
  for (const PacedPart& paced : run.paced) {
    if (!paced.verdict) continue;
    for (size_t i = 0; i < paced.verdict->each.size(); ++i) {
      const PacedStream& s = paced.verdict->each[i];
      csv += fmt::format("{},{},{},{:.6g},{},{},{:.6g},{},{},{:.6g},{:.6g},{:.6g}{},{:.6g}\n",
                         paced.part.role, paced.part.streams, paced.part.batch, paced.part.pace_fps,
                         paced.verdict->holds ? "yes" : "no", i, s.fps, s.due, s.late, s.late_share,
                         s.latency_p50_ms.value, s.latency_p99_ms.value, Bounds(s.latency_p99_ms),
                         s.backlog_per_s.value);
    }
  }
  for (const PeakStart& start : run.peak)
    for (size_t i = 0; i < start.stream_fps.size(); ++i)
      csv += fmt::format("peak,{},,,,{},{:.6g},,,,,,,,\n", start.stream_fps.size(), i,
                         start.stream_fps[i]);
  return csv;
}

std::vector<LineChart> RunCharts(const LoadedRun& loaded, const RunResult& run) {
  std::vector<LineChart> charts;
  const PacedPart* last = nullptr;
  for (const PacedPart& paced : run.paced)
    if (paced.verdict) last = &paced;
  if (last != nullptr) {
    std::vector<double> fps;
    for (const PacedStream& stream : last->verdict->each) fps.push_back(stream.fps);
    charts.push_back(StreamsChart(
        fmt::format("{} streams paced at {:g} fps", last->part.streams, last->part.pace_fps), fps,
        0.99 * last->part.pace_fps));
    const RunRecord* record = RecordOf(loaded, last->part.samples);
    std::vector<ChartSeries> curves;
    for (int stream = 0; stream < last->part.streams; ++stream)
      curves.push_back(
          LatencyCurve(fmt::format("stream {}", stream), LatenciesOf(*record, stream)));
    charts.push_back(LatencyChart(curves));
    charts.push_back(TimeLine("Frames and load of the last paced part", *record));
  } else if (!run.peak.empty()) {
    charts.push_back(StreamsChart("Unpaced: fps of each stream", run.peak[0].stream_fps, {}));
    for (size_t i = 0; i < loaded.run.parts.size(); ++i)
      if (loaded.run.parts[i].role == "peak") {
        charts.push_back(TimeLine("Frames and load of the first start", loaded.records[i]));
        break;
      }
  }
  return charts;
}

std::vector<std::string> RunReasons(const LoadedRun& loaded, const RunResult& run) {
  std::vector<std::string> reasons;
  if (run.searched)
    reasons.push_back(
        "rule: the capacity is the largest number of paced streams that holds, found "
        "by doubling and bisection with one fixed batch, and confirmed at full length");
  for (const PacedPart& paced : run.paced) {
    const std::string where = fmt::format("{} ({})", paced.part.samples, paced.part.role);
    if (!paced.verdict) {
      reasons.push_back(where + ": failed: " + paced.failure);
      continue;
    }
    for (const RuleOutcome& rule : paced.verdict->rules)
      reasons.push_back(fmt::format("{}: {} is {:.4g} {}, limit {:.4g}: {}; {}", where, rule.rule,
                                    rule.value, rule.unit, rule.limit,
                                    rule.holds ? "holds" : "FAILS", rule.where));
    AddTaintReasons(where, paced.verdict->taints, &reasons);
  }
  for (size_t i = 0; i < run.peak.size(); ++i) {
    const PeakStart& start = run.peak[i];
    const std::string where = fmt::format("unpaced start {}", i + 1);
    reasons.push_back(fmt::format(
        "{}: {:.2f} fps ({:.2f} to {:.2f}) from {:.1f} to {:.1f} s; warm-up of {:.1f} s cut off; "
        "stopped by {}: {}",
        where, start.fps.value, start.fps.low, start.fps.high, start.window.from_s,
        start.window.to_s, start.warmup_s, start.stop_name, start.stop_why));
    if (!start.steady) reasons.push_back(where + ": unstable: " + start.why_not_steady);
    AddTaintReasons(where, start.taints, &reasons);
  }
  for (const RunPart& part : loaded.run.parts)
    for (const std::string& warning : part.warnings)
      reasons.push_back(part.samples + ": warning: " + warning);
  if (run.growth) reasons.push_back("soak: " + run.growth->words);
  return reasons;
}

}  // namespace sg
