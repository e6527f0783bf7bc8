// Files of [groups] with key=value lines, as GLib's GKeyFile (and so DeepStream) reads them, with
// the line of each value kept for error messages.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sg {

class KeyFile {
 public:
  struct Entry {
    std::string key;
    std::string value;  ///< as written, without the spaces around it
    int line = 0;
  };
  struct Group {
    std::string name;
    int line = 0;
    std::vector<Entry> entries;  ///< in the file's order; a key given twice holds its last value
  };

  /// kUser with "where:line" for a line that is neither a group, a key=value nor a comment, and for
  /// a key before the first group. A group that appears twice is one group.
  static Result<KeyFile> Parse(const std::string& text, const std::string& where);

  const std::vector<Group>& groups() const { return groups_; }
  /// nullptr when there is no such group.
  const Group* FindGroup(const std::string& name) const;
  const std::string& where() const { return where_; }

  /// Lines starting with ';', which GLib takes for an error: one note a file, for the user.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  friend class KeyFileBuilder;
  std::string where_;
  std::vector<Group> groups_;
  std::vector<std::string> notes_;
};

/// Makes a KeyFile of groups and keys that come from elsewhere. A repeated key keeps its last
/// value.
class KeyFileBuilder {
 public:
  explicit KeyFileBuilder(const std::string& where) { file_.where_ = where; }
  void BeginGroup(const std::string& name, int line);
  /// REQUIRES: BeginGroup was called.
  void Add(const std::string& key, const std::string& value, int line);
  void AddNote(const std::string& note) { file_.notes_.push_back(note); }
  bool in_group() const { return !file_.groups_.empty(); }
  KeyFile Build() && { return std::move(file_); }

 private:
  KeyFile file_;
  size_t group_ = 0;
};

/// A value's text with GKeyFile's escapes (\s \n \t \r \\) resolved; another escape stays as
/// written.
std::string UnescapeKeyFileValue(const std::string& value);
/// The inverse, for values that must survive: leading spaces, line ends and backslashes are
/// escaped.
std::string EscapeKeyFileValue(const std::string& value);

/// The parts of a ';' separated list, without the spaces around them; a final ';' adds nothing.
std::vector<std::string> SplitKeyFileList(const std::string& value);

}  // namespace sg
