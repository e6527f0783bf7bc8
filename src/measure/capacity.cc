#include "measure/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sg {
namespace {

constexpr double kNsPerS = 1e9;
constexpr double kMsPerS = 1e3;
constexpr double kShortestWindowS = 2;
constexpr double kLatePeriods = 3;
/// Backlogs that grow slower are not told from chance in runs of usual length.
constexpr double kBacklogOfPace = 0.002;
/// Frames. What grows by less during the whole run is a frame that comes a little later.
constexpr double kLeastBacklog = 1;

double Seconds(int64_t ns) { return static_cast<double>(ns) / kNsPerS; }

/// One stream's frames in the order they came, and its schedule.
struct StreamFrames {
  std::vector<double> due_s;
  std::vector<double> arrival_s;
};

std::vector<StreamFrames> SplitStreams(const RunRecord& record) {
  std::vector<StreamFrames> streams(record.streams.size());
  for (const FrameSample& frame : record.frames) {
    StreamFrames& stream = streams[static_cast<size_t>(frame.stream)];
    stream.due_s.push_back(Seconds(frame.capture_ns >= 0 ? frame.capture_ns : frame.arrival_ns));
    stream.arrival_s.push_back(Seconds(frame.arrival_ns));
  }
  return streams;
}

/// How many frames of a schedule that begins at `first_due_s` are due before `at_s`.
double DueBefore(double first_due_s, double pace_fps, double at_s) {
  constexpr double kRounding = 1e-6;
  return std::max(0.0, std::ceil((at_s - first_due_s) * pace_fps - kRounding));
}

uint64_t CountBetween(const std::vector<double>& times, double from_s, double to_s) {
  return static_cast<uint64_t>(
      std::count_if(times.begin(), times.end(), [&](double t) { return t >= from_s && t < to_s; }));
}

/// Frames due and not there at each window's end.
Estimate BacklogSlope(const StreamFrames& stream, double first_due_s, double pace_fps,
                      const Windows& windows) {
  std::vector<double> arrivals = stream.arrival_s;
  std::sort(arrivals.begin(), arrivals.end());
  std::vector<double> at;
  std::vector<double> backlog;
  for (size_t i = 1; i <= windows.count; ++i) {
    const double at_s = windows.from_s + windows.length_s * static_cast<double>(i);
    const auto there = std::lower_bound(arrivals.begin(), arrivals.end(), at_s) - arrivals.begin();
    at.push_back(at_s);
    backlog.push_back(DueBefore(first_due_s, pace_fps, at_s) - static_cast<double>(there));
  }
  return SlopeOf(at, backlog);
}

struct Judged {
  double pace_fps;
  double late_after_s;
  double start_s;  ///< of schedules of which no frame came
  Window window;
  Windows windows;
};

PacedStream JudgeStream(const StreamFrames& stream, const Judged& run) {
  PacedStream result;
  const double span_s = run.window.to_s - run.window.from_s;
  const double first_due_s = stream.due_s.empty()
                                 ? run.start_s
                                 : *std::min_element(stream.due_s.begin(), stream.due_s.end());
  // Frames due at the very end had no time to come.
  const double judged_to_s = std::max(run.window.from_s, run.window.to_s - run.late_after_s);
  result.due = static_cast<uint64_t>(DueBefore(first_due_s, run.pace_fps, judged_to_s) -
                                     DueBefore(first_due_s, run.pace_fps, run.window.from_s));
  result.arrived = CountBetween(stream.arrival_s, run.window.from_s, run.window.to_s);
  result.fps = static_cast<double>(result.arrived) / span_s;
  uint64_t in_time = 0;
  std::vector<double> latencies_ms;
  for (size_t i = 0; i < stream.due_s.size(); ++i) {
    if (stream.due_s[i] < run.window.from_s || stream.due_s[i] >= judged_to_s) continue;
    const double latency_s = stream.arrival_s[i] - stream.due_s[i];
    latencies_ms.push_back(latency_s * kMsPerS);
    if (latency_s <= run.late_after_s) ++in_time;
  }
  result.late = result.due > in_time ? result.due - in_time : 0;
  result.late_share =
      result.due > 0 ? static_cast<double>(result.late) / static_cast<double>(result.due) : 0;
  result.latency_p50_ms = QuantileOfSeries(latencies_ms, 0.5);
  result.latency_p99_ms = QuantileOfSeries(latencies_ms, 0.99);
  result.backlog_per_s = BacklogSlope(stream, first_due_s, run.pace_fps, run.windows);
  const double growth = result.backlog_per_s.value * (run.windows.End() - run.windows.from_s);
  result.backlog_grows = result.backlog_per_s.low > 0 && growth >= kLeastBacklog &&
                         result.backlog_per_s.value > kBacklogOfPace * run.pace_fps;
  return result;
}

/// When the last frame could still have come. Behind a stall the run goes on without frames.
double EndOf(const RunRecord& record) {
  if (record.ended_by == "eos" || record.ended_by == "frames") {
    // Sources that ended are not late with what they never had.
    std::vector<double> last(record.streams.size(), 0.0);
    for (const FrameSample& frame : record.frames)
      last[static_cast<size_t>(frame.stream)] = Seconds(frame.arrival_ns);
    std::erase(last, 0.0);
    return last.empty() ? 0 : *std::min_element(last.begin(), last.end());
  }
  const double asked_s = record.FirstArrival() + record.warmup_s + record.measure_s;
  double end_s = record.LastArrival();
  if (!record.seconds.empty()) end_s = std::max(end_s, Seconds(record.seconds.back().time_ns));
  return record.measure_s > 0 ? std::min(end_s, asked_s) : end_s;
}

/// Windows before the first one in which as many frames came as were due, one a stream more or
/// less; none when that is not in the first half. What goes wrong behind it is no warm-up, however
/// early: a change of level that a stall makes would hide the stall.
size_t PacedWarmUp(const RunRecord& record, const Windows& windows) {
  const auto streams = static_cast<double>(record.streams.size());
  const double due = streams * record.pace_fps * windows.length_s;
  const std::vector<double> rates = RatePerWindow(record, windows);
  for (size_t i = 0; i < rates.size() / 2; ++i) {
    if (std::fabs(rates[i] * windows.length_s - due) <= streams) return i;
  }
  return 0;
}

/// From the end of the warm-up to the end of the run.
Window PacedWindow(const RunRecord& record) {
  Window window = {record.FirstArrival() + record.warmup_s, EndOf(record)};
  const Windows whole = CutIntoWindows(window.from_s, window.to_s);
  window.from_s += static_cast<double>(PacedWarmUp(record, whole)) * whole.length_s;
  return window;
}

void AddRules(const CapacityLimits& limits, CapacityVerdict* verdict) {
  const auto where = [&](size_t stream) {
    return fmt::format("stream {}, {:.1f} to {:.1f} s", stream, verdict->window.from_s,
                       verdict->window.to_s);
  };
  const auto worst_by = [&](auto figure) {
    const auto worst =
        std::max_element(verdict->each.begin(), verdict->each.end(),
                         [&](const auto& a, const auto& b) { return figure(a) < figure(b); });
    return static_cast<size_t>(worst - verdict->each.begin());
  };
  const double least_fps = limits.least_fps_share * verdict->pace_fps;
  const size_t slow = worst_by([](const PacedStream& s) { return -s.fps; });
  verdict->rules.push_back({"fps of the worst stream", verdict->each[slow].fps, least_fps, "fps",
                            verdict->each[slow].fps >= least_fps, where(slow)});
  const size_t late = worst_by([](const PacedStream& s) { return s.late_share; });
  verdict->rules.push_back({fmt::format("frames later than {:g} ms", verdict->late_after_ms),
                            100 * verdict->each[late].late_share, 100 * limits.most_late_share, "%",
                            verdict->each[late].late_share < limits.most_late_share, where(late)});
  const size_t growing = worst_by([](const PacedStream& s) {
    return s.backlog_grows ? s.backlog_per_s.value : std::min(0.0, s.backlog_per_s.value);
  });
  const PacedStream& backlog = verdict->each[growing];
  verdict->rules.push_back({"growth of the backlog", backlog.backlog_per_s.value,
                            kBacklogOfPace * verdict->pace_fps, "frames/s", !backlog.backlog_grows,
                            where(growing)});
  if (!limits.latency_p99_ms) return;
  const size_t slowest = worst_by([](const PacedStream& s) { return s.latency_p99_ms.value; });
  const double p99_ms = verdict->each[slowest].latency_p99_ms.value;
  verdict->rules.push_back({"99th percentile of the latency", p99_ms, *limits.latency_p99_ms, "ms",
                            p99_ms <= *limits.latency_p99_ms, where(slowest)});
}

}  // namespace

