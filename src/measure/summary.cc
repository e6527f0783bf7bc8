#include "measure/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sg {
namespace {

constexpr double kNsPerS = 1e9;
constexpr double kNsPerMs = 1e6;
constexpr double kShortestWindowS = 2;

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

  const Estimate seconds = SeriesMean(FramesPerSecond(record, from_s, to_s));
  summary.aggregate_low_fps = std::max(0.0, seconds.low);
  summary.aggregate_high_fps = seconds.high;
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

}  // namespace sg
