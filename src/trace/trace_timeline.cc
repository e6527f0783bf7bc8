#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>

#include "trace/call_walk.h"
#include "trace/trace_views.h"

namespace sg::trace {
namespace {

constexpr double kNsPerUs = 1e3;
/// GPU work is shown as threads of a process of their own.
constexpr uint32_t kGpuProcess = 1'000'000'000;

std::string NameIn(const TraceFile& trace, uint32_t element) {
  const auto found = trace.elements.find(element);
  return found == trace.elements.end() ? "?" : found->second.name;
}

const char* KindOf(RecordType type) {
  switch (type) {
    case RecordType::kPushBegin:
      return "push";
    case RecordType::kPullBegin:
      return "pull";
    case RecordType::kEventBegin:
      return "event";
    default:
      return "query";
  }
}

/// Chrome's trace event format: one JSON object an event, microseconds.
class Timeline {
 public:
  Timeline(const TraceFile& trace, std::FILE* file) : trace_(trace), file_(file) {}

  void Write() {
    std::fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", file_);
    Emit(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})",
                     trace_.pid,
                     Quoted(trace_.program.empty() ? "traced process" : trace_.program.front())));
    const LinkTable links(trace_);
    for (const TracedThread& thread : trace_.threads) WriteThread(links, thread);
    std::fputs("\n]}\n", file_);
  }

 private:
  static std::string Quoted(const std::string& text) { return ToJsonLine(Json(text)); }
  double Us(uint64_t ns) const {
    return (static_cast<double>(ns) - static_cast<double>(trace_.start_ns)) / kNsPerUs;
  }
  void Emit(const std::string& event) {
    if (!first_) std::fputs(",\n", file_);
    first_ = false;
    std::fputs(event.c_str(), file_);
  }
  std::string RangeName(uint32_t id) const {
    const auto found = trace_.names.find(id);
    return Quoted(found == trace_.names.end() ? "#" + std::to_string(id) : found->second);
  }

  void WriteThread(const LinkTable& links, const TracedThread& thread) {
    Emit(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                     trace_.pid, thread.tid, Quoted(thread.name)));
    WalkCallbacks callbacks;
    callbacks.on_call = [&](const Call& call) {
      std::string more;
      if (call.type == RecordType::kPushBegin) {
        more = fmt::format(R"("bytes":{},"buffers":{})", call.bytes, call.buffers);
        if (call.argument != kNoPts) more += fmt::format(R"(,"pts_ns":{})", call.argument);
      } else {
        more = fmt::format(R"("what":{})", call.argument);
      }
      Emit(fmt::format(
          R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{},"result":{}}}}})",
          Quoted(NameIn(trace_, call.callee)), KindOf(call.type), trace_.pid, thread.tid,
          Us(call.begin_ns), static_cast<double>(call.end_ns - call.begin_ns) / kNsPerUs, more,
          call.result));
    };
    callbacks.on_interval = [&](const Interval& interval) {
      if (!interval.is_loop) return;
      Emit(fmt::format(
          R"({{"ph":"X","name":{},"cat":"inferred","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}}})",
          Quoted(NameIn(trace_, interval.element) + " loop"), trace_.pid, thread.tid,
          Us(interval.begin_ns),
          static_cast<double>(interval.end_ns - interval.begin_ns) / kNsPerUs));
    };
    callbacks.on_other = [&](const Record& record) { WriteOther(thread, record); };
    WalkCalls(trace_, links, thread, callbacks);
  }

  void WriteOther(const TracedThread& thread, const Record& record) {
    const uint64_t* words = record.words;
    switch (record.type) {
      case RecordType::kLevel:
        Emit(fmt::format(R"({{"ph":"C","name":{},"pid":{},"ts":{:.3f},"args":{{"buffers":{}}}}})",
                         Quoted(NameIn(trace_, record.id)), trace_.pid, Us(record.time_ns),
                         words[0]));
        break;
      case RecordType::kRangePush:
        Emit(fmt::format(R"({{"ph":"B","name":{},"cat":"nvtx","pid":{},"tid":{},"ts":{:.3f}}})",
                         RangeName(record.id), trace_.pid, thread.tid, Us(record.time_ns)));
        break;
      case RecordType::kRangePop:
        Emit(fmt::format(R"({{"ph":"E","pid":{},"tid":{},"ts":{:.3f}}})", trace_.pid, thread.tid,
                         Us(record.time_ns)));
        break;
      case RecordType::kRangeStart:
        started_[words[1]] = record.id;
        Emit(fmt::format(
            R"({{"ph":"b","name":{},"cat":"nvtx","id":{},"pid":{},"tid":{},"ts":{:.3f}}})",
            RangeName(record.id), words[1], trace_.pid, thread.tid, Us(record.time_ns)));
        break;
      case RecordType::kRangeEnd:
        Emit(fmt::format(
            R"({{"ph":"e","name":{},"cat":"nvtx","id":{},"pid":{},"tid":{},"ts":{:.3f}}})",
            RangeName(started_[words[0]]), words[0], trace_.pid, thread.tid, Us(record.time_ns)));
        break;
      case RecordType::kMark:
        Emit(fmt::format(
            R"({{"ph":"i","s":"t","name":{},"cat":"nvtx","pid":{},"tid":{},"ts":{:.3f}}})",
            RangeName(record.id), trace_.pid, thread.tid, Us(record.time_ns)));
        break;
      case RecordType::kGpuKernel:
        WriteGpu(RangeName(record.id), "kernel", words);
        break;
      case RecordType::kGpuCopy:
        WriteGpu("\"copy\"", "copy", words);
        break;
      case RecordType::kGpuFill:
        WriteGpu("\"fill\"", "fill", words);
        break;
      case RecordType::kApiCall:
        Emit(fmt::format(
            R"({{"ph":"X","name":{},"cat":"cuda","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}}})",
            RangeName(record.id), trace_.pid, words[2], Us(words[0]),
            static_cast<double>(words[1] - words[0]) / kNsPerUs));
        break;
      default:
        break;
    }
  }

  void WriteGpu(const std::string& name, const char* kind, const uint64_t* words) {
    Emit(fmt::format(
        R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}}})", name,
        kind, kGpuProcess + (words[2] >> 32), words[2] & UINT32_MAX, Us(words[0]),
        static_cast<double>(words[1] - words[0]) / kNsPerUs));
  }

  const TraceFile& trace_;
  std::FILE* const file_;
  bool first_ = true;
  std::map<uint64_t, uint32_t> started_;
};

