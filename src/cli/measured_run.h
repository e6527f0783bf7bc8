// A run folder while it is being made: run.json grows with each part, so that a run that is cut off
// keeps what it measured.
#pragma once

#include <string>

#include "base/json.h"
#include "base/status.h"
#include "measure/run_folder.h"

namespace sg {

class MeasuredRun {
 public:
  /// Makes the folder and its first run.json. `folder` empty: runs/KIND-NAME-TIME. kUser when the
  /// folder already holds a run.
  static Result<MeasuredRun> Create(std::string folder, RunFolder run);

  /// Hashes the part's samples and writes run.json again. A part with a failure may have no
  /// samples.
  Status Add(RunPart part);
  Status AddNote(const std::string& note);

  const std::string& folder() const { return folder_; }
  std::string Path(const std::string& name) const;
  const RunFolder& run() const { return run_; }

 private:
  MeasuredRun(std::string folder, RunFolder run)
      : folder_(std::move(folder)), run_(std::move(run)) {}
  Status Write() const;

  std::string folder_;
  RunFolder run_;
};

/// The file's path, hash and size.
Result<RunInput> DescribeInput(const std::string& role, const std::string& path);

/// models/NAME for a folder that an import made, else empty.
std::string ImportedModelName(const std::string& folder);

}  // namespace sg
