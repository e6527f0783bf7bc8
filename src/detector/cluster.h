// What nvinfer does with a parser's boxes before they become objects: threshold, NMS, top-k.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "detector/decoder.h"

namespace sg {

/// The thresholds of one class, as in [class-attrs-…].
struct ClassThresholds {
  float pre_cluster = 0.2F;
  float post_cluster = 0.0F;
  float nms_iou = 0.3F;
  int topk = -1;  ///< boxes kept of the class; negative: all
};

struct ClusterSettings {
  int mode = 2;                          ///< nvinfer's cluster-mode; 2 NMS, 4 none
  std::vector<ClassThresholds> classes;  ///< indexed by class id
  std::vector<int> filtered_classes;     ///< filter-out-class-ids
};

/// kUnsupported for a cluster-mode other than 2 and 4; kUser for thresholds outside their range.
/// Call once, when the config is read; Cluster() relies on it.
Status CheckClusterSettings(const ClusterSettings& settings);

/// The boxes that nvinfer would attach, by class and then by falling score. Boxes of classes that
/// `settings` does not know are dropped. Mode 2: within a class, a box whose IoU with a kept,
/// better box is above nms_iou goes; mode 4: none goes for overlap. Both: scores below pre_cluster
/// go first; then those not above post_cluster (mode 2); then all beyond topk. Any thread.
std::vector<Box> Cluster(std::vector<Box> boxes, const ClusterSettings& settings);

/// How much NMS has to remove: the share of boxes, over all frames, that overlap a better-scored
/// box of the same class in the same frame by more than `iou`. 0 when there are no boxes.
struct DuplicateRate {
  int boxes = 0;
  int duplicates = 0;
  double rate = 0;
  double iou = 0;
};
DuplicateRate MeasureDuplicateRate(const std::vector<std::vector<Box>>& boxes_of_frames,
                                   double iou);

/// Above this share of duplicates NMS pays: one box in two hundred is what a viewer starts to see.
inline constexpr double kDuplicateRateForNms = 0.005;

/// 2 (NMS) or 4 (none), with the reason in words for the config and the report.
struct ClusterDecision {
  int cluster_mode = 4;
  std::string reason;
};
/// A `dense` head (Head::IsDense) overlaps by design and always wants NMS; of the others the
/// measured rate decides.
ClusterDecision DecideClusterMode(const DuplicateRate& rate, bool dense);

}  // namespace sg
