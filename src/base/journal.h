// What an import has finished, so that the same command goes on where the last one stopped.
//
// A step is done when a record with its name and key exists and every file it made is still there
// with the size and hash recorded. The key is a hash of everything the step depends on. Records are
// appended after the step's files are in place, so a killed step is simply not in the journal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace sg {

struct JournalRecord {
  std::string step;
  std::string key;                 ///< Sha256 of the step's inputs
  Json values;                     ///< what later steps need of this one
  double seconds = 0;              ///< how long the step took when it ran
  std::vector<std::string> files;  ///< relative to the journal's folder
  std::string digest;              ///< of the values and the files' bytes; set by the journal
};

class Journal {
 public:
  /// Reads `folder`/.journal.jsonl. A damaged last line (a kill while writing) is dropped.
  static Result<Journal> Open(const std::string& folder);

  /// The step's record, if it was done with this key and its files are unchanged.
  std::optional<JournalRecord> Find(const std::string& step, const std::string& key) const;

  /// Hashes the record's files and appends it, synced; returns it with its digest. kInternal when a
  /// file is missing.
  Result<JournalRecord> Append(JournalRecord record);

 private:
  struct Entry {
    JournalRecord record;
    std::vector<std::string> hashes;  ///< one per file
  };
  explicit Journal(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  std::vector<Entry> entries_;
};

}  // namespace sg
