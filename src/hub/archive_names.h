// Which names an archive's entries may have.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sg {

/// "./a/b/" as "a/b": tar writes folders and leading dots so.
std::string TrimmedName(std::string name);

/// Why the name cannot be used ("leads out of the folder"); empty: it can.
std::string NameFault(const std::string& name);

/// The name for a message: one line, printable, valid UTF-8, at most 100 characters.
std::string ShownName(const std::string& name);

/// The names of one archive, as a file system that ignores case would see them.
class ArchiveNames {
 public:
  /// Adds a file or folder with the folders above it; `path` has no NameFault(). Returns why it
  /// cannot stand beside those before it; empty: it can.
  std::string AddFile(const std::string& path);
  std::string AddFolder(const std::string& path);

  uint64_t files() const { return files_; }
  uint64_t folders() const { return names_.size() - files_; }

 private:
  struct Name {
    std::string spelling;
    bool is_file = false;
  };
  std::string AddFoldersAbove(const std::string& path);
  std::map<std::string, Name> names_;  ///< by the name in lower case
  uint64_t files_ = 0;
};

}  // namespace sg
