#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "base/files.h"
#include "base/testing.h"
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"

namespace sg::trace {
namespace {

std::unique_ptr<TraceWriter> NewWriter(const std::string& path, uint64_t max_bytes = 1 << 26) {
  TraceOptions options;
  options.path = path;
  options.max_bytes = max_bytes;
  Result<std::unique_ptr<TraceWriter>> writer = TraceWriter::Create(options);
  EXPECT_TRUE(writer.ok()) << writer.error().message;
  return *std::move(writer);
}

std::vector<Record> RecordsOf(const TraceFile& trace, size_t thread, RecordType type) {
  std::vector<Record> records;
  trace.ForEach(trace.threads.at(thread), [&](const Record& record) {
    if (record.type == type) records.push_back(record);
  });
  return records;
}

TEST(TraceFile, GivesBackWhatThreadsWrote) {
  constexpr uint64_t kLater = 10'000'000'000;
  const TempFolder folder;
  const uint64_t start = MonotonicNs() + kLater;
  {
    const auto writer = NewWriter(folder / "a.sgtrace");
    ThreadTrace thread = writer->NewThread();
    thread.WriteText(RecordType::kElementDef, 7, kElementStores, start,
                     std::string_view("p/queue0\0queue\0Generic", 22));
    thread.Write(RecordType::kPushBegin, 3, start + kLater, std::array<uint64_t, 2>{5, 6});
    thread.Write(RecordType::kPushEnd, kFlowOffset, start + kLater + 50);
    // Longer than a delta holds, then backwards, which counts as no time.
    thread.Write(RecordType::kPushEnd, kFlowOffset, start + 2 * kLater);
    thread.Write(RecordType::kPushEnd, kFlowOffset, 5);
  }
  const Result<TraceFile> trace = TraceFile::Open(folder / "a.sgtrace");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->threads.size(), 1u);
  EXPECT_EQ(trace->threads[0].tid, static_cast<uint32_t>(gettid()));
  EXPECT_EQ(trace->elements.at(7).name, "queue0");
  EXPECT_EQ(trace->elements.at(7).klass, "Generic");
  const std::vector<Record> begins = RecordsOf(*trace, 0, RecordType::kPushBegin);
  ASSERT_EQ(begins.size(), 1u);
  EXPECT_EQ(begins[0].words[1], 6u);
  const std::vector<Record> ends = RecordsOf(*trace, 0, RecordType::kPushEnd);
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_EQ(ends[0].time_ns, start + kLater + 50);
  EXPECT_EQ(ends[1].time_ns, start + 2 * kLater);
  EXPECT_EQ(ends[2].time_ns, start + 2 * kLater);
}

TEST(TraceFile, ManyThreadsLoseNothingWhileThereIsRoom) {
  constexpr int kThreads = 8;
  constexpr uint64_t kRecords = 20000;
  const TempFolder folder;
  {
    const auto writer = NewWriter(folder / "a.sgtrace");
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&] {
        ThreadTrace thread = writer->NewThread();
        for (uint64_t i = 0; i < kRecords; ++i) {
          thread.Write(RecordType::kFrame, 1, MonotonicNs(), std::array<uint64_t, 2>{i, ~i});
          if (i % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(writer->records_lost(), 0u);
  }
  const Result<TraceFile> trace = TraceFile::Open(folder / "a.sgtrace");
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace->threads.size(), static_cast<size_t>(kThreads));
  for (size_t t = 0; t < kThreads; ++t) {
    const std::vector<Record> frames = RecordsOf(*trace, t, RecordType::kFrame);
    ASSERT_EQ(frames.size(), kRecords);
    for (uint64_t i = 0; i < kRecords; ++i) {
      ASSERT_EQ(frames[i].words[0], i);
      ASSERT_EQ(frames[i].words[1], ~i);
    }
  }
}

TEST(TraceFile, AFullFileCountsWhatIsLostAndSaysWhere) {
  const TempFolder folder;
  uint64_t lost = 0;
  constexpr uint64_t kRecords = 100000;
  {
    const auto writer = NewWriter(folder / "a.sgtrace", 32 * kChunkBytes);
    ThreadTrace thread = writer->NewThread();
    for (uint64_t i = 0; i < kRecords; ++i)
      thread.Write(RecordType::kFrame, 1, i, std::array<uint64_t, 2>{i, i});
    lost = writer->records_lost();
    // What is defined late still finds room, and brings the count of what was lost.
    thread.WriteText(RecordType::kNameDef, 9, kRecords, "late");
  }
  const Result<TraceFile> trace = TraceFile::Open(folder / "a.sgtrace");
  ASSERT_TRUE(trace.ok());
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(trace->records_lost, lost);
  EXPECT_EQ(RecordsOf(*trace, 0, RecordType::kFrame).size(), kRecords - lost);
  EXPECT_EQ(trace->names.at(9), "late");
  const std::vector<Record> gaps = RecordsOf(*trace, 0, RecordType::kLost);
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].id, lost);
}

