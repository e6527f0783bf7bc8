/**
 * SECTION:element-sgmux
 * @title: sgmux
 *
 * Forms batches of the frames of several sources; stands for nvstreammux. The batch holds the
 * sources' own buffers, each with its source id, number and capture time: pixels are not copied or
 * scaled. #sgmux:width and #sgmux:height only set the coordinate space of boxes. Frames leave with
 * their running time as time stamp, so that all sources share one segment.
 *
 * A source that ended, or that kept a batch waiting for five seconds, does not hold up the others.
 * Each source's end travels downstream as a serialised custom event, "sg-source-eos".
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 sgmux name=m batch-size=2 ! fakesink \
 *     videotestsrc num-buffers=30 ! m.sink_0  videotestsrc num-buffers=30 ! m.sink_1
 * ]|
 */
#include <gst/gst.h>
#include <gst/video/video.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "gst/mux_core.h"
#include "pipeline/gst/batch_meta.h"

GST_DEBUG_CATEGORY_STATIC(gst_sg_mux_debug);
#define GST_CAT_DEFAULT gst_sg_mux_debug

namespace {

using Lock = std::unique_lock<std::mutex>;

constexpr int kDefaultPushTimeoutUs = -1;

// A frame on its way through the mux. Owns both references.
struct QueuedFrame : sg::MuxFrame {
  QueuedFrame(GstBuffer* frame, GstCaps* frame_caps)
      : buffer(frame), caps(gst_caps_ref(frame_caps)) {}
  ~QueuedFrame() override {
    if (buffer != nullptr) gst_buffer_unref(buffer);
    gst_caps_unref(caps);
  }
  QueuedFrame(const QueuedFrame&) = delete;
  QueuedFrame& operator=(const QueuedFrame&) = delete;

  GstBuffer* buffer;
  GstCaps* caps;
};

// One sink pad. Everything is guarded by Mux::mutex.
struct SinkPad {
  unsigned source_id = 0;
  GstCaps* caps = nullptr;  ///< nullptr until there are usable ones
  GstVideoInfo info;
  GstSegment segment;
  uint64_t next_frame_number = 0;
  uint64_t dropped_frames = 0;
  bool flushing = false;
  bool released = false;
  bool ended = false;

  ~SinkPad() { gst_caps_replace(&caps, nullptr); }
};

struct Settings {
  guint batch_size = 1;
  gint push_timeout_us = kDefaultPushTimeoutUs;
  guint width = 0;
  guint height = 0;
  bool live_source = false;
  bool sync_inputs = false;
};

// Lock order: the pads' stream locks before `mutex`. Nothing is pushed or posted under `mutex`.
struct Mux {
  std::mutex mutex;
  std::condition_variable work;  ///< the task waits for frames
  std::condition_variable room;  ///< chain functions wait for room in their queue

  Settings settings;
  sg::BatchFormer former;
  bool running = false;  ///< between READY and PAUSED, in both directions
  bool caps_changed = true;
  bool stream_started = false;
  GstFlowReturn src_flow = GST_FLOW_OK;
  guint space_width = 0;  ///< the coordinate space; 0 until the first caps
  guint space_height = 0;
  int fps_n = 0;
  int fps_d = 1;
  bool fps_known = false;
};

}  // namespace

struct GstSgMux {
  GstElement parent;
  GstPad* srcpad;
  Mux* mux;
};

struct GstSgMuxClass {
  GstElementClass parent_class;
};

GType gst_sg_mux_get_type();
#define GST_SG_MUX(object) (reinterpret_cast<GstSgMux*>(object))

G_DEFINE_TYPE(GstSgMux, gst_sg_mux, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(sgmux, "sgmux", GST_RANK_NONE, gst_sg_mux_get_type())

namespace {

enum Property {
  kPropBatchSize = 1,
  kPropBatchedPushTimeout,
  kPropWidth,
  kPropHeight,
  kPropLiveSource,
  kPropSyncInputs,
};

GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink_%u", GST_PAD_SINK, GST_PAD_REQUEST,
    GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("{ I420, NV12, BGRx, BGRA, RGBA, RGB }")));

GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("application/x-sg-batch"));

SinkPad* StateOf(GstPad* pad) { return static_cast<SinkPad*>(gst_pad_get_element_private(pad)); }

