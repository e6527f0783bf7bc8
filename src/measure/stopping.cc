#include "measure/stopping.h"

#include <fmt/format.h>

#include <utility>

namespace sg {

std::string PreciseEnough::WhyStop(const Progressed& so_far) {
  const double width = so_far.mean.RelativeHalfWidth();
  const bool precise = so_far.steady && so_far.windows >= least_windows_ && width <= target_;
  if (!std::exchange(precise_before_, precise) || !precise) return "";
  return fmt::format("the 95 % interval is ±{:.2f} % of the mean, within ±{:g} %, after {} windows",
                     100 * width, 100 * target_, so_far.windows);
}

std::string TimeIsUp::WhyStop(const Progressed& so_far) {
  if (so_far.elapsed_s < limit_s_) return "";
  return fmt::format("the time limit of {:g} s was reached", limit_s_);
}

Stop AskCriteria(const std::vector<std::unique_ptr<StoppingCriterion>>& criteria,
                 const Progressed& so_far) {
  for (const auto& criterion : criteria)
    if (const std::string why = criterion->WhyStop(so_far); !why.empty())
      return {true, criterion->Name(), why};
  return {};
}

std::vector<double> LookTimes(double first_s, double limit_s) {
  constexpr double kLater = 1.3;
  std::vector<double> looks;
  for (double at_s = first_s; at_s > 0 && at_s < limit_s; at_s *= kLater) looks.push_back(at_s);
  looks.push_back(limit_s);
  return looks;
}

Estimate AfterLooking(Estimate estimate) {
  constexpr double kWider = 1.1;
  const double half = kWider * (estimate.high - estimate.low) / 2;
  estimate.std_error *= kWider;
  estimate.low = estimate.value - half;
  estimate.high = estimate.value + half;
  return estimate;
}

}  // namespace sg
