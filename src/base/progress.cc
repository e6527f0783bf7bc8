#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace sg {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval{200};
constexpr std::chrono::seconds kPlainInterval{10};

}  // namespace

std::string ClockText(double seconds) {
  const long total = std::lround(std::max(0.0, seconds));
  if (total >= 3600)
    return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

Progress::Mode Progress::DefaultMode() {
  return isatty(STDERR_FILENO) ? Mode::kTerminal : Mode::kPlain;
}

Progress::Progress(Mode mode, std::string title)
    : mode_(mode),
      title_(std::move(title)),
      next_print_(start_ + (mode == Mode::kTerminal ? Clock::duration(0) : kPlainInterval)) {}

Progress::~Progress() {
  if (line_shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::Update(double fraction, const std::string& note) {
  const Clock::time_point now = Clock::now();
  if (mode_ == Mode::kOff || now < next_print_) return;
  fraction = std::clamp(fraction, 0.0, 1.0);
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  std::string line = fmt::format("{}: {:.0f}%", title_, fraction * 100);
  if (fraction > 0.02)
    line += fmt::format(", {} left", ClockText(elapsed_s / fraction - elapsed_s));
  if (!note.empty()) line += fmt::format(" ({})", note);
  if (mode_ == Mode::kTerminal) {
    std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
    line_shown_ = true;
    next_print_ = now + kTerminalInterval;
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
    next_print_ = now + kPlainInterval;
  }
  std::fflush(stderr);
}

}  // namespace sg
