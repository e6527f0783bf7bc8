// Which of a source's files an import needs: decided from their names and sizes, and from what is
// in those that were looked into. Pure: fetches and opens nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "onnx/onnx_contents.h"

namespace sg {

struct ListedFile {
  std::string path;  ///< relative, with '/'
  uint64_t size_bytes = 0;
};

struct SelectionWish {
  std::string where;    ///< for the messages
  std::string variant;  ///< "fp16", …, or a file's name; empty: the default order
  std::string file;     ///< the one file that the source names; it wins over everything
  /// By path, of the files that were looked into; there the contents decide and not the name.
  std::map<std::string, OnnxContents> contents = {};
  bool known_only = false;  ///< choose among those alone
};

struct FileSelection {
  std::string onnx;                   ///< path; empty when there is none
  std::string variant;                ///< "fp32", "fp16", …: by its contents where known
  std::vector<std::string> variants;  ///< all that there are, best first
  std::vector<std::string> external;  ///< weights beside the ONNX, by its name
  std::vector<std::string> weights;   ///< SafeTensors (with their index), when there is no ONNX
  std::string selection_line;  ///< "Selected: fp16 (default). All available: [fp16 3.2 MB, …]"
  std::vector<std::string> notes;  ///< where names lie or say nothing; what was passed over
};

/// Picks by the order fp16, fp32, int8, int4, quantized, then by name; files with operators outside
/// the ONNX standard come after those without. ONNX files at the top and in folders that name a
/// variant ("onnx", "fp16") come before those in other folders. A file of an asked variant by its
/// name alone is taken when none really is that, and called what it is. kUser when the wish is not
/// there, when there is neither ONNX nor SafeTensors, and when the ONNX files are several models
/// rather than variants of one: each time with what there is.
Result<FileSelection> SelectFiles(const std::vector<ListedFile>& files, const SelectionWish& wish);

/// The ONNX files that SelectFiles chooses among: worth looking into where that costs little.
std::vector<std::string> OnnxCandidates(const std::vector<ListedFile>& files,
                                        const SelectionWish& wish);

/// The small files that say what the model is: configs (nvinfer's too), labels, the README.
std::vector<std::string> SelectConfigs(const std::vector<ListedFile>& files);

}  // namespace sg
