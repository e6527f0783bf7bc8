// Writes a trace file through memory that is the file: what a thread has recorded is kept when the
// process is killed. Each thread fills chunks of its own; taking the next one is an atomic step.
// Space on disk is claimed ahead by a thread in the background, so that a full disk loses records
// (counted) and never raises SIGBUS.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/status.h"
#include "trace/trace_format.h"

namespace sg::trace {

/// How often this process is the child of a fork: what its parent opened it must not write to.
extern std::atomic<uint32_t> g_forks;

uint64_t MonotonicNs();
/// CPU time of the calling thread.
uint64_t ThreadCpuNs();

struct TraceOptions {
  std::string path;                        ///< %p stands for the process's number
  uint64_t max_bytes = uint64_t{1} << 30;  ///< the file grows no further
  uint32_t cpu_sample_period = 0;
};

class ThreadTrace;

/// The file. Opened once; threads then call NewThread. After a fork the child records nothing.
class TraceWriter {
 public:
  /// kEnvironment when the file cannot be made or mapped. A file of that name which another living
  /// process is writing is left alone: ".PID" is added to the name.
  static Result<std::unique_ptr<TraceWriter>> Create(const TraceOptions& options);
  /// REQUIRES: no thread records any more.
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// What the calling thread records into. Any thread.
  ThreadTrace NewThread();
  /// A number that was not given before; from 1. Elements, pads and names share the numbers.
  uint32_t NewId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  const std::string& path() const { return path_; }
  uint64_t records_lost() const { return header_->records_lost.load(std::memory_order_relaxed); }

 private:
  friend class ThreadTrace;
  TraceWriter() = default;
  Status OpenFile(const TraceOptions& options);
  Status Map(const TraceOptions& options);
  void FillHeader(const TraceOptions& options);
  /// nullptr: no chunk is ready. With `may_wait` one is made ready, while the file may grow.
  ChunkHeader* ClaimChunk(bool may_wait);
  void PrepareAhead();
  void RunPreparer();

  std::string path_;
  int fd_ = -1;
  size_t mapped_bytes_ = 0;
  FileHeader* header_ = nullptr;
  std::byte* chunks_ = nullptr;
  uint64_t max_chunks_ = 0;
  std::atomic<uint32_t> next_id_{1};
  std::atomic<uint32_t> next_thread_{1};
  std::atomic<uint64_t> ready_chunks_{0};
  std::atomic<bool> disk_full_{false};

  std::mutex mutex_;  ///< guards growing the file, and stopping_
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread preparer_;
};

/// One thread's end of the file. Only that thread may call it; no call blocks, allocates or fails
/// (what cannot be written is counted), but for those that write a text.
class ThreadTrace {
 public:
  ThreadTrace(TraceWriter* writer, uint32_t thread);

  /// `time_ns` does not go back within a thread; a time that does counts as the last one.
  template <size_t N>
  void Write(RecordType type, uint32_t id, uint64_t time_ns, const std::array<uint64_t, N>& words) {
    constexpr size_t kNeed = 1 + N;
    const uint64_t delta = time_ns > last_ns_ ? time_ns - last_ns_ : 0;
    if (used_ + kNeed > limit_ || delta > UINT32_MAX ||
        g_forks.load(std::memory_order_relaxed) != forks_) [[unlikely]] {
      WriteSlowly(type, id, time_ns, words.data(), N);
      return;
    }
    uint64_t* at = words_ + used_;
    *at = First(type, id, delta);
    for (size_t i = 0; i < N; ++i) at[1 + i] = words[i];
    Commit(kNeed, last_ns_ + delta);
  }
  void Write(RecordType type, uint32_t id, uint64_t time_ns) {
    Write(type, id, time_ns, std::array<uint64_t, 0>{});
  }
  /// A record with a text; for what happens once. Texts are cut at 4 KiB.
  void WriteText(RecordType type, uint32_t id, uint64_t time_ns, std::string_view text);
  void WriteText(RecordType type, uint32_t id, uint64_t word, uint64_t time_ns,
                 std::string_view text);

 private:
  static uint64_t First(RecordType type, uint32_t id, uint64_t delta) {
    return static_cast<uint64_t>(type) | uint64_t{id & kMaxId} << 8 | delta << 32;
  }
  void Commit(size_t words, uint64_t time_ns) {
    used_ += static_cast<uint32_t>(words);
    last_ns_ = time_ns;
    chunk_->used_words.store(used_, std::memory_order_release);
  }
  void WriteSlowly(RecordType type, uint32_t id, uint64_t time_ns, const uint64_t* words,
                   size_t count, bool may_wait = false);
  /// Makes room for `words`; false: nothing can be written now.
  bool Reserve(size_t words, uint64_t time_ns, bool may_wait);
  void WriteWords(RecordType type, uint32_t id, uint64_t time_ns, const uint64_t* words,
                  size_t count);

  TraceWriter* writer_;
  uint32_t thread_;
  uint32_t tid_;
  uint32_t forks_ = g_forks.load(std::memory_order_relaxed);
  ChunkHeader* chunk_ = nullptr;
  uint64_t* words_ = nullptr;
  uint32_t used_ = 0;
  uint32_t limit_ = 0;  ///< words in the chunk; 0 without one
  uint64_t last_ns_ = 0;
  uint64_t lost_ = 0;  ///< since the last record that was written
};

}  // namespace sg::trace
