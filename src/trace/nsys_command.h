// nsys's command lines: which options and report names the version that is installed accepts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg::trace {

struct NsysVersion {
  int year = 0;
  int minor = 0;
  std::string text;  ///< "2022.4.2.1"
  bool AtLeast(int y, int m) const { return year > y || (year == y && minor >= m); }
};

/// From the output of `nsys --version`; nullopt when there is no version in it.
std::optional<NsysVersion> ParseNsysVersion(const std::string& text);

/// What is installed. kEnvironment: nsys is not on PATH, or does not say its version.
Result<NsysVersion> FindNsys();

/// Each rung asks for less: operating system calls and GPU counters are the first to be refused.
enum class NsysRung { kFull, kNoOsNoCounters, kCudaAndNvtx };
inline constexpr NsysRung kNsysRungs[] = {NsysRung::kFull, NsysRung::kNoOsNoCounters,
                                          NsysRung::kCudaAndNvtx};
/// "without operating system calls and GPU counters", …
const char* NsysRungWords(NsysRung rung);

struct NsysRequest {
  std::string output;     ///< without an ending
  double duration_s = 0;  ///< 0: until the program ends
  bool has_gpu = true;    ///< GPU counters are asked for only then
  std::vector<std::string> program;
};

/// The whole command, beginning with "nsys".
std::vector<std::string> NsysProfileCommand(const NsysVersion& version, NsysRung rung,
                                            const NsysRequest& request);
/// `nsys export` of a report into an SQLite file.
std::vector<std::string> NsysExportCommand(const std::string& report, const std::string& sqlite);
/// `nsys stats` of an export, with the names that the version has for kernels, copies, CUDA calls,
/// operating system calls and ranges.
std::vector<std::string> NsysStatsCommand(const NsysVersion& version, const std::string& sqlite);

/// Runs the program under nsys, asking for less until there is a report: rights to counters, or to
/// operating system calls, are often missing. `say` gets a line when a rung is given up. Returns
/// the report's path. kEnvironment, with nsys's last line, when even the least gives none;
/// kInterrupted.
Result<std::string> RecordWithNsys(const NsysRequest& request,
                                   const std::function<void(const std::string&)>& say);

/// Where QdstrmImporter is: beside nsys, or in the places that the packages use; empty: nowhere.
/// `exists` tells whether a path is there.
std::string FindQdstrmImporter(const std::string& nsys_path,
                               const std::function<bool(const std::string&)>& exists);

/// A .qdstrm or .nsys-rep/.qdrep file as an SQLite file beside it, made by nsys's own programs.
/// kEnvironment when they are not here or fail; the message has their last line.
Result<std::string> ConvertToSqlite(const std::string& report);

}  // namespace sg::trace
