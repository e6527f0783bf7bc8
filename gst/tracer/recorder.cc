#include "gst/tracer/recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "gst/tracer/element_facts.h"
#include "pipeline/gst/batch_meta.h"

namespace sg::trace {

/// What the hooks keep for each thread.
struct ThreadState {
  explicit ThreadState(ThreadTrace own) : trace(own) {}

  static constexpr size_t kMostDepth = 256;
  ThreadTrace trace;
  std::array<OpenCall, kMostDepth> calls;
  size_t depth = 0;  ///< may exceed kMostDepth: deeper calls are not recorded
  uint32_t outermost_calls = 0;
  uint32_t until_sample = 0;
  bool sampled = false;      ///< this outermost call has its CPU clock read
  bool gap_sampled = false;  ///< the last one had, and the next begin tells what lay between
  bool in_hook = false;      ///< our own GStreamer calls are not recorded
  uint32_t allocations = 0;
  nvtx::RangeName loop_range;  ///< open between two outermost calls
  uint64_t random = 0;
  std::vector<uint64_t> threads_before;  ///< of the process, at state changes that are going on
  const KnownElement* woken = nullptr;   ///< became PAUSED here just now
  uint64_t threads_at_wake = 0;
  int hooks_after_wake = 0;
};

namespace {

constexpr uint32_t kLooksForThreads = 2;

// Read on every hook: initial-exec spares a call for its address.
__attribute__((tls_model("initial-exec"))) thread_local ThreadState* t_state = nullptr;
thread_local bool t_ended = false;

struct EndOfThread {
  ~EndOfThread() {
    t_ended = true;
    delete t_state;
    t_state = nullptr;
  }
};

/// Recording stops within: what our own calls into GStreamer cause is not the pipeline's.
class Quiet {
 public:
  explicit Quiet(ThreadState* state) : state_(state) { state_->in_hook = true; }
  ~Quiet() { state_->in_hook = false; }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  ThreadState* const state_;
};

/// A distance to the next sampled call whose mean is `period`.
uint32_t NextDistance(ThreadState* state, uint32_t period) {
  uint64_t& x = state->random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return 1 + static_cast<uint32_t>((x >> 16) % (2 * period - 1));
}

}  // namespace

Recorder::Recorder(RecorderSettings settings) : settings_(std::move(settings)) {}

bool Recorder::Open(GstClockTime ts) {
  // Hooks' times count from GStreamer's start.
  const uint64_t base_ns = MonotonicNs() - ts;
  std::call_once(opened_, [this, base_ns] {
    base_ns_ = base_ns;
    TraceOptions options;
    options.path = settings_.file;
    options.max_bytes = settings_.max_mib << 20;
    options.cpu_sample_period = settings_.period;
    Result<std::unique_ptr<TraceWriter>> writer = TraceWriter::Create(options);
    if (!writer.ok()) {
      g_printerr("sgtrace: %s; nothing is recorded\n", writer.error().message.c_str());
      return;
    }
    writer_ = *std::move(writer);
    std::thread([this] { RunSampler(); }).detach();
    new_threads_.Start();  // our own are known from here
  });
  return writer_ != nullptr;
}

ThreadState* Recorder::State(GstClockTime ts) {
  ThreadState* state = t_state;
  if (state != nullptr) [[likely]]
    return state->in_hook ? nullptr : state;
  if (t_ended || !Open(ts)) return nullptr;
  static thread_local EndOfThread end;
  state = new ThreadState(writer_->NewThread());
  state->random = MonotonicNs() | 1;
  t_state = state;
  new_threads_.Know(static_cast<uint32_t>(gettid()));
  return state;
}

KnownElement* Recorder::ElementOf(GstElement* element) {
  if (void* known = objects_.Find(element)) return static_cast<KnownElement*>(known);
  auto* fresh = new KnownElement;
  fresh->id = writer_->NewId();
  fresh->is_bin = GST_IS_BIN(element);
  Describe(element, fresh, FlagsOf(element));
  objects_.Insert(element, fresh);
  return fresh;
}

void Recorder::Describe(GstElement* element, KnownElement* known, uint64_t flags) {
  const std::string path = PathOf(GST_OBJECT(element));
  const gchar* klass = gst_element_get_metadata(element, GST_ELEMENT_METADATA_KLASS);
  std::string text = path + '\0' + FactoryOf(element) + '\0' + (klass != nullptr ? klass : "");
  t_state->trace.WriteText(RecordType::kElementDef, known->id, flags, MonotonicNs(), text);
}

KnownPad* Recorder::PadOf(GstPad* pad) {
  if (void* known = objects_.Find(pad)) [[likely]]
    return static_cast<KnownPad*>(known);
  return DefinePad(pad);
}

KnownPad* Recorder::DefinePad(GstPad* pad) {
  const Quiet quiet(t_state);
  const std::lock_guard lock(define_);
  if (void* known = objects_.Find(pad)) return static_cast<KnownPad*>(known);
  auto* fresh = new KnownPad;
  fresh->id = writer_->NewId();
  if (GstElement* element = ElementAround(pad)) {
    fresh->element = ElementOf(element);
    gst_object_unref(element);
  }
  uint32_t flags = 0;
  if (GST_PAD_IS_SRC(pad)) flags |= kPadIsSource;
  if (GST_IS_PROXY_PAD(pad)) flags |= kPadIsProxy;
  const uint64_t element_id = fresh->element != nullptr ? fresh->element->id : 0;
  t_state->trace.WriteText(RecordType::kPadDef, fresh->id, element_id << 32 | flags, MonotonicNs(),
                           NameOf(GST_OBJECT(pad)));
  objects_.Insert(pad, fresh);
  return fresh;
}

template <size_t N>
void Recorder::Begin(ThreadState* state, uint64_t time_ns, const OpenCall& call,
                     const std::array<uint64_t, N>& words) {
  if (state->woken != nullptr) [[unlikely]]
    LookAfterStateChange(state);
  if (state->allocations > 0) {
    state->trace.Write(RecordType::kAllocations, state->allocations, time_ns);
    state->allocations = 0;
  }
  state->trace.Write(call.type, call.pad->id, time_ns, words);
  if (state->depth < ThreadState::kMostDepth) state->calls[state->depth] = call;
  bool read_clock = state->sampled;
  if (state->depth++ == 0) {
    const bool always = state->outermost_calls++ < kAlwaysSampledCalls || settings_.period == 1;
    if (settings_.period == 0) {
      state->sampled = false;
    } else if (always) {
      state->sampled = true;
    } else if (state->until_sample <= 1) {
      state->sampled = true;
      state->until_sample = NextDistance(state, settings_.period);
    } else {
      state->sampled = false;
      --state->until_sample;
    }
    read_clock = state->sampled || state->gap_sampled;
    state->gap_sampled = false;
  }
  if (read_clock)
    state->trace.Write(RecordType::kCpu, 0, time_ns, std::array<uint64_t, 1>{ThreadCpuNs()});
}

template <size_t N>
void Recorder::End(ThreadState* state, uint64_t time_ns, RecordType type, uint32_t id,
                   const std::array<uint64_t, N>& words) {
  // Begun before this thread was seen.
  if (state->depth == 0) return;
  const uint64_t cpu_ns = state->sampled ? ThreadCpuNs() : 0;
  if (state->allocations > 0) {
    state->trace.Write(RecordType::kAllocations, state->allocations, time_ns);
    state->allocations = 0;
  }
  state->trace.Write(type, id, time_ns, words);
  if (state->sampled)
    state->trace.Write(RecordType::kCpu, 0, time_ns, std::array<uint64_t, 1>{cpu_ns});
  --state->depth;
  if (state->depth == 0) {
    state->gap_sampled = state->sampled;
    state->sampled = false;
  }
  if (state->depth >= ThreadState::kMostDepth) return;
  const OpenCall& call = state->calls[state->depth];
  const bool streams = call.type == RecordType::kPushBegin || call.type == RecordType::kPullBegin;
  if (call.range.domain != nullptr) nvtx::Pop(call.range);
  if (state->depth == 0 && streams && call.pad->element != nullptr && settings_.nvtx) {
    state->loop_range = call.pad->element->range;
    if (state->loop_range.domain != nullptr) nvtx::Push(state->loop_range, nvtx::kLoop, 0);
  }
}

void Recorder::BeginRanges(ThreadState* state, const OpenCall& call, bool calls_code) {
  if (!settings_.nvtx || !nvtx::Listens()) return;
  if (state->depth == 1 && state->loop_range.domain != nullptr) {
    nvtx::Pop(state->loop_range);
    state->loop_range = {};
  }
  if (!calls_code || call.callee == nullptr || call.callee->range.domain == nullptr ||
      state->depth > ThreadState::kMostDepth)
    return;
  nvtx::Push(call.callee->range, nvtx::kCall, call.payload);
  state->calls[state->depth - 1].range = call.callee->range;
}

void Recorder::Frames(ThreadState* state, uint64_t time_ns, GstBuffer* buffer, uint64_t* payload) {
  const auto write = [&](const GstSgFrameMeta& frame) {
    state->trace.Write(RecordType::kFrame, frame.source_id, time_ns,
                       std::array<uint64_t, 2>{frame.frame_number, frame.capture_ns});
  };
  // Most buffers have none at all, which one look tells.
  gpointer position = nullptr;
  if (gst_buffer_iterate_meta(buffer, &position) == nullptr) return;
  if (const GstSgFrameMeta* frame = GetFrameMeta(buffer)) {
    *payload = uint64_t{frame->source_id} << 32 | (frame->frame_number & UINT32_MAX);
    write(*frame);
    return;
  }
  const GstSgBatchMeta* batch = GetBatchMeta(buffer);
  if (batch == nullptr) return;
  for (const BatchFrame& in : *batch->frames)
    if (const GstSgFrameMeta* frame = GetFrameMeta(in.buffer)) write(*frame);
}

void Recorder::PushBegin(GstClockTime ts, GstPad* pad, GstBuffer* buffer) {
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  KnownPad* known = PadOf(pad);
  const uint64_t time_ns = TimeOf(ts);
  OpenCall call{RecordType::kPushBegin, known, known->peer.load(std::memory_order_acquire)};
  const uint64_t bytes = buffer != nullptr ? gst_buffer_get_size(buffer) : 0;
  const uint64_t pts =
      buffer != nullptr && GST_BUFFER_PTS_IS_VALID(buffer) ? GST_BUFFER_PTS(buffer) : kNoPts;
  call.payload = pts;
  call.threads = CountAtFirst(known);
  Begin(state, time_ns, call, std::array<uint64_t, 2>{pts, bytes << 16 | 1});
  if (buffer != nullptr) Frames(state, time_ns, buffer, &call.payload);
  BeginRanges(state, call, /*calls_code=*/true);
}

void Recorder::PushListBegin(GstClockTime ts, GstPad* pad, GstBufferList* list) {
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  KnownPad* known = PadOf(pad);
  const uint64_t time_ns = TimeOf(ts);
  OpenCall call{RecordType::kPushBegin, known, known->peer.load(std::memory_order_acquire)};
  const uint64_t count = std::min<uint64_t>(gst_buffer_list_length(list), UINT16_MAX);
  const uint64_t bytes = gst_buffer_list_calculate_size(list);
  GstBuffer* first = count > 0 ? gst_buffer_list_get(list, 0) : nullptr;
  const uint64_t pts =
      first != nullptr && GST_BUFFER_PTS_IS_VALID(first) ? GST_BUFFER_PTS(first) : kNoPts;
  call.payload = pts;
  call.threads = CountAtFirst(known);
  Begin(state, time_ns, call, std::array<uint64_t, 2>{pts, bytes << 16 | count});
  for (uint64_t i = 0; i < count; ++i)
    Frames(state, time_ns, gst_buffer_list_get(list, static_cast<guint>(i)), &call.payload);
  BeginRanges(state, call, /*calls_code=*/true);
}

void Recorder::PushEnd(GstClockTime ts, GstPad*, GstFlowReturn flow) {
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  End(state, TimeOf(ts), RecordType::kPushEnd, static_cast<uint32_t>(flow + kFlowOffset),
      std::array<uint64_t, 0>{});
  if (state->depth >= ThreadState::kMostDepth) return;
  const OpenCall& call = state->calls[state->depth];
  if (call.threads > 0) LookForThreads(state, call.callee, call.threads);
}

void Recorder::PullBegin(GstClockTime ts, GstPad* pad, guint64 offset) {
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  KnownPad* known = PadOf(pad);
  const OpenCall call{RecordType::kPullBegin, known, known->peer.load(std::memory_order_acquire),
                      offset, 0};
  Begin(state, TimeOf(ts), call, std::array<uint64_t, 1>{offset});
  BeginRanges(state, call, /*calls_code=*/true);
}

void Recorder::PullEnd(GstClockTime ts, GstPad*, GstBuffer* buffer, GstFlowReturn flow) {
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  const uint64_t bytes = flow == GST_FLOW_OK && buffer != nullptr ? gst_buffer_get_size(buffer) : 0;
  End(state, TimeOf(ts), RecordType::kPullEnd, static_cast<uint32_t>(flow + kFlowOffset),
      std::array<uint64_t, 1>{bytes});
}

void Recorder::EventBegin(GstClockTime ts, GstPad* pad, GstEvent* event) {
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  KnownPad* known = PadOf(pad);
  const uint64_t time_ns = TimeOf(ts);
  uint64_t threads = 0;
  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
    const Quiet quiet(state);
    GstCaps* caps = nullptr;
    gst_event_parse_caps(event, &caps);
    gchar* text = gst_caps_to_string(caps);
    state->trace.WriteText(RecordType::kCaps, known->id, time_ns, text);
    g_free(text);
    threads = CountThreads();
  }
  const OpenCall call{RecordType::kEventBegin, known, known->peer.load(std::memory_order_acquire),
                      static_cast<uint64_t>(GST_EVENT_TYPE(event)), threads};
  Begin(state, time_ns, call, std::array<uint64_t, 1>{call.payload});
  BeginRanges(state, call, /*calls_code=*/false);
}