void ApplySettings(Mux* mux) {
  sg::MuxSettings settings;
  settings.batch_size = mux->settings.batch_size;
  if (mux->settings.push_timeout_us >= 0) {
    settings.push_timeout_ns =
        uint64_t{1000} * static_cast<uint64_t>(mux->settings.push_timeout_us);
  }
  settings.sync_inputs = mux->settings.sync_inputs;
  mux->former.Configure(settings);
  mux->work.notify_all();
}

// Sink side --------------------------------------------------------------------------------------

// Counts a frame that cannot be used; says so at the 1st, 10th, 100th, …
GstFlowReturn DropFrame(GstSgMux* self, GstPad* pad, GstBuffer* buffer, const char* reason) {
  uint64_t count = 0;
  {
    const Lock lock(self->mux->mutex);
    count = ++StateOf(pad)->dropped_frames;
  }
  gst_buffer_unref(buffer);
  uint64_t power = 1;
  while (power < count) power *= 10;
  if (power == count) {
    GST_ELEMENT_WARNING(self, STREAM, DECODE,
                        ("%s: %" G_GUINT64_FORMAT " frame(s) dropped so far: %s", GST_PAD_NAME(pad),
                         static_cast<guint64>(count), reason),
                        (nullptr));
  }
  return GST_FLOW_OK;
}

const char* WhyUnusable(const SinkPad& sink, GstBuffer* buffer) {
  if (sink.caps == nullptr) return "it came without usable caps";
  const gsize size = gst_buffer_get_size(buffer);
  if (size == 0) return "the buffer has no bytes";
  if (gst_buffer_get_video_meta(buffer) == nullptr && size < GST_VIDEO_INFO_SIZE(&sink.info)) {
    return "the buffer is smaller than a frame of its caps";
  }
  return nullptr;
}

std::optional<uint64_t> RunningTime(const SinkPad& sink, GstBuffer* buffer) {
  const GstClockTime time =
      GST_BUFFER_PTS_IS_VALID(buffer) ? GST_BUFFER_PTS(buffer) : GST_BUFFER_DTS(buffer);
  if (!GST_CLOCK_TIME_IS_VALID(time) || sink.segment.format != GST_FORMAT_TIME) return std::nullopt;
  const guint64 running = gst_segment_to_running_time(&sink.segment, GST_FORMAT_TIME, time);
  if (!GST_CLOCK_TIME_IS_VALID(running)) return std::nullopt;
  return running;
}

// The flow that ends a chain call early, or OK.
GstFlowReturn FlowOf(const Mux& mux, const SinkPad& sink) {
  if (!mux.running || sink.flushing || sink.released) return GST_FLOW_FLUSHING;
  if (sink.ended) return GST_FLOW_EOS;
  return mux.src_flow;
}

GstFlowReturn gst_sg_mux_chain(GstPad* pad, GstObject* parent, GstBuffer* buffer) {
  GstSgMux* self = GST_SG_MUX(parent);
  Mux* mux = self->mux;
  SinkPad* sink = StateOf(pad);
  const uint64_t capture_ns = sg::MonotonicNs();

  // Caps and segment only change on this pad's streaming thread, which is ours.
  if (const char* reason = WhyUnusable(*sink, buffer)) return DropFrame(self, pad, buffer, reason);
  buffer = gst_buffer_make_writable(buffer);
  GstSgFrameMeta* facts = sg::AddFrameMeta(buffer);
  auto frame = std::make_unique<QueuedFrame>(buffer, sink->caps);
  frame->source_id = sink->source_id;
  frame->running_time_ns = RunningTime(*sink, buffer);
  GST_BUFFER_PTS(buffer) = frame->running_time_ns.value_or(GST_CLOCK_TIME_NONE);
  GST_BUFFER_DTS(buffer) = GST_CLOCK_TIME_NONE;

  Lock lock(mux->mutex);
  facts->source_id = sink->source_id;
  facts->frame_number = sink->next_frame_number;
  facts->capture_ns = capture_ns;
  facts->mux_width = mux->space_width;
  facts->mux_height = mux->space_height;
  facts->inferred = FALSE;
  for (;;) {
    const GstFlowReturn flow = FlowOf(*mux, *sink);
    if (flow != GST_FLOW_OK) return flow;
    if (mux->former.HasRoom(sink->source_id)) break;
    mux->room.wait(lock);
  }
  ++sink->next_frame_number;
  mux->former.Push(std::move(frame), sg::MonotonicNs());
  mux->work.notify_all();
  return GST_FLOW_OK;
}

