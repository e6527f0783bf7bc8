// sgmux, where frames come in: chain functions, caps, ends and flushes of the sources.
#include <memory>
#include <optional>

#include "gst/mux_element.h"
#include "pipeline/gst/batch_meta.h"

#define GST_CAT_DEFAULT gst_sg_mux_debug

namespace sg::mux {
namespace {

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
  const uint64_t capture_ns = MonotonicNs();

  // Caps and segment only change on this pad's streaming thread, which is ours.
  if (const char* reason = WhyUnusable(*sink, buffer)) return DropFrame(self, pad, buffer, reason);
  buffer = gst_buffer_make_writable(buffer);
  GstSgFrameMeta* facts = AddFrameMeta(buffer);
  auto frame = std::make_unique<QueuedFrame>(buffer, sink->caps);
  frame->source_id = sink->source_id;
  frame->running_time_ns = RunningTime(*sink, buffer);
  GST_BUFFER_PTS(buffer) = frame->running_time_ns.value_or(GST_CLOCK_TIME_NONE);
  GST_BUFFER_DTS(buffer) = GST_CLOCK_TIME_NONE;

  Lock lock(mux->mutex);
  facts->source_id = sink->source_id;
  facts->frame_number = sink->next_frame_number;
  // A paced source has said when the frame was due.
  if (facts->capture_ns == 0) facts->capture_ns = capture_ns;
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
  mux->former.Push(std::move(frame), MonotonicNs());
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
  if (restart) StartTask(self);
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

}  // namespace

void SetUpSinkPad(GstPad* pad, unsigned source_id) {
  auto* sink = new SinkPad();
  sink->source_id = source_id;
  gst_segment_init(&sink->segment, GST_FORMAT_UNDEFINED);
  gst_pad_set_element_private(pad, sink);
  g_object_set_data_full(G_OBJECT(pad), "sg-sink-pad", sink,
                         [](gpointer data) { delete static_cast<SinkPad*>(data); });
  gst_pad_set_chain_function(pad, gst_sg_mux_chain);
  gst_pad_set_event_function(pad, gst_sg_mux_sink_event);
  gst_pad_set_query_function(pad, gst_sg_mux_sink_query);
}

}  // namespace sg::mux
