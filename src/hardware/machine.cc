#include "hardware/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>

#include "base/cgroup.h"
#include "base/files.h"
#include "base/processor.h"
#include "base/subprocess.h"

namespace sg {
namespace {

constexpr double kNvidiaSmiDeadlineS = 5;

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::optional<uint64_t> ParseCount(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string ReadOrEmpty(const char* path) {
  auto text = ReadFile(path);
  return text.ok() ? *text : "";
}

/// A value of os-release without its quotes and backslashes.
std::string Unquoted(std::string_view value) {
  const char quote = !value.empty() && (value[0] == '"' || value[0] == '\'') ? value[0] : '\0';
  if (quote != '\0') value.remove_prefix(1);
  std::string text;
  for (size_t i = 0; i < value.size(); ++i) {
    if (quote != '\0' && value[i] == quote) break;
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    text += value[i];
  }
  return text;
}

/// What nvidia-smi knows; empty for "[N/A]", "[Not Supported]", "[Unknown Error]".
std::string_view Known(std::string_view field) {
  return !field.empty() && field.front() == '[' ? std::string_view() : field;
}

void DescribeCores(const CgroupLimits& limits, MachineInfo* machine) {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (online > 0) machine->cores_online = static_cast<int>(online);
  machine->cores_allowed = AffinityCores();
  if (machine->cores_online && *machine->cores_allowed < *machine->cores_online)
    machine->cores_limited_by = "affinity";
  if (limits.cpu_cores && *limits.cpu_cores < *machine->cores_allowed) {
    machine->cores_allowed = limits.cpu_cores;
    machine->cores_limited_by = "cgroup quota";
  }
}

void DescribeMemory(const CgroupLimits& limits, MachineInfo* machine) {
  const MemoryInfo memory = ParseMemInfo(ReadOrEmpty("/proc/meminfo"));
  machine->memory_total_bytes = memory.total_bytes;
  machine->memory_available_bytes = memory.available_bytes;
  if (!limits.memory_bytes || (memory.total_bytes && *limits.memory_bytes >= *memory.total_bytes))
    return;
  machine->memory_total_bytes = limits.memory_bytes;
  machine->memory_limited_by_cgroup = true;
  if (!limits.memory_used_bytes) return;
  const uint64_t left =
      *limits.memory_bytes - std::min(*limits.memory_bytes, *limits.memory_used_bytes);
  machine->memory_available_bytes = std::min(left, memory.available_bytes.value_or(left));
}

void DescribeGpus(MachineInfo* machine) {
  if (FindProgram("nvidia-smi").empty()) {
    machine->has_gpu = false;
    return;
  }
  Subprocess smi;
  smi.argv = {"nvidia-smi", "--query-gpu=name,driver_version,memory.total",
              "--format=csv,noheader,nounits"};
  smi.deadline_s = kNvidiaSmiDeadlineS;
  smi.grace_s = 0.5;
  std::string csv, first_line;
  smi.on_stdout_line = [&](const std::string& line) {
    csv += line + "\n";
    if (first_line.empty()) first_line = line;
  };
  auto exit = RunSubprocess(smi);
  if (!exit.ok()) {
    machine->gpu_note = exit.error().message;
  } else if (exit->timed_out) {
    machine->gpu_note = "nvidia-smi does not answer";
  } else if (csv.find("No devices were found") != std::string::npos) {
    machine->has_gpu = false;
  } else if (exit->code != 0) {
    machine->gpu_note = first_line.empty() ? "nvidia-smi fails" : "nvidia-smi: " + first_line;
  } else {
    machine->gpus = ParseNvidiaSmi(csv);
    machine->has_gpu = !machine->gpus.empty();
  }
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

template <typename T>
Json ValueOrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

MemoryInfo ParseMemInfo(const std::string& proc_meminfo) {
  MemoryInfo memory;
  std::istringstream lines(proc_meminfo);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !line.ends_with(" kB")) continue;
    const std::string_view key = std::string_view(line).substr(0, colon);
    const auto kib =
        ParseCount(Trimmed(std::string_view(line).substr(colon + 1, line.size() - colon - 4)));
    if (!kib) continue;
    if (key == "MemTotal") memory.total_bytes = *kib * 1024;
    if (key == "MemAvailable") memory.available_bytes = *kib * 1024;
  }
  return memory;
}

std::string ParseOsRelease(const std::string& os_release) {
  std::map<std::string, std::string, std::less<>> values;
  std::istringstream lines(os_release);
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos || line[0] == '#') continue;
    values[line.substr(0, equals)] = Unquoted(Trimmed(std::string_view(line).substr(equals + 1)));
  }
  if (!values["PRETTY_NAME"].empty()) return values["PRETTY_NAME"];
  return std::string(Trimmed(values["NAME"] + " " + values["VERSION_ID"]));
}

std::vector<GpuInfo> ParseNvidiaSmi(const std::string& csv) {
  std::vector<GpuInfo> gpus;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    // The name may hold commas itself.
    const size_t memory = line.rfind(',');
    const size_t driver = memory == std::string::npos || memory == 0 ? std::string::npos
                                                                     : line.rfind(',', memory - 1);
    if (driver == std::string::npos) continue;
    const std::string_view text = line;
    GpuInfo gpu;
    gpu.name = Known(Trimmed(text.substr(0, driver)));
    gpu.driver_version = Known(Trimmed(text.substr(driver + 1, memory - driver - 1)));
    if (const auto mib = ParseCount(Known(Trimmed(text.substr(memory + 1)))))
      gpu.memory_bytes = *mib << 20;
    gpus.push_back(gpu);
  }
  return gpus;
}

MachineInfo DescribeMachine() {
  MachineInfo machine;
  const Processor processor = ThisProcessor();
  machine.cpu_name = processor.model_name;
  machine.cpu_features = processor.features;
  const CgroupLimits limits = ReadCgroupLimits();
  DescribeCores(limits, &machine);
  DescribeMemory(limits, &machine);
  machine.os_name = ParseOsRelease(ReadOrEmpty("/etc/os-release"));
  if (utsname name{}; uname(&name) == 0)
    machine.kernel = std::string(name.sysname) + " " + name.release;
  DescribeGpus(&machine);
  return machine;
}

Json MachineInfo::ToJson() const {
  Json gpus_json = Json::array();
  for (const GpuInfo& gpu : gpus)
    gpus_json.push_back({{"name", TextOrNull(gpu.name)},
                         {"driver_version", TextOrNull(gpu.driver_version)},
                         {"memory_bytes", ValueOrNull(gpu.memory_bytes)}});
  return {{"cpu_name", TextOrNull(cpu_name)},
          {"cpu_features", cpu_features},
          {"cores_online", ValueOrNull(cores_online)},
          {"cores_allowed", ValueOrNull(cores_allowed)},
          {"cores_limited_by", TextOrNull(cores_limited_by)},
          {"memory_total_bytes", ValueOrNull(memory_total_bytes)},
          {"memory_available_bytes", ValueOrNull(memory_available_bytes)},
          {"memory_limited_by_cgroup", memory_limited_by_cgroup},
          {"os_name", TextOrNull(os_name)},
          {"kernel", TextOrNull(kernel)},
          {"has_gpu", ValueOrNull(has_gpu)},
          {"gpus", has_gpu ? gpus_json : Json()},
          {"gpu_note", TextOrNull(gpu_note)}};
}

}  // namespace sg