void SetCaps(GstSgMux* self, GstPad* pad, GstCaps* caps) {
  Mux* mux = self->mux;
  SinkPad* sink = StateOf(pad);
  GstVideoInfo info;
  const bool usable = gst_video_info_from_caps(&info, caps) && GST_VIDEO_INFO_WIDTH(&info) > 0 &&
                      GST_VIDEO_INFO_HEIGHT(&info) > 0;
  const Lock lock(mux->mutex);
  gst_caps_replace(&sink->caps, usable ? caps : nullptr);
  if (!usable) return;
  sink->info = info;
  const int fps_n = GST_VIDEO_INFO_FPS_N(&info);
  const int fps_d = GST_VIDEO_INFO_FPS_D(&info);
  const bool known_rate = fps_n > 0 && fps_d > 0;
  mux->former.SetFrameDuration(
      sink->source_id, known_rate ? gst_util_uint64_scale_int(GST_SECOND, fps_d, fps_n) : 0);
  if (mux->space_width == 0) {
    mux->space_width = static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info));
    mux->caps_changed = true;
  }
  if (mux->space_height == 0) {
    mux->space_height = static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info));
    mux->caps_changed = true;
  }
  if (!mux->fps_known && known_rate) {
    mux->fps_n = fps_n;
    mux->fps_d = fps_d;
    mux->fps_known = true;
    mux->caps_changed = mux->caps_changed || !mux->stream_started;
  }
}

void gst_sg_mux_loop(gpointer user_data);

void HandleFlush(GstSgMux* self, SinkPad* sink, bool start) {
  Mux* mux = self->mux;
  bool restart = false;
  {
    const Lock lock(mux->mutex);
    sink->flushing = start;
    if (!start) {
      sink->ended = false;
      gst_segment_init(&sink->segment, GST_FORMAT_UNDEFINED);
      restart = mux->running && mux->src_flow != GST_FLOW_OK;
      mux->src_flow = GST_FLOW_OK;
    }
    mux->former.FlushSource(sink->source_id);
    mux->room.notify_all();
    mux->work.notify_all();
  }
  if (restart) gst_pad_start_task(self->srcpad, gst_sg_mux_loop, self, nullptr);
}

// Everything stays here: the batch stream has its own start, caps, segment and end.
gboolean gst_sg_mux_sink_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  GstSgMux* self = GST_SG_MUX(parent);
  Mux* mux = self->mux;
  SinkPad* sink = StateOf(pad);
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_CAPS: {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      SetCaps(self, pad, caps);
      break;
    }
    case GST_EVENT_SEGMENT: {
      const Lock lock(mux->mutex);
      gst_event_copy_segment(event, &sink->segment);
      break;
    }
    case GST_EVENT_STREAM_START: {
      const Lock lock(mux->mutex);
      if (sink->ended) mux->former.RestartSource(sink->source_id);
      sink->ended = false;
      break;
    }
    case GST_EVENT_EOS: {
      const Lock lock(mux->mutex);
      sink->ended = true;
      mux->former.EndSource(sink->source_id);
      mux->work.notify_all();
      break;
    }
    case GST_EVENT_FLUSH_START:
      HandleFlush(self, sink, true);
      break;
    case GST_EVENT_FLUSH_STOP:
      HandleFlush(self, sink, false);
      break;
    default:
      break;
  }
  gst_event_unref(event);
  return TRUE;
}

gboolean gst_sg_mux_sink_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION) {
    // Decoders may keep their own strides, so they need not copy.
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
    return TRUE;
  }
  return gst_pad_query_default(pad, parent, query);
}

// Source side ------------------------------------------------------------------------------------

void StartStream(GstSgMux* self) {
  gchar* stream_id = g_strdup_printf("%s/%u", GST_OBJECT_NAME(self), gst_util_group_id_next());
  GstEvent* event = gst_event_new_stream_start(stream_id);
  gst_event_set_group_id(event, gst_util_group_id_next());
  gst_pad_push_event(self->srcpad, event);
  g_free(stream_id);
}

