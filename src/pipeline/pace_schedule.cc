#include "pipeline/pace_schedule.h"

#include <algorithm>
#include <cmath>

namespace sg {
namespace {

constexpr double kGoldenSection = 0.6180339887498949;

/// SplitMix64's finaliser: a number from 0 to 1 for each (seed, stream, frame).
double Random(uint64_t seed, int stream, uint64_t frame) {
  uint64_t x = seed * 0x9E3779B97F4A7C15U + static_cast<uint64_t>(stream) * 0xD1B54A32D192ED03U +
               frame * 0x8CB92BA72F3D8DD7U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) / 9007199254740992.0;
}

}  // namespace

int64_t PaceSchedule::DueNs(uint64_t frame) const {
  const double period_ns = 1e9 / options_.fps;
  const double phase = std::fmod(stream_ * kGoldenSection, 1.0);
  // More than half a period would put frames out of order.
  const double reach_ns = std::min(options_.jitter_ms * 1e6, period_ns / 2);
  const double jitter_ns = reach_ns * (2 * Random(options_.seed, stream_, frame) - 1);
  return std::max(int64_t{0}, static_cast<int64_t>(
                                  (phase + static_cast<double>(frame)) * period_ns + jitter_ns));
}

}  // namespace sg
