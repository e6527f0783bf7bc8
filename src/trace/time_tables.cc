#include "trace/time_tables.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace sg::trace {
namespace {

const char* CopyName(uint32_t kind) {
  switch (kind) {
    case kCopyHostToDevice:
      return "Host-to-Device";
    case kCopyDeviceToHost:
      return "Device-to-Host";
    case kCopyHostToArray:
      return "Host-to-Array";
    case kCopyArrayToHost:
      return "Array-to-Host";
    case kCopyArrayToArray:
      return "Array-to-Array";
    case kCopyArrayToDevice:
      return "Array-to-Device";
    case kCopyDeviceToArray:
      return "Device-to-Array";
    case kCopyDeviceToDevice:
      return "Device-to-Device";
    case kCopyHostToHost:
      return "Host-to-Host";
    case kCopyPeerToPeer:
      return "Peer-to-Peer";
    default:
      return "Unknown";
  }
}

using RangeKey = std::pair<std::string, std::string>;  // domain, name

struct OpenRange {
  uint32_t name;
  uint32_t domain;
  uint64_t begin_ns;
};

/// Sums a trace's NVTX and GPU records.
class Summing {
 public:
  explicit Summing(const TraceFile& trace) : trace_(trace) {}

  ProfileTables Run() {
    for (const TracedThread& thread : trace_.threads) {
      stacks_.clear();
      trace_.ForEach(thread, [this](const Record& record) { Take(record); });
    }
    return Collect();
  }

 private:
  std::string NameOf(uint32_t id) const {
    const auto found = trace_.names.find(id);
    return found == trace_.names.end() ? "#" + std::to_string(id) : found->second;
  }
  RangeKey KeyOf(const OpenRange& range) const {
    const auto domain = trace_.domains.find(range.domain);
    return {domain == trace_.domains.end() ? "" : domain->second, NameOf(range.name)};
  }
  void Close(const OpenRange& range, uint64_t end_ns) {
    ranges_[KeyOf(range)].Add(static_cast<int64_t>(end_ns - range.begin_ns));
  }

  void Take(const Record& record) {
    const auto* words = record.words;
    switch (record.type) {
      case RecordType::kRangePush:
        stacks_[static_cast<uint32_t>(words[0] >> 32)].push_back(
            {record.id, static_cast<uint32_t>(words[0] >> 32), record.time_ns});
        break;
      case RecordType::kRangePop: {
        auto& stack = stacks_[record.id];
        if (stack.empty()) break;
        Close(stack.back(), record.time_ns);
        stack.pop_back();
        break;
      }
      case RecordType::kRangeStart:
        started_[words[1]] = {record.id, static_cast<uint32_t>(words[0] >> 32), record.time_ns};
        break;
      case RecordType::kRangeEnd:
        ended_.emplace_back(words[0], record.time_ns);
        break;
      case RecordType::kGpuKernel:
        AddBusy(words);
        kernels_[NameOf(record.id)].Add(Length(words));
        break;
      case RecordType::kGpuCopy: {
        AddBusy(words);
        CopyRow& row = copies_[CopyName(record.id)];
        row.time.Add(Length(words));
        row.bytes += words[3];
        row.max_bytes = std::max(row.max_bytes, words[3]);
        break;
      }
      case RecordType::kGpuFill:
        AddBusy(words);
        fills_["Memset"].Add(Length(words));
        break;
      case RecordType::kApiCall:
        api_[NameOf(record.id)].Add(Length(words));
        break;
      default:
        break;
    }
  }

  static int64_t Length(const uint64_t* words) {
    return static_cast<int64_t>(words[1]) - static_cast<int64_t>(words[0]);
  }
  void AddBusy(const uint64_t* words) {
    busy_[static_cast<uint32_t>(words[2] >> 32)].emplace_back(static_cast<int64_t>(words[0]),
                                                              static_cast<int64_t>(words[1]));
  }

  static std::vector<TimeRow> Rows(std::map<std::string, TimeRow>* by_name) {
    std::vector<TimeRow> rows;
    for (auto& [name, row] : *by_name) {
      row.name = name;
      rows.push_back(row);
    }
    SortByTotal(&rows);
    return rows;
  }

