// The worker program as a whole, through its pipe.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/testing.h"
#include "measure/samples.h"

namespace sg {
namespace {

constexpr char kWorker[] = SG_BINARY_DIR "/bin/streamgauge-worker";

struct Reply {
  int code = 0;
  std::vector<Json> events;  ///< every stdout line, parsed; discarded values are not JSON
  Json last() const { return events.empty() ? Json() : events.back(); }
};

Reply Ask(const std::string& job, const std::string& request,
          const std::map<std::string, std::string>& environment = {}) {
  Subprocess process;
  process.argv = {kWorker, job};
  process.stdin_text = request;
  process.deadline_s = 30;
  process.environment = environment;
  Reply reply;
  process.on_stdout_line = [&](const std::string& line) {
    reply.events.push_back(Json::parse(line, nullptr, /*allow_exceptions=*/false));
  };
  const Result<SubprocessExit> exit = RunSubprocess(process);
  EXPECT_TRUE(exit.ok()) << exit.error().message;
  if (exit.ok()) reply.code = exit->code;
  return reply;
}

/// Endless pictures through the mux, about 100 a second.
Json EndlessRun(const std::string& samples_path) {
  return {{"launch",
           "sgmux name=mux batch-size=1 width=160 height=120 ! fakesink name=tap sync=false "
           "videotestsrc is-live=true ! "
           "video/x-raw,format=I420,width=160,height=120,framerate=100/1 ! mux.sink_0"},
          {"tap", "tap"},
          {"samples_path", samples_path},
          {"streams", 1}};
}

/// A worker that is started and left running, so that it can be sent signals.
class RunningWorker {
 public:
  explicit RunningWorker(const Json& request) {
    int in[2];
    int out[2];
    EXPECT_EQ(pipe(in), 0);
    EXPECT_EQ(pipe(out), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      for (int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      execl(kWorker, kWorker, "run", nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    const std::string text = ToJsonLine(request);
    EXPECT_EQ(write(in[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(in[1]);
    out_ = out[0];
  }
  ~RunningWorker() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(out_);
  }
  void Signal(int number) const { kill(pid_, number); }

  /// Waits for the end; the exit code, or 128 + signal.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  /// The last line it wrote. Call after Wait.
  Json LastEvent() const {
    std::string text;
    char bytes[4096];
    for (ssize_t n; (n = read(out_, bytes, sizeof bytes)) > 0;)
      text.append(bytes, static_cast<size_t>(n));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return Json::parse(text.substr(text.rfind('\n') + 1), nullptr, false);
  }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
};

/// True once the samples file holds `frames` frames; false after ten seconds.
bool WaitForFrames(const std::string& samples_path, size_t frames) {
  for (int i = 0; i < 200; ++i) {
    const Result<RunRecord> record = ReadSamples(samples_path);
    if (record.ok() && record->frames.size() >= frames) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

TEST(Worker, AnErrorIsAnEventAndAnExitCode) {
  const Reply reply = Ask("probe", "{\"path\":\"/nowhere/a.mp4\"}");
  EXPECT_EQ(reply.code, 2);
  EXPECT_EQ(
      reply.last(),
      (Json{{"event", "error"}, {"kind", "user"}, {"message", "/nowhere/a.mp4: no such file"}}));
}

TEST(Worker, AnUnknownJobOrRequestIsOurFault) {
  EXPECT_EQ(Ask("nothing", "{}").code, 5);
  EXPECT_EQ(Ask("probe", "{}").code, 5);
  EXPECT_EQ(Ask("run", "{\"tap\":\"x\"}").code, 5);
  EXPECT_EQ(Ask("run", "[1]").last().value("event", ""), "error");
  EXPECT_EQ(Ask("frames", "{\"path\":\"a\",\"folder\":\"b\",\"count\":\"3\"}").code, 5);
}

TEST(Worker, WhatPluginsPrintStaysOutOfTheEvents) {
  // fakesink prints nothing by itself; identity with dump does, to stdout.
  const Reply reply = Ask("run", ToJsonLine({{"launch",
                                              "fakesrc num-buffers=3 sizetype=fixed sizemax=64 ! "
                                              "identity dump=true ! fakesink name=tap"},
                                             {"tap", "tap"}}));
  EXPECT_EQ(reply.code, 0);
  ASSERT_FALSE(reply.events.empty());
  for (const Json& event : reply.events) EXPECT_TRUE(event.is_object()) << event.dump();
  EXPECT_EQ(reply.last().value("event", ""), "result");
  EXPECT_EQ(reply.last()["frames"], Json({3}));
}

TEST(Worker, RunsWithoutAHome) {
  const TempFolder folder;
  const std::map<std::string, std::string> nowhere = {
      {"HOME", "/proc/none"}, {"XDG_CACHE_HOME", "/proc/none"}, {"TMPDIR", folder.path()}};
  const Json request = {{"launch", "fakesrc num-buffers=1 ! sgmux_is_no_element"}, {"tap", "t"}};
  EXPECT_EQ(Ask("run", ToJsonLine(request), nowhere).code, 3);
  const std::string cache = folder / ("streamgauge-" + std::to_string(getuid()));
  ASSERT_TRUE(FolderExists(cache));
  EXPECT_EQ(ListFolder(cache)->size(), 1u);
}

TEST(Worker, KeepsItsRegistryInTheCache) {
  const TempFolder folder;
  const Json request = {{"launch", "fakesrc num-buffers=1 ! fakesink name=tap"}, {"tap", "tap"}};
  EXPECT_EQ(Ask("run", ToJsonLine(request), {{"XDG_CACHE_HOME", folder.path()}}).code, 0);
  ASSERT_TRUE(FolderExists(folder / "streamgauge"));
  EXPECT_EQ(ListFolder(folder / "streamgauge")->size(), 1u);
}

TEST(Worker, OneInterruptEndsTheRunWithItsResult) {
  const TempFolder folder;
  const std::string samples = folder / "samples.jsonl";
  RunningWorker worker(EndlessRun(samples));
  ASSERT_TRUE(WaitForFrames(samples, 20));
  worker.Signal(SIGINT);
  EXPECT_EQ(worker.Wait(), 0);
  const Json result = worker.LastEvent();
  EXPECT_EQ(result.value("event", ""), "result");
  EXPECT_EQ(result.value("interrupted", false), true);
  EXPECT_EQ(result.value("ended_by", ""), "interrupt");
  const Result<RunRecord> record = ReadSamples(samples);
  ASSERT_TRUE(record.ok()) << record.error().message;
  EXPECT_EQ(record->ended_by, "interrupt");
  EXPECT_EQ(record->frames.size(), result["frames"][0].get<size_t>());
}

TEST(Worker, AKilledRunLeavesReadableSamples) {
  const TempFolder folder;
  const std::string samples = folder / "samples.jsonl";
  RunningWorker worker(EndlessRun(samples));
  ASSERT_TRUE(WaitForFrames(samples, 50));
  worker.Signal(SIGKILL);
  EXPECT_EQ(worker.Wait(), 128 + SIGKILL);
  const Result<RunRecord> record = ReadSamples(samples);
  ASSERT_TRUE(record.ok()) << record.error().message;
  EXPECT_GE(record->frames.size(), 50u);
  EXPECT_EQ(record->ended_by, "");
}

}  // namespace
}  // namespace sg
