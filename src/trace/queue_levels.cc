#include "trace/queue_levels.h"

#include <algorithm>
#include <map>

#include "trace/call_walk.h"

namespace sg::trace {
namespace {

constexpr double kNsPerS = 1e9;

void Summarize(QueueLevels* levels) {
  std::stable_sort(levels->points.begin(), levels->points.end(),
                   [](const LevelPoint& a, const LevelPoint& b) { return a.time_s < b.time_s; });
  double sum = 0;
  size_t empty = 0;
  for (const LevelPoint& point : levels->points) {
    sum += static_cast<double>(point.buffers);
    levels->max_buffers = std::max(levels->max_buffers, point.buffers);
    if (point.buffers == 0) ++empty;
  }
  if (levels->points.empty()) return;
  const auto count = static_cast<double>(levels->points.size());
  levels->mean_buffers = sum / count;
  levels->empty_share = static_cast<double>(empty) / count;
  levels->last_buffers = levels->points.back().buffers;
}

}  // namespace

std::vector<QueueLevels> MeasureLevels(const TraceFile& trace) {
  const LinkTable links(trace);
  std::map<uint32_t, QueueLevels> by_element;
  std::map<uint32_t, uint64_t> in;
  std::map<uint32_t, uint64_t> out;
  for (const TracedThread& thread : trace.threads) {
    WalkCallbacks callbacks;
    callbacks.on_call = [&](const Call& call) {
      if (call.type != RecordType::kPushBegin) return;
      out[call.caller] += call.buffers;
      in[call.callee] += call.buffers;
    };
    callbacks.on_other = [&](const Record& record) {
      if (record.type != RecordType::kLevel) return;
      LevelPoint point;
      point.time_s =
          (static_cast<double>(record.time_ns) - static_cast<double>(trace.first_ns)) / kNsPerS;
      point.buffers = record.words[0];
      point.bytes = record.words[1];
      point.media_s = static_cast<double>(record.words[2]) / kNsPerS;
      by_element[record.id].points.push_back(point);
    };
    const WalkFacts facts = WalkCalls(trace, links, thread, callbacks);
    // A push that was going on when the trace ended has handed its buffer over or will.
    for (const uint32_t element : facts.open_elements) ++in[element];
  }
  std::vector<QueueLevels> all;
  for (auto& [id, levels] : by_element) {
    levels.element = id;
    Summarize(&levels);
    const auto element = trace.elements.find(id);
    const bool leaks = element != trace.elements.end() && (element->second.flags & kElementLeaks);
    const uint64_t kept = out[id] + levels.last_buffers;
    if (leaks && in[id] > kept) levels.dropped = in[id] - kept;
    all.push_back(std::move(levels));
  }
  std::stable_sort(all.begin(), all.end(), [](const QueueLevels& a, const QueueLevels& b) {
    return a.mean_buffers > b.mean_buffers;
  });
  return all;
}

}  // namespace sg::trace
