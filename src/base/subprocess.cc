#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "base/interrupt.h"

extern char** environ;

namespace sg {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read_end = -1;
  int write_end = -1;

  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  static void CloseEnd(int* end) {
    if (*end >= 0) close(*end);
    *end = -1;
  }
  ~Pipe() {
    CloseEnd(&read_end);
    CloseEnd(&write_end);
  }
};

/// Cuts a stream of bytes into lines.
class LineSplitter {
 public:
  explicit LineSplitter(std::function<void(const std::string&)> on_line)
      : on_line_(std::move(on_line)) {}

  void Add(const char* bytes, size_t size) {
    pending_.append(bytes, size);
    size_t begin = 0;
    for (size_t end; (end = pending_.find('\n', begin)) != std::string::npos; begin = end + 1)
      Emit(pending_.substr(begin, end - begin));
    pending_.erase(0, begin);
  }
  void Finish() {
    if (!pending_.empty()) Emit(pending_);
    pending_.clear();
  }

 private:
  void Emit(const std::string& line) {
    if (on_line_) on_line_(line);
  }
  std::function<void(const std::string&)> on_line_;
  std::string pending_;
};

/// Environment block for execve: ours, with `changes` and LC_ALL=C on top.
std::vector<std::string> ChildEnvironment(std::map<std::string, std::string> changes) {
  changes["LC_ALL"] = "C";
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::strcspn(*entry, "="));
    if (!changes.count(name)) entries.push_back(*entry);
  }
  for (const auto& [name, value] : changes) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void ExecChild(const char* program, char* const* argv, char* const* envp,
                            const char* folder, pid_t parent, int in, int out, int err,
                            int failure) {
  setpgid(0, 0);
  // A parent that is killed cannot end its child; the kernel does.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  for (int signal_number : {SIGINT, SIGTERM, SIGPIPE}) signal(signal_number, SIG_DFL);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (folder[0] == '\0' || chdir(folder) == 0) execve(program, argv, envp);
  const int error = errno;
  [[maybe_unused]] const ssize_t n = write(failure, &error, sizeof error);
  _exit(127);
}

/// A process in a system call may take so long to die of SIGKILL.
constexpr double kGroupEndS = 2;

/// One running child and the rules by which it is ended.
class Child {
 public:
  Child(pid_t pid, const Subprocess& job)
      : pid_(pid), grace_s_(job.grace_s), stop_now_(job.stop_now) {
    if (job.deadline_s > 0) deadline_ = After(job.deadline_s);
  }

  /// Milliseconds until the next deadline, for poll().
  int PollTimeout() const {
    const Clock::time_point next = std::min(deadline_, kill_at_);
    if (next == Clock::time_point::max()) return 1000;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 1000));
  }

  void EndWhenDue() {
    const Clock::time_point now = Clock::now();
    if (!ending_ && Interrupted()) {
      interrupted_ = true;
      BeginEnding(now);
    }
    if (!ending_ && stop_now_ && stop_now_()) BeginEnding(now);
    if (!ending_ && now >= deadline_) {
      timed_out_ = true;
      BeginEnding(now);
    }
    if (ending_ && now >= kill_at_) {
      kill(-pid_, SIGKILL);
      kill_at_ = Clock::time_point::max();
    }
  }

  /// True once the child has ended; its exit status is then in `code`.
  bool Reap(int* code) {
    if (reaped_) return true;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
    reaped_ = true;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    // Grandchildren that kept the pipes open must not keep us here.
    kill(-pid_, SIGKILL);
    if (ending_) WaitForGroup();
    return true;
  }

  bool timed_out() const { return timed_out_; }
  bool interrupted() const { return interrupted_; }

 private:
  static Clock::time_point After(double seconds) {
    return Clock::now() + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
  }
  void BeginEnding(Clock::time_point) {
    ending_ = true;
    deadline_ = Clock::time_point::max();
    kill_at_ = After(grace_s_);
    kill(-pid_, SIGINT);
  }

  /// A killed grandchild needs a moment to be gone; nobody can wait() for it here.
  void WaitForGroup() const {
    const Clock::time_point end = After(kGroupEndS);
    while (kill(-pid_, 0) == 0 && Clock::now() < end) usleep(1000);
  }

  const pid_t pid_;
  const double grace_s_;
  const std::function<bool()>& stop_now_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point kill_at_ = Clock::time_point::max();
  bool ending_ = false;
  bool timed_out_ = false;
  bool interrupted_ = false;
  bool reaped_ = false;
};

