// A model's files on this machine: the ONNX, and the configs that say what it is.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "detector/file_selection.h"

namespace sg {

struct ModelFiles {
  std::string source;                 ///< as the user gave it
  std::string onnx;                   ///< the selected .onnx file
  std::string config_folder;          ///< where config.json and the others are
  std::string variant;                ///< "fp32", "fp16", …
  std::vector<std::string> variants;  ///< all that were found, best first
  std::string selection_line;         ///< FileSelection's
  std::vector<std::string> notes;     ///< FileSelection's
};

/// The selection's paths, which are relative to `folder`, on disk.
ModelFiles FilesOnDisk(const std::string& source, const std::string& folder,
                       const FileSelection& selection);

/// Finds them in a Hugging Face folder (SelectFiles over its top and onnx/) or beside an .onnx file
/// (its folder or the one above). kUser when there is nothing, with what was looked for.
Result<ModelFiles> FindModelFiles(const std::string& source, const std::string& variant = "");

}  // namespace sg