/// Sums exclusive time by stack.
class Folding {
 public:
  Folding(const TraceFile& trace, const LinkTable& links, const TracedThread& thread)
      : trace_(trace), links_(links), root_(thread.name.empty() ? "thread" : thread.name) {}

  void Take(const Record& record) {
    switch (record.type) {
      case RecordType::kPushBegin:
      case RecordType::kPullBegin:
      case RecordType::kEventBegin:
      case RecordType::kQueryBegin: {
        Charge(record.time_ns);
        const uint32_t caller = ElementOf(record.id);
        uint32_t callee = record.type == RecordType::kQueryBegin
                              ? caller
                              : ElementOf(links_.PeerAt(record.id, record.time_ns));
        if (callee == 0) callee = caller;
        if (stack_.empty()) base_ = NameIn(trace_, caller);
        stack_.push_back(NameIn(trace_, callee));
        break;
      }
      case RecordType::kPushEnd:
      case RecordType::kPullEnd:
      case RecordType::kEventEnd:
      case RecordType::kQueryEnd:
        Charge(record.time_ns);
        if (!stack_.empty()) stack_.pop_back();
        break;
      case RecordType::kLost:
        stack_.clear();
        last_ns_ = 0;
        break;
      default:
        break;
    }
  }

  void AddTo(std::map<std::string, uint64_t>* all) const {
    for (const auto& [stack, ns] : sums_) (*all)[stack] += ns;
  }

 private:
  uint32_t ElementOf(uint32_t pad) const {
    const auto found = trace_.pads.find(pad);
    return found == trace_.pads.end() ? 0 : found->second.element;
  }
  void Charge(uint64_t now_ns) {
    if (last_ns_ != 0 && !base_.empty()) {
      std::string key = root_ + ";" + base_;
      for (const std::string& element : stack_) key += ";" + element;
      sums_[key] += now_ns - last_ns_;
    }
    last_ns_ = now_ns;
  }

  const TraceFile& trace_;
  const LinkTable& links_;
  const std::string root_;
  std::string base_;
  std::vector<std::string> stack_;
  std::unordered_map<std::string, uint64_t> sums_;
  uint64_t last_ns_ = 0;
};

}  // namespace

std::string FoldedStacks(const TraceFile& trace) {
  const LinkTable links(trace);
  std::map<std::string, uint64_t> all;
  for (const TracedThread& thread : trace.threads) {
    Folding folding(trace, links, thread);
    trace.ForEach(thread, [&](const Record& record) { folding.Take(record); });
    folding.AddTo(&all);
  }
  std::string text;
  for (const auto& [stack, ns] : all)
    if (ns > 0) text += stack + " " + std::to_string(ns) + "\n";
  return text;
}

Status WritePerfetto(const TraceFile& trace, const std::string& path) {
  const std::string part = path + ".part";
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (file == nullptr)
    return EnvironmentError(path + ": cannot be written: " + std::strerror(errno));
  Timeline(trace, file).Write();
  const bool failed = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || failed || std::rename(part.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(part.c_str());
    return EnvironmentError(path + ": cannot be written: " + why);
  }
  return OkStatus();
}

}  // namespace sg::trace
