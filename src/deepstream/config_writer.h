// The configs that an import writes: nvinfer's, and deepstream-app's around it. Text only; the
// caller puts it into a file. The same values give the same bytes.
#pragma once

#include <string>

#include "detector/model_card.h"

namespace sg {

/// What the card does not know. Paths are written as they are; relative ones count from the folder
/// of the config file.
struct NvinferConfigPaths {
  std::string onnx_file;          ///< "../model/rtdetr-l.onnx"
  std::string model_engine_file;  ///< "../benchmarks/engines/rtdetr-l_dynamic_b64.engine"
  std::string labelfile_path = "labels.txt";
  std::string custom_lib_path;  ///< "../parser/libnvdsinfer_rtdetr_l_parser.so"
  std::string parse_bbox_func_name;
  int batch_size = 1;
  int network_mode = 2;  ///< 0 FP32, 1 INT8, 2 FP16
};

/// An nvinfer config that DeepStream and sginfer load. Values that come from the model say so in a
/// comment above them. Without a decided cluster_mode it is 4 (none).
std::string WriteNvinferConfig(const ModelCard& card, const NvinferConfigPaths& paths);

/// One deepstream-app run.
struct AppConfig {
  std::string infer_config;  ///< relative to the app config's folder, or absolute
  std::string video;         ///< absolute path of the clip, any name
  int streams = 1;           ///< the mux's and nvinfer's batch are the same number
  int mux_width = 1280;
  int mux_height = 720;
};

/// The benchmark: fps printed every two seconds, the clip again and again. It never ends by itself.
std::string WriteBenchmarkAppConfig(const AppConfig& config);

/// The clip once, with a KITTI file a frame in `kitti_folder`.
std::string WriteKittiAppConfig(const AppConfig& config, const std::string& kitti_folder);

/// The file:// URI of an absolute path.
std::string FileUri(const std::string& path);

}  // namespace sg
