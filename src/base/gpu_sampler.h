// The NVIDIA GPUs' load, through the driver's own library (libnvidia-ml.so.1), which is looked up
// at run time: a machine without it has no values.
#pragma once

#include <cstdint>
#include <optional>

namespace sg {

struct GpuLoad {
  std::optional<double> sm_mhz;           ///< of the slowest GPU
  std::optional<double> sm_percent;       ///< mean over the GPUs
  std::optional<double> decoder_percent;  ///< mean over the GPUs
  std::optional<double> memory_bytes;     ///< used, all GPUs
};

/// Any thread. The first call loads the library and may take a second.
GpuLoad SampleGpus();

}  // namespace sg
