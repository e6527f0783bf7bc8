// From a thread's records back to calls and the time between them. Everything else about a trace is
// made from this.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "trace/trace_reader.h"

namespace sg::trace {

/// A finished call of one element by another on one thread.
struct Call {
  RecordType type{};      ///< kPushBegin, kPullBegin, kEventBegin or kQueryBegin
  uint32_t pad = 0;       ///< that was pushed, pulled or asked
  uint32_t caller = 0;    ///< element of the pad
  uint32_t callee = 0;    ///< element whose function ran; the caller's where nothing was linked
  uint64_t argument = 0;  ///< PTS, offset, event or query type
  uint64_t bytes = 0;     ///< pushed, or pulled
  uint32_t buffers = 0;
  int result = 0;  ///< GstFlowReturn, or 1 and 0
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  uint64_t exclusive_ns = 0;  ///< without the calls within it
  size_t depth = 0;           ///< 0: outermost
};

/// A stretch of time in which one element had the thread.
struct Interval {
  uint32_t element = 0;
  bool is_loop = false;  ///< inferred: between two outermost calls out of this element
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  uint64_t wall_ns = 0;  ///< end − begin, less what reading the CPU clock took
  uint64_t cpu_ns = 0;   ///< of the thread; only when `sampled`
  bool sampled = false;
  bool always_sampled = false;  ///< of the thread's first calls, which all are
  size_t depth = 0;             ///< of the call it belongs to
};

/// A frame that carries its source's number (sgmux), at the push that carried it.
struct FrameSeen {
  uint32_t source = 0;
  uint64_t number = 0;
  uint64_t capture_ns = 0;
  uint64_t time_ns = 0;
  uint32_t pad = 0;
};

struct WalkCallbacks {
  std::function<void(const Interval&)> on_interval;
  /// At its end: inner calls before outer ones.
  std::function<void(const Call&)> on_call;
  std::function<void(const FrameSeen&)> on_frame;
  /// Buffers made while the element had the thread.
  std::function<void(uint32_t element, uint64_t count)> on_allocations;
  /// Everything else.
  std::function<void(const Record&)> on_other;
};

/// What a walk found besides.
struct WalkFacts {
  uint64_t calls = 0;
  uint64_t unfinished = 0;  ///< calls still going on at the end of the trace
  uint64_t cpu_ns = 0;      ///< of the thread between the first and the last reading of its clock
  std::vector<uint32_t> open_elements;  ///< who is called by the unfinished calls, outermost first
};

WalkFacts WalkCalls(const TraceFile& trace, const LinkTable& links, const TracedThread& thread,
                    const WalkCallbacks& callbacks);

}  // namespace sg::trace
