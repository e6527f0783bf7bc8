#include "trace/element_times.h"

#include <algorithm>
#include <map>
#include <optional>

#include "trace/call_walk.h"
#include "trace/duration_histogram.h"

namespace sg::trace {
namespace {

/// Intervals of one element on one thread, in calls or in its loop.
struct Stretch {
  double wall_ns = 0;
  double always_cpu_ns = 0;  ///< of the thread's first calls, all of which are sampled
  uint64_t later = 0;        ///< intervals after those
  uint64_t later_sampled = 0;
  double later_wall_ns = 0;
  double later_cpu_ns = 0;  ///< of the sampled ones
  uint64_t covered = 0;     ///< later ones up to the thread's last reading of its clock…
  uint64_t since = 0;       ///< …and after the reading `reading`
  uint64_t reading = 0;

  /// An interval ends after the thread's `readings`th reading.
  void CountLater(uint64_t readings) {
    if (reading != readings) {
      covered += since;
      since = 0;
      reading = readings;
    }
    ++since;
    ++later;
  }
  uint64_t Covered(uint64_t readings) const { return reading == readings ? covered : later; }

  /// Of the intervals after the first ones, by their mean.
  double LaterEstimate() const {
    if (later_sampled == 0) return 0;
    const double scaled =
        later_cpu_ns * static_cast<double>(later) / static_cast<double>(later_sampled);
    return std::min(scaled, later_wall_ns);
  }
};

/// Of one thread's CPU clock: what it used between the first and the last, and how many intervals
/// after the first calls had theirs read.
struct ClockReadings {
  uint64_t cpu_ns = 0;
  uint64_t count = 0;
};

struct StretchKey {
  uint32_t element;
  bool is_loop;
  auto operator<=>(const StretchKey&) const = default;
};

/// CPU readings of the process's threads, by the kernel's number.
struct CpuReadings {
  uint64_t first_ns = 0;
  uint64_t first_cpu = 0;
  uint64_t last_cpu = 0;
};

/// Below this a correction is noise; above, the sample missed what the thread did.
constexpr double kLeastScale = 0.5;
constexpr double kMostScale = 2.0;
/// A thread with a smaller share of an element's calls does not count as calling it.
constexpr double kSmallShare = 0.05;

class Measurement {
 public:
  explicit Measurement(const TraceFile& trace) : trace_(trace), links_(trace) {}

  ElementTimes Run() {
    for (const TracedThread& thread : trace_.threads) Walk(thread);
    FindDecoupled();
    AddThreads();
    return Collect();
  }

 private:
  void Walk(const TracedThread& thread) {
    std::map<StretchKey, Stretch> stretches;
    std::map<uint32_t, double> loops;
    uint64_t readings = 0;
    WalkCallbacks callbacks;
    callbacks.on_interval = [&](const Interval& interval) {
      AddInterval(interval, &readings, &stretches[{interval.element, interval.is_loop}]);
      if (interval.is_loop) loops[interval.element] += static_cast<double>(interval.wall_ns);
    };
    callbacks.on_call = [&](const Call& call) { AddCall(thread, call); };
    callbacks.on_allocations = [&](uint32_t element, uint64_t count) {
      if (element != 0) elements_[element].allocations += count;
    };
    callbacks.on_other = [&](const Record& record) { AddOther(record); };
    const WalkFacts facts = WalkCalls(trace_, links_, thread, callbacks);
    unfinished_ += facts.unfinished;
    AddWork(thread, stretches, {facts.cpu_ns, readings});
    ThreadTime& time = threads_[thread.tid];
    time.number = thread.number;
    time.tid = thread.tid;
    time.name = thread.name;
    time.calls += facts.calls;
    double longest = -1;
    for (const auto& [element, wall_ns] : loops)
      if (wall_ns > longest) {
        longest = wall_ns;
        time.owner = element;
      }
  }

