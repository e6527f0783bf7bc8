// Writes a graph again for another batch. Neither function proves what it made: that takes a run
// against the original.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnx/batch_trace.h"

namespace sg {

/// Makes the batch free: applies the edits, and gives batched inputs and outputs the axis "batch".
/// Shapes of inner values are dropped, for they held the old batch. `picture_input` is where the
/// batch is read where a node needs it. Findings that no edit changes stay as they are.
void MakeBatchDynamic(GraphFile* file, const BatchTrace& trace, int64_t batch,
                      const std::string& picture_input);

/// Fixes the batch of a graph whose batch is free, or makes every input and output say `batch`.
void MakeBatchStatic(GraphFile* file, const std::vector<std::string>& batched_outputs,
                     int64_t batch);

/// A further input of two-input exports and what it always is for pictures of the network's size.
struct FoldedInput {
  std::string name;
  std::vector<int64_t> shape;  ///< without the batch
  std::vector<double> values;  ///< one for all elements, or one for each
  std::string meaning;         ///< for the report
};

/// What the model's further inputs are to be fed with: pixel masks are all ones, sizes are the
/// network's. kUnsupported, naming the input, when one is not known.
Result<std::vector<FoldedInput>> KnownFurtherInputs(const GraphFile& file,
                                                    const std::string& picture_input,
                                                    const std::vector<int64_t>& picture);

/// Makes the inputs constants, repeated for every picture of a batch.
Status FoldInputs(GraphFile* file, const std::vector<FoldedInput>& inputs,
                  const std::string& picture_input);

}  // namespace sg
