#include "base/subprocess.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace sg {
namespace {

SubprocessExit RunOk(const Subprocess& job) {
  Result<SubprocessExit> exit = RunSubprocess(job);
  EXPECT_TRUE(exit.ok()) << (exit.ok() ? "" : exit.error().message);
  return exit.ok() ? *exit : SubprocessExit{};
}

TEST(Subprocess, ArgumentsReachTheProgramUntouched) {
  const std::vector<std::string> odd = {"$(touch PWN)", "a b", "-v", "x\"; y", "line\nbreak", ""};
  Subprocess job;
  job.argv = {"printf", "%s|"};
  job.argv.insert(job.argv.end(), odd.begin(), odd.end());
  std::string out;
  job.on_stdout_line = [&](const std::string& line) { out += line + "\n"; };
  EXPECT_EQ(RunOk(job).code, 0);
  EXPECT_EQ(out, "$(touch PWN)|a b|-v|x\"; y|line\nbreak||\n");
}

TEST(Subprocess, LinesOfBothStreamsArriveWithTheLastOneUnterminated) {
  Subprocess job;
  job.argv = {"sh", "-c", "echo one; echo two >&2; printf three; exit 7"};
  std::vector<std::string> out, err;
  job.on_stdout_line = [&](const std::string& line) { out.push_back(line); };
  job.on_stderr_line = [&](const std::string& line) { err.push_back(line); };
  const SubprocessExit exit = RunOk(job);
  EXPECT_EQ(exit.code, 7);
  EXPECT_EQ(out, (std::vector<std::string>{"one", "three"}));
  EXPECT_EQ(err, std::vector<std::string>{"two"});
  EXPECT_EQ(exit.stderr_tail, "two\n");
}

TEST(Subprocess, LargeInputAndOutputDoNotDeadlock) {
  Subprocess job;
  job.argv = {"cat"};
  job.stdin_text.assign(4 << 20, 'x');
  size_t bytes = 0;
  job.on_stdout_line = [&](const std::string& line) { bytes += line.size(); };
  EXPECT_EQ(RunOk(job).code, 0);
  EXPECT_EQ(bytes, job.stdin_text.size());
}

TEST(Subprocess, RunsInTheCLocaleWhateverOursIs) {
  setenv("LC_ALL", "de_DE.UTF-8", 1);
  Subprocess job;
  job.argv = {"sh", "-c", "echo $LC_ALL"};
  std::string out;
  job.on_stdout_line = [&](const std::string& line) { out = line; };
  EXPECT_EQ(RunOk(job).code, 0);
  unsetenv("LC_ALL");
  EXPECT_EQ(out, "C");
}

TEST(Subprocess, DeadlineEndsTheWholeGroup) {
  Subprocess job;
  job.argv = {"sh", "-c", "trap '' INT; sleep 300 & echo $!; wait"};
  job.deadline_s = 0.3;
  job.grace_s = 0.2;
  pid_t grandchild = 0;
  job.on_stdout_line = [&](const std::string& line) { grandchild = std::atoi(line.c_str()); };
  const SubprocessExit exit = RunOk(job);
  EXPECT_TRUE(exit.timed_out);
  EXPECT_LT(exit.wall_s, 5);
  ASSERT_GT(grandchild, 0);
  // A zombie waiting for init still answers kill(0); its state tells.
  std::string state = "gone";
  for (int i = 0; i < 50; ++i) {
    std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
    std::string pid, name;
    if (!(stat >> pid >> name >> state) || state == "Z" || state == "X") {
      state = "gone";
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(state, "gone");
}

TEST(Subprocess, AGrandchildThatKeepsThePipesOpenDoesNotHoldUs) {
  Subprocess job;
  job.argv = {"sh", "-c", "sleep 300 & exit 3"};
  const SubprocessExit exit = RunOk(job);
  EXPECT_EQ(exit.code, 3);
  EXPECT_LT(exit.wall_s, 5);
}

TEST(Subprocess, ACrashIsItsSignal) {
  Subprocess job;
  job.argv = {"sh", "-c", "kill -SEGV $$"};
  EXPECT_EQ(RunOk(job).code, 128 + SIGSEGV);
}

TEST(Subprocess, AMissingProgramIsAnEnvironmentError) {
  Subprocess job;
  job.argv = {"no-such-program-here"};
  const Result<SubprocessExit> exit = RunSubprocess(job);
  ASSERT_FALSE(exit.ok());
  EXPECT_EQ(exit.error().kind, ErrorKind::kEnvironment);
  EXPECT_NE(exit.error().message.find("no-such-program-here"), std::string::npos);
}

TEST(Subprocess, ShellQuotedReadsBackToTheSameArguments) {
  const std::vector<std::string> argv = {"printf", "%s|", "it's", "$HOME `x`", "a\nb", "", "-v"};
  Subprocess job;
  job.argv = {"sh", "-c", ShellQuoted(argv)};
  std::string out;
  job.on_stdout_line = [&](const std::string& line) { out += line + "\n"; };
  EXPECT_EQ(RunOk(job).code, 0);
  EXPECT_EQ(out, "it's|$HOME `x`|a\nb||-v|\n");
}

}  // namespace
}  // namespace sg