// Stream start, caps and segment, as far as they are due. Task only.
void PushPendingEvents(GstSgMux* self) {
  Mux* mux = self->mux;
  bool start = false;
  GstCaps* caps = nullptr;
  {
    const Lock lock(mux->mutex);
    start = !mux->stream_started;
    mux->stream_started = true;
    if (mux->caps_changed || start) {
      caps =
          sg::NewBatchCaps(static_cast<int>(mux->space_width), static_cast<int>(mux->space_height),
                           static_cast<int>(mux->settings.batch_size), mux->fps_n, mux->fps_d);
      mux->caps_changed = false;
    }
  }
  if (start) StartStream(self);
  if (caps != nullptr) {
    gst_pad_push_event(self->srcpad, gst_event_new_caps(caps));
    gst_caps_unref(caps);
  }
  if (start) {
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(self->srcpad, gst_event_new_segment(&segment));
  }
}

GstBuffer* BatchOf(std::vector<std::unique_ptr<sg::MuxFrame>>& frames) {
  GstBuffer* batch = sg::NewBatch();
  std::optional<uint64_t> earliest;
  for (const auto& item : frames) {
    auto* frame = static_cast<QueuedFrame*>(item.get());
    if (frame->running_time_ns && (!earliest || *frame->running_time_ns < *earliest)) {
      earliest = frame->running_time_ns;
    }
    sg::AppendFrame(batch, frame->buffer, frame->caps);
    frame->buffer = nullptr;
  }
  if (earliest) GST_BUFFER_PTS(batch) = *earliest;
  return batch;
}

// Stops taking frames after downstream refused a batch; upstream learns it from its next buffer.
void StopAfter(GstSgMux* self, GstFlowReturn flow) {
  Mux* mux = self->mux;
  GST_INFO_OBJECT(self, "stopping: %s", gst_flow_get_name(flow));
  gst_pad_pause_task(self->srcpad);  // before a flush can see the flow and start it again
  {
    const Lock lock(mux->mutex);
    mux->src_flow = flow;
    mux->stream_started = mux->stream_started && flow != GST_FLOW_EOS;
    mux->room.notify_all();
  }
  if (flow == GST_FLOW_EOS) {
    gst_pad_push_event(self->srcpad, gst_event_new_eos());
  } else if (flow == GST_FLOW_NOT_LINKED || flow < GST_FLOW_EOS) {
    GST_ELEMENT_FLOW_ERROR(self, flow);
  }
}

// Waits until there is something to do; nullopt when the element is stopping.
std::optional<sg::MuxStep> WaitForStep(Mux* mux) {
  Lock lock(mux->mutex);
  while (mux->running) {
    sg::MuxStep step = mux->former.Next(sg::MonotonicNs());
    mux->room.notify_all();
    if (step.kind != sg::MuxStep::Kind::kWait) return step;
    if (step.wake_at_ns) {
      mux->work.wait_until(
          lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(*step.wake_at_ns)));
    } else {
      mux->work.wait(lock);
    }
  }
  return std::nullopt;
}

void gst_sg_mux_loop(gpointer user_data) {
  GstSgMux* self = GST_SG_MUX(user_data);
  std::optional<sg::MuxStep> step = WaitForStep(self->mux);
  if (!step) {
    gst_pad_pause_task(self->srcpad);
    return;
  }
  switch (step->kind) {
    case sg::MuxStep::Kind::kWait:
      break;
    case sg::MuxStep::Kind::kPushBatch: {
      PushPendingEvents(self);
      const GstFlowReturn flow = gst_pad_push(self->srcpad, BatchOf(step->frames));
      if (flow != GST_FLOW_OK) StopAfter(self, flow);
      break;
    }
    case sg::MuxStep::Kind::kSourceEnded:
      PushPendingEvents(self);
      gst_pad_push_event(self->srcpad, sg::NewSourceEosEvent(step->source_id));
      break;
    case sg::MuxStep::Kind::kSourceStalled:
      GST_ELEMENT_WARNING(self, RESOURCE, READ,
                          ("source %u sent no frame for five seconds; the others go on without it",
                           step->source_id),
                          ("it is taken back in with its next frame"));
      break;
    case sg::MuxStep::Kind::kAllEnded: {
      PushPendingEvents(self);
      gst_pad_push_event(self->srcpad, gst_event_new_eos());
      const Lock lock(self->mux->mutex);
      self->mux->stream_started = false;  // should a source start again
      break;
    }
  }
}

