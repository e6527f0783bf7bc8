// The embedded engine's file ({model}_dynamic_b{MAX}.blob; docs/formats.md, "Engine file"): the model
// compiled at batch 1 and at MAX, because compiled static shapes run faster than one dynamic one
// (measured on a 2-core EPYC in bf16: 161 against 140 images/s at batch 1, 179 against 157 at 4).
// Any number of frames up to MAX runs as one MAX request or as single ones.
//
// Linked by streamgauge-worker and by the GStreamer plugin; never by the command line.
#pragma once

#include <functional>
#include <memory>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"

namespace sg::openvino {

/// The network's input, as preprocessing has to fill it: u8 RGB or BGR, NHWC, one image after
/// another. The conversion to the network's type, layout, scale and offsets is compiled in.
struct InputSpec {
  double net_scale_factor = 1.0;
  std::vector<double> offsets;
};

/// Compiles and writes the file and its sidecar. Progress and errors as Engine::Build.
Result<EngineArtifact> BuildEngineFile(const EngineRequest& request, const InputSpec& input,
                                       const ProgressFn& progress);

struct OutputSpec {
  std::string name;
  ov::element::Type type;
  std::vector<size_t> shape;  ///< without the batch axis
};

/// A loaded engine file. Thread-safe after Load.
class LoadedEngine {
 public:
  /// kUser for a damaged file, kEnvironment for one of another machine or OpenVINO; both name the
  /// remedy. `expect_onnx_sha256` empty: any.
  static Result<std::unique_ptr<LoadedEngine>> Load(const std::string& path,
                                                    const std::string& expect_onnx_sha256);

  const EngineArtifact& artifact() const { return artifact_; }
  int input_width() const { return input_width_; }
  int input_height() const { return input_height_; }
  const std::vector<OutputSpec>& outputs() const { return outputs_; }

  /// Batches that have a compiled model of their own, ascending: {1} or {1, MAX}.
  const std::vector<int>& batches() const { return batches_; }
  /// REQUIRES: batch is one of batches().
  ov::CompiledModel& compiled(int batch);
  /// Requests that keep the device busy at that batch.
  int optimal_requests(int batch);

 private:
  EngineArtifact artifact_;
  int input_width_ = 0;
  int input_height_ = 0;
  std::vector<OutputSpec> outputs_;
  std::vector<int> batches_;
  std::vector<ov::CompiledModel> compiled_;
};

/// Engine::Time on a loaded engine, in this process.
Result<EngineTiming> TimeEngine(LoadedEngine& engine, int batch, double warmup_s, double seconds,
                                const ProgressFn& progress);

}  // namespace sg::openvino
