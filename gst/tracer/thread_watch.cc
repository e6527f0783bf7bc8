#include "gst/tracer/thread_watch.h"

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

namespace sg::trace {
namespace {

constexpr char kTasks[] = "/proc/self/task";
constexpr uint64_t kNsPerS = 1'000'000'000;

std::vector<uint32_t> AllThreads() {
  std::vector<uint32_t> threads;
  DIR* folder = opendir(kTasks);
  if (folder == nullptr) return threads;
  while (const dirent* entry = readdir(folder)) {
    const unsigned long tid = std::strtoul(entry->d_name, nullptr, 10);
    if (tid > 0) threads.push_back(static_cast<uint32_t>(tid));
  }
  closedir(folder);
  return threads;
}

/// The kernel's name for another thread's CPU clock (clock_getcpuclockid makes the same for a
/// process).
clockid_t CpuClockOf(uint32_t tid) {
  constexpr int kPerThread = 4;
  constexpr int kScheduler = 2;
  return static_cast<clockid_t>(~tid << 3 | kPerThread | kScheduler);
}

uint64_t Ns(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * kNsPerS + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

uint64_t ProcessCpuNs() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return Ns(used);
}

std::vector<ThreadCpu> AllThreadCpu() {
  std::vector<ThreadCpu> all;
  for (const uint32_t tid : AllThreads()) {
    timespec used{};
    if (clock_gettime(CpuClockOf(tid), &used) == 0) all.push_back({tid, Ns(used)});
  }
  return all;
}

std::string ThreadName(uint32_t tid) {
  char text[64];
  std::snprintf(text, sizeof text, "%s/%u/comm", kTasks, tid);
  std::FILE* file = std::fopen(text, "r");
  if (file == nullptr) return {};
  const size_t got = std::fread(text, 1, sizeof text, file);
  std::fclose(file);
  std::string name(text, got);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

uint64_t CountThreads() {
  struct stat facts {};
  // A folder has a link for each one in it, here a thread, and two of its own.
  return stat(kTasks, &facts) == 0 ? facts.st_nlink - 2 : 0;
}

void NewThreads::Know(uint32_t tid) {
  const std::lock_guard lock(mutex_);
  known_.insert(tid);
}

void NewThreads::GiveBack(uint32_t tid) {
  const std::lock_guard lock(mutex_);
  known_.erase(tid);
}

std::vector<uint32_t> NewThreads::Take() {
  const std::lock_guard lock(mutex_);
  std::vector<uint32_t> fresh;
  for (const uint32_t tid : AllThreads())
    if (known_.insert(tid).second) fresh.push_back(tid);
  return fresh;
}

}  // namespace sg::trace
