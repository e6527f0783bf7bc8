#include "trace/trace_views.h"

namespace sg::trace {
namespace {

std::string NameIn(const TraceFile& trace, uint32_t element) {
  const auto found = trace.elements.find(element);
  return found == trace.elements.end() ? "" : found->second.path;
}

Json ElementJson(const ElementTime& element) {
  return {{"path", element.element.path},
          {"factory", element.element.factory},
          {"class", element.element.klass},
          {"calls", element.calls},
          {"events", element.events},
          {"queries", element.queries},
          {"buffers_in", element.buffers_in},
          {"buffers_out", element.buffers_out},
          {"bytes_in", element.bytes_in},
          {"bytes_out", element.bytes_out},
          {"allocations", element.allocations},
          {"inclusive_ns", element.inclusive_ns},
          {"call_ns", element.call_ns},
          {"call_work_ns", element.call_work_ns},
          {"loop_ns", element.loop_ns},
          {"loop_work_ns", element.loop_work_ns},
          {"work_ns", element.work_ns()},
          {"wait_ns", element.wait_ns()},
          {"helper_cpu_ns", element.helper_cpu_ns},
          {"helper_threads", element.helper_threads},
          {"held_ns", element.held_ns()},
          {"waits_for_others", element.is_decoupled},
          {"p50_ns", element.p50_ns},
          {"p99_ns", element.p99_ns}};
}

Json PathJson(const TraceFile& trace, const FramePath& path) {
  Json steps = Json::array();
  for (const FramePath::Step& step : path.steps)
    steps.push_back({{"element", NameIn(trace, step.element)}, {"ms", step.ms}});
  return {{"latency_ms", path.latency_ms}, {"pts_ns", path.pts}, {"steps", steps}};
}

Json LatencyJson(const TraceFile& trace, const SinkLatency& sink) {
  Json stays = Json::array();
  for (const Stay& stay : sink.stays)
    stays.push_back({{"element", NameIn(trace, stay.element)},
                     {"frames", stay.frames},
                     {"mean_ms", stay.mean_ms},
                     {"p50_ms", stay.p50_ms},
                     {"p99_ms", stay.p99_ms}});
  return {{"sink", NameIn(trace, sink.sink)},
          {"frames", sink.frames},
          {"unfollowed", sink.unfollowed},
          {"from", sink.by_capture ? "capture" : "push"},
          {"p50_ms", sink.p50_ms},
          {"p95_ms", sink.p95_ms},
          {"p99_ms", sink.p99_ms},
          {"max_ms", sink.max_ms},
          {"kept_by", stays},
          {"middle_frame", PathJson(trace, sink.middle)},
          {"late_frame", PathJson(trace, sink.late)}};
}

Json LevelsJson(const TraceFile& trace, const QueueLevels& levels) {
  Json points = Json::array();
  for (const LevelPoint& point : levels.points)
    points.push_back({point.time_s, point.buffers, point.bytes, point.media_s});
  return {{"element", NameIn(trace, levels.element)},
          {"mean_buffers", levels.mean_buffers},
          {"max_buffers", levels.max_buffers},
          {"last_buffers", levels.last_buffers},
          {"empty_share", levels.empty_share},
          {"dropped", levels.dropped},
          {"points", points}};
}

Json RowsJson(const std::vector<TimeRow>& rows) {
  Json list = Json::array();
  for (const TimeRow& row : rows) {
    Json json = {{"name", row.name}};
    if (!row.domain.empty()) json["domain"] = row.domain;
    json["count"] = row.count;
    json["total_ns"] = row.total_ns;
    json["min_ns"] = row.min_ns;
    json["max_ns"] = row.max_ns;
    list.push_back(json);
  }
  return list;
}

}  // namespace

Json ProfileJson(const ProfileTables& tables) {
  Json copies = Json::array();
  for (const CopyRow& copy : tables.copies)
    copies.push_back({{"name", copy.time.name},
                      {"count", copy.time.count},
                      {"total_ns", copy.time.total_ns},
                      {"bytes", copy.bytes},
                      {"max_bytes", copy.max_bytes}});
  return {{"format", "streamgauge-profile-tables"},
          {"version", 1},
          {"source", tables.source},
          {"duration_ns", tables.duration_ns},
          {"gpus", tables.gpus},
          {"gpu_busy_ns", tables.gpus > 0 ? Json(tables.gpu_busy_ns) : Json()},
          {"kernels", RowsJson(tables.kernels)},
          {"copies", copies},
          {"fills", RowsJson(tables.fills)},
          {"synchronisation", RowsJson(tables.syncs)},
          {"gpu_memory_peak_bytes",
           tables.memory_peak_bytes > 0 ? Json(tables.memory_peak_bytes) : Json()},
          {"api", RowsJson(tables.api)},
          {"os", RowsJson(tables.os)},
          {"ranges", RowsJson(tables.ranges)},
          {"range_families", RowsJson(RangeFamilies(tables.ranges))},
          {"absent", tables.absent}};
}

Json TraceJson(const TraceFile& trace, const TraceSummary& summary) {
  const ElementTimes& times = summary.times;
  Json elements = Json::array();
  for (const ElementTime& element : times.elements) elements.push_back(ElementJson(element));
  Json threads = Json::array();
  for (const ThreadTime& thread : times.threads)
    threads.push_back({{"tid", thread.tid},
                       {"name", thread.name},
                       {"calls", thread.calls},
                       {"cpu_ns", thread.cpu_ns},
                       {"element", NameIn(trace, thread.owner)},
                       {"inferred", thread.calls == 0}});
  Json pads = Json::array();
  for (const auto& [id, pad] : trace.pads)
    if (!pad.caps.empty())
      pads.push_back(
          {{"element", NameIn(trace, pad.element)}, {"pad", pad.name}, {"caps", pad.caps}});
  Json latencies = Json::array();
  for (const SinkLatency& sink : summary.latencies) latencies.push_back(LatencyJson(trace, sink));
  Json levels = Json::array();
  for (const QueueLevels& queue : summary.levels) levels.push_back(LevelsJson(trace, queue));
  Json json = {{"format", "streamgauge-trace"},
               {"version", 1},
               {"program", trace.program},
               {"pid", trace.pid},
               {"duration_ns", times.duration_ns},
               {"process_cpu_ns", times.process_cpu_ns},
               {"unowned_cpu_ns", times.unowned_cpu_ns},
               {"records", trace.records},
               {"records_lost", trace.records_lost},
               {"unfinished_calls", times.unfinished_calls},
               {"messages", times.messages},
               {"elements", elements},
               {"threads", threads},
               {"caps", pads},
               {"latency", latencies},
               {"queues", levels}};
  json["profile"] = ProfileJson(summary.tables);
  return json;
}

}  // namespace sg::trace
