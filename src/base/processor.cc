#include "base/processor.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <sstream>
#include <string_view>

#include "base/cgroup.h"
#include "base/files.h"

namespace sg {
namespace {

constexpr std::array<std::string_view, 21> kInferenceFeatures = {
    // x86
    "sse4_2", "avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512vl", "avx512_vnni",
    "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16",
    // Arm
    "asimd", "asimdhp", "bf16", "i8mm", "sve", "sve2"};

std::string Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

}  // namespace

std::string Processor::FeatureKey() const {
  std::string key;
  for (const std::string& feature : features) key += (key.empty() ? "" : "+") + feature;
  return key;
}

Processor ParseCpuInfo(const std::string& proc_cpuinfo) {
  Processor processor;
  std::string arm_part;
  std::set<std::string> features;
  std::istringstream lines(proc_cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = Trimmed(std::string_view(line).substr(0, colon));
    const std::string value = Trimmed(std::string_view(line).substr(colon + 1));
    if ((key == "model name" || key == "Model") && processor.model_name.empty()) {
      processor.model_name = value;
    } else if ((key == "CPU implementer" || key == "CPU part") &&
               arm_part.find(key) == std::string::npos) {
      arm_part += (arm_part.empty() ? "" : ", ") + key + " " + value;
    } else if (key == "flags" || key == "Features") {
      std::istringstream words(value);
      for (std::string word; words >> word;) {
        if (std::find(kInferenceFeatures.begin(), kInferenceFeatures.end(), word) !=
            kInferenceFeatures.end())
          features.insert(word);
      }
    }
  }
  // Arm kernels name the core by numbers only.
  if (processor.model_name.empty()) processor.model_name = arm_part;
  processor.features.assign(features.begin(), features.end());
  return processor;
}

Processor ThisProcessor() {
  auto text = ReadFile("/proc/cpuinfo");
  return text.ok() ? ParseCpuInfo(*text) : Processor{};
}

int AffinityCores() {
  // The kernel refuses a mask smaller than its own; machines with more than 1024 processors exist.
  for (size_t cpus = 1024; cpus <= 65536; cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    CPU_ZERO_S(bytes, set);
    const int failed = sched_getaffinity(0, bytes, set);
    const int count = failed == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return 1;
}

int UsableCores() {
  const int cores = AffinityCores();
  const auto quota = ReadCgroupLimits().cpu_cores;
  if (!quota) return cores;
  return std::clamp(static_cast<int>(std::ceil(*quota)), 1, cores);
}

}  // namespace sg