gboolean gst_sg_mux_src_activate_mode(GstPad* pad, GstObject* parent, GstPadMode mode,
                                      gboolean active) {
  GstSgMux* self = GST_SG_MUX(parent);
  if (mode != GST_PAD_MODE_PUSH) return FALSE;
  {
    const Lock lock(self->mux->mutex);
    self->mux->running = active;
    self->mux->work.notify_all();
    self->mux->room.notify_all();
  }
  if (active) return gst_pad_start_task(pad, gst_sg_mux_loop, self, nullptr);
  return gst_pad_stop_task(pad);
}

gboolean gst_sg_mux_src_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  // A late sink must not make every decoder skip frames: what is measured would change.
  if (GST_EVENT_TYPE(event) == GST_EVENT_QOS) {
    gst_event_unref(event);
    return TRUE;
  }
  return gst_pad_event_default(pad, parent, event);
}

struct Latency {
  bool live = false;
  GstClockTime min = 0;
  GstClockTime max = GST_CLOCK_TIME_NONE;
};

gboolean AddPeerLatency(GstElement*, GstPad* pad, gpointer user_data) {
  auto* latency = static_cast<Latency*>(user_data);
  GstQuery* query = gst_query_new_latency();
  if (gst_pad_peer_query(pad, query)) {
    gboolean live = FALSE;
    GstClockTime min = 0;
    GstClockTime max = GST_CLOCK_TIME_NONE;
    gst_query_parse_latency(query, &live, &min, &max);
    if (live) {
      latency->live = true;
      latency->min = std::max(latency->min, min);
      latency->max = std::min(latency->max, max);  // GST_CLOCK_TIME_NONE is the largest
    }
  }
  gst_query_unref(query);
  return TRUE;
}

gboolean gst_sg_mux_src_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  if (GST_QUERY_TYPE(query) != GST_QUERY_LATENCY) return gst_pad_query_default(pad, parent, query);
  GstSgMux* self = GST_SG_MUX(parent);
  Latency latency;
  gst_element_foreach_sink_pad(GST_ELEMENT(self), AddPeerLatency, &latency);
  {
    const Lock lock(self->mux->mutex);
    latency.live = latency.live || self->mux->settings.live_source;
    if (latency.live && self->mux->settings.push_timeout_us > 0) {
      const GstClockTime wait_ns =
          GST_USECOND * static_cast<GstClockTime>(self->mux->settings.push_timeout_us);
      latency.min += wait_ns;
      if (GST_CLOCK_TIME_IS_VALID(latency.max)) latency.max += wait_ns;
    }
  }
  gst_query_set_latency(query, latency.live, latency.min, latency.max);
  return TRUE;
}

// Element ----------------------------------------------------------------------------------------

unsigned FreeSourceId(GstElement* element) {
  for (unsigned id = 0;; ++id) {
    gchar* name = g_strdup_printf("sink_%u", id);
    GstPad* pad = gst_element_get_static_pad(element, name);
    g_free(name);
    if (pad == nullptr) return id;
    gst_object_unref(pad);
  }
}

GstPad* gst_sg_mux_request_new_pad(GstElement* element, GstPadTemplate* pad_template,
                                   const gchar* requested_name, const GstCaps*) {
  GstSgMux* self = GST_SG_MUX(element);
  unsigned id = 0;
  if (requested_name == nullptr || std::sscanf(requested_name, "sink_%u", &id) != 1) {
    id = FreeSourceId(element);
  }
  gchar* name = g_strdup_printf("sink_%u", id);
  GstPad* existing = gst_element_get_static_pad(element, name);
  if (existing != nullptr) {
    GST_WARNING_OBJECT(self, "%s is taken", name);
    gst_object_unref(existing);
    g_free(name);
    return nullptr;
  }
  GstPad* pad = gst_pad_new_from_template(pad_template, name);
  g_free(name);

  auto* sink = new SinkPad();
  sink->source_id = id;
  gst_segment_init(&sink->segment, GST_FORMAT_UNDEFINED);
  gst_pad_set_element_private(pad, sink);
  g_object_set_data_full(G_OBJECT(pad), "sg-sink-pad", sink,
                         [](gpointer data) { delete static_cast<SinkPad*>(data); });
  gst_pad_set_chain_function(pad, gst_sg_mux_chain);
  gst_pad_set_event_function(pad, gst_sg_mux_sink_event);
  gst_pad_set_query_function(pad, gst_sg_mux_sink_query);
  {
    const Lock lock(self->mux->mutex);
    self->mux->former.AddSource(id);
  }
  // An element beyond READY activates a pad that is added to it.
  gst_element_add_pad(element, pad);
  return pad;
}

