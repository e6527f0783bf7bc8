#include "base/cgroup.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <vector>

#include "base/files.h"

namespace sg {
namespace {

/// No real machine has so much memory; version 1 says "no limit" with a number above this.
constexpr uint64_t kNoMemoryLimitBytes = uint64_t{1} << 60;

template <typename Number>
std::optional<Number> ParseNumber(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string ReadOrEmpty(const std::string& path) {
  auto text = ReadFile(path);
  return text.ok() ? *text : "";
}

std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// The group's folder and its parents up to the mount, innermost first. Inside a container the path
/// that /proc tells may not be visible; the mount itself then stands for it.
std::vector<std::string> GroupFolders(const std::string& mount, std::string path) {
  std::vector<std::string> folders;
  while (path.size() > 1) {
    folders.push_back(mount + path);
    path.resize(path.rfind('/'));
  }
  folders.push_back(mount);
  return folders;
}

void KeepSmallest(std::optional<double>* least, std::optional<double> value) {
  if (value && (!*least || *value < **least)) *least = value;
}

/// The files and the statistics key that one version has for memory.
struct MemoryFiles {
  const char* limit;
  const char* used;
  const char* inactive_key;
};
constexpr MemoryFiles kMemoryV2 = {"/memory.max", "/memory.current", "inactive_file"};
constexpr MemoryFiles kMemoryV1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                   "total_inactive_file"};

void AddMemory(CgroupLimits* limits, const std::string& folder, const MemoryFiles& files) {
  const auto limit = ParseMemoryLimit(ReadOrEmpty(folder + files.limit));
  if (!limit || (limits->memory_bytes && *limits->memory_bytes <= *limit)) return;
  limits->memory_bytes = limit;
  limits->memory_used_bytes = ParseNumber<uint64_t>(ReadOrEmpty(folder + files.used));
  if (!limits->memory_used_bytes) return;
  const uint64_t cache =
      ParseStatValue(ReadOrEmpty(folder + "/memory.stat"), files.inactive_key).value_or(0);
  *limits->memory_used_bytes -= std::min(cache, *limits->memory_used_bytes);
}

void KeepLargest(std::optional<double>* most, std::optional<double> value) {
  if (value && (!*most || *value > **most)) *most = value;
}

/// One counter of a group's cpu.stat, in seconds.
std::optional<double> CpuStatSeconds(const std::string& folder, const char* key, double per_s) {
  const auto count = ParseStatValue(ReadOrEmpty(folder + "/cpu.stat"), key);
  if (!count) return std::nullopt;
  return static_cast<double>(*count) / per_s;
}

}  // namespace

std::optional<double> ReadThrottledSeconds(const std::string& root) {
  const std::string groups = ReadOrEmpty(root + "/proc/self/cgroup");
  const std::string mount = root + "/sys/fs/cgroup";
  std::optional<double> seconds;
  if (const auto path = CgroupPath(groups, ""))
    for (const std::string& base : {mount, mount + "/unified"})
      for (const std::string& folder : GroupFolders(base, *path))
        KeepLargest(&seconds, CpuStatSeconds(folder, "throttled_usec", 1e6));
  if (const auto path = CgroupPath(groups, "cpu"))
    for (const std::string& base : {mount + "/cpu,cpuacct", mount + "/cpu"})
      for (const std::string& folder : GroupFolders(base, *path))
        KeepLargest(&seconds, CpuStatSeconds(folder, "throttled_time", 1e9));
  return seconds;
}

std::optional<double> ParseCpuMax(const std::string& text) {
  const size_t space = text.find(' ');
  if (space == std::string::npos) return std::nullopt;
  return ParseCfsQuota(text.substr(0, space), text.substr(space + 1));
}

std::optional<double> ParseCfsQuota(const std::string& quota, const std::string& period) {
  const auto quota_us = ParseNumber<int64_t>(quota);
  const auto period_us = ParseNumber<int64_t>(period);
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return std::nullopt;
  return static_cast<double>(*quota_us) / static_cast<double>(*period_us);
}

std::optional<uint64_t> ParseMemoryLimit(const std::string& text) {
  const auto bytes = ParseNumber<uint64_t>(text);
  return bytes && *bytes < kNoMemoryLimitBytes ? bytes : std::nullopt;
}

std::optional<uint64_t> ParseStatValue(const std::string& text, const std::string& key) {
  for (const std::string& line : SplitAt(text, '\n')) {
    if (line.rfind(key + " ", 0) == 0) return ParseNumber<uint64_t>(line.substr(key.size() + 1));
  }
  return std::nullopt;
}

std::optional<std::string> CgroupPath(const std::string& proc_self_cgroup,
                                      const std::string& controller) {
  for (const std::string& line : SplitAt(proc_self_cgroup, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const auto controllers = SplitAt(names, ',');
    const bool found = controller.empty() ? names.empty()
                                          : std::find(controllers.begin(), controllers.end(),
                                                      controller) != controllers.end();
    if (found) return line.substr(second + 1);
  }
  return std::nullopt;
}

CgroupLimits ReadCgroupLimits(const std::string& root) {
  const std::string groups = ReadOrEmpty(root + "/proc/self/cgroup");
  const std::string mount = root + "/sys/fs/cgroup";
  CgroupLimits limits;
  if (const auto path = CgroupPath(groups, "")) {
    for (const std::string& base : {mount, mount + "/unified"}) {
      for (const std::string& folder : GroupFolders(base, *path)) {
        KeepSmallest(&limits.cpu_cores, ParseCpuMax(ReadOrEmpty(folder + "/cpu.max")));
        AddMemory(&limits, folder, kMemoryV2);
      }
    }
  }
  if (const auto path = CgroupPath(groups, "cpu")) {
    for (const std::string& base : {mount + "/cpu,cpuacct", mount + "/cpu"}) {
      for (const std::string& folder : GroupFolders(base, *path))
        KeepSmallest(&limits.cpu_cores, ParseCfsQuota(ReadOrEmpty(folder + "/cpu.cfs_quota_us"),
                                                      ReadOrEmpty(folder + "/cpu.cfs_period_us")));
    }
  }
  if (const auto path = CgroupPath(groups, "memory")) {
    for (const std::string& folder : GroupFolders(mount + "/memory", *path))
      AddMemory(&limits, folder, kMemoryV1);
  }
  return limits;
}

}  // namespace sg
