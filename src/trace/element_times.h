// Where the time of a trace went, by element and by thread.
//
// Words. An element has the thread while its own function runs and has not called another element:
// its exclusive time. In a call that is seen (push, pull, event, query) this is measured. Between
// two outermost calls that one element makes (a source's, demuxer's or queue's loop) it is
// inferred. Work is the part of the exclusive time in which the thread was on a core, by the
// thread's own CPU clock, read for a sample of the calls and scaled to what the thread used in all;
// the rest is waiting: blocked, asleep, or without a core.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "trace/trace_reader.h"

namespace sg::trace {

struct ElementTime {
  uint32_t id = 0;
  TracedElement element;
  uint64_t calls = 0;  ///< buffers' and lists' pushes into it, and pulls from it
  uint64_t events = 0;
  uint64_t queries = 0;
  uint64_t buffers_in = 0;
  uint64_t buffers_out = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t allocations = 0;  ///< buffers made while it had the thread
  double inclusive_ns = 0;   ///< of its calls, with what it called
  double call_ns = 0;        ///< exclusive, in calls
  double call_work_ns = 0;
  double loop_ns = 0;  ///< exclusive, in its own loop; inferred
  double loop_work_ns = 0;
  double helper_cpu_ns = 0;  ///< of threads that appeared during its calls; inferred
  uint32_t helper_threads = 0;
  uint64_t p50_ns = 0;  ///< exclusive time of a call
  uint64_t p99_ns = 0;
  std::set<uint32_t> threads;  ///< numbers of those that it had
  /// It is called on one thread and pushes on another (queue, muxer, decoder with threads of its
  /// own), or is called by several: when it waits, it waits for others.
  bool is_decoupled = false;

  double work_ns() const { return call_work_ns + loop_work_ns; }
  double wait_ns() const { return call_ns + loop_ns - work_ns(); }
  double cpu_ns() const { return work_ns() + helper_cpu_ns; }
  /// Work, and waiting that is its own doing: what it costs its thread.
  double held_ns() const { return is_decoupled ? work_ns() : call_ns + loop_ns; }
};

struct ThreadTime {
  uint32_t number = 0;  ///< 0: never seen in a call
  uint32_t tid = 0;
  std::string name;
  uint64_t calls = 0;
  double cpu_ns = 0;   ///< in all, while the trace went on
  uint32_t owner = 0;  ///< element whose loop it runs, or (without calls) during whose call it came
};

struct ElementTimes {
  double duration_ns = 0;
  double process_cpu_ns = 0;          ///< 0: not recorded
  double unowned_cpu_ns = 0;          ///< of threads that no element is known for
  std::vector<ElementTime> elements;  ///< most held first; no bins
  std::vector<ThreadTime> threads;
  uint64_t unfinished_calls = 0;
  std::map<std::string, uint64_t>
      messages;        ///< posted by elements: "error", "warning", "qos", "eos"
  double bins_ns = 0;  ///< exclusive time of bins' pads
};

ElementTimes MeasureElements(const TraceFile& trace);

}  // namespace sg::trace
