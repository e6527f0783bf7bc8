// What the processor is, and how much of it this process may use.
#pragma once

#include <string>
#include <vector>

namespace sg {

struct Processor {
  std::string model_name;             ///< as /proc/cpuinfo has it; empty: unknown
  std::vector<std::string> features;  ///< those that change how fast inference runs, sorted
  /// "avx2+avx512_bf16+…": equal on processors for which the same compiled code is best.
  std::string FeatureKey() const;
};

/// Reads the text of /proc/cpuinfo, x86 or Arm.
Processor ParseCpuInfo(const std::string& proc_cpuinfo);

/// The machine's processor.
Processor ThisProcessor();

/// Processors in this process's affinity mask, at least 1.
int AffinityCores();

/// Threads that can run at a time: the affinity mask, or the control group's quota rounded up where
/// that is less. At least 1.
int UsableCores();

}  // namespace sg
