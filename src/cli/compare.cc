// streamgauge compare: two runs told apart, with an interval, and what differed between them.
#include <fmt/format.h>

#include "base/log.h"
#include "cli/command.h"
#include "measure/run_compare.h"

namespace sg {
namespace {

struct CompareOptions {
  CommonFlags common;
  std::string a;
  std::string b;
};

Status CompareFolders(const CompareOptions& options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  SG_ASSIGN_OR_RETURN(const LoadedRun a, LoadRun(options.a));
  SG_ASSIGN_OR_RETURN(const LoadedRun b, LoadRun(options.b));
  SG_ASSIGN_OR_RETURN(const RunComparison result, CompareRuns(a, b));
  for (const ComparedFigure& f : result.figures)
    console.Say(
        fmt::format("{}: {:.2f} -> {:.2f}: {} ({:+.1f} %, {:g} % interval {:+.1f} to {:+.1f} "
                    "%): {}",
                    f.name, f.a, f.b, f.comparison.WordText(), 100 * f.comparison.change,
                    100 * f.comparison.level, 100 * f.comparison.low, 100 * f.comparison.high,
                    f.comparison.why));
  if (result.differences.empty()) console.Say("Inputs, options and machine are the same.");
  for (const std::string& difference : result.differences) console.Say("Differs: " + difference);
  if (options.common.json) std::fputs(ToJsonText(result.ToJson()).c_str(), stdout);
  return OkStatus();
}

}  // namespace

void AddCompareCommand(CLI::App* app, CommandRun* run) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app->add_subcommand(
      "compare", "Run B against run A: faster, slower, no difference or undecided");
  command->add_option("a", options->a, "Run folder")->required();
  command->add_option("b", options->b, "Run folder")->required();
  AddCommonFlags(command, &options->common);
  command->callback([options, run] { *run = [options] { return CompareFolders(*options); }; });
}

}  // namespace sg
