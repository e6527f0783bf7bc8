#include "trace/trace_writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/files.h"

namespace sg::trace {
namespace {

constexpr uint64_t kNsPerS = 1'000'000'000;
constexpr uint64_t kLeastChunks = 16;
constexpr uint64_t kLeastAheadChunks = 128;
constexpr uint64_t kMostAheadChunks = 1024;
constexpr size_t kMaxTextBytes = 4096;
constexpr auto kPreparePeriod = std::chrono::milliseconds(20);

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

uint64_t ClockNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerS + static_cast<uint64_t>(now.tv_nsec);
}

/// The middle of several readings' costs.
uint32_t CpuClockCostNs() {
  std::array<uint64_t, 15> costs{};
  for (uint64_t& cost : costs) {
    const uint64_t before = MonotonicNs();
    for (int i = 0; i < 8; ++i) ThreadCpuNs();
    cost = (MonotonicNs() - before) / 8;
  }
  std::nth_element(costs.begin(), costs.begin() + costs.size() / 2, costs.end());
  return static_cast<uint32_t>(costs[costs.size() / 2]);
}

std::string WithProcessNumber(std::string path) {
  for (size_t at = path.find("%p"); at != std::string::npos; at = path.find("%p", at))
    path.replace(at, 2, std::to_string(getpid()));
  return path;
}

std::string Why() { return std::strerror(errno); }

}  // namespace

std::atomic<uint32_t> g_forks{0};

uint64_t MonotonicNs() { return ClockNs(CLOCK_MONOTONIC); }
uint64_t ThreadCpuNs() { return ClockNs(CLOCK_THREAD_CPUTIME_ID); }

Result<std::unique_ptr<TraceWriter>> TraceWriter::Create(const TraceOptions& options) {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { ++g_forks; }); });
  std::unique_ptr<TraceWriter> writer(new TraceWriter);
  SG_RETURN_IF_ERROR(writer->OpenFile(options));
  SG_RETURN_IF_ERROR(writer->Map(options));
  writer->FillHeader(options);
  writer->PrepareAhead();
  writer->preparer_ = std::thread([raw = writer.get()] { raw->RunPreparer(); });
  return writer;
}

Status TraceWriter::OpenFile(const TraceOptions& options) {
  path_ = WithProcessNumber(options.path);
  for (int attempt = 0; attempt < 2; ++attempt) {
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd_ < 0) return EnvironmentError(path_ + ": the trace cannot be written: " + Why());
    struct stat facts {};
    if (fstat(fd_, &facts) != 0 || !S_ISREG(facts.st_mode))
      return EnvironmentError(path_ + ": the trace needs an ordinary file, this is none");
    if (flock(fd_, LOCK_EX | LOCK_NB) == 0) break;
    close(fd_);
    fd_ = -1;
    path_ += "." + std::to_string(getpid());
  }
  if (fd_ < 0) return EnvironmentError(path_ + ": another process is writing this trace");
  return OkStatus();
}

Status TraceWriter::Map(const TraceOptions& options) {
  uint64_t max_bytes = options.max_bytes;
  // Growing a file beyond `ulimit -f` raises a signal that ends the process.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    max_bytes = std::min<uint64_t>(
        max_bytes, limit.rlim_cur - std::min<uint64_t>(limit.rlim_cur, kHeaderBytes));
  max_chunks_ = max_bytes / kChunkBytes;
  if (max_chunks_ < kLeastChunks)
    return EnvironmentError(path_ + ": the trace may not grow to " +
                            std::to_string(kLeastChunks * kChunkBytes) +
                            " bytes (SGTRACE_MAX_MIB, ulimit -f)");
  if (ftruncate(fd_, 0) != 0 || posix_fallocate(fd_, 0, kHeaderBytes) != 0)
    return EnvironmentError(path_ + ": the trace cannot be written: no space");
  mapped_bytes_ = kHeaderBytes + max_chunks_ * kChunkBytes;
  void* memory = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED)
    return EnvironmentError(path_ + ": the trace cannot be mapped into memory: " + Why());
  header_ = static_cast<FileHeader*>(memory);
  chunks_ = static_cast<std::byte*>(memory) + kHeaderBytes;
  return OkStatus();
}

