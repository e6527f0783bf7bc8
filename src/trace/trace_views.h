// What a trace says, as text, JSON, a flame graph's input and a timeline.
#pragma once

#include <string>

#include "base/json.h"
#include "base/status.h"
#include "trace/element_times.h"
#include "trace/frame_paths.h"
#include "trace/queue_levels.h"
#include "trace/time_tables.h"
#include "trace/trace_reader.h"

namespace sg::trace {

/// Everything that is derived from one trace.
struct TraceSummary {
  ElementTimes times;
  std::vector<SinkLatency> latencies;
  std::vector<QueueLevels> levels;
  ProfileTables tables;
};
TraceSummary Summarize(const TraceFile& trace);

/// Tables for a terminal; `rows` of each, 0: all.
std::string TraceText(const TraceFile& trace, const TraceSummary& summary, size_t rows);
/// The same of a profile that nsys made.
std::string ProfileText(const ProfileTables& tables, size_t rows);

Json TraceJson(const TraceFile& trace, const TraceSummary& summary);
Json ProfileJson(const ProfileTables& tables);

/// The elements that hold their threads most, in one line each: "sginfer0: 61 % of the time, …".
std::vector<std::string> TopElements(const ElementTimes& times, size_t count);

/// "thread;element;element nanoseconds", one line a stack: exclusive time.
std::string FoldedStacks(const TraceFile& trace);

/// Writes the trace as Chrome's JSON (Perfetto, chrome://tracing). kEnvironment when it cannot.
Status WritePerfetto(const TraceFile& trace, const std::string& path);

}  // namespace sg::trace
