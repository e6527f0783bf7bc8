// nvinfer's configuration file: what gst-nvinfer (DeepStream) and sginfer (embedded) both load.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "detector/cluster.h"
#include "detector/label_file.h"

namespace sg {

/// The keys that streamgauge understands, with the defaults of DeepStream 9.1's nvinfer. Paths are
/// absolute once read (relative ones are resolved from the config file's folder, as nvinfer does).
struct NvinferConfig {
  std::string onnx_file;
  std::string model_engine_file;
  std::string labelfile_path;
  std::string custom_lib_path;
  std::string parse_bbox_func_name;
  std::vector<std::string> output_blob_names;
  double net_scale_factor = 1.0;
  std::vector<double> offsets;  ///< one for each channel, or none
  int model_color_format = 0;   ///< 0 RGB, 1 BGR, 2 GRAY
  int batch_size = 1;
  int network_mode = 0;  ///< 0 FP32, 1 INT8, 2 FP16, 3 best
  int network_type = 0;  ///< 0 detector
  int num_detected_classes = 0;
  int process_mode = 1;
  int interval = 0;
  int gie_unique_id = 0;
  int cluster_mode = 0;  ///< 0 groupRectangles, 1 DBSCAN, 2 NMS, 3 DBSCAN+NMS, 4 none
  bool maintain_aspect_ratio = false;
  bool symmetric_padding = false;
  std::vector<int> infer_dims;  ///< 3;H;W
  std::vector<int> filter_out_class_ids;

  /// [class-attrs-all] and [class-attrs-ID].
  struct ClassAttributes {
    double pre_cluster_threshold = 0.2;
    double post_cluster_threshold = 0.0;
    double nms_iou_threshold = 0.3;
    int topk = -1;  ///< -1: all
    // Objects outside these limits, in pixels of the frame, are not attached; a maximum of 0: none.
    int detected_min_width = 0;
    int detected_min_height = 0;
    int detected_max_width = 0;
    int detected_max_height = 0;
    // Objects whose edge is closer to the frame's top or bottom than this are not attached.
    int roi_top_offset = 0;
    int roi_bottom_offset = 0;
  };
  ClassAttributes all_classes;
  std::map<int, ClassAttributes> per_class;  ///< starts from all_classes
  /// The attributes that hold for `class_id`.
  const ClassAttributes& ForClass(int class_id) const;

  /// Keys that nvinfer does not know, and what it would read differently: "file:line …", to be
  /// told to the user once.
  std::vector<std::string> unknown_keys;
};

/// Reads a .txt or .yml/.yaml nvinfer config. kUser names file:line for anything malformed.
Result<NvinferConfig> ReadNvinferConfig(const std::string& path);

/// How the config's boxes are clustered, checked (CheckClusterSettings). cluster-mode 0 is what
/// DeepStream 9.1 makes of it: NMS at IoU 0.5, the 20 best of each class.
Result<ClusterSettings> ClusterSettingsOf(const NvinferConfig& config);

}  // namespace sg
