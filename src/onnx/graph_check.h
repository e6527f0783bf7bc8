// The part of reading an ONNX file that walks its graphs.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/status.h"
#include "onnx/graph_file.h"

namespace sg {

struct GraphFacts {
  std::map<std::pair<std::string, std::string>, int> operators;  ///< (domain, type) → count
  std::map<std::string, uint64_t> weight_bytes;                  ///< by element type
  std::set<std::string> external_files;
};

/// Checks the graph, its subgraphs and the model's functions (see ReadOnnxFile), and counts.
Status CheckGraph(const GraphFile& file, GraphFacts* facts);

/// "float32" for TensorProto's FLOAT, and so on; "type 99" for a number it does not know.
std::string OnnxTypeName(int elem_type);

}  // namespace sg
