// streamgauge explain: the rules behind a run's verdict, and the samples each of them looked at.
#include "base/log.h"
#include "cli/command.h"
#include "cli/run_output.h"

namespace sg {
namespace {

struct ExplainOptions {
  CommonFlags common;
  std::string folder;
};

Status Explain(const ExplainOptions& options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  SG_ASSIGN_OR_RETURN(const std::vector<std::string> lines, ExplainRun(options.folder));
  for (const std::string& line : lines) console.Say(line);
  if (options.common.json) {
    const Json json = {{"verdict", lines.front()},
                       {"reasons", std::vector<std::string>(lines.begin() + 1, lines.end())}};
    std::fputs(ToJsonText(json).c_str(), stdout);
  }
  return OkStatus();
}

}  // namespace

void AddExplainCommand(CLI::App* app, CommandRun* run) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command =
      app->add_subcommand("explain", "The rules and samples behind a run's verdict");
  command->add_option("run", options->folder, "Folder of a bench or a run")->required();
  AddCommonFlags(command, &options->common);
  command->callback([options, run] { *run = [options] { return Explain(*options); }; });
}

}  // namespace sg
