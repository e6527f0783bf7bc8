// A graph's own outputs for pictures, as the decoders take them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "detector/parser_source.h"
#include "engine/engine.h"

namespace sg {

struct RunnableGraph {
  std::string path;
  std::string input;
  std::vector<int64_t> picture;  ///< [C,H,W]
};

/// Runs the pictures of a file (f32, one after the other) one by one, in f32, in the worker. The
/// file `to` gets the raw outputs. `batch` of the result is the number of pictures.
Result<RecordedTensors> RunGraph(const RunnableGraph& graph, const std::string& pictures,
                                 const std::string& to, const ProgressFn& progress);

}  // namespace sg
