// TensorRT through trtexec: one process builds, another one times. An engine is whole when trtexec
// ended with exit code 0, said PASSED, and left a file with something in it.
#pragma once

#include <optional>
#include <string>

#include "deepstream/container.h"
#include "deepstream/toolset.h"
#include "engine/engine.h"
#include "engine/tensorrt/trtexec.h"

namespace sg {

struct TensorRtTools {
  std::string trtexec;  ///< inside the container, if there is one
  TensorRtVersion version;
  GpuFacts gpu;
  /// Where it runs; every path of a request must then lie in its working folder.
  std::optional<ContainerOptions> container;
  /// Seconds without a line after which trtexec is given up. Five to ten silent minutes after the
  /// search for tactics are usual.
  double silence_s = 1800;
};

/// The machine's own trtexec. kEnvironment says what is missing. The variable
/// STREAMGAUGE_TRTEXEC_SILENCE_S overrides silence_s.
Result<TensorRtTools> NativeTensorRt(const Toolset& tools);

/// {engines_folder}/{stem}_dynamic_b{MAX}.engine.
std::string TensorRtEnginePath(const EngineRequest& request);

}  // namespace sg
