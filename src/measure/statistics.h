// Estimates with intervals. Pure functions.
//
// Values of neighbouring windows are correlated (streams wait for each other, queues fill and
// empty), so the plain interval of a mean is too narrow. SeriesMean takes the correlation into
// account: the series is freed of its first-order correlation, the variance of what is left is
// estimated from its slowest cosine components, and the factor is Student's t with as many degrees
// of freedom as there are components (Lazarus, Lewis, Stock & Watson 2018, "HAR Inference", after
// Andrews & Monahan 1992).
#pragma once

#include <vector>

namespace sg {

struct Interval {
  double low = 0;
  double high = 0;
};

/// A mean (or another figure) and what is known of its uncertainty.
struct Estimate {
  double value = 0;
  double std_error = 0;
  double degrees = 0;  ///< of freedom behind std_error; 0: no spread could be estimated
  double low = 0;      ///< of the interval asked for
  double high = 0;

  /// Half the interval ÷ the value; infinite when the value is 0 or no spread is known.
  double RelativeHalfWidth() const;
};

/// The value that Student's t with `degrees` of freedom (not necessarily whole) stays below with
/// `probability`. REQUIRES: 0 < probability < 1, degrees > 0.
double StudentT(double probability, double degrees);
/// How probable a t of at most `t` is.
double StudentTCumulative(double t, double degrees);
/// The same for the normal distribution.
double NormalQuantile(double probability);

double Mean(const std::vector<double>& values);
/// With n − 1; 0 below two values.
double Variance(const std::vector<double>& values);
double Median(std::vector<double> values);

/// Mean of independent values. An interval without width, and no degrees, below two values.
Estimate IndependentMean(const std::vector<double>& values, double level = 0.95);

/// Mean of consecutive values that may be correlated.
Estimate SeriesMean(const std::vector<double>& values, double level = 0.95);

/// Fills low and high for the level.
void SetInterval(Estimate* estimate, double level);

/// The line through (x, y): change of y per unit of x; x must not be constant. The errors may be
/// correlated with their neighbours.
Estimate SlopeOf(const std::vector<double>& x, const std::vector<double>& y, double level = 0.95);

/// The value below which `fraction` of the sorted values lie, linear between neighbours
/// (Hyndman & Fan 1996, type 7). 0 without values.
double Quantile(const std::vector<double>& sorted, double fraction);

/// A quantile of values in the order they came: how often the values of consecutive groups exceed
/// it says how far its rank may be off. Without degrees below 20 values; the interval ends at the
/// largest value where the sample holds none beyond.
Estimate QuantileOfSeries(const std::vector<double>& values, double fraction, double level = 0.95);

/// First-order correlation, corrected for the short series' bias (Kendall 1954), cut to [-0.5,
/// 0.9].
double FirstOrderCorrelation(const std::vector<double>& values);

}  // namespace sg