void Recorder::EventEnd(GstClockTime ts, GstPad*, gboolean handled) {
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  End(state, TimeOf(ts), RecordType::kEventEnd, handled ? 1 : 0, std::array<uint64_t, 0>{});
  if (state->depth >= ThreadState::kMostDepth) return;
  const OpenCall& call = state->calls[state->depth];
  if (call.threads > 0) LookForThreads(state, call.callee, call.threads);
}

void Recorder::QueryBegin(GstClockTime ts, GstPad* pad, GstQuery* query) {
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  KnownPad* known = PadOf(pad);
  const OpenCall call{RecordType::kQueryBegin, known, known->element,
                      static_cast<uint64_t>(GST_QUERY_TYPE(query)), 0};
  Begin(state, TimeOf(ts), call, std::array<uint64_t, 1>{call.payload});
  BeginRanges(state, call, /*calls_code=*/false);
}

void Recorder::QueryEnd(GstClockTime ts, GstPad*, gboolean answered) {
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  End(state, TimeOf(ts), RecordType::kQueryEnd, answered ? 1 : 0, std::array<uint64_t, 0>{});
}

void Recorder::Linked(GstClockTime ts, GstPad* source, GstPad* sink, GstPadLinkReturn linked) {
  if (linked != GST_PAD_LINK_OK) return;
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  KnownPad* from = PadOf(source);
  KnownPad* to = PadOf(sink);
  from->peer.store(to->element, std::memory_order_release);
  to->peer.store(from->element, std::memory_order_release);
  state->trace.Write(RecordType::kLink, from->id, TimeOf(ts), std::array<uint64_t, 1>{to->id});
}

