// Made outputs that reach every branch of a head's parser.
#pragma once

#include <vector>

#include "detector/head.h"
#include "detector/parser_source.h"

namespace sg {

struct ProofTensorsRequest {
  int network_width = 0;
  int network_height = 0;
  float score_threshold = 0.25F;  ///< scores lie on both sides of it, and on it
  unsigned seed = 1;
  std::vector<int> batches = {1, 4};
  /// Also NaN, infinities, -0, huge and denormal values, and class ids and counts out of range.
  bool wild = true;
};

/// The same request gives the same tensors on every machine.
std::vector<RecordedTensors> MakeProofTensors(const Head& head, const ProofTensorsRequest& request);

}  // namespace sg
