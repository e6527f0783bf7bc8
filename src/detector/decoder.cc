#include "detector/decoder.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace sg {
namespace {

float Sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

struct Candidate {
  float score;
  int query;
  int class_id;
};

/// False when a coordinate is not finite.
bool FillBox(const float* cxcywh, int network_width, int network_height, Box* box) {
  for (int i = 0; i < 4; ++i) {
    if (!std::isfinite(cxcywh[i])) return false;
  }
  const auto width = static_cast<float>(network_width);
  const auto height = static_cast<float>(network_height);
  const float left = std::clamp((cxcywh[0] - cxcywh[2] / 2) * width, 0.0F, width - 1);
  const float right = std::clamp((cxcywh[0] + cxcywh[2] / 2) * width, 0.0F, width - 1);
  const float top = std::clamp((cxcywh[1] - cxcywh[3] / 2) * height, 0.0F, height - 1);
  const float bottom = std::clamp((cxcywh[1] + cxcywh[3] / 2) * height, 0.0F, height - 1);
  box->left = left;
  box->top = top;
  box->width = std::max(right - left, 0.0F);
  box->height = std::max(bottom - top, 0.0F);
  return true;
}

}  // namespace

float IntersectionOverUnion(const Box& a, const Box& b) {
  const float overlap_width =
      std::min(a.left + a.width, b.left + b.width) - std::max(a.left, b.left);
  const float overlap_height =
      std::min(a.top + a.height, b.top + b.height) - std::max(a.top, b.top);
  if (overlap_width <= 0 || overlap_height <= 0) return 0;
  const float overlap = overlap_width * overlap_height;
  const float both = a.width * a.height + b.width * b.height - overlap;
  return both > 0 ? overlap / both : 0;
}

std::vector<Box> DecodeDetrSigmoid(const DetrTensors& tensors, int network_width,
                                   int network_height, const std::vector<float>& thresholds) {
  SG_CHECK_OP(thresholds.size(), ==, static_cast<size_t>(tensors.num_classes));
  std::vector<Candidate> candidates;
  for (int query = 0; query < tensors.num_queries; ++query) {
    const float* logits = tensors.logits + static_cast<size_t>(query) * tensors.num_classes;
    for (int class_id = 0; class_id < tensors.num_classes; ++class_id) {
      if (!std::isfinite(logits[class_id])) continue;
      const float score = Sigmoid(logits[class_id]);
      if (score >= thresholds[class_id]) candidates.push_back({score, query, class_id});
    }
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.score, a.query, a.class_id) < std::tuple(-b.score, b.query, b.class_id);
  });
  if (candidates.size() > static_cast<size_t>(tensors.num_queries)) {
    candidates.resize(tensors.num_queries);
  }

  std::vector<Box> boxes;
  for (const Candidate& candidate : candidates) {
    Box box;
    if (!FillBox(tensors.boxes + static_cast<size_t>(candidate.query) * 4, network_width,
                 network_height, &box)) {
      continue;
    }
    box.class_id = candidate.class_id;
    box.score = candidate.score;
    boxes.push_back(box);
  }
  return boxes;
}

}  // namespace sg