  static void AddInterval(const Interval& interval, uint64_t* readings, Stretch* stretch) {
    const auto wall_ns = static_cast<double>(interval.wall_ns);
    stretch->wall_ns += wall_ns;
    if (interval.always_sampled && interval.sampled) {
      stretch->always_cpu_ns += static_cast<double>(interval.cpu_ns);
      return;
    }
    stretch->CountLater(*readings);
    stretch->later_wall_ns += wall_ns;
    if (!interval.sampled) return;
    ++*readings;
    ++stretch->later_sampled;
    stretch->later_cpu_ns += static_cast<double>(interval.cpu_ns);
  }

  void AddCall(const TracedThread& thread, const Call& call) {
    ElementTime& callee = elements_[call.callee];
    ElementTime& caller = elements_[call.caller];
    callee.threads.insert(thread.number);
    if (call.type == RecordType::kEventBegin) {
      ++callee.events;
      return;
    }
    if (call.type == RecordType::kQueryBegin) {
      ++callee.queries;
      return;
    }
    ++callee.calls;
    callee.inclusive_ns += static_cast<double>(call.end_ns - call.begin_ns);
    histograms_[call.callee].Add(call.exclusive_ns);
    // A pull moves data from the callee to the caller.
    const bool is_pull = call.type == RecordType::kPullBegin;
    ElementTime& giver = is_pull ? callee : caller;
    ElementTime& taker = is_pull ? caller : callee;
    const uint64_t buffers = is_pull ? 1 : call.buffers;
    giver.buffers_out += buffers;
    giver.bytes_out += call.bytes;
    taker.buffers_in += buffers;
    taker.bytes_in += call.bytes;
    ++callers_[call.callee][thread.number];
    if (call.depth == 0 && !is_pull) ++pushes_outermost_[call.caller];
    if (!is_pull) ++pushes_[call.caller];
  }

  void AddOther(const Record& record) {
    if (record.type == RecordType::kThreadCpu) {
      const auto tid = static_cast<uint32_t>(record.words[0]);
      auto [at, fresh] = cpu_.try_emplace(tid);
      if (fresh) at->second = {record.time_ns, record.words[1], record.words[1]};
      CpuReadings& readings = at->second;
      if (record.time_ns < readings.first_ns) {
        readings.first_ns = record.time_ns;
        readings.first_cpu = record.words[1];
      }
      readings.last_cpu = std::max(readings.last_cpu, record.words[1]);
      if (first_reading_ns_ == 0 || record.time_ns < first_reading_ns_)
        first_reading_ns_ = record.time_ns;
    } else if (record.type == RecordType::kProcessCpu) {
      const auto cpu_ns = static_cast<double>(record.words[0]);
      if (!process_first_ns_ || cpu_ns < *process_first_ns_) process_first_ns_ = cpu_ns;
      process_last_ns_ = std::max(process_last_ns_, cpu_ns);
    } else if (record.type == RecordType::kThreadOwner) {
      owners_[static_cast<uint32_t>(record.words[0])] = record.id;
    } else if (record.type == RecordType::kThreadName) {
      names_[static_cast<uint32_t>(record.words[0])] = std::string(record.text);
    }
  }

  /// Spreads what the thread's CPU clock says in all over what was sampled.
  void AddWork(const TracedThread& thread, const std::map<StretchKey, Stretch>& stretches,
               const ClockReadings& clock) {
    double always_ns = 0;
    double later_ns = 0;
    for (const auto& [key, stretch] : stretches) {
      always_ns += stretch.always_cpu_ns;
      if (stretch.later > 0)
        later_ns += stretch.LaterEstimate() * static_cast<double>(stretch.Covered(clock.count)) /
                    static_cast<double>(stretch.later);
    }
    double scale = 1;
    const double known_ns = static_cast<double>(clock.cpu_ns) - always_ns;
    if (later_ns > 0 && known_ns > 0) {
      const double fits = known_ns / later_ns;
      if (fits >= kLeastScale && fits <= kMostScale) scale = fits;
    }
    for (const auto& [key, stretch] : stretches) {
      ElementTime& element = elements_[key.element];
      element.threads.insert(thread.number);
      const double work_ns =
          std::min(stretch.always_cpu_ns + scale * stretch.LaterEstimate(), stretch.wall_ns);
      (key.is_loop ? element.loop_ns : element.call_ns) += stretch.wall_ns;
      (key.is_loop ? element.loop_work_ns : element.call_work_ns) += work_ns;
    }
  }

