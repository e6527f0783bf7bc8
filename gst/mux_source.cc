// sgmux, where batches go out: the task, the batch stream's own events, latency.
#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "gst/mux_element.h"
#include "pipeline/gst/batch_meta.h"

#define GST_CAT_DEFAULT gst_sg_mux_debug

namespace sg::mux {
namespace {

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
      caps = NewBatchCaps(static_cast<int>(mux->space_width), static_cast<int>(mux->space_height),
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

GstBuffer* BatchOf(std::vector<std::unique_ptr<MuxFrame>>& frames) {
  GstBuffer* batch = NewBatch();
  std::optional<uint64_t> earliest;
  for (const auto& item : frames) {
    auto* frame = static_cast<QueuedFrame*>(item.get());
    if (frame->running_time_ns && (!earliest || *frame->running_time_ns < *earliest)) {
      earliest = frame->running_time_ns;
    }
    AppendFrame(batch, frame->buffer, frame->caps);
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
std::optional<MuxStep> WaitForStep(Mux* mux) {
  Lock lock(mux->mutex);
  while (mux->running) {
    MuxStep step = mux->former.Next(MonotonicNs());
    mux->room.notify_all();
    if (step.kind != MuxStep::Kind::kWait) return step;
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
  std::optional<MuxStep> step = WaitForStep(self->mux);
  if (!step) {
    gst_pad_pause_task(self->srcpad);
    return;
  }
  switch (step->kind) {
    case MuxStep::Kind::kWait:
      break;
    case MuxStep::Kind::kPushBatch: {
      PushPendingEvents(self);
      const GstFlowReturn flow = gst_pad_push(self->srcpad, BatchOf(step->frames));
      if (flow != GST_FLOW_OK) StopAfter(self, flow);
      break;
    }
    case MuxStep::Kind::kSourceEnded:
      PushPendingEvents(self);
      gst_pad_push_event(self->srcpad, NewSourceEosEvent(step->source_id));
      break;
    case MuxStep::Kind::kSourceStalled:
      GST_ELEMENT_WARNING(self, RESOURCE, READ,
                          ("source %u sent no frame for five seconds; the others go on without it",
                           step->source_id),
                          ("it is taken back in with its next frame"));
      break;
    case MuxStep::Kind::kAllEnded: {
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
  if (active) return StartTask(self);
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

}  // namespace

void SetUpSourcePad(GstPad* pad) {
  gst_pad_set_activatemode_function(pad, gst_sg_mux_src_activate_mode);
  gst_pad_set_event_function(pad, gst_sg_mux_src_event);
  gst_pad_set_query_function(pad, gst_sg_mux_src_query);
}

bool StartTask(GstSgMux* self) {
  return gst_pad_start_task(self->srcpad, gst_sg_mux_loop, self, nullptr);
}

}  // namespace sg::mux
