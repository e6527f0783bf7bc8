// What every command of streamgauge has in common.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/progress.h"
#include "base/status.h"

namespace sg {

struct CommonFlags {
  std::string engine = "auto";  ///< auto, deepstream, embedded
  bool dry_run = false;         ///< plan everything, touch and start nothing
  bool json = false;            ///< machine output on stdout, people's words on stderr
  bool yes = false;             ///< take the offered default instead of asking
  bool verbose = false;
  bool no_progress = false;
};

/// Adds the common flags to a command.
void AddCommonFlags(CLI::App* command, CommonFlags* flags);

/// Prints for people: on stdout, or on stderr when --json has taken stdout.
class Console {
 public:
  explicit Console(const CommonFlags& flags)
      : out_(flags.json ? stderr : stdout),
        progress_mode_(flags.no_progress ? Progress::Mode::kOff : Progress::DefaultMode()) {}

  /// One line.
  void Say(const std::string& line) const {
    std::fprintf(out_, "%s\n", line.c_str());
    std::fflush(out_);
  }
  Progress::Mode progress_mode() const { return progress_mode_; }

 private:
  std::FILE* out_;
  Progress::Mode progress_mode_;
};

/// A command adds itself to `app`; when the user calls it, `*run` becomes what it does.
using CommandRun = std::function<Status()>;
void AddImportCommand(CLI::App* app, CommandRun* run);
void AddFrameCommand(CLI::App* app, CommandRun* run);
void AddReportCommand(CLI::App* app, CommandRun* run);
void AddOnnxCommand(CLI::App* app, CommandRun* run);
void AddCleanCommand(CLI::App* app, CommandRun* run);
void AddBenchCommand(CLI::App* app, CommandRun* run);
void AddRunCommand(CLI::App* app, CommandRun* run);
void AddCompareCommand(CLI::App* app, CommandRun* run);
void AddExplainCommand(CLI::App* app, CommandRun* run);
void AddHubCommand(CLI::App* app, CommandRun* run);
void AddTraceCommand(CLI::App* app, CommandRun* run);
void AddDoctorCommand(CLI::App* app, CommandRun* run);
void AddEngineCommand(CLI::App* app, CommandRun* run);
void AddContainerCommand(CLI::App* app, CommandRun* run);

}  // namespace sg
