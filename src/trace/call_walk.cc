#include "trace/call_walk.h"

#include <algorithm>
#include <optional>

namespace sg::trace {
namespace {

constexpr uint32_t kGstEventIsUpstream = 1;  // GST_EVENT_TYPE_UPSTREAM (gstevent.h)
constexpr uint32_t kGstEventIsDownstream = 2;

bool IsBegin(RecordType type) {
  return type == RecordType::kPushBegin || type == RecordType::kPullBegin ||
         type == RecordType::kEventBegin || type == RecordType::kQueryBegin;
}

/// The record that ends a call of this type.
RecordType EndOf(RecordType begin) {
  switch (begin) {
    case RecordType::kPushBegin:
      return RecordType::kPushEnd;
    case RecordType::kPullBegin:
      return RecordType::kPullEnd;
    case RecordType::kEventBegin:
      return RecordType::kEventEnd;
    default:
      return RecordType::kQueryEnd;
  }
}

bool IsEnd(RecordType type) {
  return type == RecordType::kPushEnd || type == RecordType::kPullEnd ||
         type == RecordType::kEventEnd || type == RecordType::kQueryEnd;
}

/// Calls that an element's own loop makes, as opposed to what an application asks from outside.
bool IsStreaming(const Call& call) {
  if (call.type == RecordType::kQueryBegin) return false;
  if (call.type != RecordType::kEventBegin) return true;
  return (call.argument & kGstEventIsDownstream) != 0 || (call.argument & kGstEventIsUpstream) == 0;
}

class Walker {
 public:
  Walker(const TraceFile& trace, const LinkTable& links, const WalkCallbacks& callbacks)
      : trace_(trace), links_(links), callbacks_(callbacks) {}

  void Take(const Record& record) {
    if (record.type == RecordType::kCpu) {
      TakeClock(record.words[0]);
      return;
    }
    if (IsBegin(record.type) || IsEnd(record.type)) FlushInterval();
    if (IsBegin(record.type)) {
      Begin(record);
    } else if (IsEnd(record.type)) {
      End(record);
    } else if (record.type == RecordType::kLost) {
      // Begins and ends no longer match.
      stack_.clear();
      pending_.reset();
      mark_.reset();
      loop_owner_ = 0;
    } else if (record.type == RecordType::kFrame) {
      if (callbacks_.on_frame && !stack_.empty())
        callbacks_.on_frame(
            {record.id, record.words[0], record.words[1], record.time_ns, stack_.back().pad});
    } else if (record.type == RecordType::kAllocations) {
      const uint32_t element = stack_.empty() ? loop_owner_ : stack_.back().callee;
      if (callbacks_.on_allocations) callbacks_.on_allocations(element, record.id);
    } else if (callbacks_.on_other) {
      callbacks_.on_other(record);
    }
  }

  WalkFacts Finish() {
    FlushInterval();
    facts_.unfinished = stack_.size();
    for (const Call& call : stack_) facts_.open_elements.push_back(call.callee);
    if (first_cpu_ && last_cpu_) facts_.cpu_ns = *last_cpu_ - *first_cpu_;
    return facts_;
  }

 private:
  /// The last begin or end: where the next interval starts.
  struct Mark {
    uint64_t time_ns = 0;
    std::optional<uint64_t> cpu_ns;
  };

  uint32_t ElementOf(uint32_t pad) const {
    const auto found = trace_.pads.find(pad);
    return found == trace_.pads.end() ? 0 : found->second.element;
  }

  void TakeClock(uint64_t cpu_ns) {
    if (mark_) mark_->cpu_ns = cpu_ns;
    if (!first_cpu_) first_cpu_ = cpu_ns;
    last_cpu_ = std::max(cpu_ns, last_cpu_.value_or(0));
    if (pending_) {
      pending_->end_cpu_ns = cpu_ns;
      FlushInterval();
    }
  }

  /// The interval before the record at hand. Its end may still get its CPU clock from the next one.
  struct Pending {
    Interval interval;
    std::optional<uint64_t> begin_cpu_ns;
    std::optional<uint64_t> end_cpu_ns;
  };