void Recorder::Unlinked(GstClockTime ts, GstPad* source, gboolean unlinked) {
  if (!unlinked) return;
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  KnownPad* from = PadOf(source);
  from->peer.store(nullptr, std::memory_order_release);
  state->trace.Write(RecordType::kLink, from->id, TimeOf(ts), std::array<uint64_t, 1>{0});
}

void Recorder::Message(GstClockTime ts, GstElement* element, GstMessage* message) {
  const GstMessageType type = GST_MESSAGE_TYPE(message);
  if (type != GST_MESSAGE_EOS && type != GST_MESSAGE_ERROR && type != GST_MESSAGE_WARNING &&
      type != GST_MESSAGE_QOS)
    return;
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  const void* known = objects_.Find(element);
  const uint32_t id = known != nullptr ? static_cast<const KnownElement*>(known)->id : 0;
  state->trace.Write(RecordType::kMessage, id, MonotonicNs(),
                     std::array<uint64_t, 1>{static_cast<uint64_t>(type)});
  // The process may end any time from here.
  if (type != GST_MESSAGE_EOS && type != GST_MESSAGE_ERROR) return;
  SampleNow();
  // An element that posts an error may hold the lock that its level is read under.
  if (type == GST_MESSAGE_EOS) {
    const Quiet quiet(state);
    const std::unique_lock lock(sample_, std::try_to_lock);
    if (lock.owns_lock()) SampleLevels(&state->trace);
  }
}

