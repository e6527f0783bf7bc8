#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/files.h"
#include "trace/nsys_export.h"

namespace sg::trace {
namespace {

// ENUM_NSYS_EVENT_TYPE: NvtxPushPopRange, NvtxStartEndRange, and the same of NVTXT files.
constexpr int kEventPushPop = 59;
constexpr int kEventStartEnd = 60;
constexpr int kEventNvtxtPushPop = 70;
constexpr int kEventNvtxtStartEnd = 71;
constexpr int kEventDomain = 75;
/// ENUM_NSYS_EVENT_CLASS: a traced function of the operating system's libraries.
constexpr int kClassOsCall = 27;
/// The process within globalTid, as nsys's own reports mask it.
constexpr int64_t kProcessMask = 0x0000FFFFFF000000;

/// ENUM_CUDA_MEMCPY_OPER's labels, for exports without that table.
constexpr const char* kCopyKinds[] = {"Unknown",
                                      "Host-to-Device",
                                      "Device-to-Host",
                                      "Host-to-Array",
                                      "Array-to-Host",
                                      "Array-to-Array",
                                      "Array-to-Device",
                                      "Device-to-Array",
                                      "Device-to-Device",
                                      "Host-to-Host",
                                      "Peer-to-Peer",
                                      "Unified Host-to-Device",
                                      "Unified Device-to-Host",
                                      "Unified Device-to-Device"};

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct EndStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

/// "cudaLaunchKernel_v7000" is cudaLaunchKernel: as nsys prints it.
std::string WithoutVersion(std::string name) {
  constexpr size_t kSuffix = 6;
  if (name.size() > kSuffix && name.compare(name.size() - kSuffix, 2, "_v") == 0)
    name.resize(name.size() - kSuffix);
  return name;
}

class Export {
 public:
  Status Open(const std::string& path) {
    path_ = path;
    sqlite3* raw = nullptr;
    const int opened = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY, nullptr);
    database_.reset(raw);
    if (opened != SQLITE_OK) return Failed();
    SG_RETURN_IF_ERROR(Query("SELECT name FROM sqlite_master WHERE type IN ('table','view')",
                             [this](sqlite3_stmt* row) { tables_.insert(Text(row, 0)); }));
    for (std::string* table : {&kernels_, &copies_, &fills_, &runtime_, &driver_})
      *table = NewestOf(*table);
    if (tables_.count("StringIds") == 0)
      return UserError(path_ +
                       ": is an SQLite file, but not an export of nsys (no table StringIds)");
    return Query("SELECT id, value FROM StringIds",
                 [this](sqlite3_stmt* row) { strings_[Number(row, 0)] = Text(row, 1); });
  }

  Result<ProfileTables> Read() {
    ProfileTables tables;
    tables.source = "nsys export" + SchemaText();
    SG_RETURN_IF_ERROR(ReadRanges(&tables));
    SG_RETURN_IF_ERROR(ReadKernels(&tables));
    SG_RETURN_IF_ERROR(ReadMemory(&tables));
    SG_RETURN_IF_ERROR(ReadCalls(&tables));
    ReadDuration(&tables);
    ReadDiagnostics(&tables);
    SayWhatIsAbsent(&tables);
    for (auto& [gpu, spans] : busy_) tables.gpu_busy_ns += static_cast<double>(UnionNs(&spans));
    tables.gpus = static_cast<int>(busy_.size());
    if (tables.gpus > 0) tables.gpu_busy_ns /= tables.gpus;
    return tables;
  }

 private:
  Error Failed() const {
    return UserError(path_ + ": cannot be read as SQLite: " +
                     (database_ ? sqlite3_errmsg(database_.get()) : "no memory"));
  }

  template <typename Fn>
  Status Query(const std::string& sql, const Fn& on_row) const {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK)
      return Failed();
    const std::unique_ptr<sqlite3_stmt, EndStatement> statement(raw);
    int step = 0;
    while ((step = sqlite3_step(raw)) == SQLITE_ROW) on_row(raw);
    return step == SQLITE_DONE ? OkStatus() : Status(Failed());
  }

