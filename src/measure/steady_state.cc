#include "measure/steady_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sg {
namespace {

constexpr size_t kFewestValues = 6;
/// A warm-up that fades is several small steps.
constexpr int kMostCuts = 6;
constexpr double kUnsteadyChange = 0.02;

/// Values farther than six standard deviations (by the median's deviation) from the later half's
/// median are cut to that distance.
std::vector<double> WithoutOutliers(const std::vector<double>& series) {
  constexpr double kDeviations = 6 * 1.4826;
  constexpr double kLeastBand = 0.02;
  const std::vector<double> later(series.begin() + static_cast<std::ptrdiff_t>(series.size() / 2),
                                  series.end());
  const double median = Median(later);
  std::vector<double> distances;
  for (const double value : later) distances.push_back(std::abs(value - median));
  const double band = std::max(kDeviations * Median(distances), kLeastBand * std::abs(median));
  std::vector<double> cut;
  for (const double value : series) cut.push_back(std::clamp(value, median - band, median + band));
  return cut;
}

double MeanOf(const std::vector<double>& sums, size_t from, size_t to) {
  return (sums[to] - sums[from]) / static_cast<double>(to - from);
}

/// Standard deviation of the sum of n errors ÷ √n; the errors are those around the two levels.
double LongRunDeviation(const std::vector<double>& values, size_t index) {
  std::vector<double> errors(values.size());
  double levels[2] = {0, 0};
  for (size_t i = 0; i < values.size(); ++i) levels[i >= index] += values[i];
  levels[0] /= static_cast<double>(std::max<size_t>(index, 1));
  levels[1] /= static_cast<double>(values.size() - index);
  double squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    errors[i] = values[i] - levels[i >= index];
    squares += errors[i] * errors[i];
  }
  const double phi = std::max(0.0, FirstOrderCorrelation(errors));
  const double variance = squares / static_cast<double>(values.size() - 2);
  constexpr double kResolution = 1e-3;  // of the level; steadier series do not exist
  return std::max(std::sqrt(variance * (1 + phi) / (1 - phi)), kResolution * std::abs(levels[1]));
}

std::vector<double> Rest(const std::vector<double>& series, size_t from) {
  return {series.begin() + static_cast<std::ptrdiff_t>(from), series.end()};
}

std::string WhyUnsteady(const std::vector<double>& series) {
  ShiftRules rules;
  rules.least_change = kUnsteadyChange;
  const Shift shift = FindShift(series, series.size() - 1, rules);
  if (shift.found)
    return fmt::format("the level changes from {:.2f} to {:.2f} at window {} of {}", shift.before,
                       shift.after, shift.index + 1, series.size());
  if (series.size() < kFewestValues) return "";
  std::vector<double> x;
  for (size_t i = 0; i < series.size(); ++i) x.push_back(static_cast<double>(i));
  const Estimate slope = SlopeOf(x, series, 0.99);
  const double change = slope.value * static_cast<double>(series.size() - 1);
  const double mean = Mean(series);
  const bool significant = slope.low > 0 || slope.high < 0;
  if (!significant || mean == 0 || std::abs(change / mean) <= kUnsteadyChange) return "";
  return fmt::format("it drifts by {:+.1f} % from begin to end", 100 * change / mean);
}

}  // namespace

Shift FindShift(const std::vector<double>& series, size_t end, const ShiftRules& rules) {
  Shift best;
  if (series.size() < kFewestValues) return best;
  const std::vector<double> values = WithoutOutliers(series);
  const size_t n = values.size();
  std::vector<double> sums(n + 1, 0.0);
  for (size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + values[i];
  double largest = -1;
  for (size_t k = 1; k < std::min(end, n - 1) + 1 && k < n; ++k) {
    const double difference = std::abs(MeanOf(sums, 0, k) - MeanOf(sums, k, n));
    const double weight =
        std::sqrt(static_cast<double>(k) * static_cast<double>(n - k) / static_cast<double>(n));
    if (difference * weight <= largest) continue;
    largest = difference * weight;
    best.index = k;
  }
  if (best.index == 0) return best;
  best.statistic = largest / std::max(LongRunDeviation(values, best.index), 1e-12);
  const double change = std::abs(MeanOf(sums, 0, best.index) - MeanOf(sums, best.index, n));
  best.before = Mean({series.begin(), series.begin() + static_cast<std::ptrdiff_t>(best.index)});
  best.after = Mean(Rest(series, best.index));
  best.found = best.statistic >= rules.least_statistic &&
               change > rules.least_change * std::abs(MeanOf(sums, best.index, n));
  return best;
}

SteadyState FindSteadyState(const std::vector<double>& series) {
  SteadyState state;
  const size_t half = series.size() / 2;
  for (int cut = 0; cut < kMostCuts && state.warmup_windows < half; ++cut) {
    const Shift shift = FindShift(Rest(series, state.warmup_windows), half - state.warmup_windows);
    if (!shift.found) break;
    state.warmup = shift;
    state.warmup.index += state.warmup_windows;
    state.warmup_windows = state.warmup.index;
  }
  const std::vector<double> rest = Rest(series, state.warmup_windows);
  state.mean = SeriesMean(rest);
  state.why_not = WhyUnsteady(rest);
  state.steady = state.why_not.empty();
  return state;
}

}  // namespace sg