void Recorder::StateChanging(GstClockTime ts, GstElement* element, GstStateChange transition) {
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY && GST_OBJECT_PARENT(element) == nullptr)
    SampleNow();
  if (state->woken != nullptr) LookAfterStateChange(state);
  state->woken = nullptr;
  state->threads_before.push_back(CountThreads());
}

void Recorder::StateChanged(GstClockTime ts, GstElement* element, GstStateChange transition) {
  ThreadState* state = State(ts);
  if (state == nullptr) return;
  uint64_t before = 0;
  if (!state->threads_before.empty()) {
    before = state->threads_before.back();
    state->threads_before.pop_back();
  }
  const Quiet quiet(state);
  KnownElement* known = nullptr;
  {
    const std::lock_guard lock(define_);
    known = ElementOf(element);
  }
  // Only now is it where it belongs, with its properties set. They are read without a lock of ours:
  // reading takes the element's.
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED)
    Describe(element, known, FlagsOf(element) | (Leaks(element) ? uint64_t{kElementLeaks} : 0));
  // Once: a call that is going on ends the range that it began.
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && settings_.nvtx && nvtx::Listens() &&
      !known->is_bin && known->range.domain == nullptr) {
    const std::string path = PathOf(GST_OBJECT(element));
    known->range = nvtx::NameOf(path.substr(0, path.find('/')), NameOf(GST_OBJECT(element)));
  }
  if (before > 0) LookForThreads(state, known, before);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) {
    state->woken = known;
    state->threads_at_wake = CountThreads();
    state->hooks_after_wake = 0;
  }
  if (transition != GST_STATE_CHANGE_READY_TO_PAUSED || !LevelOf(element).known) return;
  const std::lock_guard lock(sample_);
  for (const auto& [id, reference] : stores_)
    if (id == known->id) return;
  auto* reference = new GWeakRef;
  g_weak_ref_init(reference, element);
  stores_.emplace_back(known->id, reference);
}

