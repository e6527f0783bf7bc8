// Reads a trace file, of a process that ended, was killed, or is still writing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "trace/trace_format.h"

namespace sg::trace {

/// One record. The pointers are into the TraceFile.
struct Record {
  uint64_t time_ns = 0;
  RecordType type{};
  uint32_t id = 0;
  const uint64_t* words = nullptr;  ///< as many as the type has
  std::string_view text;
};

struct TracedElement {
  std::string path;  ///< "pipeline0/queue0"
  std::string name;  ///< the path's last part
  std::string factory;
  std::string klass;  ///< "Codec/Decoder/Video"
  uint64_t flags = 0;
};

struct TracedPad {
  uint32_t element = 0;
  uint32_t flags = 0;
  std::string name;
  std::string caps;  ///< the last ones; empty: none seen
};

struct TracedThread {
  uint32_t number = 0;
  uint32_t tid = 0;
  std::string name;
  std::vector<const ChunkHeader*> chunks;  ///< in the order of time
};

/// A pad got a peer, or lost it (sink_pad 0).
struct LinkChange {
  uint64_t time_ns = 0;
  uint32_t source_pad = 0;
  uint32_t sink_pad = 0;
};

class TraceFile {
 public:
  /// kUser: not a trace file, or of another version; kEnvironment: cannot be read.
  static Result<TraceFile> Open(const std::string& path);
  /// The same from a file's bytes; `where` names it in errors. Whatever the bytes are, nothing
  /// outside them is read: a chunk that makes no sense ends where it stops to.
  static Result<TraceFile> Parse(std::vector<uint64_t> words, const std::string& where);

  /// Calls `fn` with each record of the thread, in its order.
  void ForEach(const TracedThread& thread, const std::function<void(const Record&)>& fn) const;

  std::string path;
  std::vector<std::string> program;  ///< its arguments
  uint32_t pid = 0;
  uint64_t start_ns = 0;
  uint64_t start_realtime_ns = 0;
  uint32_t cpu_clock_cost_ns = 0;
  uint32_t cpu_sample_period = 0;
  uint64_t records = 0;
  uint64_t records_lost = 0;
  uint64_t first_ns = 0;  ///< of the records that are not definitions
  uint64_t last_ns = 0;
  std::vector<TracedThread> threads;
  std::map<uint32_t, TracedElement> elements;
  std::map<uint32_t, TracedPad> pads;
  std::map<uint32_t, std::string> names;
  std::map<uint32_t, std::string> domains;
  std::vector<LinkChange> links;   ///< in the order of time
  std::vector<std::string> notes;  ///< the recorder's own
  uint64_t damaged_chunks = 0;

 private:
  void ReadHeader(const std::string& where);
  void FindChunks();
  void ReadDefinition(const Record& record);

  std::vector<uint64_t> bytes_;
};

/// Whether a file's first bytes are a trace's.
bool IsTraceFile(std::string_view first_bytes);

/// Who answers a pad's pushes at a time.
class LinkTable {
 public:
  explicit LinkTable(const TraceFile& trace);
  /// The pad linked to `pad`; 0: unknown.
  uint32_t PeerAt(uint32_t pad, uint64_t time_ns) const;

 private:
  struct Peer {
    uint64_t from_ns;
    uint32_t pad;
  };
  std::map<uint32_t, std::vector<Peer>> peers_;  ///< both directions
};

}  // namespace sg::trace
