// Launch strings of the embedded engine: pure functions from a plan to gst-launch syntax.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/run_job.h"

namespace sg {

/// Where frames go behind the inference.
enum class LaunchEnd {
  kTap,    ///< nowhere; the fakesink named "tap" counts them
  kKitti,  ///< a KITTI file a frame into the folder `output`, then the fakesink "tap"
  kVideo,  ///< stream 0 with boxes drawn into the Ogg/Theora file `output`; sgosd is named "tap"
};

struct LaunchPlan {
  std::vector<VideoInfo> sources;  ///< one per stream, in the order of stream ids
  int batch_size = 1;
  int width = 1280;  ///< coordinate space of the boxes
  int height = 720;
  int64_t batched_push_timeout_us = -1;  ///< -1: wait for a full batch
  std::string infer_config_path;         ///< empty: no inference, for the decode-only run
  LaunchEnd end = LaunchEnd::kTap;
  std::string output;
  /// Threads of each software decoder. One is the most frames per CPU second; streams run in
  /// parallel.
  int decoder_threads = 1;
};

/// One word per element, property, "!" and pad reference.
std::vector<std::string> LaunchWords(const LaunchPlan& plan);

/// The words as gst_parse_launch reads them.
std::string LaunchString(const LaunchPlan& plan);

/// The same as an argv array for gst-launch-1.0.
std::vector<std::string> LaunchArgv(const LaunchPlan& plan);

/// The same as one line to paste into a POSIX shell; `plugin_folder` goes into GST_PLUGIN_PATH
/// unless it is empty.
std::string LaunchShellLine(const LaunchPlan& plan, const std::string& plugin_folder);

/// `name=value`, quoted so that gst_parse_launch gives a string property exactly these bytes.
/// REQUIRES: value is valid UTF-8 (GStreamer's properties hold nothing else).
std::string LaunchProperty(const std::string& name, const std::string& value);

}  // namespace sg