void Recorder::Made(GstMiniObject* object) {
  if (settings_.allocations && t_state != nullptr &&
      GST_MINI_OBJECT_TYPE(object) == GST_TYPE_BUFFER)
    ++t_state->allocations;
}

void Recorder::Destroyed(GstObject* object) {
  if (writer_ != nullptr) objects_.Erase(object);
}

/// Decoders and inference engines make their threads when the first data come: then they are
/// counted before and after.
uint64_t Recorder::CountAtFirst(KnownPad* pad) const {
  if (pad->looks.load(std::memory_order_relaxed) >= kLooksForThreads) [[likely]]
    return 0;
  pad->looks.fetch_add(1, std::memory_order_relaxed);
  return CountThreads();
}

/// A new thread inherits the name of the one that made it; libav's then take one of their own.
void Recorder::LookForThreads(ThreadState* state, const KnownElement* owner, uint64_t before) {
  if (owner == nullptr || CountThreads() == before) return;
  char own[16] = "";
  std::string own_name;
  for (const uint32_t tid : new_threads_.Take()) {
    if (own_name.empty()) {
      pthread_getname_np(pthread_self(), own, sizeof own);
      own_name = own;
    }
    const std::string name = ThreadName(tid);
    if (name == own_name || name.compare(0, 3, "av:") == 0)
      state->trace.Write(RecordType::kThreadOwner, owner->id, MonotonicNs(),
                         std::array<uint64_t, 1>{tid});
    else
      new_threads_.GiveBack(tid);
  }
}

