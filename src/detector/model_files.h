// Where a local model's files are: the ONNX, and the configs that say what it is.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

struct ModelFiles {
  std::string source;                 ///< as the user gave it
  std::string onnx;                   ///< the selected .onnx file
  std::string config_folder;          ///< where config.json and the others are
  std::string variant;                ///< "fp32", "fp16", "int8", "int4", "quantized"
  std::vector<std::string> variants;  ///< all that were found, best first
  /// "Selected: fp32 (default). All available: [fp32, int8]".
  std::string selection_line;
};

/// Finds them in a Hugging Face folder (.onnx files at the top or in onnx/) or beside an .onnx file
/// (its folder or the one above). `variant` is empty or one of ModelFiles::variants. kUser when
/// there is nothing, with what was looked for.
Result<ModelFiles> FindModelFiles(const std::string& source, const std::string& variant = "");

/// "fp16" of "model_fp16.onnx"; "fp32" where the name says nothing.
std::string VariantOfFileName(const std::string& file_name);

}  // namespace sg
