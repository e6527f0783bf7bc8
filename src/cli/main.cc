// streamgauge: reads the command line, runs one command, maps its Status to the exit code.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/interrupt.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/version.h"

namespace sg {

void AddCommonFlags(CLI::App* command, CommonFlags* flags) {
  command->add_option("--engine", flags->engine, "auto, deepstream or embedded")
      ->check(CLI::IsMember({"auto", "deepstream", "embedded"}))
      ->capture_default_str();
  command->add_flag("--dry-run", flags->dry_run, "Plan everything; touch and start nothing");
  command->add_flag("--json", flags->json, "Machine output on stdout, people's words on stderr");
  command->add_flag("--yes", flags->yes, "Take the offered default instead of asking");
  command->add_flag("-v,--verbose", flags->verbose, "Say more on stderr");
  command->add_flag("--no-progress", flags->no_progress, "No progress lines");
}

namespace {

int Main(int argc, char** argv) {
  CLI::App app("How many streams this machine carries, at what fps, limited by what; with proof.",
               "streamgauge");
  app.set_version_flag("--version", std::string("streamgauge ") + kVersion);
  app.require_subcommand(1);
  CommandRun run;
  AddImportCommand(&app, &run);
  AddFrameCommand(&app, &run);
  AddReportCommand(&app, &run);
  AddOnnxCommand(&app, &run);
  AddBenchCommand(&app, &run);
  AddRunCommand(&app, &run);
  AddCompareCommand(&app, &run);
  AddExplainCommand(&app, &run);
  AddTraceCommand(&app, &run);
  AddHubCommand(&app, &run);
  AddCleanCommand(&app, &run);
  AddEngineCommand(&app, &run);
  AddDoctorCommand(&app, &run);
  AddContainerCommand(&app, &run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // Help and version are successes; anything else is wrong input.
    return app.exit(e) == 0 ? 0 : static_cast<int>(ErrorKind::kUser);
  }
  InstallInterruptHandler();
  const Status status = run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "streamgauge: %s\n", MaskSecrets(status.error().message).c_str());
  return static_cast<int>(status.error().kind);
}

}  // namespace
}  // namespace sg

int main(int argc, char** argv) {
  try {
    return sg::Main(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "streamgauge: internal error: %s\n", e.what());
    return static_cast<int>(sg::ErrorKind::kInternal);
  }
}