/// Reads what is there; false at end of file.
bool Drain(int fd, LineSplitter* lines) {
  std::array<char, 65536> bytes;
  const ssize_t n = read(fd, bytes.data(), bytes.size());
  if (n > 0) lines->Add(bytes.data(), static_cast<size_t>(n));
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/// Moves bytes both ways until the child has ended and its output is read.
void Pump(Child* child, const std::string& stdin_text, Pipe* in, Pipe* out, Pipe* err,
          LineSplitter* out_lines, LineSplitter* err_lines, int* code) {
  size_t sent = 0;
  if (stdin_text.empty()) Pipe::CloseEnd(&in->write_end);
  while (true) {
    std::array<pollfd, 4> fds = {{{out->read_end, POLLIN, 0},
                                  {err->read_end, POLLIN, 0},
                                  {in->write_end, POLLOUT, 0},
                                  {Interrupted() ? -1 : InterruptDescriptor(), POLLIN, 0}}};
    const bool ended = child->Reap(code);
    poll(fds.data(), fds.size(), ended ? 0 : std::min(child->PollTimeout(), 100));
    if (fds[0].revents != 0 && !Drain(out->read_end, out_lines)) Pipe::CloseEnd(&out->read_end);
    if (fds[1].revents != 0 && !Drain(err->read_end, err_lines)) Pipe::CloseEnd(&err->read_end);
    if (fds[2].revents != 0) {
      const ssize_t n = write(in->write_end, stdin_text.data() + sent, stdin_text.size() - sent);
      if (n > 0) sent += static_cast<size_t>(n);
      if (n < 0 || sent == stdin_text.size()) Pipe::CloseEnd(&in->write_end);
    }
    child->EndWhenDue();
    if (ended && fds[0].revents == 0 && fds[1].revents == 0) return;
  }
}

constexpr size_t kStderrTailBytes = 4096;

}  // namespace

Result<SubprocessExit> RunSubprocess(const Subprocess& job) {
  SG_CHECK(!job.argv.empty());
  const std::string program = FindProgram(job.argv[0]);
  if (program.empty()) return EnvironmentError(job.argv[0] + ": not found on PATH");
  Pipe in, out, err, failure;
  if (!in.Open() || !out.Open() || !err.Open() || !failure.Open())
    return EnvironmentError(job.argv[0] + ": no pipe for it: " + std::strerror(errno));

  std::vector<std::string> arguments = job.argv;
  std::vector<std::string> environment = ChildEnvironment(job.environment);
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> envp = Pointers(environment);
  const Clock::time_point start = Clock::now();
  const pid_t self = getpid();
  const pid_t pid = fork();
  if (pid < 0)
    return EnvironmentError(job.argv[0] + ": cannot be started: " + std::strerror(errno));
  if (pid == 0)
    ExecChild(program.c_str(), argv.data(), envp.data(), job.folder.c_str(), self, in.read_end,
              out.write_end, err.write_end, failure.write_end);
  setpgid(pid, pid);  // both sides set it, so that neither can be too late
  for (int* end : {&in.read_end, &out.write_end, &err.write_end, &failure.write_end})
    Pipe::CloseEnd(end);

  int exec_error = 0;
  if (read(failure.read_end, &exec_error, sizeof exec_error) == sizeof exec_error) {
    waitpid(pid, nullptr, 0);
    return EnvironmentError(program + ": cannot be started: " + std::strerror(exec_error));
  }
  fcntl(in.write_end, F_SETFL, O_NONBLOCK);

  SubprocessExit result;
  LineSplitter out_lines(job.on_stdout_line);
  LineSplitter err_lines([&](const std::string& line) {
    result.stderr_tail += line + "\n";
    if (result.stderr_tail.size() > kStderrTailBytes)
      result.stderr_tail.erase(0, result.stderr_tail.size() - kStderrTailBytes);
    if (job.on_stderr_line) job.on_stderr_line(line);
  });
  Child child(pid, job);
  Pump(&child, job.stdin_text, &in, &out, &err, &out_lines, &err_lines, &result.code);
  out_lines.Finish();
  err_lines.Finish();
  result.timed_out = child.timed_out();
  result.interrupted = child.interrupted();
  result.wall_s = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

std::string FindProgram(const std::string& program) {
  if (program.find('/') != std::string::npos)
    return access(program.c_str(), X_OK) == 0 ? program : std::string();
  const char* path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const size_t colon = rest.find(':');
    const std::string candidate = JoinPath(rest.substr(0, colon), program);
    if (FileExists(candidate) && access(candidate.c_str(), X_OK) == 0) return candidate;
    if (colon == std::string::npos) return {};
    rest.erase(0, colon + 1);
  }
}

std::string ShellQuoted(const std::vector<std::string>& argv) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,/:@%";
  std::string line;
  for (const std::string& argument : argv) {
    if (!line.empty()) line += ' ';
    if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
      line += argument;
      continue;
    }
    line += '\'';
    for (char c : argument) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace sg
