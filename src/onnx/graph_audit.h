// What a graph is beyond its summary: where its boxes are suppressed, whether it is quantized, and
// what half precision would break.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnx/graph_file.h"
#include "onnx/onnx_file.h"

namespace sg {

/// A constant that fp16 cannot hold.
struct LargeConstant {
  std::string name;
  double magnitude = 0;  ///< its largest finite one
  int64_t count = 0;     ///< how many of its elements are beyond 65504
};

struct GraphAudit {
  std::vector<std::string> nms_nodes;         ///< as NodeText() names them
  bool nms_is_tensorrt = false;               ///< done by a plugin that runs nowhere else
  std::vector<std::string> tensorrt_plugins;  ///< operators, sorted
  int64_t quantize_nodes = 0;                 ///< QuantizeLinear, DynamicQuantizeLinear
  int64_t dequantize_nodes = 0;
  int64_t int64_constants = 0;
  std::vector<std::string>
      int64_outputs;  ///< graph outputs, which TensorRT before 10 gives as int32
  std::vector<std::string> exploded_layer_norms;  ///< the Pow or Mul that squares, as NodeText()
  std::vector<LargeConstant> large_constants;
  std::vector<std::string>
      unknown_operators;  ///< "Fancy (com.acme)"; "Fancy" for the standard domain
};

/// Reads the graph, its subgraphs and every weight once. The summary is the file's own.
GraphAudit AuditGraph(const GraphFile& file, const OnnxSummary& summary);

}  // namespace sg
