// The worker's jobs "engine-build" and "engine-time" (docs/formats.md, "Worker protocol").
#pragma once

#include <functional>

#include "base/json.h"
#include "base/status.h"

namespace sg::openvino {

/// EngineRequest as JSON → EngineArtifact as JSON. `emit` gets {"event":"progress",…} lines.
Result<Json> EngineBuildJob(const Json& request, const std::function<void(const Json&)>& emit);

/// {path, onnx_sha256, batch, warmup_s, seconds, log_path, samples_path, requests_in_flight} →
/// EngineTiming as JSON.
Result<Json> EngineTimeJob(const Json& request, const std::function<void(const Json&)>& emit);

}  // namespace sg::openvino
