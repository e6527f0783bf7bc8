#include "deepstream/perf_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>

namespace sg {
namespace {

constexpr int kLeastLines = 2;

/// The text behind "**PERF:" or "PERF(N):"; nullopt for another line.
std::optional<std::string_view> PerfText(std::string_view line) {
  for (const std::string_view mark : {"**PERF:", "PERF("}) {
    const size_t at = line.find(mark);
    if (at == std::string_view::npos) continue;
    const size_t colon = line.find(':', at);
    if (colon == std::string_view::npos) return std::nullopt;
    return line.substr(colon + 1);
  }
  return std::nullopt;
}

std::optional<double> Number(std::string_view text) {
  std::string digits(text);
  std::replace(digits.begin(), digits.end(), ',', '.');  // of a foreign locale
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  if (!whole || !std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

/// "30.05 (29.98)\t30.01 (29.97)\t"; empty when anything else is there.
PerfLine ParseValues(std::string_view text) {
  PerfLine values;
  while (true) {
    const size_t from = text.find_first_not_of(" \t\r");
    if (from == std::string_view::npos) return values;
    text.remove_prefix(from);
    const size_t end = std::min(text.find_first_of(" \t\r"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    if (word.front() == '(') {
      if (word.back() != ')' || values.empty()) return {};
      continue;
    }
    const std::optional<double> value = Number(word);
    if (!value) return {};
    values.push_back(*value);
  }
}

}  // namespace

std::vector<PerfLine> ParsePerfLog(const std::string& log) {
  std::vector<PerfLine> lines;
  for (size_t at = 0; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    const auto text = PerfText(std::string_view(log).substr(at, end - at));
    at = end + 1;
    if (!text) continue;
    PerfLine values = ParseValues(*text);
    if (!values.empty()) lines.push_back(std::move(values));
  }
  return lines;
}

Result<PerfSummary> SummarisePerf(const std::vector<PerfLine>& lines, int streams, int skip) {
  PerfSummary summary;
  summary.stream_fps.assign(static_cast<size_t>(streams), 0);
  for (size_t i = static_cast<size_t>(std::max(0, skip)); i < lines.size(); ++i) {
    if (lines[i].size() != static_cast<size_t>(streams)) continue;
    for (size_t s = 0; s < lines[i].size(); ++s) summary.stream_fps[s] += lines[i][s];
    ++summary.lines;
  }
  if (summary.lines < kLeastLines) {
    return GateError(fmt::format(
        "deepstream-app reported the fps of {} streams {} times after its start, at least {} are "
        "needed",
        streams, summary.lines, kLeastLines));
  }
  for (double& fps : summary.stream_fps) fps /= summary.lines;
  summary.aggregate_fps =
      std::accumulate(summary.stream_fps.begin(), summary.stream_fps.end(), 0.0);
  const auto worst = std::min_element(summary.stream_fps.begin(), summary.stream_fps.end());
  summary.worst_stream = static_cast<int>(worst - summary.stream_fps.begin());
  summary.worst_fps = *worst;
  return summary;
}

}  // namespace sg