void gst_sg_mux_release_pad(GstElement* element, GstPad* pad) {
  Mux* mux = GST_SG_MUX(element)->mux;
  {
    const Lock lock(mux->mutex);
    StateOf(pad)->released = true;
    mux->former.RemoveSource(StateOf(pad)->source_id);
    mux->room.notify_all();
    mux->work.notify_all();
  }
  gst_pad_set_active(pad, FALSE);
  gst_element_remove_pad(element, pad);
}

gboolean ResetPad(GstElement* element, GstPad* pad, gpointer) {
  Mux* mux = GST_SG_MUX(element)->mux;
  SinkPad* sink = StateOf(pad);
  gst_caps_replace(&sink->caps, nullptr);
  gst_segment_init(&sink->segment, GST_FORMAT_UNDEFINED);
  sink->next_frame_number = 0;
  sink->dropped_frames = 0;
  sink->flushing = false;
  sink->ended = false;
  mux->former.AddSource(sink->source_id);
  return TRUE;
}

// A fresh start. Called while no pad is active.
void Reset(GstSgMux* self) {
  Mux* mux = self->mux;
  mux->former = sg::BatchFormer();
  gst_element_foreach_sink_pad(GST_ELEMENT(self), ResetPad, nullptr);
  ApplySettings(mux);
  mux->stream_started = false;
  mux->src_flow = GST_FLOW_OK;
  mux->space_width = mux->settings.width;
  mux->space_height = mux->settings.height;
  mux->fps_n = 0;
  mux->fps_d = 1;
  mux->fps_known = false;
}

GstStateChangeReturn gst_sg_mux_change_state(GstElement* element, GstStateChange transition) {
  GstSgMux* self = GST_SG_MUX(element);
  Mux* mux = self->mux;
  switch (transition) {
    case GST_STATE_CHANGE_READY_TO_PAUSED: {
      const Lock lock(mux->mutex);
      Reset(self);
      mux->running = true;  // sink pads are not always activated after the src pad
      break;
    }
    case GST_STATE_CHANGE_PAUSED_TO_PLAYING: {
      const Lock lock(mux->mutex);
      mux->former.RestartWaits(sg::MonotonicNs());
      mux->work.notify_all();
      break;
    }
    case GST_STATE_CHANGE_PAUSED_TO_READY: {
      const Lock lock(mux->mutex);
      mux->running = false;
      mux->room.notify_all();
      mux->work.notify_all();
      break;
    }
    default:
      break;
  }
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_sg_mux_parent_class)->change_state(element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    const Lock lock(mux->mutex);
    Reset(self);
  }
  return result;
}

