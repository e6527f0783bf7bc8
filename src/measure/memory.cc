#include "measure/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sg {
namespace {

constexpr double kLeastGrowthPerS = 256.0 * 1024 / 60;
constexpr size_t kFewestSamples = 20;
constexpr double kMebibyte = 1024.0 * 1024;

}  // namespace

std::optional<int> MemoryPerStream::StreamsWithin(double available_bytes) const {
  if (bytes_per_stream.value <= 0) return std::nullopt;
  const double streams = (available_bytes - base_bytes) / bytes_per_stream.value;
  constexpr double kMost = 1e6;
  return static_cast<int>(std::clamp(std::floor(streams), 0.0, kMost));
}

std::optional<MemoryPerStream> FitMemory(const std::vector<MemoryPoint>& points) {
  std::vector<double> streams;
  std::vector<double> bytes;
  for (const MemoryPoint& point : points) {
    streams.push_back(point.streams);
    bytes.push_back(point.bytes);
  }
  if (points.empty() || *std::max_element(streams.begin(), streams.end()) ==
                            *std::min_element(streams.begin(), streams.end()))
    return std::nullopt;
  MemoryPerStream fit;
  fit.bytes_per_stream = SlopeOf(streams, bytes);
  fit.base_bytes = Mean(bytes) - fit.bytes_per_stream.value * Mean(streams);
  return fit;
}

Growth TestGrowth(const std::vector<double>& times_s, const std::vector<double>& bytes) {
  Growth growth;
  const auto from = static_cast<std::ptrdiff_t>(times_s.size() / 3);
  const std::vector<double> t(times_s.begin() + from, times_s.end());
  const std::vector<double> m(bytes.begin() + from, bytes.end());
  if (t.size() < kFewestSamples) {
    growth.words = fmt::format("undecided: {} seconds behind the warm-up, {} are needed", t.size(),
                               kFewestSamples);
    return growth;
  }
  growth.span_s = t.back() - t.front();
  growth.bytes_per_s = SlopeOf(t, m);
  growth.grows = growth.bytes_per_s.low > 0 && growth.bytes_per_s.value >= kLeastGrowthPerS;
  const double per_minute = 60 / kMebibyte;
  growth.words = fmt::format(
      "{}: {:+.2f} MiB/min (95 %: {:+.2f} to {:+.2f}) over {:.0f} s",
      growth.grows ? "memory grows" : "memory does not grow", growth.bytes_per_s.value * per_minute,
      growth.bytes_per_s.low * per_minute, growth.bytes_per_s.high * per_minute, growth.span_s);
  return growth;
}

}  // namespace sg
