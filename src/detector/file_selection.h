// Which of a source's files an import needs: decided from their names and sizes alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

struct ListedFile {
  std::string path;  ///< relative, with '/'
  uint64_t size_bytes = 0;
};

struct SelectionWish {
  std::string where;    ///< for the messages
  std::string variant;  ///< "fp16", …, or a file's name; empty: the default order
  std::string file;     ///< the one file that the source names; it wins over everything
};

struct FileSelection {
  std::string onnx;                   ///< path; empty when there is none
  std::string variant;                ///< by its name: "fp32", "fp16", "int8", "int4", "quantized"
  std::vector<std::string> variants;  ///< all that there are, best first
  std::vector<std::string> external;  ///< weights beside the ONNX, by its name
  std::vector<std::string> weights;   ///< SafeTensors (with their index), when there is no ONNX
  std::string selection_line;  ///< "Selected: fp16 (default). All available: [fp16 3.2 MB, …]"
};

/// Picks by the order fp16, fp32, int8, int4, quantized, then by name. ONNX files at the top and in
/// onnx/ come before those in other folders. kUser when the wish is not there, when there is
/// neither ONNX nor SafeTensors, and when the ONNX files are several models rather than variants of
/// one: each time with what there is.
Result<FileSelection> SelectFiles(const std::vector<ListedFile>& files, const SelectionWish& wish);

/// The small files that say what the model is: configs (nvinfer's too), labels, the README.
std::vector<std::string> SelectConfigs(const std::vector<ListedFile>& files);

/// "fp16" of "model_fp16.onnx"; "fp32" where the name says nothing.
std::string VariantOfFileName(const std::string& file_name);

}  // namespace sg
