// What `streamgauge onnx inspect` knows of a file, as words and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/onnx_proof.h"
#include "detector/model_card.h"
#include "onnx/graph_audit.h"
#include "onnx/onnx_file.h"

namespace sg {

struct Inspection {
  OnnxSummary summary;
  GraphAudit audit;
  std::vector<FoldedInput> further;  ///< inputs besides the picture, and what they are fed with
  std::optional<BatchAudit> batch;   ///< nullopt when the graph cannot be run here
  std::string no_batch_reason;       ///< then
  std::optional<ModelCard> card;     ///< nullopt when the model's files do not give one
  std::string no_card_reason;        ///< then
};

/// One line each.
std::vector<std::string> InspectionLines(const Inspection& inspection);
Json InspectionJson(const Inspection& inspection);

/// "Reshape '/a' has …; Split '/b' cuts …", at most `most` of them.
std::string FindingsText(const std::vector<BatchFinding>& findings, size_t most);

/// "proven at batches 1, 2, 3, 8: …" of a run whose outputs were equal.
std::string ProofText(const ProofRun& run);

}  // namespace sg
