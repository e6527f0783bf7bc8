#include "trace/trace_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/files.h"

namespace sg::trace {
namespace {

/// Parts of `text` between NULs.
std::vector<std::string> SplitAtNul(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find('\0');
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool IsDefinition(RecordType type) {
  switch (type) {
    case RecordType::kElementDef:
    case RecordType::kPadDef:
    case RecordType::kThreadDef:
    case RecordType::kThreadName:
    case RecordType::kNameDef:
    case RecordType::kDomainDef:
    case RecordType::kNote:
      return true;
    default:
      return false;
  }
}

/// Reads the record at words[at]; false when there is none that makes sense. Moves `at` behind it.
bool ReadRecord(const uint64_t* words, size_t count, size_t* at, Record* record) {
  const uint64_t first = words[*at];
  record->type = static_cast<RecordType>(first & 0xff);
  record->id = static_cast<uint32_t>(first >> 8 & kMaxId);
  record->time_ns += first >> 32;
  const RecordShape shape = ShapeOf(record->type);
  if (shape.words < 0) return false;
  size_t need = static_cast<size_t>(shape.words) + (shape.has_text ? 1 : 0);
  if (need > count - *at - 1) return false;
  record->words = words + *at + 1;
  record->text = {};
  if (shape.has_text) {
    const uint64_t length = record->words[shape.words];
    const size_t room = (count - *at - 1 - need) * kWordBytes;
    if (length > room) return false;
    record->text = {reinterpret_cast<const char*>(record->words + need), length};
    need += (length + kWordBytes - 1) / kWordBytes;
  }
  *at += 1 + need;
  if (record->type == RecordType::kTimeJump) record->time_ns = record->words[0];
  return true;
}

}  // namespace

bool IsTraceFile(std::string_view first_bytes) {
  return first_bytes.substr(0, sizeof kMagic) == std::string_view(kMagic, sizeof kMagic);
}

Result<TraceFile> TraceFile::Open(const std::string& path) {
  if (!FileExists(path)) return UserError(path + ": no such file");
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return EnvironmentError(path + ": cannot be read: " + std::strerror(errno));
  std::vector<uint64_t> words(kHeaderBytes / kWordBytes);
  const size_t got = std::fread(words.data(), 1, kHeaderBytes, file);
  if (got == kHeaderBytes) {
    uint64_t claimed = 0;
    std::memcpy(&claimed,
                reinterpret_cast<const char*>(words.data()) + offsetof(FileHeader, chunks_claimed),
                sizeof claimed);
    // The end of the file is space that was claimed ahead.
    const Result<uint64_t> size = FileSize(path);
    const uint64_t on_disk = size.ok() && *size > kHeaderBytes ? *size - kHeaderBytes : 0;
    const uint64_t wanted = std::min(claimed, on_disk / kChunkBytes + 1) * kChunkBytes;
    words.resize((kHeaderBytes + wanted) / kWordBytes);
    const size_t more =
        std::fread(words.data() + kHeaderBytes / kWordBytes, kWordBytes, wanted / kWordBytes, file);
    words.resize(kHeaderBytes / kWordBytes + more);
  } else {
    words.resize(got / kWordBytes);
  }
  std::fclose(file);
  return Parse(std::move(words), path);
}

Result<TraceFile> TraceFile::Parse(std::vector<uint64_t> words, const std::string& where) {
  TraceFile trace;
  trace.bytes_ = std::move(words);
  const std::string_view all(reinterpret_cast<const char*>(trace.bytes_.data()),
                             trace.bytes_.size() * kWordBytes);
  if (!IsTraceFile(all))
    return UserError(where + ": is not a trace that sgtrace or the collector wrote");
  if (all.size() < kHeaderBytes)
    return UserError(where + ": ends within its header; the trace was cut when it was copied");
  const auto* header = reinterpret_cast<const FileHeader*>(trace.bytes_.data());
  if (header->version != kVersion || header->chunk_bytes != kChunkBytes)
    return UserError(where + ": is a trace of version " + std::to_string(header->version) +
                     ", this program reads version " + std::to_string(kVersion));
  trace.ReadHeader(where);
  trace.FindChunks();
  for (const TracedThread& thread : trace.threads)
    trace.ForEach(thread, [&](const Record& record) {
      ++trace.records;
      if (!IsDefinition(record.type)) {
        trace.first_ns =
            trace.first_ns == 0 ? record.time_ns : std::min(trace.first_ns, record.time_ns);
        trace.last_ns = std::max(trace.last_ns, record.time_ns);
      }
    });
  // Names first: another thread's record may come before the one that says what its number means.
  for (TracedThread& thread : trace.threads)
    trace.ForEach(thread, [&](const Record& record) {
      if (record.type == RecordType::kThreadDef && record.id == thread.number)
        thread.name = std::string(record.text);
      trace.ReadDefinition(record);
    });
  std::stable_sort(trace.links.begin(), trace.links.end(),
                   [](const LinkChange& a, const LinkChange& b) { return a.time_ns < b.time_ns; });
  for (const TracedThread& thread : trace.threads)
    trace.ForEach(thread, [&](const Record& record) {
      const auto pad = trace.pads.find(record.id);
      if (record.type == RecordType::kCaps && pad != trace.pads.end())
        pad->second.caps = std::string(record.text);
    });
  return trace;
}

void TraceFile::ReadHeader(const std::string& where) {
  const auto* header = reinterpret_cast<const FileHeader*>(bytes_.data());
  path = where;
  pid = header->pid;
  start_ns = header->start_ns;
  start_realtime_ns = header->start_realtime_ns;
  cpu_clock_cost_ns = header->cpu_clock_cost_ns;
  cpu_sample_period = header->cpu_sample_period;
  records_lost = header->records_lost.load();
  std::string_view arguments(header->program, kProgramBytes);
  arguments = arguments.substr(0, arguments.find_last_not_of('\0') + 1);
  if (!arguments.empty()) program = SplitAtNul(arguments);
}

void TraceFile::FindChunks() {
  std::map<uint32_t, TracedThread> by_number;
  constexpr size_t kStep = kChunkBytes / kWordBytes;
  for (size_t at = kHeaderBytes / kWordBytes; at + kStep <= bytes_.size(); at += kStep) {
    const auto* chunk = reinterpret_cast<const ChunkHeader*>(&bytes_[at]);
    if (chunk->magic == 0) continue;  // claimed, and not written when the process ended
    if (chunk->magic != kChunkMagic || chunk->used_words.load() > kChunkWords) {
      ++damaged_chunks;
      continue;
    }
    TracedThread& thread = by_number[chunk->thread];
    thread.number = chunk->thread;
    thread.tid = chunk->tid;
    thread.chunks.push_back(chunk);
  }
  for (auto& [number, thread] : by_number) {
    std::stable_sort(
        thread.chunks.begin(), thread.chunks.end(),
        [](const ChunkHeader* a, const ChunkHeader* b) { return a->base_ns < b->base_ns; });
    threads.push_back(std::move(thread));
  }
}

void TraceFile::ReadDefinition(const Record& record) {
  switch (record.type) {
    case RecordType::kElementDef: {
      const std::vector<std::string> parts = SplitAtNul(record.text);
      TracedElement& element = elements[record.id];
      element.flags = record.words[0];
      element.path = parts[0];
      element.name = element.path.substr(element.path.rfind('/') + 1);
      if (parts.size() > 1) element.factory = parts[1];
      if (parts.size() > 2) element.klass = parts[2];
      break;
    }
    case RecordType::kPadDef: {
      TracedPad& pad = pads[record.id];
      pad.element = static_cast<uint32_t>(record.words[0] >> 32);
      pad.flags = static_cast<uint32_t>(record.words[0]);
      pad.name = std::string(record.text);
      break;
    }
    case RecordType::kLink:
      links.push_back({record.time_ns, record.id, static_cast<uint32_t>(record.words[0])});
      break;
    case RecordType::kNameDef:
      names[record.id] = std::string(record.text);
      break;
    case RecordType::kDomainDef:
      domains[record.id] = std::string(record.text);
      break;
    case RecordType::kNote:
      notes.emplace_back(record.text);
      break;
    default:
      break;
  }
}

void TraceFile::ForEach(const TracedThread& thread,
                        const std::function<void(const Record&)>& fn) const {
  Record record;
  for (const ChunkHeader* chunk : thread.chunks) {
    const auto* words = reinterpret_cast<const uint64_t*>(chunk) + kChunkHeaderWords;
    const size_t count = chunk->used_words.load();
    record.time_ns = chunk->base_ns;
    for (size_t at = 0; at < count;) {
      if (!ReadRecord(words, count, &at, &record)) break;
      if (record.type != RecordType::kTimeJump) fn(record);
    }
  }
}

LinkTable::LinkTable(const TraceFile& trace) {
  for (const LinkChange& link : trace.links) {
    if (link.sink_pad != 0) {
      peers_[link.source_pad].push_back({link.time_ns, link.sink_pad});
      peers_[link.sink_pad].push_back({link.time_ns, link.source_pad});
      continue;
    }
    const uint32_t old_peer = PeerAt(link.source_pad, link.time_ns);
    peers_[link.source_pad].push_back({link.time_ns, 0});
    if (old_peer != 0) peers_[old_peer].push_back({link.time_ns, 0});
  }
}

uint32_t LinkTable::PeerAt(uint32_t pad, uint64_t time_ns) const {
  const auto found = peers_.find(pad);
  if (found == peers_.end()) return 0;
  const std::vector<Peer>& peers = found->second;
  const auto after =
      std::upper_bound(peers.begin(), peers.end(), time_ns,
                       [](uint64_t time, const Peer& peer) { return time < peer.from_ns; });
  return after == peers.begin() ? 0 : (after - 1)->pad;
}

}  // namespace sg::trace
