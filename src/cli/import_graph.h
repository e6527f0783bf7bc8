// An import's gates on its graph: operators, inputs, and the batch that it really takes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/command.h"
#include "cli/scratch_folder.h"
#include "onnx/onnx_file.h"

namespace sg {

/// The graph to import: the file itself, or one rewritten from it and proven equal.
struct CheckedGraph {
  OnnxSummary onnx;
  std::string path;
  std::vector<std::string> notes;          ///< for the report
  std::shared_ptr<ScratchFolder> scratch;  ///< holds a rewritten graph
};

/// Reads the graph. One whose batch is fixed where up to `max_batch` is wanted is rewritten, and so
/// is one with further inputs. kUnsupported for unknown operators and inputs; kGate, naming nodes,
/// when the batch is said to be free and is not, or a rewritten graph is not proven.
Result<CheckedGraph> CheckGraphBatch(const std::string& path, int max_batch,
                                     const Console& console);

/// Whether `precision` can be had: int8 needs a graph that says itself what is quantised and how
/// (Q/DQ nodes), or a calibration table that names this very model by its SHA-256. The embedded
/// engine reads no tables. kUser, kUnsupported with what is missing.
Status CheckPrecision(const std::string& path, const std::string& precision,
                      const std::string& calibration);

/// Runs the graph at batches up to `max_batch` and says in a line what that proved. kGate when a
/// picture's outputs depend on the others in the batch.
Result<std::string> ProveGraphBatch(const std::string& path, int max_batch, const Console& console);

}  // namespace sg