void gst_sg_mux_set_property(GObject* object, guint id, const GValue* value, GParamSpec* pspec) {
  Mux* mux = GST_SG_MUX(object)->mux;
  const Lock lock(mux->mutex);
  switch (id) {
    case kPropBatchSize:
      mux->settings.batch_size = g_value_get_uint(value);
      mux->caps_changed = true;
      break;
    case kPropBatchedPushTimeout:
      mux->settings.push_timeout_us = g_value_get_int(value);
      break;
    case kPropWidth:
      mux->settings.width = g_value_get_uint(value);
      break;
    case kPropHeight:
      mux->settings.height = g_value_get_uint(value);
      break;
    case kPropLiveSource:
      mux->settings.live_source = g_value_get_boolean(value);
      break;
    case kPropSyncInputs:
      mux->settings.sync_inputs = g_value_get_boolean(value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      return;
  }
  ApplySettings(mux);
}

void gst_sg_mux_get_property(GObject* object, guint id, GValue* value, GParamSpec* pspec) {
  Mux* mux = GST_SG_MUX(object)->mux;
  const Lock lock(mux->mutex);
  switch (id) {
    case kPropBatchSize:
      g_value_set_uint(value, mux->settings.batch_size);
      break;
    case kPropBatchedPushTimeout:
      g_value_set_int(value, mux->settings.push_timeout_us);
      break;
    case kPropWidth:
      g_value_set_uint(value, mux->settings.width);
      break;
    case kPropHeight:
      g_value_set_uint(value, mux->settings.height);
      break;
    case kPropLiveSource:
      g_value_set_boolean(value, mux->settings.live_source);
      break;
    case kPropSyncInputs:
      g_value_set_boolean(value, mux->settings.sync_inputs);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
}

void gst_sg_mux_finalize(GObject* object) {
  delete GST_SG_MUX(object)->mux;
  G_OBJECT_CLASS(gst_sg_mux_parent_class)->finalize(object);
}

void InstallProperties(GObjectClass* klass) {
  const auto readwrite = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  const auto while_playing = static_cast<GParamFlags>(readwrite | GST_PARAM_MUTABLE_PLAYING);
  const auto in_ready = static_cast<GParamFlags>(readwrite | GST_PARAM_MUTABLE_READY);
  g_object_class_install_property(
      klass, kPropBatchSize,
      g_param_spec_uint("batch-size", "Batch size", "Most frames in a batch", 1, 1024, 1,
                        while_playing));
  g_object_class_install_property(
      klass, kPropBatchedPushTimeout,
      g_param_spec_int("batched-push-timeout", "Push timeout",
                       "Microseconds from a batch's first frame until it goes although incomplete; "
                       "-1 waits for every source that is neither ended nor stalled",
                       -1, G_MAXINT, kDefaultPushTimeoutUs, while_playing));
  g_object_class_install_property(
      klass, kPropWidth,
      g_param_spec_uint("width", "Width",
                        "Width in pixels of the coordinate space of boxes; 0 takes the first "
                        "source's width. Pictures are not scaled",
                        0, G_MAXINT, 0, in_ready));
  g_object_class_install_property(
      klass, kPropHeight,
      g_param_spec_uint("height", "Height",
                        "Height in pixels of the coordinate space of boxes; 0 takes the first "
                        "source's height. Pictures are not scaled",
                        0, G_MAXINT, 0, in_ready));
  g_object_class_install_property(
      klass, kPropLiveSource,
      g_param_spec_boolean("live-source", "Live source",
                           "Sources are live: latency is reported as such, with "
                           "batched-push-timeout added",
                           FALSE, while_playing));
  g_object_class_install_property(
      klass, kPropSyncInputs,
      g_param_spec_boolean("sync-inputs", "Synchronise inputs",
                           "A batch holds only frames whose running times differ by at most half a "
                           "frame of the fastest source",
                           FALSE, while_playing));
}

}  // namespace

static void gst_sg_mux_class_init(GstSgMuxClass* klass) {
  GST_DEBUG_CATEGORY_INIT(gst_sg_mux_debug, "sgmux", 0, "batches of several sources");
  auto* object_class = G_OBJECT_CLASS(klass);
  auto* element_class = GST_ELEMENT_CLASS(klass);
  object_class->set_property = gst_sg_mux_set_property;
  object_class->get_property = gst_sg_mux_get_property;
  object_class->finalize = gst_sg_mux_finalize;
  InstallProperties(object_class);
  element_class->request_new_pad = gst_sg_mux_request_new_pad;
  element_class->release_pad = gst_sg_mux_release_pad;
  element_class->change_state = gst_sg_mux_change_state;
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  gst_element_class_set_static_metadata(
      element_class, "Batch muxer", "Video/Muxer",
      "Forms batches of the frames of several sources without copying them", "streamgauge");
}

static void gst_sg_mux_init(GstSgMux* self) {
  self->mux = new Mux();
  self->srcpad = gst_pad_new_from_static_template(&src_template, "src");
  gst_pad_set_activatemode_function(self->srcpad, gst_sg_mux_src_activate_mode);
  gst_pad_set_event_function(self->srcpad, gst_sg_mux_src_event);
  gst_pad_set_query_function(self->srcpad, gst_sg_mux_src_query);
  gst_element_add_pad(GST_ELEMENT(self), self->srcpad);
}