  ProfileTables Collect() {
    // A range may end on another thread than it started.
    for (const auto& [number, end_ns] : ended_) {
      const auto started = started_.find(number);
      if (started != started_.end() && end_ns >= started->second.begin_ns)
        Close(started->second, end_ns);
    }
    ProfileTables tables;
    tables.source = "trace";
    tables.duration_ns = static_cast<double>(trace_.last_ns - trace_.first_ns);
    for (auto& [key, row] : ranges_) {
      row.domain = key.first;
      row.name = key.second;
      tables.ranges.push_back(row);
    }
    SortByTotal(&tables.ranges);
    tables.kernels = Rows(&kernels_);
    tables.fills = Rows(&fills_);
    tables.api = Rows(&api_);
    for (auto& [name, row] : copies_) {
      row.time.name = name;
      tables.copies.push_back(row);
    }
    std::stable_sort(
        tables.copies.begin(), tables.copies.end(),
        [](const CopyRow& a, const CopyRow& b) { return a.time.total_ns > b.time.total_ns; });
    for (auto& [gpu, spans] : busy_) tables.gpu_busy_ns += static_cast<double>(UnionNs(&spans));
    tables.gpus = static_cast<int>(busy_.size());
    if (tables.gpus > 0) tables.gpu_busy_ns /= tables.gpus;
    for (const std::string& note : trace_.notes) tables.absent.push_back(note);
    if (!ranges_.empty() && kernels_.empty() && api_.empty() && trace_.notes.empty())
      tables.absent.push_back(
          "kernels, copies and CUDA calls: none in the trace (the collector records them when "
          "CUDA_INJECTION64_PATH names it too)");
    return tables;
  }

  const TraceFile& trace_;
  std::map<uint32_t, std::vector<OpenRange>> stacks_;  ///< by domain, of the thread at hand
  std::map<uint64_t, OpenRange> started_;
  std::vector<std::pair<uint64_t, uint64_t>> ended_;
  std::map<RangeKey, TimeRow> ranges_;
  std::map<std::string, TimeRow> kernels_;
  std::map<std::string, CopyRow> copies_;
  std::map<std::string, TimeRow> fills_;
  std::map<std::string, TimeRow> api_;
  std::map<uint32_t, BusySpans> busy_;  ///< by GPU
};

}  // namespace

void TimeRow::Add(int64_t ns) {
  min_ns = count == 0 ? ns : std::min(min_ns, ns);
  max_ns = count == 0 ? ns : std::max(max_ns, ns);
  ++count;
  total_ns += ns;
}

std::string NormalizedRangeName(const std::string& name) {
  constexpr std::string_view kCounting[] = {"batch_num", "frame", "batch", "uid"};
  const auto is_word = [&](size_t at, std::string_view word) {
    if (name.size() - at < word.size()) return false;
    return std::equal(word.begin(), word.end(), name.begin() + static_cast<long>(at),
                      [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
  };
  const auto skip = [&](size_t at, std::string_view characters) {
    const size_t end = name.find_first_not_of(characters, at);
    return end == std::string::npos ? name.size() : end;
  };
  std::string normalized;
  for (size_t at = 0; at < name.size();) {
    size_t next = at + 1;
    for (const std::string_view word : kCounting) {
      if (!is_word(at, word)) continue;
      const size_t sign = skip(at + word.size(), " ");
      if (sign >= name.size() || (name[sign] != '=' && name[sign] != ':')) continue;
      const size_t digits = skip(sign + 1, " ");
      next = skip(digits, "0123456789");
      if (next == digits) {
        next = at + 1;
        continue;
      }
      normalized += name.substr(at, digits - at) + "N";
      at = next;
      break;
    }
    if (at == next) continue;
    normalized += name[at];
    at = next;
  }
  return normalized;
}

std::vector<TimeRow> RangeFamilies(const std::vector<TimeRow>& ranges) {
  std::map<RangeKey, TimeRow> families;
  for (const TimeRow& range : ranges) {
    const std::string name = NormalizedRangeName(range.name);
    auto [at, fresh] = families.try_emplace({range.domain, name}, range);
    TimeRow& family = at->second;
    family.name = name;
    if (fresh) continue;
    family.count += range.count;
    family.total_ns += range.total_ns;
    family.min_ns = std::min(family.min_ns, range.min_ns);
    family.max_ns = std::max(family.max_ns, range.max_ns);
  }
  std::vector<TimeRow> rows;
  for (auto& [key, row] : families) rows.push_back(row);
  SortByTotal(&rows);
  return rows;
}

std::vector<TimeRow> SynchronizingCalls(const std::vector<TimeRow>& api) {
  std::vector<TimeRow> rows;
  for (const TimeRow& row : api)
    if (row.name.find("Synchronize") != std::string::npos ||
        row.name.find("WaitEvent") != std::string::npos)
      rows.push_back(row);
  return rows;
}

int64_t UnionNs(BusySpans* spans) {
  std::sort(spans->begin(), spans->end());
  int64_t total = 0;
  int64_t until = INT64_MIN;
  for (const auto& [begin, end] : *spans) {
    if (end <= until) continue;
    total += end - std::max(begin, until);
    until = end;
  }
  return total;
}

void SortByTotal(std::vector<TimeRow>* rows) {
  std::stable_sort(rows->begin(), rows->end(),
                   [](const TimeRow& a, const TimeRow& b) { return a.total_ns > b.total_ns; });
}

ProfileTables TablesOfTrace(const TraceFile& trace) { return Summing(trace).Run(); }

}  // namespace sg::trace