  void FindDecoupled() {
    for (auto& [id, element] : elements_) {
      const auto callers = callers_.find(id);
      if (callers == callers_.end()) continue;
      size_t threads = 0;
      for (const auto& [thread, calls] : callers->second)
        if (static_cast<double>(calls) > kSmallShare * static_cast<double>(element.calls))
          ++threads;
      const auto outermost = static_cast<double>(pushes_outermost_[id]);
      const bool pushes_by_itself =
          outermost > kSmallShare * static_cast<double>(pushes_[id]) && pushes_[id] > 0;
      // A demuxer is called too when it pulls nothing; its loop is its own then.
      element.is_decoupled = threads > 1 || pushes_by_itself;
    }
  }

  /// CPU time of every thread. Those without calls go to the element during whose call they
  /// appeared.
  void AddThreads() {
    for (const auto& [tid, readings] : cpu_) {
      ThreadTime& time = threads_[tid];
      time.tid = tid;
      const bool was_there = readings.first_ns <= first_reading_ns_;
      time.cpu_ns = static_cast<double>(readings.last_cpu - (was_there ? readings.first_cpu : 0));
      const auto name = names_.find(tid);
      if (time.name.empty() && name != names_.end()) time.name = name->second;
      if (time.calls > 0) continue;
      const auto owner = owners_.find(tid);
      if (owner == owners_.end()) {
        if (time.number == 0) unowned_ns_ += time.cpu_ns;
        continue;
      }
      time.owner = owner->second;
      ElementTime& element = elements_[owner->second];
      element.helper_cpu_ns += time.cpu_ns;
      ++element.helper_threads;
    }
  }

  ElementTimes Collect() {
    ElementTimes times;
    times.duration_ns = static_cast<double>(trace_.last_ns - trace_.first_ns);
    times.process_cpu_ns = process_first_ns_ ? process_last_ns_ - *process_first_ns_ : 0;
    times.unowned_cpu_ns = unowned_ns_;
    times.unfinished_calls = unfinished_;
    for (auto& [id, element] : elements_) {
      const auto known = trace_.elements.find(id);
      if (id == 0 || known == trace_.elements.end()) continue;
      if ((known->second.flags & kElementIsBin) != 0) {
        times.bins_ns += element.call_ns + element.loop_ns;
        continue;
      }
      element.id = id;
      element.element = known->second;
      element.p50_ns = histograms_[id].Percentile(0.5);
      element.p99_ns = histograms_[id].Percentile(0.99);
      times.elements.push_back(std::move(element));
    }
    std::stable_sort(times.elements.begin(), times.elements.end(),
                     [](const ElementTime& a, const ElementTime& b) {
                       return a.held_ns() + a.helper_cpu_ns > b.held_ns() + b.helper_cpu_ns;
                     });
    for (auto& [tid, time] : threads_) times.threads.push_back(std::move(time));
    std::stable_sort(times.threads.begin(), times.threads.end(),
                     [](const ThreadTime& a, const ThreadTime& b) { return a.cpu_ns > b.cpu_ns; });
    return times;
  }

  const TraceFile& trace_;
  const LinkTable links_;
  std::map<uint32_t, ElementTime> elements_;
  std::map<uint32_t, DurationHistogram> histograms_;
  std::map<uint32_t, std::map<uint32_t, uint64_t>> callers_;  ///< calls by thread
  std::map<uint32_t, uint64_t> pushes_;
  std::map<uint32_t, uint64_t> pushes_outermost_;
  std::map<uint32_t, ThreadTime> threads_;  ///< by the kernel's number
  std::map<uint32_t, CpuReadings> cpu_;
  std::map<uint32_t, uint32_t> owners_;
  std::map<uint32_t, std::string> names_;
  uint64_t first_reading_ns_ = 0;
  std::optional<double> process_first_ns_;
  double process_last_ns_ = 0;
  double unowned_ns_ = 0;
  uint64_t unfinished_ = 0;
};

}  // namespace

ElementTimes MeasureElements(const TraceFile& trace) { return Measurement(trace).Run(); }

}  // namespace sg::trace
