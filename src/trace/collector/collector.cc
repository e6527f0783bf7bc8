#include "trace/collector/collector.h"

#include <cstdio>
#include <cstdlib>

namespace sg::trace::collector {
namespace {

constexpr size_t kMostNames = 1'000'000;
constexpr uint64_t kDefaultMaxMib = 1024;

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Names = std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>>;

/// Never destroyed: threads may end after main.
struct SharedNames {
  std::mutex mutex;
  Names names;
};
SharedNames& Shared() {
  static auto* shared = new SharedNames;
  return *shared;
}

struct ThreadState {
  explicit ThreadState(ThreadTrace own) : trace(own) {}
  ThreadTrace trace;
  Names names;  ///< those this thread has used, found without locking
};

thread_local ThreadState* t_state = nullptr;
thread_local bool t_ended = false;

struct EndOfThread {
  ~EndOfThread() {
    t_ended = true;
    delete t_state;
    t_state = nullptr;
  }
};

ThreadState* State() {
  if (t_state != nullptr || t_ended) return t_state;
  TraceWriter* writer = Writer();
  if (writer == nullptr) return nullptr;
  static thread_local EndOfThread end;
  t_state = new ThreadState(writer->NewThread());
  return t_state;
}

TraceWriter* OpenWriter() {
  TraceOptions options;
  const char* file = std::getenv("SGCOLLECT_FILE");
  options.path = file != nullptr && *file != '\0' ? file : "sgcollect-%p.sgtrace";
  const char* limit = std::getenv("SGCOLLECT_MAX_MIB");
  const uint64_t mib = limit != nullptr ? std::strtoull(limit, nullptr, 10) : 0;
  options.max_bytes = (mib > 0 ? mib : kDefaultMaxMib) << 20;
  Result<std::unique_ptr<TraceWriter>> writer = TraceWriter::Create(options);
  if (writer.ok()) return std::move(*writer).release();
  std::fprintf(stderr, "sgcollect: %s; nothing is recorded\n", writer.error().message.c_str());
  return nullptr;
}

}  // namespace

TraceWriter* Writer() {
  static TraceWriter* const writer = OpenWriter();
  return writer;
}

ThreadTrace* Thread() {
  ThreadState* state = State();
  return state == nullptr ? nullptr : &state->trace;
}

uint32_t NameId(std::string_view name) {
  ThreadState* state = State();
  if (state == nullptr) return 0;
  const auto known = state->names.find(name);
  if (known != state->names.end()) return known->second;
  SharedNames& shared = Shared();
  const std::lock_guard lock(shared.mutex);
  auto found = shared.names.find(name);
  if (found == shared.names.end()) {
    if (shared.names.size() >= kMostNames) name = "(a name beyond the first million)";
    const auto [at, fresh] = shared.names.try_emplace(std::string(name), 0);
    found = at;
    if (fresh) {
      found->second = Writer()->NewId();
      state->trace.WriteText(RecordType::kNameDef, found->second, MonotonicNs(), name);
    }
  }
  state->names.emplace(found->first, found->second);
  return found->second;
}

void Note(const std::string& text) {
  if (ThreadTrace* thread = Thread()) thread->WriteText(RecordType::kNote, 0, MonotonicNs(), text);
}

}  // namespace sg::trace::collector