  void EndInterval(uint64_t time_ns) {
    if (mark_) {
      Pending pending;
      Interval& interval = pending.interval;
      interval.begin_ns = mark_->time_ns;
      interval.end_ns = time_ns;
      interval.wall_ns = time_ns - mark_->time_ns;
      interval.depth = stack_.size();
      interval.is_loop = stack_.empty();
      interval.element = stack_.empty() ? loop_owner_ : stack_.back().callee;
      interval.always_sampled = outermost_ <= kAlwaysSampledCalls;
      pending.begin_cpu_ns = mark_->cpu_ns;
      if (mark_->cpu_ns)
        interval.wall_ns -= std::min<uint64_t>(interval.wall_ns, trace_.cpu_clock_cost_ns);
      if (!stack_.empty()) stack_.back().exclusive_ns += interval.wall_ns;
      pending_ = pending;
    }
    mark_ = Mark{time_ns, {}};
  }

  void FlushInterval() {
    if (!pending_) return;
    Interval interval = pending_->interval;
    const auto& begin_cpu = pending_->begin_cpu_ns;
    const auto& end_cpu = pending_->end_cpu_ns;
    if (begin_cpu && end_cpu && *end_cpu >= *begin_cpu) {
      interval.sampled = true;
      interval.cpu_ns = *end_cpu - *begin_cpu;
      interval.cpu_ns -= std::min<uint64_t>(interval.cpu_ns, trace_.cpu_clock_cost_ns);
      interval.cpu_ns = std::min(interval.cpu_ns, interval.wall_ns);
    }
    pending_.reset();
    // Between calls of different elements nobody knows who had the thread.
    if (interval.element != 0 && callbacks_.on_interval) callbacks_.on_interval(interval);
  }

  void Begin(const Record& record) {
    Call call;
    call.type = record.type;
    call.pad = record.id;
    call.caller = ElementOf(record.id);
    call.begin_ns = record.time_ns;
    call.depth = stack_.size();
    call.argument = record.words[0];
    if (record.type == RecordType::kPushBegin) {
      call.bytes = record.words[1] >> 16;
      call.buffers = static_cast<uint32_t>(record.words[1] & UINT16_MAX);
    }
    call.callee = record.type == RecordType::kQueryBegin
                      ? call.caller
                      : ElementOf(links_.PeerAt(record.id, record.time_ns));
    if (call.callee == 0) call.callee = call.caller;
    if (stack_.empty()) {
      // Who makes the call had the thread until now, if it was also who made the last one.
      if (loop_owner_ != call.caller) {
        if (IsStreaming(call)) loop_owner_ = call.caller;
        mark_.reset();
      }
    }
    EndInterval(record.time_ns);
    if (stack_.empty()) ++outermost_;
    stack_.push_back(call);
  }

  void End(const Record& record) {
    if (stack_.empty() || EndOf(stack_.back().type) != record.type) return;
    EndInterval(record.time_ns);
    Call call = stack_.back();
    stack_.pop_back();
    call.end_ns = record.time_ns;
    const bool is_flow = record.type == RecordType::kPushEnd || record.type == RecordType::kPullEnd;
    call.result = static_cast<int>(record.id) - (is_flow ? kFlowOffset : 0);
    if (record.type == RecordType::kPullEnd) call.bytes = record.words[0];
    ++facts_.calls;
    if (callbacks_.on_call) callbacks_.on_call(call);
  }

  const TraceFile& trace_;
  const LinkTable& links_;
  const WalkCallbacks& callbacks_;
  std::vector<Call> stack_;
  std::optional<Mark> mark_;
  std::optional<Pending> pending_;
  uint32_t loop_owner_ = 0;
  uint32_t outermost_ = 0;
  std::optional<uint64_t> first_cpu_;
  std::optional<uint64_t> last_cpu_;
  WalkFacts facts_;
};

}  // namespace

WalkFacts WalkCalls(const TraceFile& trace, const LinkTable& links, const TracedThread& thread,
                    const WalkCallbacks& callbacks) {
  Walker walker(trace, links, callbacks);
  trace.ForEach(thread, [&](const Record& record) { walker.Take(record); });
  return walker.Finish();
}

}  // namespace sg::trace
