// A folder for a command's own files, gone when the command ends.
#pragma once

#include <stdlib.h>

#include <cstdlib>
#include <string>

#include "base/files.h"
#include "base/status.h"

namespace sg {

class ScratchFolder {
 public:
  /// Makes the folder inside `parent`, or in TMPDIR when that is empty. kEnvironment when it
  /// cannot.
  static Result<ScratchFolder> Make(const std::string& parent = "") {
    std::string base = parent;
    if (base.empty()) {
      const char* temporary = std::getenv("TMPDIR");
      base = temporary != nullptr && *temporary != '\0' ? temporary : "/tmp";
    }
    std::string pattern = JoinPath(base, ".streamgauge.XXXXXX");
    if (mkdtemp(pattern.data()) == nullptr)
      return EnvironmentError(base + ": no folder can be made there; set TMPDIR to one with space");
    ScratchFolder folder;
    folder.path_ = pattern;
    return folder;
  }
  ScratchFolder(ScratchFolder&& other) noexcept { path_.swap(other.path_); }
  ScratchFolder& operator=(ScratchFolder&& other) noexcept {
    path_.swap(other.path_);
    return *this;
  }
  ~ScratchFolder() {
    if (!path_.empty()) static_cast<void>(RemoveAll(path_));
  }

  std::string operator/(const std::string& name) const { return JoinPath(path_, name); }

 private:
  ScratchFolder() = default;
  std::string path_;
};

}  // namespace sg
