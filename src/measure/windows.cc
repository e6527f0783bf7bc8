#include "measure/windows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "measure/statistics.h"

namespace sg {
namespace {

constexpr double kNsPerS = 1e9;
constexpr double kMostSteal = 0.02;
constexpr double kMostOther = 0.10;
constexpr double kMostThrottled = 0.01;
constexpr double kLeastClock = 0.90;

double Seconds(int64_t ns) { return static_cast<double>(ns) / kNsPerS; }

using Read = std::function<std::optional<double>(const SecondSample&)>;

/// A counter at `at_s`, on the line between the samples around it; nothing outside them.
std::optional<double> CounterAt(const RunRecord& record, double at_s, const Read& read) {
  for (size_t i = 0; i + 1 < record.seconds.size(); ++i) {
    const double a = Seconds(record.seconds[i].time_ns);
    const double b = Seconds(record.seconds[i + 1].time_ns);
    if (at_s < a || at_s > b || b <= a) continue;
    const std::optional<double> low = read(record.seconds[i]);
    const std::optional<double> high = read(record.seconds[i + 1]);
    if (!low || !high) return std::nullopt;
    return *low + (*high - *low) * (at_s - a) / (b - a);
  }
  return std::nullopt;
}

/// What a counter grew by in each window, per second; NaN where it is not known.
std::vector<double> GrowthPerWindow(const RunRecord& record, const Windows& windows,
                                    const Read& read) {
  std::vector<double> growth;
  std::optional<double> before = CounterAt(record, windows.from_s, read);
  for (size_t i = 1; i <= windows.count; ++i) {
    const double at_s = windows.from_s + windows.length_s * static_cast<double>(i);
    const std::optional<double> now = CounterAt(record, at_s, read);
    growth.push_back(before && now ? (*now - *before) / windows.length_s : std::nan(""));
    before = now;
  }
  return growth;
}

/// A level at each window's middle ÷ its median over the run; NaN where it is not known.
std::vector<double> LevelPerWindow(const RunRecord& record, const Windows& windows,
                                   const Read& read) {
  std::vector<double> known;
  for (const SecondSample& second : record.seconds)
    if (const auto value = read(second); value && *value > 0) known.push_back(*value);
  const double median = Median(known);
  std::vector<double> levels;
  for (size_t i = 0; i < windows.count; ++i) {
    const double at_s = windows.from_s + windows.length_s * (static_cast<double>(i) + 0.5);
    const std::optional<double> level = CounterAt(record, at_s, read);
    levels.push_back(level && median > 0 ? *level / median : std::nan(""));
  }
  return levels;
}

struct Rule {
  Disturbance cause;
  bool below;    ///< tainted below the limit, else above
  double limit;  ///< of `values`, which are shares of 1
  const char* what;
};

void Apply(const Rule& rule, const std::vector<double>& values, const Windows& windows,
           Taints* taints) {
  Taint taint;
  taint.cause = rule.cause;
  size_t worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool bad = rule.below ? values[i] < rule.limit : values[i] > rule.limit;
    if (!bad) continue;
    const bool worse = rule.below ? values[i] < values[worst] : values[i] > values[worst];
    if (taint.windows == 0 || worse) worst = i;
    ++taint.windows;
    taints->tainted[i] = true;
  }
  if (taint.windows == 0) return;
  taint.words = fmt::format("{} in {} of {} windows, at worst {:.0f} % at {:.1f} s", rule.what,
                            taint.windows, windows.count, 100 * values[worst],
                            windows.from_s + windows.length_s * static_cast<double>(worst));
  taints->causes.push_back(taint);
}

/// An idle GPU clocks down because nobody needs it.
std::optional<double> BusyGpuClock(const SecondSample& second) {
  constexpr double kBusyPercent = 50;
  if (second.gpu_percent.value_or(0) < kBusyPercent) return std::nullopt;
  return second.gpu_mhz;
}

Read Field(std::optional<double> SecondSample::*member) {
  return [member](const SecondSample& second) { return second.*member; };
}

}  // namespace

