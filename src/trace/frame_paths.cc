#include "trace/frame_paths.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
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

/// A frame's number and source as one key; a PTS is its own.
uint64_t KeyOf(uint32_t source, uint64_t number) { return uint64_t{source} << 40 ^ number; }

/// A push of a frame into a mux, which then numbers it.
struct Entry {
  uint32_t pad = 0;
  uint64_t pts = kNoPts;
  uint64_t time_ns = 0;
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
    FindProxies();
    FindInputs();
    FindMuxes();
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

  /// Which pads a bin's pad passes to: the proxy pad that pushes within the call into it.
  void FindProxies() {
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
  }

  /// Who receives each pad's pushes, and which elements have one input alone.
  void FindInputs() {
    std::map<uint32_t, std::set<uint32_t>> inputs;
    for (const PushSeen& push : pushes_) {
      if (receivers_.count(push.pad) == 0)
        receivers_[push.pad] = ReceiverOf(push.pad, push.time_ns);
      inputs[receivers_[push.pad]].insert(push.pad);
    }
    for (const auto& [element, pads] : inputs)
      if (pads.size() == 1) only_input_[element] = *pads.begin();
  }

  /// Elements that number frames, or pass numbered ones on.
  void FindMuxes() {
    for (const auto& [at, frames] : frames_) muxes_.insert(ElementOf(at.second));
  }

  void Take(const PushSeen& push) {
    const uint32_t receiver = receivers_[push.pad];
    const auto numbered = frames_.find({push.time_ns, push.pad});
    if (numbered != frames_.end()) {
      for (const FrameSeen& frame : numbered->second) {
        numbers_[push.pad][KeyOf(frame.source, frame.number)] = push.time_ns;
        if (IsSink(receiver)) Arrive(push, &frame);
      }
      return;
    }
    if (push.pts != kNoPts) times_[push.pad][push.pts] = push.time_ns;
    if (muxes_.count(receiver) != 0) Enter(push, receiver);
    if (!IsSink(receiver)) return;
    if (push.pts == kNoPts)
      ++arrivals_[receiver].unfollowed;
    else
      Arrive(push, nullptr);
  }

  /// The mux's pad for a source ends in the source's number; its frames are numbered as they come.
  void Enter(const PushSeen& push, uint32_t mux) {
    const auto peer = trace_.pads.find(links_.PeerAt(push.pad, push.time_ns));
    if (peer == trace_.pads.end()) return;
    const std::string& name = peer->second.name;
    const size_t digits = name.find_last_not_of("0123456789") + 1;
    constexpr size_t kMostDigits = 8;
    if (digits >= name.size() || name.size() - digits > kMostDigits) return;
    entries_[{mux, static_cast<uint32_t>(std::stoul(name.substr(digits)))}].push_back(
        {push.pad, push.pts, push.time_ns});
  }

  bool IsSink(uint32_t element) const {
    const auto found = trace_.elements.find(element);
    if (found == trace_.elements.end()) return false;
    return (found->second.flags & kElementIsSink) != 0 &&
           (found->second.flags & kElementIsBin) == 0;
  }

  static uint64_t TimeAt(const std::map<uint32_t, std::unordered_map<uint64_t, uint64_t>>& times,
                         uint32_t pad, uint64_t key) {
    const auto at = times.find(pad);
    if (at == times.end()) return 0;
    const auto found = at->second.find(key);
    return found == at->second.end() ? 0 : found->second;
  }

  /// The pushes that brought the frame, the last one first. Walks up the links.
  std::vector<std::pair<uint64_t, uint32_t>> WayBack(const PushSeen& push,
                                                     const FrameSeen* frame) const {
    constexpr int kLongest = 1000;
    std::vector<std::pair<uint64_t, uint32_t>> way = {{push.time_ns, push.pad}};
    uint64_t pts = push.pts;
    bool by_number = frame != nullptr;
    for (int i = 0; i < kLongest; ++i) {
      const uint32_t element = ElementOf(way.back().second);
      const auto input = only_input_.find(element);
      uint64_t time_ns = 0;
      uint32_t pad = input == only_input_.end() ? 0 : input->second;
      if (pad != 0)
        time_ns = by_number ? TimeAt(numbers_, pad, KeyOf(frame->source, frame->number))
                            : TimeAt(times_, pad, pts);
      if (time_ns == 0 && by_number) {
        const auto entries = entries_.find({element, frame->source});
        if (entries == entries_.end() || frame->number >= entries->second.size()) break;
        const Entry& entry = entries->second[static_cast<size_t>(frame->number)];
        by_number = false;
        pts = entry.pts;
        pad = entry.pad;
        time_ns = entry.time_ns;
      }
      if (time_ns == 0 || time_ns > way.back().first) break;
      way.emplace_back(time_ns, pad);
    }
    return way;
  }

  void Arrive(const PushSeen& push, const FrameSeen* frame) {
    Arrivals& arrivals = arrivals_[receivers_.at(push.pad)];
    const auto way = WayBack(push, frame);
    uint64_t from_ns = way.back().first;
    if (frame != nullptr && frame->capture_ns > 0 && frame->capture_ns <= push.time_ns) {
      arrivals.by_capture = true;
      from_ns = frame->capture_ns;
    } else if (way.size() == 1 && !IsFirst(push.pad)) {
      ++arrivals.unfollowed;
      return;
    }
    Arrivals::Arrival arrival;
    arrival.pts = push.pts;
    arrival.latency_ms = static_cast<double>(push.time_ns - from_ns) / kNsPerMs;
    for (size_t i = way.size() - 1; i > 0; --i)
      arrival.steps.push_back({ElementOf(way[i - 1].second),
                               static_cast<double>(way[i - 1].first - way[i].first) / kNsPerMs});
    arrivals.all.push_back(std::move(arrival));
  }

  /// A source that pushes right into its sink: there is no way to follow.
  bool IsFirst(uint32_t pad) const {
    const auto element = trace_.elements.find(ElementOf(pad));
    return element != trace_.elements.end() && (element->second.flags & kElementIsSource) != 0;
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

  const TraceFile& trace_;
  const LinkTable links_;
  std::vector<PushSeen> pushes_;
  std::map<std::pair<uint64_t, uint32_t>, std::vector<FrameSeen>> frames_;  ///< by time and pad
  std::map<uint32_t, uint32_t> receivers_;   ///< pad → element that it pushes to
  std::map<uint32_t, uint32_t> only_input_;  ///< element → the one pad that pushes into it
  std::map<uint32_t, uint32_t> proxy_next_;
  std::set<uint32_t> muxes_;
  /// Pad → time of the last push with that PTS, and of that numbered frame.
  std::map<uint32_t, std::unordered_map<uint64_t, uint64_t>> times_;
  std::map<uint32_t, std::unordered_map<uint64_t, uint64_t>> numbers_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Entry>> entries_;  ///< by mux and source
  std::map<uint32_t, Arrivals> arrivals_;
};

}  // namespace

std::vector<SinkLatency> FollowFrames(const TraceFile& trace) { return Follower(trace).Run(); }

}  // namespace sg::trace
