// What a graph does to an output after its last learned layer: how raw scores, decoded boxes and
// suppression show.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "onnx/graph_file.h"

namespace sg {

struct OutputTrace {
  /// The operators that made the output's numbers, past those that only move numbers about
  /// (Reshape, Transpose, Concat, Slice, Gather, …): "Sigmoid", "Conv", "Mul", …
  std::set<std::string> makers;
  /// Every operator between the output and the layers with weights that lead to it.
  std::set<std::string> tail;
  /// How many channels the convolutions have where the tail begins. One that weighs the bins of a
  /// distribution (behind a Softmax) is not counted.
  std::set<int64_t> conv_channels;

  bool MadeBy(const char* op) const { return makers.count(op) > 0; }
  bool Has(const char* op) const { return tail.count(op) > 0; }
};

/// By output name. Costs one walk over the graph's tail for each output.
std::map<std::string, OutputTrace> TraceOutputs(const GraphFile& file);

}  // namespace sg
