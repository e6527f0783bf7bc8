// Made-up measurements with a known truth, for the tests of this folder.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "measure/samples.h"

namespace sg::simulation {

/// `mean` plus noise of that standard deviation; neighbours correlate with `phi`.
inline std::vector<double> Correlated(std::mt19937& random, size_t count, double mean,
                                      double deviation, double phi) {
  std::normal_distribution<double> normal(0, deviation * std::sqrt(1 - phi * phi));
  std::normal_distribution<double> first(0, deviation);
  std::vector<double> values;
  double error = first(random);
  for (size_t i = 0; i < count; ++i) {
    values.push_back(mean + error);
    error = phi * error + normal(random);
  }
  return values;
}

/// Paced sources in front of one server that takes them in order of their due times.
struct PacedServer {
  int streams = 4;
  double pace_fps = 30;
  double seconds = 20;
  double service_s = 0.002;   ///< of a frame
  double slow_service_s = 0;  ///< of every `slow_every`-th frame: a second mode
  int slow_every = 0;         ///< 0: none
  int stalled_stream = -1;    ///< its frames due from stall_from_s on come when the stall ends
  double stall_from_s = 8;
  double stall_s = 2;
  int starving_stream = -1;  ///< gives only `starving_share` of its frames
  double starving_share = 0.8;
  double throttle_from_s = -1;  ///< the server stands still for throttle_s
  double throttle_s = 0;

  RunRecord Run() const {
    struct Event {
      double ready_s;
      double due_s;
      int stream;
      uint64_t frame;
    };
    std::vector<Event> events;
    const auto frames = static_cast<uint64_t>(seconds * pace_fps);
    for (int stream = 0; stream < streams; ++stream) {
      const double phase_s = stream / (pace_fps * streams);
      for (uint64_t n = 0; n < frames; ++n) {
        const double due_s = 0.1 + phase_s + static_cast<double>(n) / pace_fps;
        if (stream == starving_stream && std::floor(static_cast<double>(n + 1) * starving_share) ==
                                             std::floor(static_cast<double>(n) * starving_share))
          continue;
        double ready_s = due_s;
        if (stream == stalled_stream && due_s >= stall_from_s && due_s < stall_from_s + stall_s)
          ready_s = stall_from_s + stall_s;
        events.push_back({ready_s, due_s, stream, n});
      }
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const Event& a, const Event& b) { return a.ready_s < b.ready_s; });
    RunRecord record;
    record.pace_fps = pace_fps;
    record.measure_s = seconds;
    record.ended_by = "duration";
    record.cores = 2;
    for (int stream = 0; stream < streams; ++stream)
      record.streams.push_back("stream " + std::to_string(stream));
    double free_s = 0;
    int served = 0;
    for (const Event& event : events) {
      double start_s = std::max(free_s, event.ready_s);
      if (throttle_from_s >= 0 && start_s >= throttle_from_s &&
          start_s < throttle_from_s + throttle_s)
        start_s = throttle_from_s + throttle_s;
      const bool slow = slow_every > 0 && ++served % slow_every == 0;
      free_s = start_s + (slow ? slow_service_s : service_s);
      if (free_s > 0.1 + seconds) continue;  // the run was over
      record.frames.push_back({event.stream, event.frame, static_cast<int64_t>(event.due_s * 1e9),
                               static_cast<int64_t>(free_s * 1e9), 1});
    }
    for (int second = 0; second <= static_cast<int>(seconds); ++second) {
      SecondSample sample;
      sample.time_ns = int64_t{second} * 1'000'000'000;
      const double stopped_s =
          throttle_from_s < 0 ? 0 : std::clamp(second - throttle_from_s, 0.0, throttle_s);
      sample.throttled_s = stopped_s;
      record.seconds.push_back(sample);
    }
    return record;
  }
};

}  // namespace sg::simulation