void TraceWriter::FillHeader(const TraceOptions& options) {
  header_->version = kVersion;
  header_->chunk_bytes = kChunkBytes;
  header_->pid = static_cast<uint32_t>(getpid());
  header_->cpu_sample_period = options.cpu_sample_period;
  header_->cpu_clock_cost_ns = CpuClockCostNs();
  header_->start_realtime_ns = ClockNs(CLOCK_REALTIME);
  header_->start_ns = MonotonicNs();
  const int program = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (program >= 0) {
    [[maybe_unused]] const ssize_t got = read(program, header_->program, kProgramBytes - 1);
    close(program);
  }
  std::memcpy(header_->magic, kMagic, sizeof kMagic);
}

TraceWriter::~TraceWriter() {
  if (preparer_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    preparer_.join();
  }
  if (header_ != nullptr) {
    const uint64_t chunks = header_->chunks_claimed.load();
    munmap(header_, mapped_bytes_);
    [[maybe_unused]] const int cut =
        ftruncate(fd_, static_cast<off_t>(kHeaderBytes + chunks * kChunkBytes));
  }
  if (fd_ >= 0) close(fd_);
}

ThreadTrace TraceWriter::NewThread() {
  return ThreadTrace(this, next_thread_.fetch_add(1, std::memory_order_relaxed));
}

ChunkHeader* TraceWriter::ClaimChunk(bool may_wait) {
  // Definitions are small and everything else needs them: the last chunks are theirs.
  const uint64_t reserve = may_wait ? 0 : max_chunks_ / 16;
  uint64_t claimed = header_->chunks_claimed.load(std::memory_order_relaxed);
  while (true) {
    if (claimed >= max_chunks_ - reserve) return nullptr;
    if (claimed >= ready_chunks_.load(std::memory_order_acquire)) {
      wake_.notify_one();
      if (!may_wait || disk_full_) return nullptr;
      PrepareAhead();
      claimed = header_->chunks_claimed.load(std::memory_order_relaxed);
      continue;
    }
    if (header_->chunks_claimed.compare_exchange_weak(claimed, claimed + 1,
                                                      std::memory_order_relaxed))
      break;
  }
  if (ready_chunks_.load(std::memory_order_relaxed) - claimed < kLeastAheadChunks / 2)
    wake_.notify_one();
  return reinterpret_cast<ChunkHeader*>(chunks_ + claimed * kChunkBytes);
}

void TraceWriter::PrepareAhead() {
  const std::lock_guard lock(mutex_);
  const uint64_t claimed = header_->chunks_claimed.load(std::memory_order_relaxed);
  const uint64_t ready = ready_chunks_.load(std::memory_order_relaxed);
  const uint64_t ahead = std::clamp(claimed / 2, kLeastAheadChunks, kMostAheadChunks);
  const uint64_t want = std::min(claimed + ahead, max_chunks_);
  // In large steps: growing a file has a fixed cost.
  if (want <= ready || (want - ready < ahead / 4 && claimed + 1 < ready)) return;
  const uint64_t from = ready * kChunkBytes;
  const uint64_t bytes = (want - ready) * kChunkBytes;
  if (posix_fallocate(fd_, static_cast<off_t>(kHeaderBytes + from), static_cast<off_t>(bytes)) !=
      0) {
    disk_full_ = true;
    return;
  }
  disk_full_ = false;
  // Older kernels refuse: then each page is made at its first use.
  madvise(chunks_ + from, bytes, MADV_POPULATE_WRITE);
  ready_chunks_.store(want, std::memory_order_release);
}

