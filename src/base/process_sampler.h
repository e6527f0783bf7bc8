// One look at this process and its machine: the line a samples file gets each second.
#pragma once

#include <optional>
#include <string>

#include "base/samples_writer.h"

namespace sg {

/// Costs some tens of microseconds; any thread. `root` stands before /proc and /sys, for tests.
SecondSample SampleProcess(int64_t time_ns, const std::string& root = "");

struct CpuTimes {
  double busy_s = 0;   ///< user, nice, system and interrupts
  double steal_s = 0;  ///< the hypervisor ran others
};
/// Sums the "cpuN" lines of /proc/stat's text whose N is in `cores`; all of them for an empty one.
/// nullopt when there is none.
std::optional<CpuTimes> ParseProcStat(const std::string& proc_stat, const std::vector<int>& cores);

/// The mean of the "cpu MHz" lines of /proc/cpuinfo's text.
std::optional<double> ParseCpuMhz(const std::string& proc_cpuinfo);

}  // namespace sg
