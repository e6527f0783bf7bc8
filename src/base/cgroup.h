// The limits that control groups put on this process, versions 1 and 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sg {

struct CgroupLimits {
  std::optional<double> cpu_cores;  ///< quota ÷ period; the tightest of the group and its parents
  std::optional<uint64_t> memory_bytes;  ///< the tightest limit
  /// Of the group that has that limit, without the file cache that the kernel drops first.
  std::optional<uint64_t> memory_used_bytes;
};

/// Limits of this process, nothing where none is set or it cannot be read. `root` stands before
/// /proc and /sys, for tests.
CgroupLimits ReadCgroupLimits(const std::string& root = "");

/// Seconds for which the quota stopped this process's group, or a parent, so far; the most of them.
/// nullopt where no group counts that.
std::optional<double> ReadThrottledSeconds(const std::string& root = "");

/// "max 100000" or "150000 100000" (version 2's cpu.max) as cores; nullopt for no limit or
/// nonsense.
std::optional<double> ParseCpuMax(const std::string& text);

/// Version 1's cpu.cfs_quota_us and cpu.cfs_period_us as cores; nullopt for no limit (-1) or
/// nonsense.
std::optional<double> ParseCfsQuota(const std::string& quota, const std::string& period);

/// "max", or bytes; version 1's "no limit" (a number near 2^63) is nullopt too.
std::optional<uint64_t> ParseMemoryLimit(const std::string& text);

/// The number of `key` in a text of "key number" lines, as memory.stat is.
std::optional<uint64_t> ParseStatValue(const std::string& text, const std::string& key);

/// Where /proc/self/cgroup puts this process in one controller of version 1 ("cpu", "memory"), or
/// in version 2 for an empty name. nullopt when it is not there.
std::optional<std::string> CgroupPath(const std::string& proc_self_cgroup,
                                      const std::string& controller);

}  // namespace sg
