// A graph made smaller, kept only when it is proven to compute the same.
#pragma once

#include <string>

#include "base/json.h"
#include "base/status.h"
#include "cli/onnx_proof.h"

namespace sg {

/// With half the bits in the weights, outputs differ at most by this × their largest magnitude.
inline constexpr double kHalfWeightTolerance = 2e-2;

struct SimplifyRequest {
  std::string from;
  std::string to;
  bool half_weights = false;
  ProofOptions proof;
};

struct SimplifiedGraph {
  int folded_nodes = 0;   ///< worked out once
  int removed_nodes = 0;  ///< idle ones
  int removed_weights = 0;
  int halved_weights = 0;
  std::vector<std::string> kept_weights;  ///< that f16 cannot hold
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
  std::string not_folded;  ///< why constants stayed as they were; empty when they did not
  ProofRun run;
  Json ToJson() const;
};

/// Writes `to` once its outputs equal those of `from` for different pictures. Where working out
/// constants changes them, the graph is only cleaned up. kGate, with nothing written, when not even
/// that is proven, or half weights change the outputs beyond kHalfWeightTolerance.
Result<SimplifiedGraph> SimplifyOnnx(const SimplifyRequest& request);

}  // namespace sg
