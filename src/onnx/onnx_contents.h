// What an ONNX file holds, told without reading its weights or having its external files: names
// like model_fp16.onnx are only a convention.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "onnx/onnx_file.h"

namespace sg {

struct OnnxContents {
  /// What the weights are: "fp32", "fp16", "bf16", "int8", "int4", "fp8"; empty where there are
  /// none to tell by.
  std::string variant;
  std::string weights;  ///< "float32 weights", "mostly float16 weights"
  /// Operators outside the ONNX standard, "MatMulNBits (com.microsoft)".
  std::vector<std::string> foreign_operators;
  /// Names and axes of inputs and outputs, without element types: variants of one model share it.
  std::string signature;
  uint64_t parameters = 0;  ///< elements of the weights; of blocks of 4 bits, their bytes
  /// Files that hold weights, as the graph names them, sorted; they need not be there yet.
  std::vector<std::string> external_files;
};

/// Reads the file's structure. Whether the file is whole, ReadOnnxFile tells. kUser when it is no
/// ONNX file, or names a weight file outside its folder.
Result<OnnxContents> ReadOnnxContents(const std::string& path);

/// What tells the variant: ReadOnnxContents' first half, counted over all subgraphs.
struct WeightFacts {
  std::map<std::string, uint64_t> elements;  ///< by element type
  std::map<std::string, int> operators;      ///< by type, whatever the domain
  /// The "bits" of operators that hold their weights in blocks (MatMulNBits and its kin).
  std::set<int> block_bits;
};

/// Fills variant, weights and parameters. The variant is that of most elements (whole numbers that
/// are shapes and indices do not count); a graph that computes in 8 bits is int8, whatever most of
/// its weights are kept as.
void TellVariant(const WeightFacts& facts, OnnxContents* contents);

}  // namespace sg
