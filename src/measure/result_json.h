// Estimates and the like in result.json.
#pragma once

#include <cmath>

#include "base/json.h"
#include "measure/statistics.h"

namespace sg {

/// A figure with six significant digits, which is more than a measurement has; null when it is not
/// finite.
inline Json FigureJson(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == 0) return 0.0;
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

/// {value, low, high}; low and high are null where there is no interval.
inline Json EstimateJson(const Estimate& estimate) {
  const bool known = estimate.degrees > 0;
  return {{"value", FigureJson(estimate.value)},
          {"low", known ? FigureJson(estimate.low) : Json()},
          {"high", known ? FigureJson(estimate.high) : Json()}};
}

}  // namespace sg
