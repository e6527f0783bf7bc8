// The bytes of a trace file (docs/formats.md, "Trace file"). A file is a header and chunks; each
// chunk belongs to one thread, which alone writes it. All numbers are little-endian, all times
// nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sg::trace {

inline constexpr char kMagic[8] = {'S', 'G', 'T', 'R', 'A', 'C', 'E', '\n'};
inline constexpr uint32_t kVersion = 1;
inline constexpr size_t kHeaderBytes = 4096;
inline constexpr size_t kChunkBytes = 16384;
inline constexpr size_t kWordBytes = 8;
inline constexpr uint32_t kChunkMagic = 0x4b4e4843;  // "CHNK"
inline constexpr size_t kProgramBytes = 1024;

/// At offset 0. The two counters change while the process lives.
struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t chunk_bytes;
  uint32_t pid;
  uint32_t cpu_sample_period;  ///< one outermost call of so many has its CPU clock read
  uint32_t cpu_clock_cost_ns;  ///< what one reading of the thread's CPU clock takes
  uint32_t reserved;
  uint64_t start_ns;
  uint64_t start_realtime_ns;  ///< CLOCK_REALTIME at start_ns
  std::atomic<uint64_t> chunks_claimed;
  std::atomic<uint64_t> records_lost;
  char program[kProgramBytes];  ///< its arguments, each followed by NUL; cut where it is longer
};
static_assert(sizeof(FileHeader) <= kHeaderBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(std::atomic<uint64_t>) == 8);

/// At the start of each chunk. `used_words` counts the words after this header; it grows only when
/// a record is whole.
struct ChunkHeader {
  uint32_t magic;
  uint32_t thread;  ///< from 1, in order of appearance
  uint64_t base_ns;
  std::atomic<uint32_t> used_words;
  uint32_t tid;  ///< the kernel's
};
inline constexpr size_t kChunkHeaderWords = sizeof(ChunkHeader) / kWordBytes;
inline constexpr size_t kChunkWords = kChunkBytes / kWordBytes - kChunkHeaderWords;
static_assert(sizeof(ChunkHeader) == kChunkHeaderWords * kWordBytes);

/// The first word of a record: type in bits 0–7, id in 8–31, ns since the chunk's previous record
/// (its base_ns for the first) in 32–63. What follows depends on the type alone; a text is its
/// length in bytes (one word), then its bytes, filled up with NUL to a whole word.
enum class RecordType : uint8_t {
  kTimeJump = 1,     ///< [time]: replaces the running time
  kLost = 2,         ///< id: records that this thread could not write just before (0: 2^24 or more)
  kCpu = 3,          ///< [thread's CPU ns], at the record before it
  kPushBegin = 4,    ///< id: pad; [pts, ~0: none] [bytes << 16 | buffers]
  kPushEnd = 5,      ///< id: flow return + 128
  kPullBegin = 6,    ///< id: pad; [offset]
  kPullEnd = 7,      ///< id: flow return + 128; [bytes]
  kEventBegin = 8,   ///< id: pad; [GstEventType]
  kEventEnd = 9,     ///< id: 1 handled, 0 not
  kQueryBegin = 10,  ///< id: pad that is asked; [GstQueryType]
  kQueryEnd = 11,    ///< id: 1 answered, 0 not
  kFrame = 12,       ///< id: source; [frame number] [capture ns]; of the kPushBegin before it
  kAllocations = 13,  ///< id: buffers that were made on this thread since the record before it
  kLevel = 14,        ///< id: element that stores; [buffers] [bytes] [ns of media]
  kThreadCpu = 15,    ///< [kernel's thread] [CPU ns of it so far]
  kThreadOwner = 16,  ///< id: element during whose call the thread appeared; [kernel's thread]
  kProcessCpu = 17,   ///< [CPU ns of the process so far]
  kMessage = 18,      ///< id: element; [GstMessageType]
  kElementDef = 32,   ///< id; [ElementFlags]; text: path NUL factory NUL class
  kPadDef = 33,       ///< id; [element << 32 | PadFlags]; text: name
  kLink = 34,         ///< id: source pad; [sink pad, 0: no longer linked]
  kCaps = 35,         ///< id: pad; text
  kThreadDef = 36,    ///< id: the chunk's thread; [kernel's thread]; text: name
  kNote = 37,         ///< text for people: what the recorder could not do
  kThreadName = 38,   ///< [kernel's thread]; text: name of a thread that may never record
  kNameDef = 48,      ///< id; text: a range's, kernel's or function's name
  kDomainDef = 49,    ///< id; text: an NVTX domain's name
  kRangePush = 50,    ///< id: name; [domain << 32 | category] [payload]
  kRangePop = 51,     ///< id: domain
  kRangeStart = 52,   ///< id: name; [domain << 32 | category] [range's number]
  kRangeEnd = 53,     ///< [range's number]
  kMark = 54,         ///< id: name; [domain << 32 | category] [payload]
  kGpuKernel = 64,    ///< id: name; [start] [end] [device << 32 | stream] [correlation]
  kGpuCopy = 65,      ///< id: CopyKind; [start] [end] [device << 32 | stream] [bytes]
  kGpuFill = 66,      ///< memset; [start] [end] [device << 32 | stream] [bytes]
  kApiCall = 67,      ///< id: name; [start] [end] [kernel's thread] [correlation]
  kGpuSync = 68,      ///< id: name of its kind; [start] [end] [kernel's thread]
  kGpuMemory = 69,    ///< id: 1 allocation, 2 release; [bytes] [address] [device]
};

