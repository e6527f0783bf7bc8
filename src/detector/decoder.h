// The reference decoder: a head's output tensors become boxes, by the plainest code that is right.
// Generated parsers are proven against it, and sginfer uses it where a config names no parser.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "detector/head.h"

namespace sg {

/// A found object, in pixels of the network's input.
struct Box {
  int class_id = 0;
  float left = 0;
  float top = 0;
  float width = 0;
  float height = 0;
  float score = 0;
};

/// Overlap of two boxes as intersection ÷ union; 0 when either has no area.
float IntersectionOverUnion(const Box& a, const Box& b);

/// One output of one frame; name and data are borrowed.
struct TensorView {
  const char* name = nullptr;
  std::vector<int> dims;  ///< without the batch axis
  TensorType type = TensorType::kFloat;
  const void* data = nullptr;

  /// Element i as a float, whatever the type.
  float At(size_t i) const;
  size_t Size() const;
};

struct DecodeSettings {
  int network_width = 0;
  int network_height = 0;
  std::vector<float> thresholds;  ///< indexed by class
  bool clamp = true;              ///< false: boxes as they are, negative sizes too
};

/// What the model family's own post-processing does before any suppression: a score that reaches
/// its class's threshold makes a box. A score, class or corner that is not finite or out of range
/// makes none. Corners are clamped to [0, width−1] × [0, height−1]; a box that lies outside is
/// kept, flat, at the edge. Outputs are found by name, in any order. kUser when one is missing or
/// has another shape than the head says. Any thread.
Result<std::vector<Box>> DecodeHead(const Head& head, const std::vector<TensorView>& outputs,
                                    const DecodeSettings& settings);

}  // namespace sg
