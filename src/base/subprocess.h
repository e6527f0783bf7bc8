// Other programs, started with an argument array and never through a shell. A child leads its own
// process group, runs under LC_ALL=C, has a deadline, is ended as a group, and dies with us.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

struct Subprocess {
  std::vector<std::string> argv;                   ///< argv[0] is looked up on PATH
  std::map<std::string, std::string> environment;  ///< added to ours; LC_ALL=C is always set
  std::string folder;                              ///< working folder; empty: ours
  std::string stdin_text;                          ///< the child reads this, then end of file
  double deadline_s = 0;                           ///< 0: none
  /// Called with each line, without its newline, on the calling thread.
  std::function<void(const std::string&)> on_stdout_line;
  std::function<void(const std::string&)> on_stderr_line;
  /// Asked several times a second on the calling thread; true ends the child as the deadline does,
  /// without `timed_out`. Empty: never.
  std::function<bool()> stop_now;
  /// How long the group may clean up after SIGINT before it gets SIGKILL.
  double grace_s = 5;
};

struct SubprocessExit {
  int code = 0;              ///< exit code, or 128 + signal
  bool timed_out = false;    ///< the deadline ended it
  bool interrupted = false;  ///< Ctrl-C ended it
  double wall_s = 0;
  std::string stderr_tail;  ///< the last lines it wrote to stderr, at most 4 KiB
};

/// Runs the child to its end. On the deadline or Ctrl-C the group gets SIGINT, then after `grace_s`
/// SIGKILL; lines written meanwhile still arrive. No process of the group outlives the call.
/// kEnvironment when the program cannot be started. A bad exit code is not an Error here.
Result<SubprocessExit> RunSubprocess(const Subprocess& subprocess);

/// Where `program` is on PATH (or the path itself when it has a slash); empty when nowhere.
std::string FindProgram(const std::string& program);

/// The arguments as one line that a POSIX shell reads back to the same arguments. For showing to
/// people; nothing here is ever run through a shell.
std::string ShellQuoted(const std::vector<std::string>& argv);

}  // namespace sg