/// Of kElementDef.
enum ElementFlags : uint64_t {
  kElementIsBin = 1,
  kElementIsSource = 2,
  kElementIsSink = 4,
  kElementStores = 8,  ///< a queue: its level is sampled
  kElementLeaks = 16,  ///< a queue that drops when it is full
};

/// Of kPadDef.
enum PadFlags : uint32_t {
  kPadIsSource = 1,
  kPadIsProxy = 2,  ///< a bin's pad, or what is behind it: passes calls on
};

enum CopyKind : uint32_t {
  kCopyUnknown = 0,
  kCopyHostToDevice = 1,
  kCopyDeviceToHost = 2,
  kCopyHostToArray = 3,
  kCopyArrayToHost = 4,
  kCopyArrayToArray = 5,
  kCopyArrayToDevice = 6,
  kCopyDeviceToArray = 7,
  kCopyDeviceToDevice = 8,
  kCopyHostToHost = 9,
  kCopyPeerToPeer = 10,
};

/// Words after the first one; -1: a type that this version does not know. `has_text` says whether a
/// text follows them.
struct RecordShape {
  int words = -1;
  bool has_text = false;
};
constexpr RecordShape ShapeOf(RecordType type) {
  switch (type) {
    case RecordType::kLost:
    case RecordType::kPushEnd:
    case RecordType::kEventEnd:
    case RecordType::kQueryEnd:
    case RecordType::kAllocations:
    case RecordType::kRangePop:
      return {0, false};
    case RecordType::kTimeJump:
    case RecordType::kCpu:
    case RecordType::kPullBegin:
    case RecordType::kPullEnd:
    case RecordType::kEventBegin:
    case RecordType::kQueryBegin:
    case RecordType::kThreadOwner:
    case RecordType::kProcessCpu:
    case RecordType::kMessage:
    case RecordType::kLink:
    case RecordType::kRangeEnd:
      return {1, false};
    case RecordType::kPushBegin:
    case RecordType::kFrame:
    case RecordType::kThreadCpu:
    case RecordType::kRangePush:
    case RecordType::kRangeStart:
    case RecordType::kMark:
      return {2, false};
    case RecordType::kLevel:
    case RecordType::kGpuSync:
    case RecordType::kGpuMemory:
      return {3, false};
    case RecordType::kGpuKernel:
    case RecordType::kGpuCopy:
    case RecordType::kGpuFill:
    case RecordType::kApiCall:
      return {4, false};
    case RecordType::kCaps:
    case RecordType::kNote:
    case RecordType::kNameDef:
    case RecordType::kDomainDef:
      return {0, true};
    case RecordType::kElementDef:
    case RecordType::kPadDef:
    case RecordType::kThreadDef:
    case RecordType::kThreadName:
      return {1, true};
  }
  return {};
}

inline constexpr uint32_t kMaxId = (1u << 24) - 1;
inline constexpr uint64_t kNoPts = ~uint64_t{0};
inline constexpr int kFlowOffset = 128;

/// A thread's first outermost calls all have their CPU clock read; of the later ones, one of
/// cpu_sample_period.
inline constexpr uint32_t kAlwaysSampledCalls = 32;

}  // namespace sg::trace
