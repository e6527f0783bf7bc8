// The process's threads: which are new, and what CPU time each has used. Threads of libraries never
// pass a hook; this is how they are seen.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

namespace sg::trace {

struct ThreadCpu {
  uint32_t tid = 0;
  uint64_t cpu_ns = 0;
};

uint64_t ProcessCpuNs();

/// CPU time so far of every thread of this process that lives. Any thread.
std::vector<ThreadCpu> AllThreadCpu();

/// "av:h264:df0"; empty when the thread is gone.
std::string ThreadName(uint32_t tid);

/// How many threads the process has; about a microsecond.
uint64_t CountThreads();

/// Finds threads that appeared. Any thread.
class NewThreads {
 public:
  /// Takes the present threads as known.
  void Start() { Take(); }
  /// Those that are not known yet; they are from now on.
  std::vector<uint32_t> Take();
  /// The thread counts as known: it records for itself.
  void Know(uint32_t tid);
  /// The thread counts as new again: whoever took it was not the one that made it.
  void GiveBack(uint32_t tid);

 private:
  std::mutex mutex_;
  std::unordered_set<uint32_t> known_;
};

}  // namespace sg::trace
