#include "detector/box_compare.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"

namespace sg {
namespace {

constexpr float kSameObjectIou = 0.5F;

struct Pair {
  size_t a;
  size_t b;
  float iou;
};

double CornerDistance(const Box& a, const Box& b) {
  const auto far = [](float x, float y) { return std::abs(double{x} - double{y}); };
  return std::max({far(a.left, b.left), far(a.top, b.top), far(a.left + a.width, b.left + b.width),
                   far(a.top + a.height, b.top + b.height)});
}

void CompareFrame(const std::vector<Box>& a, const std::vector<Box>& b, double threshold,
                  BoxDifference* total) {
  std::vector<Pair> pairs;
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b.size(); ++j)
      if (const float iou = IntersectionOverUnion(a[i], b[j]);
          a[i].class_id == b[j].class_id && iou >= kSameObjectIou)
        pairs.push_back({i, j, iou});
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& x, const Pair& y) { return x.iou > y.iou; });
  std::vector<bool> a_used(a.size()), b_used(b.size());
  for (const Pair& pair : pairs) {
    if (a_used[pair.a] || b_used[pair.b]) continue;
    a_used[pair.a] = b_used[pair.b] = true;
    ++total->matched;
    total->max_box_px = std::max(total->max_box_px, CornerDistance(a[pair.a], b[pair.b]));
    total->max_score =
        std::max(total->max_score, std::abs(double{a[pair.a].score} - double{b[pair.b].score}));
  }
  const auto count_unmatched = [&](const std::vector<Box>& boxes, const std::vector<bool>& used) {
    for (size_t i = 0; i < boxes.size(); ++i) {
      if (used[i]) continue;
      ++total->unmatched;
      total->max_unmatched_margin =
          std::max(total->max_unmatched_margin, double{boxes[i].score} - threshold);
    }
  };
  count_unmatched(a, a_used);
  count_unmatched(b, b_used);
}

}  // namespace

BoxDifference CompareBoxes(const std::vector<std::vector<Box>>& a,
                           const std::vector<std::vector<Box>>& b, double threshold) {
  SG_CHECK_OP(a.size(), ==, b.size());
  BoxDifference total;
  total.frames = a.size();
  for (size_t i = 0; i < a.size(); ++i) CompareFrame(a[i], b[i], threshold, &total);
  return total;
}

}  // namespace sg
