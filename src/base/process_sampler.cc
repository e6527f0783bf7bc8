#include "base/process_sampler.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "base/cgroup.h"
#include "base/gpu_sampler.h"

namespace sg {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : "";
}

double ProcessCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Resident bytes: the second number of /proc/self/statm, in pages (proc(5)).
uint64_t ProcessRssBytes(const std::string& root) {
  std::ifstream statm(root + "/proc/self/statm");
  uint64_t total_pages = 0;
  uint64_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

/// The processors this process may run on.
std::vector<int> AllowedProcessors() {
  std::vector<int> processors;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return processors;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &mask)) processors.push_back(i);
  return processors;
}

/// Mean of cpufreq's clocks (kHz) of the processors; nothing where the kernel has none, as in most
/// virtual machines.
std::optional<double> CpufreqMhz(const std::string& root, const std::vector<int>& processors) {
  double sum_khz = 0;
  int known = 0;
  for (const int processor : processors) {
    std::ifstream file(root + "/sys/devices/system/cpu/cpu" + std::to_string(processor) +
                       "/cpufreq/scaling_cur_freq");
    double khz = 0;
    if (!(file >> khz)) continue;
    sum_khz += khz;
    ++known;
  }
  if (known == 0) return std::nullopt;
  return sum_khz / known / 1000;
}

}  // namespace

std::optional<CpuTimes> ParseProcStat(const std::string& proc_stat, const std::vector<int>& cores) {
  CpuTimes times;
  bool found = false;
  const double tick_s = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  std::istringstream lines(proc_stat);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("cpu", 0) != 0 || line.size() < 4 || line[3] == ' ') continue;
    int core = -1;
    std::from_chars(line.data() + 3, line.data() + line.size(), core);
    if (!cores.empty() && std::find(cores.begin(), cores.end(), core) == cores.end()) continue;
    std::istringstream fields(line.substr(line.find(' ') + 1));
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    if (!(fields >> user >> nice >> system >> idle)) continue;
    fields >> iowait >> irq >> softirq >> steal;  // absent in old kernels
    times.busy_s += (user + nice + system + irq + softirq) * tick_s;
    times.steal_s += steal * tick_s;
    found = true;
  }
  if (!found) return std::nullopt;
  return times;
}

std::optional<double> ParseCpuMhz(const std::string& proc_cpuinfo) {
  double sum = 0;
  int known = 0;
  std::istringstream lines(proc_cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (line.rfind("cpu MHz", 0) != 0 || colon == std::string::npos) continue;
    std::istringstream value(line.substr(colon + 1));
    value.imbue(std::locale::classic());
    double mhz = 0;
    if (!(value >> mhz)) continue;
    sum += mhz;
    ++known;
  }
  if (known == 0) return std::nullopt;
  return sum / known;
}

SecondSample SampleProcess(int64_t time_ns, const std::string& root) {
  SecondSample sample;
  sample.time_ns = time_ns;
  sample.cpu_s = ProcessCpuSeconds();
  sample.rss_bytes = ProcessRssBytes(root);
  sample.throttled_s = ReadThrottledSeconds(root);
  const std::vector<int> processors = AllowedProcessors();
  if (const auto times = ParseProcStat(ReadText(root + "/proc/stat"), processors)) {
    sample.steal_s = times->steal_s;
    // With a quota the cores are other groups' as well, and their work need not be in our way.
    const std::optional<double> quota = ReadCgroupLimits(root).cpu_cores;
    if (!quota || *quota >= static_cast<double>(processors.size()))
      sample.machine_cpu_s = times->busy_s;
  }
  sample.cpu_mhz = CpufreqMhz(root, processors);
  if (!sample.cpu_mhz) sample.cpu_mhz = ParseCpuMhz(ReadText(root + "/proc/cpuinfo"));
  const GpuLoad gpus = SampleGpus();
  sample.gpu_mhz = gpus.sm_mhz;
  sample.gpu_percent = gpus.sm_percent;
  sample.decoder_percent = gpus.decoder_percent;
  sample.gpu_memory_bytes = gpus.memory_bytes;
  return sample;
}

}  // namespace sg
