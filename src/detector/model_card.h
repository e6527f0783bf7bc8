// What is known of a detection model, each fact with the file it came from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "detector/head_recognition.h"
#include "onnx/input_front.h"

namespace sg {

/// How a frame fills the network's input.
enum class ResizeMode {
  kStretch,          ///< both axes scaled on their own
  kLetterboxCorner,  ///< aspect ratio kept, padded right and below (nvinfer's default padding)
  kLetterboxCentre,  ///< aspect ratio kept, padded on both sides
};

/// Pixel (0–255) to network value: y = net_scale_factor * (x - offsets[c]), as nvinfer does it,
/// then the graph's front (onnx/input_front.h).
struct Preprocessing {
  ResizeMode resize = ResizeMode::kStretch;
  double net_scale_factor = 1.0;
  std::vector<double> offsets;  ///< per channel, in the network's channel order; empty: none
  bool bgr = false;             ///< channel order of the network's input
  InputFront front;             ///< of the graph: what nvinfer cannot do
  std::string source;           ///< the file that says so
};

struct ModelCard {
  std::string name;                 ///< of models/NAME; matches [A-Za-z0-9._-]+
  std::string architecture;         ///< e.g. "RTDetrForObjectDetection"
  std::string licence;              ///< SPDX id of the model's card, or "unknown"
  std::vector<std::string> notes;   ///< what was assumed or changed, one line each, for the user
  std::vector<std::string> labels;  ///< index = class id
  std::string labels_source;        ///< e.g. "config.json id2label"
  Preprocessing preprocessing;

  std::string input_name;  ///< [N,3,H,W]
  int input_width = 0;
  int input_height = 0;

  /// How the outputs become boxes. While `head_candidates` has more than one entry it is their
  /// first, and a trial on real frames must choose (SettleHead).
  Head head;
  std::vector<HeadCandidate> head_candidates;

  double score_threshold = 0.25;       ///< pre-cluster-threshold
  std::string score_threshold_source;  ///< where that number comes from
  double nms_iou_threshold = 0.45;
  std::string nms_iou_source;
  int topk = 200;                     ///< of each class; more when the head can give more
  std::vector<int> filtered_classes;  ///< filter-out-class-ids: all that the user did not ask for
  /// 2: NMS; 4: none. Decided (DecideClusterMode) by measuring the duplicate rate on the user's
  /// frames; nullopt until then.
  std::optional<int> cluster_mode;
  std::string cluster_mode_reason;
};

}  // namespace sg
