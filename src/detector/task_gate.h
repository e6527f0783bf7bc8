// Is it an object detector that can be imported? Decided from a few kilobytes, before anything
// large is fetched.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace sg {

struct TaskEvidence {
  std::string where;               ///< for the messages: "org/name" or a path
  const Json* config = nullptr;    ///< config.json; null: there is none
  std::string pipeline_tag;        ///< the hub's word; empty: unknown
  std::vector<std::string> files;  ///< all that the source has, by path
};

/// kUnsupported, in plain words and with what to do instead, for: another task (classification,
/// segmentation, pose, depth, language, …), detectors that take a text beside the picture, code of
/// the model's own (auto_map), weights that are pickles only. kUser when config.json names no
/// architecture and the hub no task. An ONNX without config.json passes: its graph tells later.
Status CheckTask(const TaskEvidence& evidence);

/// The first entry of config.json's `architectures`; empty when there is none.
std::string ArchitectureOf(const Json& config);

/// The gate for an architecture's name alone (see CheckTask).
Status CheckArchitecture(const std::string& architecture, const std::string& where);

}  // namespace sg