void TraceWriter::RunPreparer() {
  pthread_setname_np(pthread_self(), "sgtrace");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    PrepareAhead();
    lock.lock();
    if (!stopping_) wake_.wait_for(lock, kPreparePeriod);
  }
}

ThreadTrace::ThreadTrace(TraceWriter* writer, uint32_t thread)
    : writer_(writer), thread_(thread), tid_(static_cast<uint32_t>(syscall(SYS_gettid))) {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  WriteText(RecordType::kThreadDef, thread_, tid_, MonotonicNs(), name);
}

bool ThreadTrace::Reserve(size_t words, uint64_t time_ns, bool may_wait) {
  // A jump in time and a count of what was lost may have to come first.
  constexpr size_t kMostBefore = 2 + 1;
  if (used_ + words + kMostBefore <= limit_) return true;
  ChunkHeader* chunk = writer_->ClaimChunk(may_wait);
  if (chunk == nullptr) return false;
  chunk->thread = thread_;
  chunk->tid = tid_;
  chunk->base_ns = time_ns;
  chunk->used_words.store(0, std::memory_order_relaxed);
  chunk->magic = kChunkMagic;
  chunk_ = chunk;
  words_ = reinterpret_cast<uint64_t*>(chunk) + kChunkHeaderWords;
  used_ = 0;
  limit_ = kChunkWords;
  last_ns_ = time_ns;
  return true;
}

void ThreadTrace::WriteWords(RecordType type, uint32_t id, uint64_t time_ns, const uint64_t* words,
                             size_t count) {
  time_ns = std::max(time_ns, last_ns_);
  if (time_ns - last_ns_ > UINT32_MAX) {
    words_[used_] = First(RecordType::kTimeJump, 0, 0);
    words_[used_ + 1] = time_ns;
    Commit(2, time_ns);
  }
  if (lost_ > 0) {
    words_[used_] = First(RecordType::kLost, lost_ <= kMaxId ? static_cast<uint32_t>(lost_) : 0,
                          time_ns - last_ns_);
    Commit(1, time_ns);
    lost_ = 0;
  }
  words_[used_] = First(type, id, time_ns - last_ns_);
  std::copy_n(words, count, words_ + used_ + 1);
  Commit(1 + count, time_ns);
}

void ThreadTrace::WriteSlowly(RecordType type, uint32_t id, uint64_t time_ns, const uint64_t* words,
                              size_t count, bool may_wait) {
  if (g_forks.load(std::memory_order_relaxed) != forks_) return;
  if (Reserve(1 + count, std::max(time_ns, last_ns_), may_wait)) {
    WriteWords(type, id, time_ns, words, count);
    return;
  }
  ++lost_;
  limit_ = 0;  // the next record tries for a chunk again, and says what was lost
  writer_->header_->records_lost.fetch_add(1, std::memory_order_relaxed);
}

void ThreadTrace::WriteText(RecordType type, uint32_t id, uint64_t time_ns, std::string_view text) {
  text = text.substr(0, kMaxTextBytes);
  std::vector<uint64_t> words(1 + (text.size() + kWordBytes - 1) / kWordBytes);
  words[0] = text.size();
  std::memcpy(words.data() + 1, text.data(), text.size());
  WriteSlowly(type, id, time_ns, words.data(), words.size(), /*may_wait=*/true);
}

void ThreadTrace::WriteText(RecordType type, uint32_t id, uint64_t word, uint64_t time_ns,
                            std::string_view text) {
  text = text.substr(0, kMaxTextBytes);
  std::vector<uint64_t> words(2 + (text.size() + kWordBytes - 1) / kWordBytes);
  words[0] = word;
  words[1] = text.size();
  if (!text.empty()) std::memcpy(words.data() + 2, text.data(), text.size());
  WriteSlowly(type, id, time_ns, words.data(), words.size(), /*may_wait=*/true);
}

}  // namespace sg::trace
