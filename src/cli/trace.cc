// streamgauge trace: where the time of a traced process went.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/files.h"
#include "base/log.h"
#include "base/subprocess.h"
#include "cli/command.h"
#include "cli/trace_charts.h"
#include "trace/nsys_command.h"
#include "trace/nsys_export.h"
#include "trace/trace_reader.h"
#include "trace/trace_views.h"

namespace sg {
namespace {

struct TraceCommandOptions {
  CommonFlags common;
  std::vector<std::string> words;  ///< the file, or the program that nsys records
  std::string file;
  std::string nsys;  ///< record the program with nsys into this report
  double duration_s = 0;
  std::string perfetto;
  std::string folded;
  std::string charts;
  size_t rows = 20;
};

/// Enough to tell what a file is.
Result<std::string> FirstBytes(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return EnvironmentError(path + ": cannot be read: " + std::strerror(errno));
  std::string bytes(16, '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  std::fclose(file);
  return bytes;
}

Status ShowTrace(const TraceCommandOptions& options, const Console& console) {
  SG_ASSIGN_OR_RETURN(const trace::TraceFile file, trace::TraceFile::Open(options.file));
  if (file.records == 0)
    return UserError(options.file + ": holds no records; the process ended before it did anything");
  if (!options.perfetto.empty()) {
    SG_RETURN_IF_ERROR(trace::WritePerfetto(file, options.perfetto));
    console.Say("Timeline in " + options.perfetto + " (ui.perfetto.dev or chrome://tracing)");
  }
  if (!options.folded.empty()) {
    SG_RETURN_IF_ERROR(WriteFileAtomic(options.folded, trace::FoldedStacks(file)));
    console.Say("Stacks in " + options.folded + " (flame graph input, nanoseconds)");
  }
  const trace::TraceSummary summary = trace::Summarize(file);
  if (!options.charts.empty()) {
    SG_RETURN_IF_ERROR(DrawLineCharts(TraceCharts(file, summary, "trace"), options.charts));
    console.Say("Charts in " + options.charts);
  }
  if (options.common.json)
    std::fputs(ToJsonText(trace::TraceJson(file, summary)).c_str(), stdout);
  else
    console.Say(trace::TraceText(file, summary, options.rows));
  return OkStatus();
}

bool EndsWith(const std::string& text, std::string_view ending) {
  return text.size() >= ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

/// nsys's files: exports, reports that its own programs turn into exports, and printed statistics.
Result<trace::ProfileTables> ReadProfile(const std::string& file, std::string_view first_bytes) {
  if (trace::IsSqliteFile(first_bytes)) return trace::ReadNsysSqlite(file);
  if (EndsWith(file, ".qdstrm") || EndsWith(file, ".nsys-rep") || EndsWith(file, ".qdrep")) {
    SG_ASSIGN_OR_RETURN(const std::string sqlite, trace::ConvertToSqlite(file));
    return trace::ReadNsysSqlite(sqlite);
  }
  SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  return trace::ParseNsysStats(text, file);
}

Status ShowProfile(const TraceCommandOptions& options, std::string_view first_bytes,
                   const Console& console) {
  if (!options.perfetto.empty() || !options.folded.empty() || !options.charts.empty())
    return UserError(options.file +
                     ": is of nsys; --perfetto, --folded and --charts need a trace of sgtrace");
  SG_ASSIGN_OR_RETURN(const trace::ProfileTables tables, ReadProfile(options.file, first_bytes));
  if (options.common.json)
    std::fputs(ToJsonText(trace::ProfileJson(tables)).c_str(), stdout);
  else
    console.Say(trace::ProfileText(tables, options.rows));
  return OkStatus();
}

/// Runs the program under nsys and leaves the report in options->file.
Status RecordProgram(TraceCommandOptions* options, const Console& console) {
  trace::NsysRequest request;
  request.output = options->nsys;
  request.duration_s = options->duration_s;
  request.has_gpu = !FindProgram("nvidia-smi").empty();
  request.program = options->words;
  SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(AbsolutePath(options->nsys))));
  SG_ASSIGN_OR_RETURN(options->file, trace::RecordWithNsys(request, [&](const std::string& line) {
                        console.Say(line);
                      }));
  console.Say("Report in " + options->file);
  return OkStatus();
}

Status Trace(TraceCommandOptions options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  if (!options.nsys.empty()) {
    SG_RETURN_IF_ERROR(RecordProgram(&options, console));
  } else if (options.words.size() > 1) {
    return UserError(
        fmt::format("{}: one file at a time; a program is recorded with --nsys REPORT -- "
                    "PROGRAM",
                    options.words[1]));
  } else {
    options.file = options.words.front();
  }
  if (FolderExists(options.file)) return UserError(options.file + ": is a folder, not a trace");
  if (!FileExists(options.file)) return UserError(options.file + ": no such file");
  SG_ASSIGN_OR_RETURN(const std::string first_bytes, FirstBytes(options.file));
  if (trace::IsTraceFile(first_bytes)) return ShowTrace(options, console);
  return ShowProfile(options, first_bytes, console);
}

}  // namespace

void AddTraceCommand(CLI::App* app, CommandRun* run) {
  auto options = std::make_shared<TraceCommandOptions>();
  CLI::App* command = app->add_subcommand(
      "trace", "Where the time went: per element, thread, frame, queue, and on the GPU");
  command
      ->add_option("file", options->words,
                   "A trace of sgtrace or the collector; nsys: .sqlite, .nsys-rep, .qdstrm, CSV of "
                   "nsys stats; with --nsys the program, behind --")
      ->required();
  command->add_option(
      "--nsys", options->nsys,
      "Record a program with nsys into this report (name without ending), then show "
      "it: trace --nsys run -- gst-launch-1.0 …");
  command->add_option("--duration", options->duration_s, "Seconds that nsys records (default: all)")
      ->check(CLI::Range(1.0, 86400.0));
  command->add_option("--perfetto", options->perfetto, "Write the timeline there (Chrome JSON)");
  command->add_option("--folded", options->folded, "Write stacks for a flame graph there");
  command->add_option("--charts", options->charts,
                      "Draw trace_elements.svg and trace_queues.svg into that folder");
  command->add_option("--rows", options->rows, "Rows of each table; 0: all")->capture_default_str();
  AddCommonFlags(command, &options->common);
  command->callback([options, run] { *run = [options] { return Trace(*options); }; });
}

}  // namespace sg
