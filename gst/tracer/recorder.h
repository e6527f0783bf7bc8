// What sgtrace records: the hooks' side of the trace. Every function may be called from any thread,
// at any time; on the data path they stamp and enqueue.
//
// Invariants
// 1. Known objects are never freed: a hook may hold one while its GstObject dies.
// 2. A thread's records are written by that thread alone; Hidden threads (the sampler) have their
//    own.
// 3. CPU clocks are read for one outermost call of `period`, at every begin and end within it and
//    at the begin of the next outermost call, so that what lies between is known too. The distance
//    is random: a pipeline's rhythm must not meet it.
// 4. New threads are looked for where elements make them: around state changes, caps events and the
//    first pushes, and between an element's state change and the next hook on the same thread
//    (decodebin hands caps to a decoder without a push).
#pragma once

#include <gst/gst.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gst/tracer/nvtx_ranges.h"
#include "gst/tracer/object_table.h"
#include "gst/tracer/thread_watch.h"
#include "trace/trace_writer.h"

namespace sg::trace {

struct RecorderSettings {
  std::string file = "sgtrace-%p.sgtrace";
  uint32_t period = 32;     ///< of reading CPU clocks; 0: never, 1: always
  uint64_t max_mib = 1024;  ///< the file grows no further
  uint32_t level_period_ms = 50;
  bool allocations = true;  ///< count buffers that are made
  bool nvtx = true;
};

/// An element that was seen.
struct KnownElement {
  uint32_t id = 0;
  bool is_bin = false;
  nvtx::RangeName range;
};

/// A pad that was seen.
struct KnownPad {
  uint32_t id = 0;
  KnownElement* element = nullptr;           ///< of the pad itself, or the bin around it
  std::atomic<KnownElement*> peer{nullptr};  ///< who is called when this pad pushes or pulls
  std::atomic<uint32_t> looks{0};            ///< pushes around which new threads were looked for
};

/// A call that is going on.
struct OpenCall {
  RecordType type;
  KnownPad* pad = nullptr;
  KnownElement* callee = nullptr;
  uint64_t payload = 0;        ///< of the NVTX range
  uint64_t threads = 0;        ///< of the process before it; 0: not counted
  nvtx::RangeName range = {};  ///< that it opened, if any
};

struct ThreadState;

class Recorder {
 public:
  /// Opens the file at the first record, so that processes that only load plugins leave none.
  explicit Recorder(RecorderSettings settings);
  /// Never destroyed: streaming threads may outlive main.
  ~Recorder() = delete;

  /// `ts` is GStreamer's time of a hook.
  void PushBegin(GstClockTime ts, GstPad* pad, GstBuffer* buffer);
  void PushListBegin(GstClockTime ts, GstPad* pad, GstBufferList* list);
  void PushEnd(GstClockTime ts, GstPad* pad, GstFlowReturn flow);
  void PullBegin(GstClockTime ts, GstPad* pad, guint64 offset);
  void PullEnd(GstClockTime ts, GstPad* pad, GstBuffer* buffer, GstFlowReturn flow);
  void EventBegin(GstClockTime ts, GstPad* pad, GstEvent* event);
  void EventEnd(GstClockTime ts, GstPad* pad, gboolean handled);
  void QueryBegin(GstClockTime ts, GstPad* pad, GstQuery* query);
  void QueryEnd(GstClockTime ts, GstPad* pad, gboolean answered);
  void Linked(GstClockTime ts, GstPad* source, GstPad* sink, GstPadLinkReturn linked);
  void Unlinked(GstClockTime ts, GstPad* source, gboolean unlinked);
  void Message(GstClockTime ts, GstElement* element, GstMessage* message);
  void StateChanging(GstClockTime ts, GstElement* element, GstStateChange transition);
  void StateChanged(GstClockTime ts, GstElement* element, GstStateChange transition);
  void Made(GstMiniObject* object);
  void Destroyed(GstObject* object);

 private:
  ThreadState* State(GstClockTime ts);
  bool Open(GstClockTime ts);
  uint64_t TimeOf(GstClockTime ts) const { return base_ns_ + ts; }
  KnownPad* PadOf(GstPad* pad);
  KnownPad* DefinePad(GstPad* pad);
  KnownElement* ElementOf(GstElement* element);
  void Describe(GstElement* element, KnownElement* known, uint64_t flags);
  void Frames(ThreadState* state, uint64_t time_ns, GstBuffer* buffer, uint64_t* payload);
  template <size_t N>
  void Begin(ThreadState* state, uint64_t time_ns, const OpenCall& call,
             const std::array<uint64_t, N>& words);
  void BeginRanges(ThreadState* state, const OpenCall& call, bool calls_code);
  template <size_t N>
  void End(ThreadState* state, uint64_t time_ns, RecordType type, uint32_t id,
           const std::array<uint64_t, N>& words);
  uint64_t CountAtFirst(KnownPad* pad) const;
  void LookForThreads(ThreadState* state, const KnownElement* owner, uint64_t before);
  void LookAfterStateChange(ThreadState* state);
  void RunSampler();
  void SampleThreads(ThreadTrace* trace);
  void SampleLevels(ThreadTrace* trace);
  void SampleNow();

  const RecorderSettings settings_;
  std::once_flag opened_;
  std::unique_ptr<TraceWriter> writer_;  ///< null: could not be opened; nothing is recorded
  uint64_t base_ns_ = 0;                 ///< a hook's time + this is CLOCK_MONOTONIC
  ObjectTable objects_;
  std::mutex define_;  ///< one definition at a time
  NewThreads new_threads_;

  std::mutex named_mutex_;
  std::unordered_set<uint32_t> named_;  ///< threads whose name is written; guarded by named_mutex_

  std::mutex sample_;  ///< guards stores_
  std::vector<std::pair<uint32_t, GWeakRef*>> stores_;
};

}  // namespace sg::trace
