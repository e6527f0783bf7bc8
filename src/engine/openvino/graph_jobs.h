// The worker's jobs "onnx-shapes" and "onnx-compare": what an ONNX graph really accepts and gives,
// in f32 on the CPU (docs/formats.md, "Worker protocol").
#pragma once

#include <functional>

#include "base/json.h"
#include "base/status.h"

namespace sg::openvino {

/// {path, inputs: {name: shape}} → {ok, shapes: {value: shape}, node, why}. -1 is an axis that the
/// data decide. `ok` is false when the graph does not accept these inputs; node and why tell where.
Result<Json> OnnxShapesJob(const Json& request, const std::function<void(const Json&)>& emit);

/// Runs pictures through a reference and through a candidate, and compares the outputs of each
/// picture as sets of rows.
/// {reference: {path, input, batch, constants}, candidate: {path, input, batches, constants},
/// picture: [C,H,W], pictures_path, tolerance} → {pictures, different, limited_by_memory, batches:
/// [{batch, ok, output, max_difference, relative, moved_rows, picture, node, why}]}. `constants`
/// gives further inputs: {name: {shape (without batch), values}}, the same for each picture.
/// `pictures_path` is a file of f32 pictures; without it they are made, always the same ones.
Result<Json> OnnxCompareJob(const Json& request, const std::function<void(const Json&)>& emit);

/// Runs pictures one by one and writes the outputs: {path, input, picture: [C,H,W], pictures_path,
/// constants, to} → {pictures, outputs: [{name, shape}]}. The file `to` holds f32 numbers: each
/// picture's outputs one after the other, in that order. `shape` has no batch axis. kUnsupported
/// when a shape depends on the picture.
Result<Json> OnnxRunJob(const Json& request, const std::function<void(const Json&)>& emit);

}  // namespace sg::openvino
