#include "trace/frame_paths.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "trace/call_walk.h"

namespace sg::trace {
namespace {

constexpr double kNsPerMs = 1e6;

struct PushSeen {
  uint64_t time_ns = 0;
  uint32_t pad = 0;
  uint64_t pts = kNoPts;
};

/// A frame on its way: the pushes so far, oldest first.
struct Way {
  std::vector<std::pair<uint64_t, uint32_t>> pushes;  ///< time, pad
};

/// Latencies and stays at one sink.
struct Arrivals {
  struct Arrival {
    double latency_ms;
    uint64_t pts;
    std::vector<FramePath::Step> steps;
  };
  std::vector<Arrival> all;
  uint64_t unfollowed = 0;
  bool by_capture = false;
};

double At(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

class Follower {
 public:
  explicit Follower(const TraceFile& trace) : trace_(trace), links_(trace) {}

  std::vector<SinkLatency> Run() {
    Gather();
    FindBranches();
    MatchNumbers();
    for (const PushSeen& push : pushes_) Take(push);
    std::vector<SinkLatency> sinks;
    for (auto& [sink, arrivals] : arrivals_) sinks.push_back(Summarize(sink, &arrivals));
    return sinks;
  }

 private:
  void Gather() {
    for (const TracedThread& thread : trace_.threads) {
      WalkCallbacks callbacks;
      callbacks.on_call = [&](const Call& call) {
        if (call.type == RecordType::kPushBegin && !IsProxy(call.pad))
          pushes_.push_back({call.begin_ns, call.pad, call.argument});
      };
      callbacks.on_frame = [&](const FrameSeen& frame) {
        if (!IsProxy(frame.pad)) frames_[{frame.time_ns, frame.pad}].push_back(frame);
      };
      WalkCalls(trace_, links_, thread, callbacks);
    }
    std::stable_sort(pushes_.begin(), pushes_.end(),
                     [](const PushSeen& a, const PushSeen& b) { return a.time_ns < b.time_ns; });
  }

  bool IsProxy(uint32_t pad) const {
    const auto found = trace_.pads.find(pad);
    return found == trace_.pads.end() || (found->second.flags & kPadIsProxy) != 0;
  }

  uint32_t ElementOf(uint32_t pad) const {
    const auto found = trace_.pads.find(pad);
    return found == trace_.pads.end() ? 0 : found->second.element;
  }

  /// The element behind a pad at a time, through bins' pads.
  uint32_t ReceiverOf(uint32_t pad, uint64_t time_ns) const {
    constexpr int kMostBins = 32;
    uint32_t peer = links_.PeerAt(pad, time_ns);
    for (int i = 0; i < kMostBins && peer != 0; ++i) {
      if (!IsProxy(peer)) return ElementOf(peer);
      const auto inner = proxy_next_.find(peer);
      if (inner == proxy_next_.end()) return ElementOf(peer);
      peer = links_.PeerAt(inner->second, time_ns);
    }
    return peer == 0 ? 0 : ElementOf(peer);
  }

  /// Which pads a bin's pad passes to: the proxy pad that pushes within the call into it. Branches:
  /// what is connected by links without passing an element with several inputs.
  void FindBranches() {
    for (const TracedThread& thread : trace_.threads) {
      std::vector<uint32_t> stack;
      trace_.ForEach(thread, [&](const Record& record) {
        switch (record.type) {
          case RecordType::kPushBegin:
          case RecordType::kEventBegin:
            if (!stack.empty() && IsProxy(record.id)) {
              const uint32_t into = links_.PeerAt(stack.back(), record.time_ns);
              if (into != 0 && IsProxy(into)) proxy_next_[into] = record.id;
            }
            stack.push_back(record.id);
            break;
          case RecordType::kPullBegin:
          case RecordType::kQueryBegin:
            stack.push_back(record.id);
            break;
          case RecordType::kPushEnd:
          case RecordType::kEventEnd:
          case RecordType::kPullEnd:
          case RecordType::kQueryEnd:
            if (!stack.empty()) stack.pop_back();
            break;
          case RecordType::kLost:
            stack.clear();
            break;
          default:
            break;
        }
      });
    }
    std::map<uint32_t, std::set<uint32_t>> inputs;
    for (const PushSeen& push : pushes_) {
      if (receivers_.count(push.pad) == 0)
        receivers_[push.pad] = ReceiverOf(push.pad, push.time_ns);
      inputs[receivers_[push.pad]].insert(push.pad);
    }
    for (const auto& [element, pads] : inputs)
      if (pads.size() == 1) only_input_[element] = *pads.begin();
  }

  /// The most upstream pad of the chain that `pad` ends, which names the branch.
  uint32_t BranchOf(uint32_t pad) {
    const auto known = branches_.find(pad);
    if (known != branches_.end()) return known->second;
    constexpr int kLongest = 1000;
    uint32_t first = pad;
    for (int i = 0; i < kLongest; ++i) {
      const auto input = only_input_.find(ElementOf(first));
      if (input == only_input_.end()) break;
      first = input->second;
    }
    return branches_[pad] = first;
  }

  /// The frames that the mux numbers came in on its pad for that source, in their order.
  void MatchNumbers() {
    for (const auto& [at, frames] : frames_)
      for (const FrameSeen& frame : frames) muxes_.insert(ElementOf(frame.pad));
  }

  void Take(const PushSeen& push) {
    const auto numbered = frames_.find({push.time_ns, push.pad});
    if (numbered != frames_.end()) {
      for (const FrameSeen& frame : numbered->second) TakeNumbered(push, frame);
      return;
    }
    TakeByPts(push);
  }

  void TakeNumbered(const PushSeen& push, const FrameSeen& frame) {
    Way& way = numbered_[{frame.source, frame.number}];
    if (way.pushes.empty()) {
      // Its way into the mux: the source's frames leave in the order they came.
      const auto waiting = entering_.find({ElementOf(push.pad), frame.source});
      if (waiting != entering_.end() && frame.number >= waiting->second.first_number) {
        const uint64_t index = frame.number - waiting->second.first_number;
        if (index < waiting->second.ways.size()) way = waiting->second.ways[index];
      }
    }
    if (Extend(&way, push)) Arrive(push, way, frame.capture_ns);
  }

  void TakeByPts(const PushSeen& push) {
    const uint32_t receiver = receivers_[push.pad];
    if (push.pts == kNoPts) {
      if (IsSink(receiver)) ++arrivals_[receiver].unfollowed;
      return;
    }
    Way& way = by_pts_[{BranchOf(push.pad), push.pts}];
    const bool arrived = Extend(&way, push);
    if (muxes_.count(receiver) != 0) {
      const std::string name = PeerName(push);
      const size_t digits = name.find_last_not_of("0123456789") + 1;
      if (digits < name.size() && name.size() - digits < 9)
        entering_[{receiver, static_cast<uint32_t>(std::stoul(name.substr(digits)))}]
            .ways.push_back(way);
    }
    if (arrived) Arrive(push, way, 0);
  }

  std::string PeerName(const PushSeen& push) const {
    const auto peer = trace_.pads.find(links_.PeerAt(push.pad, push.time_ns));
    return peer == trace_.pads.end() ? "" : peer->second.name;
  }

  bool IsSink(uint32_t element) const {
    const auto found = trace_.elements.find(element);
    if (found == trace_.elements.end()) return false;
    return (found->second.flags & kElementIsSink) != 0 &&
           (found->second.flags & kElementIsBin) == 0;
  }

  /// Adds the push; true when it ends in a sink. A pad that pushes the frame again begins anew
  /// (loops repeat PTS).
  bool Extend(Way* way, const PushSeen& push) const {
    for (const auto& [time, pad] : way->pushes)
      if (pad == push.pad) {
        way->pushes.clear();
        break;
      }
    way->pushes.emplace_back(push.time_ns, push.pad);
    return IsSink(receivers_.at(push.pad));
  }

  void Arrive(const PushSeen& push, const Way& way, uint64_t capture_ns) {
    Arrivals& arrivals = arrivals_[receivers_.at(push.pad)];
    uint64_t from_ns = way.pushes.front().first;
    if (capture_ns > 0 && capture_ns <= push.time_ns) {
      arrivals.by_capture = true;
      from_ns = capture_ns;
    }
    Arrivals::Arrival arrival;
    arrival.pts = push.pts;
    arrival.latency_ms = static_cast<double>(push.time_ns - from_ns) / kNsPerMs;
    for (size_t i = 0; i + 1 < way.pushes.size(); ++i) {
      const auto& [begin_ns, pad] = way.pushes[i];
      const auto& [end_ns, next_pad] = way.pushes[i + 1];
      arrival.steps.push_back(
          {ElementOf(next_pad), static_cast<double>(end_ns - begin_ns) / kNsPerMs});
    }
    arrivals.all.push_back(std::move(arrival));
  }

  static FramePath PathOf(const Arrivals::Arrival& arrival) {
    return {arrival.latency_ms, arrival.pts, arrival.steps};
  }

  static SinkLatency Summarize(uint32_t sink, Arrivals* arrivals) {
    SinkLatency result;
    result.sink = sink;
    result.frames = arrivals->all.size();
    result.unfollowed = arrivals->unfollowed;
    result.by_capture = arrivals->by_capture;
    if (arrivals->all.empty()) return result;
    std::stable_sort(arrivals->all.begin(), arrivals->all.end(),
                     [](const auto& a, const auto& b) { return a.latency_ms < b.latency_ms; });
    std::vector<double> latencies;
    std::map<uint32_t, std::vector<double>> stays;
    for (const auto& arrival : arrivals->all) {
      latencies.push_back(arrival.latency_ms);
      for (const FramePath::Step& step : arrival.steps) stays[step.element].push_back(step.ms);
    }
    result.p50_ms = At(latencies, 0.5);
    result.p95_ms = At(latencies, 0.95);
    result.p99_ms = At(latencies, 0.99);
    result.max_ms = latencies.back();
    const auto last = static_cast<double>(arrivals->all.size() - 1);
    result.middle = PathOf(arrivals->all[static_cast<size_t>(0.5 * last)]);
    result.late = PathOf(arrivals->all[static_cast<size_t>(0.99 * last)]);
    for (auto& [element, list] : stays) {
      std::sort(list.begin(), list.end());
      double sum = 0;
      for (const double ms : list) sum += ms;
      result.stays.push_back({element, list.size(), sum / static_cast<double>(list.size()),
                              At(list, 0.5), At(list, 0.99)});
    }
    std::stable_sort(result.stays.begin(), result.stays.end(),
                     [](const Stay& a, const Stay& b) { return a.mean_ms > b.mean_ms; });
    return result;
  }

  /// Ways into one sink pad of a mux.
  struct Entering {
    uint64_t first_number = 0;
    std::vector<Way> ways;
  };

  const TraceFile& trace_;
  const LinkTable links_;
  std::vector<PushSeen> pushes_;
  std::map<std::pair<uint64_t, uint32_t>, std::vector<FrameSeen>> frames_;  ///< by time and pad
  std::map<uint32_t, uint32_t> receivers_;   ///< pad → element that it pushes to
  std::map<uint32_t, uint32_t> only_input_;  ///< element → the one pad that pushes into it
  std::map<uint32_t, uint32_t> proxy_next_;
  std::map<uint32_t, uint32_t> branches_;
  std::set<uint32_t> muxes_;
  std::map<std::pair<uint32_t, uint64_t>, Way> by_pts_;
  std::map<std::pair<uint32_t, uint64_t>, Way> numbered_;
  std::map<std::pair<uint32_t, uint32_t>, Entering> entering_;
  std::map<uint32_t, Arrivals> arrivals_;
};

}  // namespace

std::vector<SinkLatency> FollowFrames(const TraceFile& trace) { return Follower(trace).Run(); }

}  // namespace sg::trace
