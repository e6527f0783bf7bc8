#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "trace/trace_views.h"

namespace sg::trace {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kNsPerS = 1e9;
constexpr double kNsPerUs = 1e3;
constexpr double kPercent = 100;

std::string Duration(double ns) {
  if (ns >= kNsPerS) return fmt::format("{:.2f} s", ns / kNsPerS);
  if (ns >= kNsPerMs) return fmt::format("{:.2f} ms", ns / kNsPerMs);
  return fmt::format("{:.1f} us", ns / kNsPerUs);
}

std::string Bytes(double bytes) {
  constexpr double kStep = 1024;
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= kStep && unit + 1 < std::size(units)) {
    bytes /= kStep;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

double Share(double part, double whole) { return whole > 0 ? kPercent * part / whole : 0; }

/// Columns of text: the first left, the others right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { lines_.push_back(std::move(header)); }
  void Add(std::vector<std::string> cells) { lines_.push_back(std::move(cells)); }
  std::string Text() const {
    std::vector<size_t> widths(lines_[0].size());
    for (const auto& line : lines_)
      for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
    std::string text;
    for (const auto& line : lines_) {
      text += fmt::format("  {:<{}}", line[0], widths[0]);
      for (size_t i = 1; i < line.size(); ++i) text += fmt::format("  {:>{}}", line[i], widths[i]);
      text += "\n";
    }
    return text;
  }

 private:
  std::vector<std::vector<std::string>> lines_;
};

std::string NameIn(const TraceFile& trace, uint32_t element) {
  const auto found = trace.elements.find(element);
  return found == trace.elements.end() ? "?" : found->second.name;
}

std::string MoreText(size_t all, size_t shown) {
  return all > shown ? fmt::format("  … and {} more (--rows 0 shows all)\n", all - shown) : "";
}

std::string ElementsText(const ElementTimes& times, size_t rows) {
  Table table({"element", "time", "% of wall", "work", "wait", "CPU", "% of CPU", "calls", "p50",
               "p99", ""});
  size_t shown = 0;
  for (const ElementTime& element : times.elements) {
    if (rows > 0 && shown == rows) break;
    ++shown;
    std::string note;
    if (element.is_decoupled) note = "waits for others";
    if (element.helper_threads > 0)
      note += fmt::format("{}+ {} of {} own threads", note.empty() ? "" : ", ",
                          Duration(element.helper_cpu_ns), element.helper_threads);
    const double wall_ns = element.call_ns + element.loop_ns;
    table.Add({element.element.name, Duration(wall_ns),
               fmt::format("{:.1f}", Share(wall_ns, times.duration_ns)),
               Duration(element.work_ns()), Duration(element.wait_ns()), Duration(element.cpu_ns()),
               fmt::format("{:.1f}", Share(element.cpu_ns(), times.process_cpu_ns)),
               std::to_string(element.calls), Duration(static_cast<double>(element.p50_ns)),
               Duration(static_cast<double>(element.p99_ns)), note});
  }
  return "Elements, by what they cost their threads\n" + table.Text() +
         MoreText(times.elements.size(), shown);
}

std::string ThreadsText(const TraceFile& trace, const ElementTimes& times, size_t rows) {
  Table table({"thread", "CPU", "% of wall", "calls", "runs"});
  size_t shown = 0;
  for (const ThreadTime& thread : times.threads) {
    if (rows > 0 && shown == rows) break;
    ++shown;
    std::string runs = thread.owner != 0 ? NameIn(trace, thread.owner) : "";
    if (thread.calls == 0) runs = runs.empty() ? "no element's calls" : runs + " (inferred)";
    if (thread.name.compare(0, 7, "sgtrace") == 0) runs = "the tracer itself";
    table.Add({thread.name.empty() ? std::to_string(thread.tid) : thread.name,
               Duration(thread.cpu_ns),
               fmt::format("{:.1f}", Share(thread.cpu_ns, times.duration_ns)),
               std::to_string(thread.calls), runs});
  }
  return "\nThreads, by CPU time\n" + table.Text() + MoreText(times.threads.size(), shown);
}

std::string PathText(const TraceFile& trace, const char* title, const FramePath& path) {
  std::string text = fmt::format("  {} ({:.2f} ms):", title, path.latency_ms);
  for (const FramePath::Step& step : path.steps)
    text += fmt::format(" {} {:.2f}", NameIn(trace, step.element), step.ms);
  return text + "\n";
}

std::string LatencyText(const TraceFile& trace, const SinkLatency& sink, size_t rows) {
  std::string text =
      fmt::format("\nFrames at {}: {} followed", NameIn(trace, sink.sink), sink.frames);
  if (sink.unfollowed > 0) text += fmt::format(", {} not", sink.unfollowed);
  if (sink.frames == 0) return text + "\n";
  text += fmt::format(", from {} p50 {:.2f} ms, p95 {:.2f}, p99 {:.2f}, longest {:.2f}\n",
                      sink.by_capture ? "capture" : "the source's push", sink.p50_ms, sink.p95_ms,
                      sink.p99_ms, sink.max_ms);
  if (sink.stays.empty()) return text;
  Table table({"kept by", "mean ms", "p50", "p99", "frames"});
  size_t shown = 0;
  for (const Stay& stay : sink.stays) {
    if (rows > 0 && shown == rows) break;
    ++shown;
    table.Add({NameIn(trace, stay.element), fmt::format("{:.3f}", stay.mean_ms),
               fmt::format("{:.3f}", stay.p50_ms), fmt::format("{:.3f}", stay.p99_ms),
               std::to_string(stay.frames)});
  }
  text += table.Text() + MoreText(sink.stays.size(), shown);
  text += PathText(trace, "a middle frame", sink.middle);
  text += PathText(trace, "a late frame", sink.late);
  return text;
}

/// The levels over time as a line of bars.
std::string Curve(const QueueLevels& levels) {
  constexpr size_t kPoints = 40;
  const char* marks[] = {"_", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (levels.points.empty()) return "";
  const double from = levels.points.front().time_s;
  const double span = std::max(levels.points.back().time_s - from, 1e-9);
  std::vector<double> sums(kPoints);
  std::vector<size_t> counts(kPoints);
  for (const LevelPoint& point : levels.points) {
    const auto at =
        std::min(kPoints - 1, static_cast<size_t>((point.time_s - from) / span * double{kPoints}));
    sums[at] += static_cast<double>(point.buffers);
    ++counts[at];
  }
  std::string text;
  const double most = std::max<double>(1, static_cast<double>(levels.max_buffers));
  double mean = 0;
  for (size_t i = 0; i < kPoints; ++i) {
    if (counts[i] > 0) mean = sums[i] / static_cast<double>(counts[i]);
    text += marks[static_cast<size_t>(mean / most * 8 + 0.5)];
  }
  return text;
}

std::string LevelsText(const TraceFile& trace, const std::vector<QueueLevels>& levels,
                       size_t rows) {
  if (levels.empty()) return "";
  Table table({"queue", "mean", "most", "last", "% empty", "dropped"});
  size_t shown = 0;
  std::string curves;
  for (const QueueLevels& queue : levels) {
    if (rows > 0 && shown == rows) break;
    ++shown;
    table.Add({NameIn(trace, queue.element), fmt::format("{:.1f}", queue.mean_buffers),
               std::to_string(queue.max_buffers), std::to_string(queue.last_buffers),
               fmt::format("{:.0f}", kPercent * queue.empty_share), std::to_string(queue.dropped)});
    curves += fmt::format("  {} {}\n", Curve(queue), NameIn(trace, queue.element));
  }
  return "\nQueues, in buffers, and over time\n" + table.Text() + MoreText(levels.size(), shown) +
         curves;
}

/// Kernels' names are whole C++ types: begin and end are kept. The JSON has them whole.
std::string Shortened(const std::string& name) {
  constexpr size_t kMost = 80;
  constexpr size_t kEnd = 24;
  if (name.size() <= kMost) return name;
  // No character of several bytes is cut in two.
  const auto is_inside = [&](size_t at) { return (static_cast<uint8_t>(name[at]) & 0xC0) == 0x80; };
  size_t head = kMost - kEnd - 1;
  while (head > 0 && is_inside(head)) --head;
  size_t tail = name.size() - kEnd;
  while (tail < name.size() && is_inside(tail)) ++tail;
  return name.substr(0, head) + "~" + name.substr(tail);
}

std::string RowsText(const std::string& title, const std::vector<TimeRow>& all, size_t rows) {
  if (all.empty()) return "";
  int64_t sum = 0;
  for (const TimeRow& row : all) sum += row.total_ns;
  Table table({title, "total", "%", "count", "mean", "min", "max"});
  size_t shown = 0;
  for (const TimeRow& row : all) {
    if (rows > 0 && shown == rows) break;
    ++shown;
    table.Add(
        {Shortened((row.domain.empty() ? "" : row.domain + ":") + row.name),
         Duration(static_cast<double>(row.total_ns)),
         fmt::format("{:.1f}", Share(static_cast<double>(row.total_ns), static_cast<double>(sum))),
         std::to_string(row.count), Duration(row.mean_ns()),
         Duration(static_cast<double>(row.min_ns)), Duration(static_cast<double>(row.max_ns))});
  }
  return "\n" + table.Text() + MoreText(all.size(), shown);
}

std::string TablesText(const ProfileTables& tables, size_t rows) {
  std::string text;
  if (tables.gpus > 0)
    text += fmt::format("\nGPU busy: {:.1f} % of {} (kernels, copies and fills, {} GPU{})\n",
                        Share(tables.gpu_busy_ns, tables.duration_ns), Duration(tables.duration_ns),
                        tables.gpus, tables.gpus == 1 ? "" : "s");
  text += RowsText("kernel", tables.kernels, rows);
  if (!tables.copies.empty()) {
    Table table({"copy", "total", "count", "bytes", "mean bytes", "most bytes"});
    for (const CopyRow& copy : tables.copies)
      table.Add({copy.time.name, Duration(static_cast<double>(copy.time.total_ns)),
                 std::to_string(copy.time.count), Bytes(static_cast<double>(copy.bytes)),
                 Bytes(static_cast<double>(copy.bytes) / static_cast<double>(copy.time.count)),
                 Bytes(static_cast<double>(copy.max_bytes))});
    text += "\n" + table.Text();
  }
  text += RowsText("fill", tables.fills, rows);
  text += RowsText("synchronisation", tables.syncs, rows);
  if (tables.memory_peak_bytes > 0)
    text += fmt::format("\nGPU memory, most at a time: {}\n",
                        Bytes(static_cast<double>(tables.memory_peak_bytes)));
  text += RowsText("CUDA call", tables.api, rows);
  text += RowsText("of these, waiting for the GPU", SynchronizingCalls(tables.api), rows);
  text += RowsText("range", RangeFamilies(tables.ranges), rows);
  text += RowsText("system call", tables.os, rows);
  for (const std::string& line : tables.absent) text += "\nNot known: " + line + "\n";
  return text;
}

}  // namespace

TraceSummary Summarize(const TraceFile& trace) {
  return {MeasureElements(trace), FollowFrames(trace), MeasureLevels(trace), TablesOfTrace(trace)};
}

std::vector<std::string> TopElements(const ElementTimes& times, size_t count) {
  std::vector<std::string> lines;
  for (const ElementTime& element : times.elements) {
    if (lines.size() == count) break;
    const double waiting_ns = element.is_decoupled ? 0 : element.wait_ns();
    const std::string calls = element.calls == 0
                                  ? "in its own loop"
                                  : fmt::format("{} calls of {}", element.calls,
                                                Duration(static_cast<double>(element.p50_ns)));
    std::string line = fmt::format(
        "{}: {:.1f} % of the time (work {:.1f} %, waiting {:.1f} %), {}", element.element.name,
        Share(element.held_ns(), times.duration_ns), Share(element.work_ns(), times.duration_ns),
        Share(waiting_ns, times.duration_ns), calls);
    if (element.helper_threads > 0)
      line += fmt::format(", {} of {} own threads", Duration(element.helper_cpu_ns),
                          element.helper_threads);
    lines.push_back(line);
  }
  return lines;
}

std::string TraceText(const TraceFile& trace, const TraceSummary& summary, size_t rows) {
  const ElementTimes& times = summary.times;
  std::string text =
      fmt::format("{}: {} of process {}, {} records on {} threads\n", trace.path,
                  Duration(times.duration_ns), trace.pid, trace.records, trace.threads.size());
  if (trace.records_lost > 0)
    text += fmt::format("  {} records did not fit (SGTRACE_MAX_MIB): times are too small\n",
                        trace.records_lost);
  if (trace.damaged_chunks > 0)
    text += fmt::format("  {} damaged parts are left out\n", trace.damaged_chunks);
  if (times.process_cpu_ns > 0)
    text += fmt::format("  CPU {} of the process; {} in threads that no element is known for\n",
                        Duration(times.process_cpu_ns), Duration(times.unowned_cpu_ns));
  for (const auto& [kind, count] : times.messages)
    if (kind != "eos") text += fmt::format("  {} messages of kind {}\n", count, kind);
  if (!times.elements.empty()) {
    text += "\n" + ElementsText(times, rows);
    text +=
        "  time: in calls, measured, and in loops, inferred from the gaps between pushes. work: on "
        "a core,\n  sampled. Threads of libraries belong to the element during whose call they "
        "appeared: inferred.\n";
    text += ThreadsText(trace, times, rows);
  }
  for (const SinkLatency& sink : summary.latencies) text += LatencyText(trace, sink, rows);
  text += LevelsText(trace, summary.levels, rows);
  return text + TablesText(summary.tables, rows);
}

std::string ProfileText(const ProfileTables& tables, size_t rows) {
  return tables.source + "\n" + TablesText(tables, rows);
}

}  // namespace sg::trace