Windows CutIntoWindows(double from_s, double to_s) {
  constexpr double kUsualS = 1;
  constexpr double kFewest = 20;
  Windows windows;
  windows.from_s = from_s;
  const double span_s = std::max(0.0, to_s - from_s);
  windows.length_s = std::min(kUsualS, std::max(span_s / kFewest, 0.05));
  constexpr double kRounding = 1e-6;
  windows.count = static_cast<size_t>(span_s / windows.length_s + kRounding);
  return windows;
}

std::vector<double> RatePerWindow(const RunRecord& record, const Windows& windows, int stream) {
  std::vector<double> rates(windows.count, 0.0);
  for (const FrameSample& frame : record.frames) {
    if (stream >= 0 && frame.stream != stream) continue;
    const double at = (Seconds(frame.arrival_ns) - windows.from_s) / windows.length_s;
    if (at < 0 || at >= static_cast<double>(windows.count)) continue;
    rates[static_cast<size_t>(at)] += record.images_per_line / windows.length_s;
  }
  return rates;
}

const char* DisturbanceName(Disturbance disturbance) {
  switch (disturbance) {
    case Disturbance::kSteal:
      return "cpu steal";
    case Disturbance::kThrottled:
      return "cgroup throttling";
    case Disturbance::kClockDrop:
      return "clock drop";
    case Disturbance::kOtherPrograms:
      return "other programs";
    case Disturbance::kClockPacedSink:
      return "clock-paced sink";
  }
  return "unknown";
}

size_t Taints::Count() const {
  return static_cast<size_t>(std::count(tainted.begin(), tainted.end(), true));
}

Taints FindTaints(const RunRecord& record, const Windows& windows) {
  Taints taints;
  taints.tainted.assign(windows.count, false);
  const double cores = record.cores > 0 ? record.cores : 1;
  const auto share_of_cores = [&](const Read& read) {
    std::vector<double> values = GrowthPerWindow(record, windows, read);
    for (double& value : values) value /= cores;
    return values;
  };
  Apply({Disturbance::kSteal, false, kMostSteal, "the hypervisor kept cores away"},
        share_of_cores(Field(&SecondSample::steal_s)), windows, &taints);
  Apply({Disturbance::kThrottled, false, kMostThrottled, "the control group's quota stopped us"},
        GrowthPerWindow(record, windows, Field(&SecondSample::throttled_s)), windows, &taints);
  Apply({Disturbance::kOtherPrograms, false, kMostOther, "other programs used the cores"},
        share_of_cores([](const SecondSample& second) -> std::optional<double> {
          if (!second.machine_cpu_s) return std::nullopt;
          return *second.machine_cpu_s - second.cpu_s;
        }),
        windows, &taints);
  Apply({Disturbance::kClockDrop, true, kLeastClock, "the cores' clock fell, against its median,"},
        LevelPerWindow(record, windows, Field(&SecondSample::cpu_mhz)), windows, &taints);
  Apply({Disturbance::kClockDrop, true, kLeastClock, "the GPU's clock fell, against its median,"},
        LevelPerWindow(record, windows, BusyGpuClock), windows, &taints);
  if (!record.clock_paced_sinks.empty() && record.pace_fps <= 0) {
    taints.tainted.assign(windows.count, true);
    taints.causes.push_back(
        {Disturbance::kClockPacedSink, windows.count,
         fmt::format("sync=true on {}: the clock sets the rate, not the machine",
                     fmt::join(record.clock_paced_sinks, ", "))});
  }
  return taints;
}

std::vector<double> CleanValues(const std::vector<double>& values, const Taints& taints) {
  std::vector<double> clean;
  for (size_t i = 0; i < values.size(); ++i)
    if (i >= taints.tainted.size() || !taints.tainted[i]) clean.push_back(values[i]);
  return 2 * clean.size() >= values.size() && clean.size() >= 2 ? clean : values;
}

}  // namespace sg
