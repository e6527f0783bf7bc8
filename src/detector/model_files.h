// A model's files on this machine: the ONNX, and the configs that say what it is.
#pragma once

#include <string>
#include <vector>

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

}  // namespace sg
