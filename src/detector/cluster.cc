#include "detector/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sg {
namespace {

bool ByFallingScore(const Box& a, const Box& b) { return a.score > b.score; }

/// `boxes` by falling score. Keeps a box unless it overlaps one that was kept by more than `iou`.
std::vector<Box> SuppressOverlaps(const std::vector<Box>& boxes, float iou) {
  std::vector<Box> kept;
  for (const Box& box : boxes) {
    const bool overlaps = std::any_of(kept.begin(), kept.end(), [&](const Box& better) {
      return IntersectionOverUnion(box, better) > iou;
    });
    if (!overlaps) kept.push_back(box);
  }
  return kept;
}

Status CheckRange(double value, double high, const char* key, size_t class_id) {
  if (value >= 0 && value <= high) return OkStatus();
  return UserError(
      fmt::format("{} of class {} is {}, it must be from 0 to {}", key, class_id, value, high));
}

}  // namespace

Status CheckClusterSettings(const ClusterSettings& settings) {
  if (settings.mode != 2 && settings.mode != 4) {
    return UnsupportedError(fmt::format(
        "cluster-mode={} is not supported: use 2 (NMS) or 4 (no clustering)", settings.mode));
  }
  for (size_t i = 0; i < settings.classes.size(); ++i) {
    const ClassThresholds& thresholds = settings.classes[i];
    // A threshold above 1 is a common way to switch a class off.
    SG_RETURN_IF_ERROR(CheckRange(thresholds.pre_cluster, INFINITY, "pre-cluster-threshold", i));
    SG_RETURN_IF_ERROR(CheckRange(thresholds.post_cluster, INFINITY, "post-cluster-threshold", i));
    SG_RETURN_IF_ERROR(CheckRange(thresholds.nms_iou, 1, "nms-iou-threshold", i));
  }
  return OkStatus();
}

std::vector<Box> Cluster(std::vector<Box> boxes, const ClusterSettings& settings) {
  std::vector<std::vector<Box>> by_class(settings.classes.size());
  for (const Box& box : boxes) {
    if (box.class_id < 0 || static_cast<size_t>(box.class_id) >= by_class.size()) continue;
    if (box.score >= settings.classes[box.class_id].pre_cluster) {
      by_class[box.class_id].push_back(box);
    }
  }

  boxes.clear();
  for (size_t class_id = 0; class_id < by_class.size(); ++class_id) {
    const ClassThresholds& thresholds = settings.classes[class_id];
    const auto& filtered = settings.filtered_classes;
    if (std::find(filtered.begin(), filtered.end(), static_cast<int>(class_id)) != filtered.end()) {
      continue;
    }
    std::vector<Box> kept = std::move(by_class[class_id]);
    std::stable_sort(kept.begin(), kept.end(), ByFallingScore);
    if (settings.mode == 2) {
      kept = SuppressOverlaps(kept, thresholds.nms_iou);
      std::erase_if(kept, [&](const Box& box) { return !(box.score > thresholds.post_cluster); });
    }
    if (thresholds.topk >= 0 && kept.size() > static_cast<size_t>(thresholds.topk)) {
      kept.resize(thresholds.topk);
    }
    boxes.insert(boxes.end(), kept.begin(), kept.end());
  }
  return boxes;
}

DuplicateRate MeasureDuplicateRate(const std::vector<std::vector<Box>>& boxes_of_frames,
                                   double iou) {
  DuplicateRate result;
  result.iou = iou;
  for (std::vector<Box> boxes : boxes_of_frames) {
    std::stable_sort(boxes.begin(), boxes.end(), ByFallingScore);
    for (size_t i = 0; i < boxes.size(); ++i) {
      ++result.boxes;
      for (size_t better = 0; better < i; ++better) {
        if (boxes[better].class_id == boxes[i].class_id &&
            IntersectionOverUnion(boxes[better], boxes[i]) > iou) {
          ++result.duplicates;
          break;
        }
      }
    }
  }
  if (result.boxes > 0) result.rate = static_cast<double>(result.duplicates) / result.boxes;
  return result;
}

ClusterDecision DecideClusterMode(const DuplicateRate& rate, bool dense) {
  const std::string measured =
      fmt::format("{} of {} boxes ({:.1f} %) overlap a better one of their class by IoU > {:g}",
                  rate.duplicates, rate.boxes, 100 * rate.rate, rate.iou);
  if (dense) {
    return {2,
            rate.boxes == 0
                ? std::string("a dense head: its boxes overlap by design, NMS chooses among them")
                : "a dense head, NMS chooses among its boxes; measured: " + measured};
  }
  if (rate.boxes == 0) {
    return {4,
            "no box was found to measure duplicates on; a head whose boxes are final needs no NMS"};
  }
  if (rate.rate > kDuplicateRateForNms) {
    return {2, fmt::format("measured: {}, more than {:g} %, so NMS removes them", measured,
                           100 * kDuplicateRateForNms)};
  }
  return {4, fmt::format("measured: {}, not more than {:g} %, so NMS has nothing to do", measured,
                         100 * kDuplicateRateForNms)};
}

}  // namespace sg
