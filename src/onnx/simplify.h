// Makes a graph smaller without changing what it computes: constants are worked out once, idle
// nodes and unused weights go, weights may be stored in half precision. None of these proves what
// it made: that takes a run against the original (cli/onnx_simplify.h).
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "onnx/graph_file.h"

namespace sg {

/// The nodes that depend on constants alone, as a model without inputs. Its outputs are what the
/// other nodes take from them.
struct ConstantPart {
  onnx::ModelProto model;
  std::set<int> nodes;  ///< indices in the graph
};

/// Quantisation, random operators, control flow and operators of other domains are never part of
/// it, nor is anything that needs external weights. Empty `nodes` when there is nothing to do.
ConstantPart FindConstantPart(const GraphFile& file);

/// The worked-out values, by name, become initializers. Those that are more than twice as large as
/// what they were made from, and larger than 64 KiB, stay computed. Returns how many nodes went.
int ReplaceConstantPart(GraphFile* file, const ConstantPart& part,
                        const std::vector<onnx::TensorProto>& values);

/// Removes Identity and inference-time Dropout, nodes that nothing needs, and initializers that
/// nothing takes. Graph inputs and outputs keep their names.
struct CleanedUp {
  int nodes = 0;
  int weights = 0;
};
CleanedUp RemoveIdle(GraphFile* file);

/// Stores f32 weights of at least 256 elements as f16 with a Cast behind each, so that the graph
/// still computes in f32.
struct HalvedWeights {
  int halved = 0;
  uint64_t saved_bytes = 0;
  std::vector<std::string> kept;  ///< f16 cannot hold them: a magnitude beyond 65504
};
HalvedWeights HalveWeights(GraphFile* file);

/// The bits of the nearest f16 (ties to even); beyond 65504 infinity, below 2^-25 zero.
uint16_t HalfBits(float value);

}  // namespace sg
