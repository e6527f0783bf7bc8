#include "measure/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace sg {
namespace {

constexpr double kNsPerS = 1e9;
constexpr double kNsPerMs = 1e6;
constexpr double kShortestWindowS = 2;

/// t(0.975, degrees of freedom): NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2.
double StudentT975(size_t degrees) {
  constexpr std::array<double, 30> kTable = {
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees <= kTable.size()) return kTable[degrees - 1];
  // Between the rows the table's next smaller one, so that the interval is never too narrow.
  if (degrees < 40) return 2.042;
  if (degrees < 60) return 2.021;
  if (degrees < 100) return 2.000;
  return degrees < 1000 ? 1.984 : 1.962;
}

double Seconds(int64_t ns) { return static_cast<double>(ns) / kNsPerS; }

/// The window's frames: a contiguous part, since they are in order of arrival.
std::pair<size_t, size_t> FramesIn(const RunRecord& record, double from_s, double to_s) {
  const auto arrives_before = [](const FrameSample& frame, double at_s) {
    return Seconds(frame.arrival_ns) < at_s;
  };
  const auto begin = record.frames.begin();
  const auto first = std::lower_bound(begin, record.frames.end(), from_s, arrives_before);
  const auto last = std::lower_bound(first, record.frames.end(), to_s, arrives_before);
  return {static_cast<size_t>(first - begin), static_cast<size_t>(last - begin)};
}

LatencySummary SummariseLatency(const RunRecord& record, size_t first, size_t last) {
  std::vector<double> latencies_ms;
  latencies_ms.reserve(last - first);
  for (size_t i = first; i < last; ++i) {
    const FrameSample& frame = record.frames[i];
    if (frame.capture_ns >= 0)
      latencies_ms.push_back(static_cast<double>(frame.arrival_ns - frame.capture_ns) / kNsPerMs);
  }
  if (latencies_ms.empty()) return {};
  std::sort(latencies_ms.begin(), latencies_ms.end());
  LatencySummary latency;
  latency.frames = latencies_ms.size();
  latency.mean_ms = std::accumulate(latencies_ms.begin(), latencies_ms.end(), 0.0) /
                    static_cast<double>(latencies_ms.size());
  latency.p50_ms = Quantile(latencies_ms, 0.5);
  latency.p99_ms = Quantile(latencies_ms, 0.99);
  return latency;
}

/// CPU and memory from the seconds' samples that lie in the window.
void SummariseProcess(const RunRecord& record, double from_s, double to_s, FpsSummary* summary) {
  std::vector<SecondSample> inside;
  for (const SecondSample& second : record.seconds)
    if (Seconds(second.time_ns) >= from_s && Seconds(second.time_ns) <= to_s)
      inside.push_back(second);
  if (inside.size() < 2) return;
  const double wall_s = Seconds(inside.back().time_ns - inside.front().time_ns);
  if (wall_s <= 0) return;
  summary->cpu_cores = (inside.back().cpu_s - inside.front().cpu_s) / wall_s;
  if (summary->aggregate_fps > 0)
    summary->cpu_ms_per_frame = 1000 * summary->cpu_cores / summary->aggregate_fps;
  summary->rss_growth_bytes = static_cast<int64_t>(inside.back().rss_bytes) -
                              static_cast<int64_t>(inside.front().rss_bytes);
  for (const SecondSample& second : inside)
    summary->rss_peak_bytes = std::max(summary->rss_peak_bytes, second.rss_bytes);
}

}  // namespace

Window MeasuredWindow(const RunRecord& record) {
  Window window;
  window.from_s = record.FirstArrival() + record.warmup_s;
  window.to_s = record.LastArrival();
  if (record.measure_s > 0) window.to_s = std::min(window.to_s, window.from_s + record.measure_s);
  return window;
}

Result<FpsSummary> Summarise(const RunRecord& record, double from_s, double to_s) {
  const auto [first, last] = FramesIn(record, from_s, to_s);
  FpsSummary summary;
  summary.window_s = to_s - from_s;
  if (summary.window_s < kShortestWindowS || last - first < 2)
    return UserError(
        fmt::format("the run is too short to measure: {:.1f} s after the warm-up with {} frames; "
                    "at least {:.0f} s and 2 frames are needed, so run longer or use a longer clip",
                    std::max(0.0, summary.window_s), last - first, kShortestWindowS));

  summary.stream_frames.assign(record.streams.size(), 0);
  uint64_t boxes = 0;
  for (size_t i = first; i < last; ++i) {
    ++summary.stream_frames[static_cast<size_t>(record.frames[i].stream)];
    boxes += static_cast<uint64_t>(record.frames[i].boxes);
  }
  for (uint64_t frames : summary.stream_frames)
    summary.stream_fps.push_back(static_cast<double>(frames) / summary.window_s);
  const auto frames = static_cast<double>(last - first);
  summary.aggregate_fps = frames / summary.window_s;
  summary.boxes_per_frame = static_cast<double>(boxes) / frames;
  const auto worst = std::min_element(summary.stream_fps.begin(), summary.stream_fps.end());
  summary.worst_stream = static_cast<int>(worst - summary.stream_fps.begin());
  summary.worst_fps = *worst;

  const Interval interval = MeanInterval95(FramesPerSecond(record, from_s, to_s));
  summary.aggregate_low_fps = std::max(0.0, interval.low);
  summary.aggregate_high_fps = interval.high;
  summary.latency = SummariseLatency(record, first, last);
  SummariseProcess(record, from_s, to_s, &summary);
  return summary;
}

std::vector<double> FramesPerSecond(const RunRecord& record, double from_s, double to_s) {
  std::vector<double> counts(static_cast<size_t>(std::max(0.0, std::floor(to_s - from_s))), 0.0);
  const auto [first, last] = FramesIn(record, from_s, to_s);
  for (size_t i = first; i < last; ++i) {
    const auto second = static_cast<size_t>(Seconds(record.frames[i].arrival_ns) - from_s);
    if (second < counts.size()) ++counts[second];
  }
  return counts;
}

Interval MeanInterval95(const std::vector<double>& values) {
  SG_CHECK_OP(values.size(), >=, size_t{2});
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  const double half = StudentT975(values.size() - 1) * std::sqrt(squares / (n - 1) / n);
  return {mean - half, mean + half};
}

double Quantile(const std::vector<double>& sorted, double fraction) {
  if (sorted.empty()) return 0;
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] +
         (position - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

}  // namespace sg
