#include "onnx/export_environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/subprocess.h"
#include "onnx/export/embedded.h"

namespace sg {
namespace {

/// torch with its libraries is most of it; pip unpacks beside what it fetched.
constexpr uint64_t kVenvBytes = uint64_t{8} << 30;
constexpr double kInstallDeadline_s = 3600;

/// One process at a time makes the venv.
class VenvLock {
 public:
  static Result<VenvLock> Take(const std::string& path,
                               const std::function<void(const std::string&)>& on_note) {
    VenvLock lock;
    lock.fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock.fd_ < 0) return EnvironmentError(path + ": cannot be written");
    while (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
      if (Interrupted()) return InterruptedError();
      on_note("waiting for another streamgauge that is making it");
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return lock;
  }
  VenvLock(VenvLock&& other) noexcept { std::swap(fd_, other.fd_); }
  VenvLock& operator=(VenvLock&&) = delete;
  ~VenvLock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  VenvLock() = default;
  int fd_ = -1;
};

/// "torch-2.15.0" of "Downloading torch-2.15.0-cp311-…whl (532 MB)".
std::string NoteOf(const std::string& line) {
  for (const char* word : {"Collecting ", "Downloading ", "Installing collected packages"}) {
    const size_t at = line.find(word);
    if (at == std::string::npos) continue;
    if (word[0] == 'I') return "installing";
    std::string rest = line.substr(at + std::string(word).size());
    if (const size_t url = rest.rfind('/', rest.find(' ')); url != std::string::npos)
      rest = rest.substr(url + 1);
    return "fetching " + rest.substr(0, rest.find_first_of(" =(-"));
  }
  return "";
}

Status Run(const std::vector<std::string>& argv, const std::string& what,
           const std::function<void(const std::string&)>& on_note) {
  Subprocess process;
  process.argv = argv;
  process.deadline_s = kInstallDeadline_s;
  // What the user's shell says about Python must not change what is installed.
  process.environment = {{"PYTHONPATH", ""}, {"PYTHONHOME", ""}, {"PIP_USER", "0"}};
  process.on_stdout_line = [&](const std::string& line) {
    if (const std::string note = NoteOf(line); !note.empty()) on_note(note);
  };
  std::string error_line;
  process.on_stderr_line = [&](const std::string& line) {
    if (line.find("ERROR") != std::string::npos || error_line.empty()) error_line = line;
  };
  SG_ASSIGN_OR_RETURN(const SubprocessExit exit, RunSubprocess(process));
  if (exit.interrupted) return InterruptedError();
  if (exit.timed_out) return EnvironmentError(what + ": not done after an hour; given up");
  if (exit.code == 0) return OkStatus();
  return EnvironmentError(fmt::format("{}: {}", what, error_line.empty() ? "failed" : error_line));
}

}  // namespace

Result<std::string> PrepareExportVenv(const std::function<void(const std::string&)>& on_note) {
  const std::string venv = AbsolutePath(kExportVenv);
  const std::string requirements = kExportRequirements;
  const std::string stamp = JoinPath(venv, ".streamgauge." + Sha256(requirements).substr(0, 16));
  if (FileExists(stamp)) return venv;
  SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(venv)));
  SG_ASSIGN_OR_RETURN(const VenvLock lock, VenvLock::Take(venv + ".lock", on_note));
  if (FileExists(stamp)) return venv;

  const std::string python =
      FindProgram("/usr/bin/python3").empty() ? FindProgram("python3") : "/usr/bin/python3";
  if (python.empty()) {
    return EnvironmentError(
        "exporting SafeTensors needs Python 3.11 or newer: apt install python3-venv");
  }
  SG_RETURN_IF_ERROR(CheckWritable(ParentFolder(venv), kVenvBytes));
  SG_RETURN_IF_ERROR(RemoveAll(venv));
  on_note("making the venv");
  SG_RETURN_IF_ERROR(Run({python, "-I", "-m", "venv", venv},
                         fmt::format("{}: cannot make a venv (apt install python3-venv)", venv),
                         on_note));
  const std::string list = JoinPath(venv, "requirements.txt");
  SG_RETURN_IF_ERROR(WriteFileAtomic(list, requirements));
  SG_RETURN_IF_ERROR(Run({JoinPath(venv, "bin/python"), "-m", "pip", "install",
                          "--disable-pip-version-check", "--no-input", "--require-hashes",
                          "--only-binary", ":all:", "--progress-bar", "off", "-r", list},
                         fmt::format("{}: its packages cannot be installed", venv), on_note));
  SG_RETURN_IF_ERROR(WriteFileAtomic(stamp, ""));
  return venv;
}

}  // namespace sg
