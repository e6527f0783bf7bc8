// From what the user typed to a model's files on disk: looked up, judged before anything large is
// fetched, then only what is needed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "detector/model_files.h"
#include "hub/repository.h"

namespace sg {

/// Understands the source and looks it up. `staging_folder` may be empty where the source needs
/// none; it is then a folder under ~/.cache/streamgauge.
Result<std::unique_ptr<Repository>> OpenSource(const std::string& source,
                                               const std::string& revision,
                                               const std::string& staging_folder,
                                               const Console& console);

/// What the user says about a model before it is looked up.
struct ModelWish {
  std::string variant;        ///< of its ONNX files
  std::string prompt;         ///< for text+image detectors
  bool trust = false;         ///< Python code that comes with the model may run
  bool from_weights = false;  ///< the SafeTensors are wanted even where there is an ONNX
};

/// A model's files on disk: an ONNX, or the SafeTensors of one that has none.
struct FetchedModel {
  ModelFiles files;                  ///< files.onnx is empty where there are only SafeTensors
  std::vector<std::string> weights;  ///< paths of the SafeTensors, their headers checked
};

/// Reads the small files, passes the task gate, selects, and fetches only what is needed: the ONNX
/// with what belongs to it, or the SafeTensors (those that the index names) with the tokenizer.
Result<FetchedModel> FetchModel(Repository* repository, const ModelWish& wish,
                                const Console& console);

}  // namespace sg
