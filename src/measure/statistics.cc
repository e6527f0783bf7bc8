#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/status.h"

namespace sg {
namespace {

/// The continued fraction of the incomplete beta function (Abramowitz & Stegun 26.5.8), evaluated
/// from the front by Lentz's method.
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kEnough = 1e-14;
  const auto not_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
  double value = d;
  for (int m = 1; m <= 1000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double step = 1;
    for (const double term : {even, odd}) {
      d = 1 / not_zero(1 + term * d);
      c = not_zero(1 + term / c);
      step = c * d;
      value *= step;
    }
    if (std::abs(step - 1) < kEnough) break;
  }
  return value;
}

/// The regularised incomplete beta function.
double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

/// Below so many values a correlation cannot be told from chance.
constexpr size_t kFewValues = 8;

/// Cosine components for a series of n values: 0.4 n^(2/3), at least 3.
size_t Components(size_t n) {
  const auto wanted =
      static_cast<size_t>(std::lround(0.4 * std::pow(static_cast<double>(n), 2.0 / 3)));
  return std::min(std::max<size_t>(wanted, 3), n - 1);
}

/// n × the variance of the mean of `values`, from the slowest cosine components.
double LongRunVariance(const std::vector<double>& values, size_t components) {
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (size_t k = 1; k <= components; ++k) {
    double component = 0;
    for (size_t i = 0; i < values.size(); ++i)
      component += values[i] * std::cos(std::numbers::pi * static_cast<double>(k) *
                                        (static_cast<double>(i) + 0.5) / n);
    sum += component * component * 2 / n;
  }
  return sum / static_cast<double>(components);
}

/// n × the variance of the mean of a correlated series around 0, and its degrees of freedom.
double SeriesVariance(const std::vector<double>& centred, double* degrees) {
  const size_t components = Components(centred.size());
  *degrees = static_cast<double>(components);
  if (centred.size() < kFewValues) return LongRunVariance(centred, components);
  const double phi = FirstOrderCorrelation(centred);
  std::vector<double> left(centred.size() - 1);
  for (size_t i = 1; i < centred.size(); ++i) left[i - 1] = centred[i] - phi * centred[i - 1];
  return LongRunVariance(left, components) / ((1 - phi) * (1 - phi));
}

std::vector<double> Centred(const std::vector<double>& values) {
  const double mean = Mean(values);
  std::vector<double> centred(values.size());
  std::transform(values.begin(), values.end(), centred.begin(),
                 [mean](double v) { return v - mean; });
  return centred;
}

}  // namespace

double Estimate::RelativeHalfWidth() const {
  if (degrees <= 0 || value == 0) return std::numeric_limits<double>::infinity();
  return (high - low) / 2 / std::abs(value);
}

double StudentTCumulative(double t, double degrees) {
  SG_CHECK(degrees > 0);
  const double tail = 0.5 * IncompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
  return t > 0 ? 1 - tail : tail;
}

