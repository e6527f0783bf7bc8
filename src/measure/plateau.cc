#include "measure/plateau.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace sg {
namespace {

Doubling Decide(const BatchRounds& small, const BatchRounds& large, const PlateauRules& rules) {
  Doubling doubling;
  doubling.batch = small.batch;
  doubling.doubled = large.batch;
  std::vector<double> log_ratios;
  for (size_t i = 0; i < std::min(small.images_per_s.size(), large.images_per_s.size()); ++i) {
    const double ratio = large.images_per_s[i] / small.images_per_s[i];
    if (std::isfinite(ratio) && ratio > 0) log_ratios.push_back(std::log(ratio));
  }
  if (log_ratios.empty()) return doubling;
  const double level = 1 - 0.05 / std::max(1, rules.looks);
  Estimate log_gain = IndependentMean(log_ratios, level);
  doubling.gain = log_gain;
  doubling.gain.value = std::expm1(log_gain.value);
  doubling.gain.low = std::expm1(log_gain.low);
  doubling.gain.high = std::expm1(log_gain.high);
  if (log_ratios.size() < std::max<size_t>(rules.least_rounds, 2)) return doubling;
  if (doubling.gain.high < rules.least_gain) doubling.decision = Gain::kBelow;
  if (doubling.gain.low >= rules.least_gain) doubling.decision = Gain::kAtLeast;
  return doubling;
}

}  // namespace

Plateau FindPlateau(const std::vector<BatchRounds>& batches, const PlateauRules& rules) {
  Plateau plateau;
  for (size_t i = 0; i + 1 < batches.size(); ++i)
    if (batches[i + 1].batch == 2 * batches[i].batch)
      plateau.doublings.push_back(Decide(batches[i], batches[i + 1], rules));
  for (const Doubling& doubling : plateau.doublings) {
    if (doubling.decision == Gain::kAtLeast) continue;
    plateau.candidates.push_back(doubling.batch);
    if (doubling.decision == Gain::kBelow) break;
  }
  const bool ends = !plateau.doublings.empty() && !plateau.candidates.empty() &&
                    std::any_of(plateau.doublings.begin(), plateau.doublings.end(),
                                [](const Doubling& d) { return d.decision == Gain::kBelow; });
  if (plateau.doublings.empty()) return plateau;
  if (plateau.candidates.empty()) {
    plateau.state = Plateau::State::kNotReached;
  } else if (ends && plateau.candidates.size() == 1) {
    plateau.state = Plateau::State::kDecided;
    plateau.batch = plateau.candidates.front();
  } else if (!ends) {
    plateau.candidates.push_back(plateau.doublings.back().doubled);
  }
  return plateau;
}

std::string Plateau::Words() const {
  switch (state) {
    case State::kDecided:
      return fmt::format("plateau batch {}: doubling it gains less than 5 %", *batch);
    case State::kNotReached:
      return fmt::format("no plateau up to batch {}: every doubling gains 5 % or more",
                         doublings.back().doubled);
    case State::kUndecided:
      break;
  }
  if (doublings.empty()) return "undecided: fewer than two batches were measured";
  return fmt::format("undecided: the plateau is one of batch {}", fmt::join(candidates, ", "));
}

std::vector<int> RoundLooks(int most) {
  std::vector<int> looks;
  for (double at = 5; at < most; at *= std::sqrt(2.0)) looks.push_back(static_cast<int>(at));
  looks.push_back(most);
  return looks;
}

}  // namespace sg
