// How far a long step is, on stderr: one line that rewrites itself on a terminal, now and then a
// plain line elsewhere, nothing with --no-progress.
#pragma once

#include <chrono>
#include <string>

namespace sg {

class Progress {
 public:
  enum class Mode { kOff, kPlain, kTerminal };

  /// What fits stderr: kTerminal when it is a terminal, else kPlain.
  static Mode DefaultMode();

  Progress(Mode mode, std::string title);
  /// Clears the terminal's line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `fraction` of the step is done, 0 to 1; `note` is a few words beside it. The time left is
  /// derived from the time so far. Cheap to call often: it prints at most five times a second on a
  /// terminal and every ten seconds elsewhere.
  void Update(double fraction, const std::string& note);

 private:
  using Clock = std::chrono::steady_clock;
  const Mode mode_;
  const std::string title_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_print_;
  bool line_shown_ = false;
};

/// "1:07" or "2:03:10".
std::string ClockText(double seconds);

}  // namespace sg
