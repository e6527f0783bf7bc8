#include "measure/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sg {
namespace {

constexpr size_t kStartsWithASpread = 3;

/// ln of the side's mean, with the standard error and degrees of freedom of that.
Estimate LogMean(const ComparedSide& side, const CompareRules& rules) {
  std::vector<double> means;
  double within = 0;  // variance of a start's mean, averaged
  double degrees = 0;
  for (const Estimate& start : side.starts) {
    means.push_back(start.value);
    within += start.std_error * start.std_error;
    degrees += start.degrees;
  }
  Estimate log_mean;
  const double mean = Mean(means);
  if (means.empty() || mean <= 0) return log_mean;
  const auto n = static_cast<double>(means.size());
  within /= n;
  double variance;
  if (means.size() >= kStartsWithASpread) {
    variance = std::max(Variance(means), within) / n;
    log_mean.degrees = Variance(means) >= within ? n - 1 : std::max(n - 1, degrees);
  } else {
    // The spread from start to start is taken as known, so only the rest limits the degrees.
    const double known = rules.start_spread * mean * rules.start_spread * mean;
    variance = (within + known) / n;
    log_mean.degrees =
        within > 0 ? degrees * (within + known) * (within + known) / (within * within) : degrees;
  }
  log_mean.value = std::log(mean);
  log_mean.std_error = std::sqrt(variance) / mean;
  return log_mean;
}

/// Welch and Satterthwaite.
double JointDegrees(const Estimate& a, const Estimate& b) {
  const double va = a.std_error * a.std_error;
  const double vb = b.std_error * b.std_error;
  const double bottom = va * va / a.degrees + vb * vb / b.degrees;
  return bottom > 0 ? (va + vb) * (va + vb) / bottom : std::min(a.degrees, b.degrees);
}

std::string Percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }

}  // namespace

const char* Comparison::WordText() const {
  switch (word) {
    case Word::kFaster:
      return "faster";
    case Word::kSlower:
      return "slower";
    case Word::kNoDifference:
      return "no difference";
    case Word::kUndecided:
      break;
  }
  return "undecided";
}

Comparison Compare(const ComparedSide& a, const ComparedSide& b, const CompareRules& rules) {
  Comparison result;
  result.level = rules.level;
  const Estimate log_a = LogMean(a, rules);
  const Estimate log_b = LogMean(b, rules);
  if (log_a.degrees <= 0 || log_b.degrees <= 0) {
    result.why = "one of them holds too few samples for an interval";
    return result;
  }
  Estimate log_ratio;
  log_ratio.value = log_b.value - log_a.value;
  log_ratio.std_error = std::hypot(log_a.std_error, log_b.std_error);
  log_ratio.degrees = JointDegrees(log_a, log_b);
  SetInterval(&log_ratio, rules.level);
  result.change = std::expm1(log_ratio.value);
  result.low = std::expm1(log_ratio.low);
  result.high = std::expm1(log_ratio.high);
  const bool matters = std::abs(result.change) >= rules.least_change;
  if (result.low > 0 && matters) {
    result.word = Comparison::Word::kFaster;
    result.why = "the whole interval is above 0";
  } else if (result.high < 0 && matters) {
    result.word = Comparison::Word::kSlower;
    result.why = "the whole interval is below 0";
  } else if (result.low >= -rules.no_difference && result.high <= rules.no_difference) {
    result.word = Comparison::Word::kNoDifference;
    result.why = fmt::format("the whole interval is within ±{:g} %", 100 * rules.no_difference);
  } else {
    result.why = fmt::format("the interval reaches from {} to {}: measure longer or more often",
                             Percent(result.low), Percent(result.high));
  }
  return result;
}

}  // namespace sg
