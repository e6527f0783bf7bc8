// run.json: what a run folder's samples are of (docs/formats.md, "Run folder"). Everything else in
// the folder is derived from it and the samples, and can be derived again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "measure/samples.h"

namespace sg {

inline constexpr char kRunFormat[] = "streamgauge-run";
inline constexpr int kRunVersion = 1;
inline constexpr char kRunFile[] = "run.json";

/// A file the figures depend on.
struct RunInput {
  std::string role;  ///< "ONNX model", "video", "nvinfer config"
  std::string path;
  std::string sha256;
  uint64_t size_bytes = 0;
};

/// One start of the measured process.
struct RunPart {
  std::string samples;  ///< file name in the folder
  std::string sha256;   ///< of that file; empty: the part was not finished
  std::string role;     ///< "sweep", "round", "peak", "try", "confirm", "soak"
  int streams = 0;
  int batch = 0;
  int requests = 0;  ///< in flight
  int round = 0;
  double pace_fps = 0;
  std::string failure;  ///< why it gave no result; its samples then count as failed
  std::vector<std::string> warnings;
};

struct RunFolder {
  std::string kind;  ///< "bench" or "run"
  std::string name;  ///< of the model or pipeline
  std::string created_at;
  std::string tool_version;
  Json options = Json::object();  ///< what the verdict depends on
  Json machine = Json::object();
  std::vector<RunInput> inputs;
  std::vector<RunPart> parts;
  std::vector<std::string> notes;

  Json ToJson() const;
  static Result<RunFolder> FromJson(const Json& json, const std::string& where);
};

/// A run folder and its samples; records[i] is of parts[i], empty for a part without a hash.
struct LoadedRun {
  std::string path;
  RunFolder run;
  std::vector<RunRecord> records;
};

/// kUser when the folder is none, or a samples file is not the one that was measured.
Result<LoadedRun> LoadRun(const std::string& folder);

}  // namespace sg