void Recorder::LookAfterStateChange(ThreadState* state) {
  constexpr int kMostHooks = 64;
  LookForThreads(state, state->woken, state->threads_at_wake);
  state->threads_at_wake = CountThreads();
  if (++state->hooks_after_wake == kMostHooks) state->woken = nullptr;
}

void Recorder::SampleThreads(ThreadTrace* trace) {
  const uint64_t now_ns = MonotonicNs();
  trace->Write(RecordType::kProcessCpu, 0, now_ns, std::array<uint64_t, 1>{ProcessCpuNs()});
  const std::lock_guard lock(named_mutex_);
  for (const ThreadCpu& thread : AllThreadCpu()) {
    if (named_.insert(thread.tid).second)
      trace->WriteText(RecordType::kThreadName, 0, thread.tid, now_ns, ThreadName(thread.tid));
    trace->Write(RecordType::kThreadCpu, 0, now_ns,
                 std::array<uint64_t, 2>{thread.tid, thread.cpu_ns});
  }
}

void Recorder::SampleLevels(ThreadTrace* trace) {
  for (auto at = stores_.begin(); at != stores_.end();) {
    auto* element = static_cast<GstElement*>(g_weak_ref_get(at->second));
    if (element == nullptr) {
      g_weak_ref_clear(at->second);
      delete at->second;
      at = stores_.erase(at);
      continue;
    }
    const Level level = LevelOf(element);
    trace->Write(RecordType::kLevel, at->first, MonotonicNs(),
                 std::array<uint64_t, 3>{level.buffers, level.bytes, level.time_ns});
    gst_object_unref(element);
    ++at;
  }
}

void Recorder::SampleNow() {
  ThreadState* state = t_state;
  if (state == nullptr || state->in_hook) return;
  const Quiet quiet(state);
  SampleThreads(&state->trace);
}

void Recorder::RunSampler() {
  using std::chrono::milliseconds;
  pthread_setname_np(pthread_self(), "sgtrace-levels");
  auto* state = new ThreadState(writer_->NewThread());
  t_state = state;
  const Quiet quiet(state);
  constexpr size_t kStoresForFree = 50;
  constexpr int kLevelsPerThreads = 10;
  for (int round = 0;; ++round) {
    size_t stores = 0;
    {
      const std::lock_guard lock(sample_);
      SampleLevels(&state->trace);
      stores = stores_.size();
    }
    if (round % kLevelsPerThreads == 0) SampleThreads(&state->trace);
    std::this_thread::sleep_for(
        milliseconds(settings_.level_period_ms * (1 + stores / kStoresForFree)));
  }
}

}  // namespace sg::trace