double StudentT(double probability, double degrees) {
  SG_CHECK(probability > 0 && probability < 1);
  if (probability < 0.5) return -StudentT(1 - probability, degrees);
  double low = 0;
  double high = 1;
  while (StudentTCumulative(high, degrees) < probability && high < 1e12) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (StudentTCumulative(middle, degrees) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

double NormalQuantile(double probability) {
  SG_CHECK(probability > 0 && probability < 1);
  double low = -40;
  double high = 40;
  for (int i = 0; i < 200 && high - low > 1e-12; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::numbers::sqrt2) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

double Mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Variance(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = Mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(values.size() - 1);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return Quantile(values, 0.5);
}

void SetInterval(Estimate* estimate, double level) {
  const double half = estimate->degrees > 0
                          ? StudentT(0.5 + level / 2, estimate->degrees) * estimate->std_error
                          : 0;
  estimate->low = estimate->value - half;
  estimate->high = estimate->value + half;
}

Estimate IndependentMean(const std::vector<double>& values, double level) {
  Estimate estimate;
  estimate.value = Mean(values);
  if (values.size() >= 2) {
    const auto n = static_cast<double>(values.size());
    estimate.std_error = std::sqrt(Variance(values) / n);
    estimate.degrees = n - 1;
  }
  SetInterval(&estimate, level);
  return estimate;
}

Estimate SeriesMean(const std::vector<double>& values, double level) {
  Estimate estimate;
  estimate.value = Mean(values);
  if (values.size() >= 2) {
    const double variance = SeriesVariance(Centred(values), &estimate.degrees);
    estimate.std_error = std::sqrt(variance / static_cast<double>(values.size()));
  }
  SetInterval(&estimate, level);
  return estimate;
}

Estimate SlopeOf(const std::vector<double>& x, const std::vector<double>& y, double level) {
  SG_CHECK_OP(x.size(), ==, y.size());
  Estimate slope;
  const double x_mean = Mean(x);
  const double y_mean = Mean(y);
  double xx = 0;
  double xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
  }
  if (xx <= 0) return slope;
  slope.value = xy / xx;
  if (x.size() >= 3) {
    std::vector<double> rest(x.size());
    for (size_t i = 0; i < x.size(); ++i) rest[i] = y[i] - y_mean - slope.value * (x[i] - x_mean);
    // Correlated errors leave fewer independent ones.
    const double phi = rest.size() < kFewValues ? 0 : std::max(0.0, FirstOrderCorrelation(rest));
    const auto n = static_cast<double>(x.size());
    double squares = 0;
    for (const double value : rest) squares += value * value;
    slope.degrees = std::max(1.0, n * (1 - phi) / (1 + phi) - 2);
    slope.std_error = std::sqrt(squares / (n - 2) * (1 + phi) / (1 - phi) / xx);
  }
  SetInterval(&slope, level);
  return slope;
}

double Quantile(const std::vector<double>& sorted, double fraction) {
  if (sorted.empty()) return 0;
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] +
         (position - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

Estimate QuantileOfSeries(const std::vector<double>& values, double fraction, double level) {
  constexpr size_t kFewest = 20;
  constexpr size_t kMostGroups = 40;
  constexpr size_t kSmallestGroup = 5;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  Estimate estimate;
  estimate.value = estimate.low = estimate.high = Quantile(sorted, fraction);
  if (values.size() < kFewest) return estimate;
  const size_t groups = std::min(kMostGroups, values.size() / kSmallestGroup);
  std::vector<double> exceed(groups, 0.0);
  for (size_t g = 0; g < groups; ++g) {
    const size_t from = values.size() * g / groups;
    const size_t to = values.size() * (g + 1) / groups;
    for (size_t i = from; i < to; ++i) exceed[g] += values[i] > estimate.value ? 1 : 0;
    exceed[g] /= static_cast<double>(to - from);
  }
  const Estimate share = SeriesMean(exceed, level);
  const double least = std::sqrt(fraction * (1 - fraction) / static_cast<double>(values.size()));
  estimate.degrees = share.degrees;
  const double off = StudentT(0.5 + level / 2, share.degrees) * std::max(share.std_error, least);
  estimate.low = Quantile(sorted, std::max(0.0, fraction - off));
  estimate.high = Quantile(sorted, std::min(1.0, fraction + off));
  estimate.std_error =
      (estimate.high - estimate.low) / 2 / StudentT(0.5 + level / 2, share.degrees);
  return estimate;
}

double FirstOrderCorrelation(const std::vector<double>& values) {
  constexpr double kMost = 0.9;
  const std::vector<double> centred = Centred(values);
  double product = 0;
  double square = 0;
  for (size_t i = 0; i < centred.size(); ++i) {
    square += centred[i] * centred[i];
    if (i > 0) product += centred[i] * centred[i - 1];
  }
  if (square <= 0) return 0;
  const double r = product / square;
  return std::clamp(r + (1 + 3 * r) / static_cast<double>(values.size()), -0.5, kMost);
}

}  // namespace sg
