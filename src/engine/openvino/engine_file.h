// The embedded engine's file ({model}_dynamic_b{MAX}.blob; docs/formats.md, "Engine file"): the
// model compiled at batch 1 and at MAX, because compiled static shapes run faster than one dynamic
// one (measured on a 2-core EPYC in bf16: 161 against 140 images/s at batch 1, 179 against 157 at
// 4). Any number of frames up to MAX runs as one MAX request or as single ones.
//
// The network's input takes u8 pictures, NHWC, channels in the network's order, one image after
// another; scale and offsets are compiled in.
//
// Linked by streamgauge-worker and by the GStreamer plugin; never by the command line.
#pragma once

#include <memory>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/openvino/container.h"

namespace sg::openvino {

/// Compiles and writes the file and its sidecar, unless a matching one is there. Progress and
/// errors as Engine::Build.
Result<EngineArtifact> BuildEngineFile(const EngineRequest& request, const ProgressFn& progress);

struct OutputSpec {
  std::string name;
  ov::element::Type type;
  std::vector<size_t> shape;  ///< without the batch axis
};

/// A loaded engine file. Thread-safe after Load. Requests made from it must not outlive it: their
/// weights may lie in the mapped file.
class LoadedEngine {
 public:
  /// kUser for a damaged file, kEnvironment for one of another machine or OpenVINO; both name the
  /// remedy. `expect_onnx_sha256` empty: any.
  static Result<std::unique_ptr<LoadedEngine>> Load(const std::string& path,
                                                    const std::string& expect_onnx_sha256);

  /// sha256 is empty: the parts were checked, not the file as one.
  const EngineArtifact& artifact() const { return file_.artifact(); }
  int input_width() const { return static_cast<int>(artifact().input.shape[2]); }
  int input_height() const { return static_cast<int>(artifact().input.shape[1]); }
  const std::vector<OutputSpec>& outputs() const { return outputs_; }

  /// Batches that have a compiled model of their own, ascending: {1} or {1, MAX}.
  const std::vector<int>& batches() const { return batches_; }
  /// REQUIRES: batch is one of batches().
  ov::CompiledModel& compiled(int batch);
  /// Requests that keep the device busy at that batch.
  int optimal_requests(int batch);

 private:
  explicit LoadedEngine(MappedEngineFile file) : file_(std::move(file)) {}
  Status Import();

  MappedEngineFile file_;
  std::vector<OutputSpec> outputs_;
  std::vector<int> batches_;
  std::vector<ov::CompiledModel> compiled_;
};

}  // namespace sg::openvino
