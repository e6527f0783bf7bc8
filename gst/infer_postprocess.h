// From one frame's output tensors to boxes in the mux space: parser, thresholds, clustering, the
// resize undone.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "deepstream/nvinfer_config.h"
#include "detector/cluster.h"
#include "detector/decoder.h"
#include "detector/parser_library.h"
#include "gst/infer_engine.h"
#include "gst/preprocess.h"

namespace sg {

/// Where a frame lay in the network's input, and the space its boxes are wanted in.
struct FrameSpace {
  Placement placement;
  int mux_width = 0;
  int mux_height = 0;
};

/// A box of the network's input in the mux space, cut to [0, width−1] × [0, height−1].
Box ToMuxSpace(const Box& box, const FrameSpace& space);

/// Not thread-safe: it reuses its buffers.
class Postprocessor {
 public:
  /// `engine` is read, not kept. kUser or kUnsupported for a config whose boxes cannot be made.
  static Result<Postprocessor> Create(const NvinferConfig& config, const InferEngine& engine);

  /// `outputs` are in the order of the engine's. kInternal when the parser says no.
  Result<std::vector<Box>> Run(const std::vector<const void*>& outputs, const FrameSpace& space);

  const std::vector<std::string>& labels() const { return labels_; }

 private:
  Postprocessor() = default;
  bool Attached(const Box& box, const FrameSpace& space) const;

  NvinferConfig config_;
  ClusterSettings cluster_;
  std::vector<std::string> labels_;
  std::vector<InferOutput> outputs_;
  NvDsInferNetworkInfo network_ = {};
  std::vector<float> pre_cluster_;
  std::vector<float> post_cluster_;
  std::optional<ParserLibrary> parser_;  ///< none: the built-in decoder
  Head head_;                            ///< of the built-in decoder
};

}  // namespace sg