  static int64_t Number(sqlite3_stmt* row, int column) { return sqlite3_column_int64(row, column); }
  static std::string Text(sqlite3_stmt* row, int column) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
    return text == nullptr ? "" : text;
  }
  static bool IsNull(sqlite3_stmt* row, int column) {
    return sqlite3_column_type(row, column) == SQLITE_NULL;
  }
  /// A name that is a text, or the number of one in StringIds.
  std::string Name(sqlite3_stmt* row, int column) const {
    if (sqlite3_column_type(row, column) == SQLITE_TEXT) return Text(row, column);
    const auto found = strings_.find(Number(row, column));
    return found == strings_.end() ? "?" : found->second;
  }

  bool Has(const std::string& table) const { return tables_.count(table) != 0; }

  /// The first of the columns that the table has; "NULL" when it has none.
  std::string Column(const std::string& table, std::initializer_list<const char*> names) const {
    std::set<std::string> columns;
    const Status listed = Query("PRAGMA table_info(\"" + table + "\")",
                                [&](sqlite3_stmt* row) { columns.insert(Text(row, 1)); });
    if (listed.ok())
      for (const char* name : names)
        if (columns.count(name) != 0) return std::string("\"") + name + "\"";
    return "NULL";
  }

  std::string SchemaText() const {
    std::string schema;
    for (const char* table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
      if (!Has(table)) continue;
      const Status read =
          Query(std::string("SELECT name, value FROM ") + table, [&](sqlite3_stmt* row) {
            if (Text(row, 0) == "EXPORT_SCHEMA_VERSION") schema = ", schema " + Text(row, 1);
          });
      if (!read.ok()) return "";
    }
    return schema;
  }

  Status ReadRanges(ProfileTables* tables) {
    if (!Has("NVTX_EVENTS")) return OkStatus();
    const std::string text = Column("NVTX_EVENTS", {"text"});
    const std::string text_id = Column("NVTX_EVENTS", {"textId"});
    const std::string domain = Column("NVTX_EVENTS", {"domainId"});
    const std::string thread = Column("NVTX_EVENTS", {"globalTid"});
    // A domain's name is that of its first creation in the process.
    std::map<std::pair<int64_t, int64_t>, std::string> domains;
    SG_RETURN_IF_ERROR(
        Query("SELECT " + domain + ", " + thread + ", " + text + ", " + text_id +
                  " FROM NVTX_EVENTS WHERE eventType = " + std::to_string(kEventDomain) +
                  " ORDER BY start",
              [&](sqlite3_stmt* row) {
                domains.emplace(std::pair(Number(row, 0), Number(row, 1) & kProcessMask),
                                IsNull(row, 2) ? Name(row, 3) : Text(row, 2));
              }));
    // A range without an end went on when the trace ended.
    int64_t last_ns = 0;
    SG_RETURN_IF_ERROR(Query("SELECT max(max(start), max(\"end\")) FROM NVTX_EVENTS",
                             [&](sqlite3_stmt* row) { last_ns = Number(row, 0); }));
    std::map<std::pair<std::string, std::string>, TimeRow> rows;
    const std::string kinds = std::to_string(kEventPushPop) + "," + std::to_string(kEventStartEnd) +
                              "," + std::to_string(kEventNvtxtPushPop) + "," +
                              std::to_string(kEventNvtxtStartEnd);
    SG_RETURN_IF_ERROR(
        Query("SELECT start, \"end\", " + text + ", " + text_id + ", " + domain + ", " + thread +
                  " FROM NVTX_EVENTS WHERE eventType IN (" + kinds + ")",
              [&](sqlite3_stmt* row) {
                const std::string name = IsNull(row, 3) ? Text(row, 2) : Name(row, 3);
                const auto of = domains.find({Number(row, 4), Number(row, 5) & kProcessMask});
                const int64_t start = Number(row, 0);
                rows[{of == domains.end() ? "" : of->second, name}].Add(
                    (IsNull(row, 1) ? last_ns : Number(row, 1)) - start);
                Cover(start, IsNull(row, 1) ? start : Number(row, 1));
              }));
    for (auto& [key, row] : rows) {
      row.domain = key.first;
      row.name = key.second;
      tables->ranges.push_back(row);
    }
    SortByTotal(&tables->ranges);
    return OkStatus();
  }

  Status ReadKernels(ProfileTables* tables) {
    if (!Has(kernels_)) return OkStatus();
    const std::string name = Column(kernels_, {"demangledName", "shortName", "mangledName"});
    return ReadTimes(kernels_, name, &tables->kernels, /*is_gpu=*/true);
  }

  /// Sums `table` by name into `into`.
  Status ReadTimes(const std::string& table, const std::string& name, std::vector<TimeRow>* into,
                   bool is_gpu) {
    std::map<std::string, TimeRow> rows;
    const std::string gpu = Column(table, {"deviceId"});
    SG_RETURN_IF_ERROR(Query(
        "SELECT start, \"end\", " + name + ", " + gpu + " FROM " + table, [&](sqlite3_stmt* row) {
          rows[WithoutVersion(Name(row, 2))].Add(Number(row, 1) - Number(row, 0));
          Cover(Number(row, 0), Number(row, 1));
          if (is_gpu) busy_[Number(row, 3)].emplace_back(Number(row, 0), Number(row, 1));
        }));
    for (auto& [key, row] : rows) {
      row.name = key;
      into->push_back(row);
    }
    SortByTotal(into);
    return OkStatus();
  }

  Status ReadMemory(ProfileTables* tables) {
    std::map<std::string, CopyRow> copies;
    if (Has(copies_)) {
      const std::string query = "SELECT start, \"end\", copyKind, bytes, " +
                                Column(copies_, {"deviceId"}) + " FROM " + copies_;
      SG_RETURN_IF_ERROR(Query(query, [&](sqlite3_stmt* row) {
        const int64_t kind = Number(row, 2);
        CopyRow& copy = copies[kind >= 0 && kind < static_cast<int64_t>(std::size(kCopyKinds))
                                   ? kCopyKinds[kind]
                                   : "Unknown"];
        copy.time.Add(Number(row, 1) - Number(row, 0));
        const auto bytes = static_cast<uint64_t>(std::max<int64_t>(0, Number(row, 3)));
        copy.bytes += bytes;
        copy.max_bytes = std::max(copy.max_bytes, bytes);
        Cover(Number(row, 0), Number(row, 1));
        busy_[Number(row, 4)].emplace_back(Number(row, 0), Number(row, 1));
      }));
    }
    for (auto& [name, copy] : copies) {
      copy.time.name = name;
      tables->copies.push_back(copy);
    }
    std::stable_sort(
        tables->copies.begin(), tables->copies.end(),
        [](const CopyRow& a, const CopyRow& b) { return a.time.total_ns > b.time.total_ns; });
    if (!Has(fills_)) return OkStatus();
    return ReadTimes(fills_, "'Memset'", &tables->fills, /*is_gpu=*/true);
  }

  Status ReadCalls(ProfileTables* tables) {
    for (const std::string& table : {runtime_, driver_})
      if (Has(table))
        SG_RETURN_IF_ERROR(
            ReadTimes(table, Column(table, {"nameId"}), &tables->api, /*is_gpu=*/false));
    if (!Has("OSRT_API")) return OkStatus();
    // As nsys's own report does: the table holds other events too.
    const std::string calls = Column("OSRT_API", {"eventClass"}) == "NULL"
                                  ? "OSRT_API"
                                  : "OSRT_API WHERE eventClass = " + std::to_string(kClassOsCall);
    return ReadTimes(calls, Column("OSRT_API", {"nameId"}), &tables->os, /*is_gpu=*/false);
  }

  void Cover(int64_t begin, int64_t end) {
    if (!first_ns_ || begin < *first_ns_) first_ns_ = begin;
    last_ns_ = std::max(last_ns_, end);
  }

  void ReadDuration(ProfileTables* tables) const {
    if (first_ns_) tables->duration_ns = static_cast<double>(last_ns_ - *first_ns_);
    if (!Has("ANALYSIS_DETAILS")) return;
    const Status read = Query("SELECT duration FROM ANALYSIS_DETAILS", [&](sqlite3_stmt* row) {
      if (Number(row, 0) > 0) tables->duration_ns = static_cast<double>(Number(row, 0));
    });
    if (!read.ok()) tables->absent.push_back("the trace's length: " + read.error().message);
  }

  /// What nsys noted itself; rights to counters are the usual one.
  void ReadDiagnostics(ProfileTables* tables) const {
    for (const char* table : {"DIAGNOSTIC_EVENT", "DIAGNOSTICS_EVENT"}) {
      if (!Has(table)) continue;
      const std::string text = Column(table, {"text", "textId"});
      const Status read =
          Query("SELECT DISTINCT " + text + " FROM " + table, [&](sqlite3_stmt* row) {
            const std::string line = Name(row, 0);
            if (line.find("ERR_NVGPUCTRPERM") != std::string::npos ||
                line.find("ermission") != std::string::npos ||
                line.find("rivileges") != std::string::npos)
              tables->absent.push_back(
                  "GPU counters: no rights to them (" + line +
                  "); nsys needs root or NVreg_RestrictProfilingToAdminUsers=0");
          });
      if (!read.ok()) tables->absent.push_back("nsys's own notes: " + read.error().message);
    }
  }

  void SayWhatIsAbsent(ProfileTables* tables) const {
    const bool any_cuda = Has(kernels_) || Has(copies_) || Has(runtime_) || Has(driver_);
    if (!any_cuda)
      tables->absent.push_back(
          "kernels, copies and CUDA calls: no CUDA in the trace (not traced with cuda, or nothing "
          "called it)");
    else if (tables->kernels.empty())
      tables->absent.push_back(
          std::string("kernels: ") + (Has(kernels_) ? "their table is empty" : "no table of them") +
          "; CUDA was called, so the GPU's activity could not be recorded or nothing was launched");
    if (!Has("NVTX_EVENTS"))
      tables->absent.push_back("ranges: no NVTX in the trace");
    else if (tables->ranges.empty())
      tables->absent.push_back("ranges: the NVTX table is empty");
    if (!Has("GPU_METRICS")) tables->absent.push_back("GPU counters: not sampled");
  }

  /// Some versions have the table as NAME_V2, NAME_V3, …
  std::string NewestOf(const std::string& table) const {
    constexpr int kMostVersions = 20;
    std::string newest = table;
    for (int version = 2; version < kMostVersions; ++version) {
      const std::string name = table + "_V" + std::to_string(version);
      if (Has(name)) newest = name;
    }
    return newest;
  }

  std::string kernels_ = "CUPTI_ACTIVITY_KIND_KERNEL";
  std::string copies_ = "CUPTI_ACTIVITY_KIND_MEMCPY";
  std::string fills_ = "CUPTI_ACTIVITY_KIND_MEMSET";
  std::string runtime_ = "CUPTI_ACTIVITY_KIND_RUNTIME";
  std::string driver_ = "CUPTI_ACTIVITY_KIND_DRIVER";
  std::string path_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::set<std::string> tables_;
  std::map<int64_t, std::string> strings_;
  std::map<int64_t, BusySpans> busy_;  ///< by GPU
  std::optional<int64_t> first_ns_;
  int64_t last_ns_ = 0;
};

}  // namespace

bool IsSqliteFile(std::string_view first_bytes) {
  constexpr std::string_view kSqlite("SQLite format 3\0", 16);
  return first_bytes.substr(0, kSqlite.size()) == kSqlite;
}

Result<ProfileTables> ReadNsysSqlite(const std::string& path) {
  if (!FileExists(path)) return UserError(path + ": no such file");
  Export database;
  SG_RETURN_IF_ERROR(database.Open(path));
  return database.Read();
}

}  // namespace sg::trace
