#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "trace/nsys_export.h"

namespace sg::trace {
namespace {

/// One line's cells; a quoted cell may hold commas and doubled quotes.
std::vector<std::string> Cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

/// What a header's column holds, and in which unit.
struct Column {
  size_t index = 0;
  double unit = 1;  ///< ns of one
};

/// "Total Time (ns)", "Total Time(ns)", "Total Time [ms]".
std::optional<Column> FindTime(const std::vector<std::string>& header,
                               std::initializer_list<std::string_view> names) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1}, {"us", 1e3}, {"μs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  for (size_t i = 0; i < header.size(); ++i)
    for (const std::string_view name : names) {
      if (header[i].compare(0, name.size(), name) != 0) continue;
      std::string rest = header[i].substr(name.size());
      std::erase_if(
          rest, [](char c) { return c == ' ' || c == '(' || c == ')' || c == '[' || c == ']'; });
      for (const auto& [unit, ns] : kUnits)
        if (rest == unit) return Column{i, ns};
    }
  return std::nullopt;
}

std::optional<size_t> FindName(const std::vector<std::string>& header,
                               std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    for (size_t i = 0; i < header.size(); ++i)
      if (header[i] == name) return i;
  return std::nullopt;
}

std::optional<double> NumberOf(std::string text) {
  std::erase(text, ',');
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Whole nanoseconds stay exact: they do not pass through a double.
std::optional<int64_t> NsOf(std::string text, double unit) {
  std::erase(text, ',');
  int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (unit == 1 && error == std::errc() && end == text.data() + text.size()) return whole;
  const auto value = NumberOf(text);
  if (!value) return std::nullopt;
  return static_cast<int64_t>(*value * unit + 0.5);
}

enum class Report { kKernels, kCopies, kApi, kOs, kRanges };

/// What a report is by its title (old and new names) or, without one, by its columns and names.
std::optional<Report> ReportOfTitle(std::string_view line) {
  constexpr std::pair<std::string_view, Report> kNames[] = {
      {"gpukernsum", Report::kKernels},   {"cuda_gpu_kern_sum", Report::kKernels},
      {"gpumemtimesum", Report::kCopies}, {"cuda_gpu_mem_time_sum", Report::kCopies},
      {"cudaapisum", Report::kApi},       {"cuda_api_sum", Report::kApi},
      {"osrtsum", Report::kOs},           {"osrt_sum", Report::kOs},
      {"nvtxsum", Report::kRanges},       {"nvtx_sum", Report::kRanges},
      {"nvtxppsum", Report::kRanges},     {"nvtx_pushpop_sum", Report::kRanges},
      {"nvtxsesum", Report::kRanges},     {"nvtx_startend_sum", Report::kRanges}};
  for (const auto& [name, report] : kNames)
    if (line.find(name) != std::string_view::npos) return report;
  return std::nullopt;
}

Report ReportOfHeader(const std::vector<std::string>& header) {
  if (FindName(header, {"Range"})) return Report::kRanges;
  if (FindName(header, {"Operation"})) return Report::kCopies;
  if (FindName(header, {"GridXYZ", "Instances"})) return Report::kKernels;
  return Report::kApi;
}

class StatsReader {
 public:
  StatsReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Result<ProfileTables> Read() {
    tables_.source = "nsys stats";
    while (!text_.empty()) {
      const size_t end = text_.find('\n');
      std::string_view line = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      ++line_number_;
      SG_RETURN_IF_ERROR(Take(line));
    }
    if (reports_ == 0 && tables_.absent.empty())
      return UserError(where_ + ": holds no report of nsys stats (no header with Total Time)");
    SortAll();
    for (const auto& [report, rows] : empty_)
      if (rows == 0) tables_.absent.push_back(NameOf(report) + ": the report is empty");
    return tables_;
  }

 private:
  static std::string NameOf(Report report) {
    switch (report) {
      case Report::kKernels:
        return "kernels";
      case Report::kCopies:
        return "copies";
      case Report::kApi:
        return "CUDA calls";
      case Report::kOs:
        return "system calls";
      default:
        return "ranges";
    }
  }

  Status Take(std::string_view line) {
    if (line.find("SKIPPED") != std::string_view::npos ||
        line.find("does not contain") != std::string_view::npos) {
      tables_.absent.emplace_back(line);
      return OkStatus();
    }
    if (line.find("ERR_NVGPUCTRPERM") != std::string_view::npos) {
      tables_.absent.push_back("GPU counters: no rights to them (" + std::string(line) + ")");
      return OkStatus();
    }
    if (line.find("Processing") == 0 || line.find("Exporting") == 0 || line.find("** ") == 0) {
      title_ = ReportOfTitle(line);
      header_.clear();
      return OkStatus();
    }
    if (line.find_first_not_of(" \t") == std::string_view::npos) {
      header_.clear();
      return OkStatus();
    }
    std::vector<std::string> cells = Cells(line);
    if (FindTime(cells, {"Total Time"}) && FindName(cells, {"Name", "Range", "Operation"})) {
      Begin(std::move(cells));
      return OkStatus();
    }
    // A notice between the reports.
    if (header_.empty()) return OkStatus();
    return AddRow(cells);
  }

  void Begin(std::vector<std::string> header) {
    header_ = std::move(header);
    report_ = title_ ? *title_ : ReportOfHeader(header_);
    title_.reset();
    ++reports_;
    empty_.try_emplace(report_, 0);
  }

  Status AddRow(const std::vector<std::string>& cells) {
    const auto total = FindTime(header_, {"Total Time"});
    const auto least = FindTime(header_, {"Min", "Minimum"});
    const auto most = FindTime(header_, {"Max", "Maximum"});
    const auto count = FindName(header_, {"Instances", "Num Calls", "Count", "Operations"});
    const auto name = FindName(header_, {"Name", "Range", "Operation"});
    if (cells.size() != header_.size())
      return UserError(where_ + ":" + std::to_string(line_number_) + ": has " +
                       std::to_string(cells.size()) + " columns, its header " +
                       std::to_string(header_.size()));
    TimeRow row;
    row.name = cells[*name];
    const auto total_ns = NsOf(cells[total->index], total->unit);
    const auto instances = count ? NumberOf(cells[*count]) : std::nullopt;
    if (!total_ns || !instances)
      return UserError(where_ + ":" + std::to_string(line_number_) +
                       ": the total time or the count is not a number");
    row.total_ns = *total_ns;
    row.count = static_cast<uint64_t>(std::max(0.0, *instances));
    if (least) row.min_ns = NsOf(cells[least->index], least->unit).value_or(0);
    if (most) row.max_ns = NsOf(cells[most->index], most->unit).value_or(0);
    ++empty_[report_];
    Put(std::move(row));
    return OkStatus();
  }

  void Put(TimeRow row) {
    switch (report_) {
      case Report::kKernels:
        tables_.kernels.push_back(std::move(row));
        break;
      case Report::kApi:
        tables_.api.push_back(std::move(row));
        break;
      case Report::kOs:
        tables_.os.push_back(std::move(row));
        break;
      case Report::kRanges: {
        const size_t colon = row.name.find(':');
        // "domain:range"; a range of no domain begins with the colon or has none.
        if (colon != std::string::npos) {
          row.domain = row.name.substr(0, colon);
          row.name = row.name.substr(colon + 1);
        }
        tables_.ranges.push_back(std::move(row));
        break;
      }
      case Report::kCopies: {
        // "[CUDA memcpy HtoD]", "[CUDA memcpy Host-to-Device]", "[CUDA memset]".
        if (row.name.find("memset") != std::string::npos) {
          row.name = "Memset";
          tables_.fills.push_back(std::move(row));
          break;
        }
        CopyRow copy;
        copy.time = std::move(row);
        copy.time.name = CopyNameOf(copy.time.name);
        tables_.copies.push_back(std::move(copy));
        break;
      }
    }
  }

  static std::string CopyNameOf(const std::string& name) {
    constexpr std::pair<std::string_view, const char*> kShort[] = {{"HtoD", "Host-to-Device"},
                                                                   {"DtoH", "Device-to-Host"},
                                                                   {"DtoD", "Device-to-Device"},
                                                                   {"HtoH", "Host-to-Host"},
                                                                   {"PtoP", "Peer-to-Peer"}};
    for (const auto& [short_name, full] : kShort)
      if (name.find(short_name) != std::string::npos) return full;
    constexpr std::string_view kPrefix = "[CUDA memcpy ";
    if (name.compare(0, kPrefix.size(), kPrefix) == 0 && name.back() == ']')
      return name.substr(kPrefix.size(), name.size() - kPrefix.size() - 1);
    return name;
  }

  void SortAll() {
    for (auto* rows :
         {&tables_.kernels, &tables_.api, &tables_.os, &tables_.ranges, &tables_.fills})
      SortByTotal(rows);
  }

  std::string_view text_;
  const std::string where_;
  ProfileTables tables_;
  std::vector<std::string> header_;  ///< of the report at hand; empty between reports
  std::optional<Report> title_;
  Report report_ = Report::kApi;
  std::map<Report, size_t> empty_;  ///< rows of each report that was there
  size_t reports_ = 0;
  size_t line_number_ = 0;
};

}  // namespace

Result<ProfileTables> ParseNsysStats(std::string_view text, const std::string& where) {
  return StatsReader(text, where).Read();
}

}  // namespace sg::trace
