// streamgauge report: writes an import's report again from benchmark_data.json, or the results of a
// bench or a run from its samples, byte for byte.
#include "report/report.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/run_output.h"

namespace sg {
namespace {

struct ReportOptions {
  CommonFlags common;
  std::string folder;
};

Status WriteAgain(const ReportOptions& options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  std::string folder = options.folder;
  if (FileExists(JoinPath(folder, kRunFile))) {
    if (options.common.dry_run) {
      console.Say("would write the results again in " + folder);
      return OkStatus();
    }
    return WriteResults(folder, console, options.common.json);
  }
  if (FolderExists(JoinPath(folder, "reports"))) folder = JoinPath(folder, "reports");
  const std::string data_path = JoinPath(folder, "benchmark_data.json");
  SG_ASSIGN_OR_RETURN(const Json data, ReadJsonFile(data_path));
  if (!data.is_object() || !data.contains("report"))
    return UserError(data_path + ": holds no report; it was not written by streamgauge import");
  SG_ASSIGN_OR_RETURN(const Report report, Report::FromJson(data["report"]));
  SG_RETURN_IF_ERROR(CheckReportTools());
  if (options.common.dry_run) {
    console.Say("would write the report again in " + folder);
    return OkStatus();
  }
  SG_RETURN_IF_ERROR(WriteReport(report, folder));
  console.Say("Report: " + JoinPath(folder, "benchmark_report.html"));
  if (options.common.json) std::fputs(ToJsonText(BenchmarkDataJson(report)).c_str(), stdout);
  return OkStatus();
}

}  // namespace

void AddReportCommand(CLI::App* app, CommandRun* run) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app->add_subcommand(
      "report", "Write the report of an import, a bench or a run again from what was recorded");
  command->add_option("folder", options->folder, "models/NAME, its reports folder, or a run folder")
      ->required();
  AddCommonFlags(command, &options->common);
  command->callback([options, run] { *run = [options] { return WriteAgain(*options); }; });
}

}  // namespace sg
