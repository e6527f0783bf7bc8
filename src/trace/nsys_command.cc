#include "trace/nsys_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/files.h"
#include "base/subprocess.h"

namespace sg::trace {
namespace {

constexpr double kVersionDeadlineS = 20;
constexpr double kConvertDeadlineS = 600;

std::string LastLine(const std::string& text) {
  const size_t end = text.find_last_not_of("\r\n ");
  if (end == std::string::npos) return "it says nothing";
  const size_t begin = text.find_last_of("\r\n", end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

/// Runs a program to its end; kEnvironment with its last line when it fails.
Status RunTool(const std::vector<std::string>& argv) {
  Subprocess process;
  process.argv = argv;
  process.deadline_s = kConvertDeadlineS;
  std::string last;
  process.on_stdout_line = [&](const std::string& line) {
    if (!line.empty()) last = line;
  };
  SG_ASSIGN_OR_RETURN(const SubprocessExit exit, RunSubprocess(process));
  if (exit.interrupted) return InterruptedError();
  if (exit.code == 0) return OkStatus();
  return EnvironmentError(
      fmt::format("{} failed ({}): {}", argv.front(), exit.code,
                  LastLine(exit.stderr_tail.empty() ? last : exit.stderr_tail)));
}

std::string WithoutEnding(const std::string& path) {
  const size_t dot = path.rfind('.');
  const size_t slash = path.rfind('/');
  return dot == std::string::npos || (slash != std::string::npos && dot < slash)
             ? path
             : path.substr(0, dot);
}

}  // namespace

std::optional<NsysVersion> ParseNsysVersion(const std::string& text) {
  constexpr std::string_view kNumber = "0123456789.";
  for (size_t at = text.find_first_of(kNumber); at != std::string::npos;
       at = text.find_first_of(kNumber, at)) {
    size_t end = text.find_first_not_of(kNumber, at);
    if (end == std::string::npos) end = text.size();
    NsysVersion version;
    version.text = text.substr(at, end - at);
    while (!version.text.empty() && version.text.back() == '.') version.text.pop_back();
    char dot = 0;
    if (std::sscanf(version.text.c_str(), "%4d%c%3d", &version.year, &dot, &version.minor) == 3 &&
        dot == '.' && version.year >= 2000)
      return version;
    at = end;
  }
  return std::nullopt;
}

Result<NsysVersion> FindNsys() {
  if (FindProgram("nsys").empty())
    return EnvironmentError("nsys is not on PATH; install Nsight Systems, or use the collector");
  std::string text;
  Subprocess process;
  process.argv = {"nsys", "--version"};
  process.deadline_s = kVersionDeadlineS;
  process.on_stdout_line = [&](const std::string& line) { text += line + "\n"; };
  SG_ASSIGN_OR_RETURN(const SubprocessExit exit, RunSubprocess(process));
  const auto version = ParseNsysVersion(text);
  if (exit.code != 0 || !version)
    return EnvironmentError("nsys --version does not say a version: " +
                            LastLine(text + exit.stderr_tail));
  return *version;
}

const char* NsysRungWords(NsysRung rung) {
  switch (rung) {
    case NsysRung::kFull:
      return "with everything";
    case NsysRung::kNoOsNoCounters:
      return "without operating system calls and GPU counters";
    default:
      return "CUDA and NVTX alone";
  }
}

std::vector<std::string> NsysProfileCommand(const NsysVersion& version, NsysRung rung,
                                            const NsysRequest& request) {
  std::vector<std::string> argv = {"nsys", "profile"};
  // The option's name of today came with 2024.5, and the newest versions refuse the older one.
  const bool is_new = version.AtLeast(2024, 5);
  argv.push_back(rung == NsysRung::kFull ? "--trace=cuda,nvtx,osrt" : "--trace=cuda,nvtx");
  if (rung == NsysRung::kFull && request.has_gpu && version.AtLeast(2021, 2))
    argv.push_back(is_new ? "--gpu-metrics-devices=all" : "--gpu-metrics-device=all");
  if (!is_new || rung != NsysRung::kFull) {
    // Samples of every thread's stack, which nothing here reads: 2022.4 writes 37 MB a second of
    // them and needs minutes to import that.
    argv.push_back("--sample=none");
    if (version.AtLeast(2021, 4)) argv.push_back("--cpuctxsw=none");
  }
  if (rung != NsysRung::kCudaAndNvtx) argv.push_back("--cuda-memory-usage=true");
  argv.push_back("--force-overwrite=true");
  if (request.duration_s > 0)
    argv.push_back(fmt::format("--duration={:.0f}", std::max(1.0, request.duration_s)));
  argv.push_back("--output=" + request.output);
  argv.insert(argv.end(), request.program.begin(), request.program.end());
  return argv;
}

std::vector<std::string> NsysExportCommand(const std::string& report, const std::string& sqlite) {
  return {"nsys", "export", "--type=sqlite", "--force-overwrite=true", "--output=" + sqlite,
          report};
}

std::vector<std::string> NsysStatsCommand(const NsysVersion& version, const std::string& sqlite) {
  // Renamed in 2023.1.
  const std::string reports =
      version.AtLeast(2023, 1)
          ? "cuda_gpu_kern_sum,cuda_gpu_mem_time_sum,cuda_api_sum,osrt_sum,nvtx_sum"
          : "gpukernsum,gpumemtimesum,cudaapisum,osrtsum,nvtxsum";
  return {"nsys", "stats", "--format", "csv", "--report", reports, sqlite};
}

std::string FindQdstrmImporter(const std::string& nsys_path,
                               const std::function<bool(const std::string&)>& exists) {
  const std::string real = nsys_path.empty() ? "" : AbsolutePath(nsys_path);
  std::vector<std::string> folders = {"/usr/lib/nsight-systems/host-linux-x64",
                                      "/usr/lib/x86_64-linux-gnu/nsight-systems/host-linux-x64"};
  if (!real.empty()) {
    const std::string beside = ParentFolder(real);
    const std::string above = ParentFolder(beside);
    for (const std::string& folder : {beside, above})
      for (const char* host : {"host-linux-x64", "host-linux-armv8"})
        folders.insert(folders.begin(), JoinPath(folder, host));
  }
  for (const std::string& folder : folders) {
    const std::string path = JoinPath(folder, "QdstrmImporter");
    if (exists(path)) return path;
  }
  return "";
}

Result<std::string> RecordWithNsys(const NsysRequest& request,
                                   const std::function<void(const std::string&)>& say) {
  SG_ASSIGN_OR_RETURN(const NsysVersion version, FindNsys());
  const std::string endings[] = {".nsys-rep", ".qdrep", ".qdstrm"};
  std::string last_line;
  for (const NsysRung rung : kNsysRungs) {
    for (const std::string& ending : endings)
      SG_RETURN_IF_ERROR(RemoveAll(request.output + ending));
    Subprocess nsys;
    nsys.argv = NsysProfileCommand(version, rung, request);
    nsys.grace_s = 60;  // it writes its report then
    const auto keep = [&](const std::string& line) {
      if (!line.empty()) last_line = line;
    };
    nsys.on_stdout_line = keep;
    nsys.on_stderr_line = keep;
    SG_ASSIGN_OR_RETURN(const SubprocessExit exit, RunSubprocess(nsys));
    for (const std::string& ending : endings)
      if (FileExists(request.output + ending)) return request.output + ending;
    if (exit.interrupted) return InterruptedError();
    say(fmt::format("nsys {} {} left no report ({}; exit code {})", version.text,
                    NsysRungWords(rung), last_line, exit.code));
  }
  return EnvironmentError("nsys makes no report here, whatever it is asked for: " + last_line);
}

Result<std::string> ConvertToSqlite(const std::string& report) {
  if (!FileExists(report)) return UserError(report + ": no such file");
  const std::string base = WithoutEnding(report);
  std::string imported = report;
  if (report.size() > 7 && report.compare(report.size() - 7, 7, ".qdstrm") == 0) {
    const std::string importer = FindQdstrmImporter(FindProgram("nsys"), FileExists);
    if (importer.empty())
      return EnvironmentError(report +
                              ": needs QdstrmImporter of Nsight Systems, which is not here; import "
                              "it where nsys is installed");
    imported = base + ".nsys-rep";
    SG_RETURN_IF_ERROR(RunTool({importer, "--input-file", report, "--output-file", imported}));
  }
  if (FindProgram("nsys").empty())
    return EnvironmentError(report +
                            ": needs nsys to be read, which is not on PATH; export it "
                            "with: nsys export --type=sqlite " +
                            report);
  const std::string sqlite = base + ".sqlite";
  SG_RETURN_IF_ERROR(RunTool(NsysExportCommand(imported, sqlite)));
  return sqlite;
}

}  // namespace sg::trace
