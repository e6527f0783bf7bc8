// Follows the batch axis through a graph whose shapes are known at one batch, and finds what stands
// in the way of another batch: shape constants that hold this batch, and nodes that work across the
// pictures of a batch. What it finds is a reading of the graph; only a run proves anything.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onnx/graph_index.h"
#include "onnx/shape_values.h"

namespace sg {

/// One change that lets a node follow the batch.
struct BatchEdit {
  enum class Kind {
    kIntegers,     ///< the input becomes this int64 constant
    kScales,       ///< Resize: sizes become these scales
    kFirstCopy,    ///< the input holds equal copies along `axis`: the first one is enough
    kFollowBatch,  ///< the input is one copy (or equal ones) along `axis`: repeated as the batch
                   ///< says
  };
  Kind kind = Kind::kIntegers;
  int node = 0;   ///< index in the graph
  int input = 0;  ///< index in the node
  int axis = 0;
  int rank = 0;  ///< of the input
  std::vector<int64_t> integers;
  std::vector<float> scales;
};

/// Something that holds the batch, or works across it.
struct BatchFinding {
  std::string node;  ///< as NodeText() names it
  std::string why;
  bool can_change = false;  ///< an edit lets it follow the batch
};

struct BatchTrace {
  std::vector<BatchFinding> findings;  ///< in the graph's order
  std::vector<BatchEdit> edits;
  std::vector<std::string>
      batched_outputs;  ///< their first axis is the batch, or was before a finding
};

struct BatchTraceRequest {
  const GraphFile& file;
  const ValueShapes& shapes;  ///< at `batch`
  int64_t batch = 1;
};

/// Traces the batch from the first axis of every input that is not a weight to the outputs.
BatchTrace TraceBatch(const BatchTraceRequest& request);

}  // namespace sg
