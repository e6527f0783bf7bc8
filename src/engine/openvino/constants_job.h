// The worker's job "onnx-constants": works out a graph that has no inputs.
#pragma once

#include <functional>

#include "base/json.h"
#include "base/status.h"

namespace sg::openvino {

/// {path, to} → {values: [{name, type, shape, bytes}]}: the outputs that could be worked out, each
/// in its own type (an ONNX element type's number); the file `to` holds their bytes one after the
/// other. kUnsupported when the graph cannot be read.
Result<Json> OnnxConstantsJob(const Json& request, const std::function<void(const Json&)>& emit);

}  // namespace sg::openvino