TEST(TraceFile, AKilledProcessLeavesEverythingItRecorded) {
  const TempFolder folder;
  const std::string path = folder / "a.sgtrace";
  const pid_t child = fork();
  if (child == 0) {
    const auto writer = NewWriter(path);
    ThreadTrace thread = writer->NewThread();
    for (uint64_t i = 0; i < 600000; ++i) {
      thread.Write(RecordType::kFrame, 1, MonotonicNs(), std::array<uint64_t, 2>{i, i});
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    _exit(0);
  }
  size_t frames = 0;
  for (int i = 0; i < 500 && frames < 3000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Result<TraceFile> trace = TraceFile::Open(path);
    frames =
        trace.ok() && !trace->threads.empty() ? RecordsOf(*trace, 0, RecordType::kFrame).size() : 0;
  }
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const Result<TraceFile> trace = TraceFile::Open(path);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_GE(RecordsOf(*trace, 0, RecordType::kFrame).size(), 3000u);
  EXPECT_EQ(trace->damaged_chunks, 0u);
  EXPECT_EQ(trace->pid, static_cast<uint32_t>(child));
}

TEST(TraceFile, AForkedChildLeavesTheParentsFileAlone) {
  const TempFolder folder;
  {
    const auto writer = NewWriter(folder / "a.sgtrace");
    ThreadTrace thread = writer->NewThread();
    thread.Write(RecordType::kPushEnd, 1, MonotonicNs());
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 5000; ++i) thread.Write(RecordType::kPushEnd, 2, MonotonicNs());
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    thread.Write(RecordType::kPushEnd, 3, MonotonicNs());
  }
  const Result<TraceFile> trace = TraceFile::Open(folder / "a.sgtrace");
  const std::vector<Record> ends = RecordsOf(*trace, 0, RecordType::kPushEnd);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[1].id, 3u);
}

TEST(TraceFile, ALimitOnFileSizesLosesRecordsAndNotTheProcess) {
  const TempFolder folder;
  const std::string path = folder / "a.sgtrace";
  const pid_t child = fork();
  if (child == 0) {
    constexpr rlim_t kLimit = 600 * 1024;
    const rlimit limit{kLimit, kLimit};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto writer = NewWriter(path);
    ThreadTrace thread = writer->NewThread();
    for (uint64_t i = 0; i < 100000; ++i)
      thread.Write(RecordType::kFrame, 1, i, std::array<uint64_t, 2>{i, i});
    _exit(writer->records_lost() > 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_GT(TraceFile::Open(path)->records, 10000u);
}

TEST(TraceFile, TwoWritersOfOneNameDoNotShareAFile) {
  const TempFolder folder;
  const auto first = NewWriter(folder / "a.sgtrace");
  const auto second = NewWriter(folder / "a.sgtrace");
  EXPECT_NE(first->path(), second->path());
}

TEST(TraceFile, SaysWhatIsNoTrace) {
  const TempFolder folder;
  TraceOptions options;
  options.path = folder / "none/a.sgtrace";
  const auto nowhere = TraceWriter::Create(options);
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().kind, ErrorKind::kEnvironment);
  EXPECT_EQ(TraceFile::Open(folder / "b").error().kind, ErrorKind::kUser);
  ASSERT_TRUE(WriteFileAtomic(folder / "c", "SGTRACE\nshort").ok());
  EXPECT_NE(TraceFile::Open(folder / "c").error().message.find("header"), std::string::npos);
  ASSERT_TRUE(WriteFileAtomic(folder / "d", "a text").ok());
  EXPECT_NE(TraceFile::Open(folder / "d").error().message.find("is not a trace"),
            std::string::npos);
}

TEST(TraceFile, DamagedBytesAreReadAsFarAsTheyMakeSense) {
  const TempFolder folder;
  {
    const auto writer = NewWriter(folder / "a.sgtrace");
    ThreadTrace thread = writer->NewThread();
    for (uint64_t i = 0; i < 3000; ++i)
      thread.Write(RecordType::kFrame, 1, i, std::array<uint64_t, 2>{i, i});
  }
  const Result<std::string> bytes = ReadFile(folder / "a.sgtrace");
  ASSERT_TRUE(bytes.ok());
  std::vector<uint64_t> words(bytes->size() / kWordBytes);
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    std::memcpy(words.data(), bytes->data(), words.size() * kWordBytes);
    uint64_t state = seed * 0x9e3779b97f4a7c15;
    for (int flip = 0; flip < 40; ++flip) {
      state = state * 6364136223846793005 + 1442695040888963407;
      // Behind the magic, the version and the chunk's size.
      words[2 + (state >> 33) % (words.size() - 2)] ^= uint64_t{1} << (state >> 58);
    }
    std::vector<uint64_t> cut(
        words.begin(),
        words.begin() + static_cast<long>(512 + (state >> 40) % (words.size() - 512)));
    const Result<TraceFile> trace = TraceFile::Parse(std::move(cut), "damaged");
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    EXPECT_LE(trace->records, 3100u);
  }
}

}  // namespace
}  // namespace sg::trace
