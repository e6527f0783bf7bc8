// Which operators exist.
#pragma once

#include <string>

namespace sg {

/// True for the operators of the ONNX standard's own domain, of any opset.
bool IsStandardOperator(const std::string& type);

/// True for operators that only TensorRT's plugins run and that do non-maximum suppression.
bool IsTensorRtNms(const std::string& type);

/// True for these and the other plugins that come with TensorRT.
bool IsTensorRtPlugin(const std::string& type);

}  // namespace sg
