// Is it an object detector that can be imported? Decided from a few kilobytes, before anything
// large is fetched.
#pragma once

#include <map>
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
  std::string prompt;              ///< what a text+image detector shall find; empty: not said
  bool trust = false;              ///< the model's own Python code may run
};

/// kUnsupported, in plain words and with what to do instead, for: another task (classification,
/// segmentation, pose, depth, language, …), detectors that take a text beside the picture and got
/// no prompt, code of the model's own (auto_map) without trust, weights that are pickles only.
/// kUser when config.json names no architecture and the hub no task. An ONNX without config.json
/// passes: its graph tells later.
Status CheckTask(const TaskEvidence& evidence);

/// The first detector among config.json's `architectures`, else the first entry, else the family's
/// that `model_type` names; empty when there is none.
std::string ArchitectureOf(const Json& config);

/// The gate for an architecture's name alone (see CheckTask); a name that says nothing passes.
/// `has_text`: what a text+image detector shall find is known, or frozen in already.
Status CheckArchitecture(const std::string& architecture, const std::string& where,
                         bool has_text = false);

/// The gate for the task that an ONNX file's metadata_props name (Ultralytics writes "task").
Status CheckOnnxTask(const std::map<std::string, std::string>& metadata, const std::string& where);

/// Whether config.json says that a prompt was frozen into the graph: the key that our own export
/// writes.
inline constexpr char kFrozenPromptKey[] = "streamgauge_prompt";
bool HasFrozenPrompt(const Json& config);

}  // namespace sg
