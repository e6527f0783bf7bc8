// The reference decoder: a head's output tensors become boxes, by the plainest code that is right.
// Generated parsers are proven against it, and sginfer uses it where a config names no parser.
#pragma once

#include <vector>

#include "base/status.h"
#include "detector/model_card.h"

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

/// The outputs of one frame for HeadKind::kDetrSigmoid: scores [num_queries, num_classes] before
/// the sigmoid, boxes [num_queries, 4] as cxcywh in 0–1. Both are borrowed.
struct DetrTensors {
  const float* logits = nullptr;
  const float* boxes = nullptr;
  int num_queries = 0;
  int num_classes = 0;
};

/// What the model family's own post-processing does: every (query, class) whose score reaches the
/// class's threshold is a box, the best `num_queries` of the frame are kept. A score or coordinate
/// that is not finite makes no box. Corners are clamped to [0, width−1] × [0, height−1]; a box that
/// lies outside is kept, flat, at the edge. `thresholds` is indexed by class.
/// Order: falling score, then query, then class. Any thread.
std::vector<Box> DecodeDetrSigmoid(const DetrTensors& tensors, int network_width,
                                   int network_height, const std::vector<float>& thresholds);

}  // namespace sg
