// What this machine is, as far as this process may use it. Every fact may be missing: an unknown
// one is an empty string or no value, never 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace sg {

struct GpuInfo {
  std::string name;
  std::string driver_version;
  std::optional<uint64_t> memory_bytes;
};

struct MachineInfo {
  std::string cpu_name;
  std::vector<std::string>
      cpu_features;                 ///< those that matter to inference, as the kernel spells them
  std::optional<int> cores_online;  ///< of the machine
  /// Cores this process may keep busy: its affinity mask, or the control group's quota where that
  /// is less. Not whole with a quota.
  std::optional<double> cores_allowed;
  std::string cores_limited_by;                ///< "affinity", "cgroup quota", or empty: nothing
  std::optional<uint64_t> memory_total_bytes;  ///< the control group's limit where that is less
  std::optional<uint64_t> memory_available_bytes;  ///< without swapping, within that limit
  bool memory_limited_by_cgroup = false;
  std::string os_name;          ///< "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;           ///< "Linux 6.1.0-18-amd64"
  std::optional<bool> has_gpu;  ///< NVIDIA; no value: nvidia-smi is there and does not answer
  std::vector<GpuInfo> gpus;
  std::string gpu_note;  ///< why has_gpu has no value
  Json ToJson() const;   ///< null for what is unknown
};

/// Asks the kernel and, where it is on PATH, nvidia-smi (for at most 5 s).
MachineInfo DescribeMachine();

struct MemoryInfo {
  std::optional<uint64_t> total_bytes;
  std::optional<uint64_t> available_bytes;
};
/// Reads the text of /proc/meminfo.
MemoryInfo ParseMemInfo(const std::string& proc_meminfo);

/// PRETTY_NAME, else NAME and VERSION_ID, of /etc/os-release's text; empty when neither is there.
std::string ParseOsRelease(const std::string& os_release);

/// Reads what `nvidia-smi --query-gpu=name,driver_version,memory.total
/// --format=csv,noheader,nounits` prints: one line a GPU, memory in MiB. Fields in brackets such as
/// "[N/A]" are unknown.
std::vector<GpuInfo> ParseNvidiaSmi(const std::string& csv);

}  // namespace sg
