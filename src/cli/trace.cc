// streamgauge trace: where the time of a traced process went.
#include <memory>

#include "base/files.h"
#include "base/log.h"
#include "cli/command.h"
#include "trace/trace_reader.h"
#include "trace/trace_views.h"

namespace sg {
namespace {

struct TraceCommandOptions {
  CommonFlags common;
  std::string file;
  std::string perfetto;
  std::string folded;
  size_t rows = 20;
};

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
  if (options.common.json)
    std::fputs(ToJsonText(trace::TraceJson(file, summary)).c_str(), stdout);
  else
    console.Say(trace::TraceText(file, summary, options.rows));
  return OkStatus();
}

Status Trace(const TraceCommandOptions& options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  return ShowTrace(options, console);
}

}  // namespace

void AddTraceCommand(CLI::App* app, CommandRun* run) {
  auto options = std::make_shared<TraceCommandOptions>();
  CLI::App* command = app->add_subcommand(
      "trace", "Where the time went: per element, thread, frame, queue, and on the GPU");
  command->add_option("file", options->file, "A trace of sgtrace or the collector")->required();
  command->add_option("--perfetto", options->perfetto, "Write the timeline there (Chrome JSON)");
  command->add_option("--folded", options->folded, "Write stacks for a flame graph there");
  command->add_option("--rows", options->rows, "Rows of each table; 0: all")->capture_default_str();
  AddCommonFlags(command, &options->common);
  command->callback([options, run] { *run = [options] { return Trace(*options); }; });
}

}  // namespace sg