double JainIndex(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : 1;
}

Result<CapacityVerdict> JudgePacedRun(const RunRecord& record, const CapacityLimits& limits) {
  if (record.pace_fps <= 0)
    return UserError("the run's sources were not paced, so no frame of it was ever due");
  CapacityVerdict verdict;
  verdict.streams = static_cast<int>(record.streams.size());
  verdict.pace_fps = record.pace_fps;
  verdict.late_after_ms =
      limits.late_after_ms > 0 ? limits.late_after_ms : kLatePeriods * kMsPerS / record.pace_fps;
  verdict.window = PacedWindow(record);
  if (verdict.window.to_s - verdict.window.from_s < kShortestWindowS)
    return UserError(
        fmt::format("the paced run is too short: {:.1f} s behind the warm-up, and {:g} "
                    "s are needed; run longer",
                    std::max(0.0, verdict.window.to_s - verdict.window.from_s), kShortestWindowS));
  const Judged run = {record.pace_fps, verdict.late_after_ms / kMsPerS, record.FirstArrival(),
                      verdict.window, CutIntoWindows(verdict.window.from_s, verdict.window.to_s)};
  std::vector<double> fps;
  for (const StreamFrames& stream : SplitStreams(record)) {
    verdict.each.push_back(JudgeStream(stream, run));
    fps.push_back(verdict.each.back().fps);
    verdict.aggregate_fps += fps.back();
  }
  const auto worse = [](const PacedStream& a, const PacedStream& b) {
    return a.late_share != b.late_share ? a.late_share > b.late_share : a.arrived < b.arrived;
  };
  verdict.worst_stream = static_cast<size_t>(
      std::min_element(verdict.each.begin(), verdict.each.end(), worse) - verdict.each.begin());
  verdict.jain_index = JainIndex(fps);
  AddRules(limits, &verdict);
  verdict.holds = std::all_of(verdict.rules.begin(), verdict.rules.end(),
                              [](const RuleOutcome& rule) { return rule.holds; });
  verdict.taints = FindTaints(record, run.windows);
  verdict.disturbed = !verdict.holds && verdict.taints.Count() > 0;
  return verdict;
}

std::optional<CapacitySearch::Try> CapacitySearch::Next() const {
  if (done_) return std::nullopt;
  return Try{next_, confirming_};
}

void CapacitySearch::Tell(Outcome outcome) {
  if (outcome == Outcome::kDisturbed && !repeated_) {
    repeated_ = true;
    return;
  }
  repeated_ = false;
  if (outcome == Outcome::kHolds) {
    holds_ = next_;
    if (confirming_) {
      done_ = true;
      return;
    }
  } else {
    fails_ = next_;
    // What held before does not any more: one stream less is confirmed next.
    if (holds_ >= fails_) holds_ = fails_ - 1;
  }
  Choose();
}

void CapacitySearch::Choose() {
  const bool closed = (fails_ > 0 && fails_ == holds_ + 1) || holds_ == most_;
  if (closed) {
    confirming_ = true;
    next_ = holds_;
    done_ = holds_ == 0;
    return;
  }
  confirming_ = false;
  next_ = fails_ == 0 ? std::min(2 * holds_, most_) : holds_ + (fails_ - holds_) / 2;
}

}  // namespace sg
