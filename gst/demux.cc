/**
 * SECTION:element-sgdemux
 * @title: sgdemux
 *
 * Gives each frame of a batch to the source pad of its source's number; stands for nvstreamdemux.
 * Each pad has the stream start, caps and end of its own source. Frames of a source without a
 * linked pad are dropped.
 *
 * All pads are served by one thread, so each of them wants a queue behind it. Where what follows
 * does not know of strides, frames with padded rows are copied into packed ones; else nothing is.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 sgmux name=m batch-size=2 ! sgdemux name=d \
 *     videotestsrc num-buffers=30 ! m.sink_0  videotestsrc num-buffers=30 ! m.sink_1 \
 *     d.src_0 ! queue ! fakesink  d.src_1 ! queue ! fakesink
 * ]|
 */
#include <gst/base/gstflowcombiner.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "pipeline/gst/batch_meta.h"

GST_DEBUG_CATEGORY_STATIC(gst_sg_demux_debug);
#define GST_CAT_DEFAULT gst_sg_demux_debug

namespace {

using Lock = std::unique_lock<std::mutex>;

// One source pad. `pad` is guarded by Demux::mutex, the rest belongs to the streaming thread.
struct SourcePad {
  GstPad* pad = nullptr;
  GstCaps* caps = nullptr;  ///< last sent; nullptr: the stream has not started
  GstVideoInfo info;
  bool takes_strides = false;

  ~SourcePad() { gst_caps_replace(&caps, nullptr); }
};

struct Demux {
  std::mutex mutex;  ///< guards `pads` and `flows`; nothing is pushed under it
  std::map<unsigned, std::shared_ptr<SourcePad>> pads;
  GstFlowCombiner* flows = gst_flow_combiner_new();

  ~Demux() { gst_flow_combiner_unref(flows); }
};

}  // namespace

struct GstSgDemux {
  GstElement parent;
  GstPad* sinkpad;
  Demux* demux;
};

struct GstSgDemuxClass {
  GstElementClass parent_class;
};

GType gst_sg_demux_get_type();
#define GST_SG_DEMUX(object) (reinterpret_cast<GstSgDemux*>(object))

G_DEFINE_TYPE(GstSgDemux, gst_sg_demux, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(sgdemux, "sgdemux", GST_RANK_NONE, gst_sg_demux_get_type())

namespace {

GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("application/x-sg-batch"));

GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src_%u", GST_PAD_SRC, GST_PAD_REQUEST,
    GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("{ I420, NV12, BGRx, BGRA, RGBA, RGB }")));

// The pad of a source with a reference to it, or nulls.
struct FoundPad {
  std::shared_ptr<SourcePad> state;
  GstPad* pad = nullptr;

  explicit operator bool() const { return pad != nullptr; }
  FoundPad() = default;
  FoundPad(FoundPad&& other) noexcept
      : state(std::move(other.state)), pad(std::exchange(other.pad, nullptr)) {}
  FoundPad& operator=(FoundPad&&) = delete;
  ~FoundPad() {
    if (pad != nullptr) gst_object_unref(pad);
  }
};

FoundPad FindPad(Demux* demux, unsigned source_id) {
  const Lock lock(demux->mutex);
  FoundPad found;
  const auto it = demux->pads.find(source_id);
  if (it == demux->pads.end()) return found;
  found.state = it->second;
  found.pad = GST_PAD_CAST(gst_object_ref(it->second->pad));
  return found;
}

GstFlowReturn CombineFlow(Demux* demux, const FoundPad& found, GstFlowReturn flow) {
  const Lock lock(demux->mutex);
  for (const auto& [id, state] : demux->pads) {
    if (state == found.state) {
      return gst_flow_combiner_update_pad_flow(demux->flows, found.pad, flow);
    }
  }
  return GST_FLOW_OK;  // the pad was released meanwhile
}

bool TakesStrides(GstPad* pad, GstCaps* caps) {
  GstQuery* query = gst_query_new_allocation(caps, FALSE);
  const bool takes = gst_pad_peer_query(pad, query) &&
                     gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  gst_query_unref(query);
  return takes;
}

// Stream start, caps and segment, as far as they are due for a frame with `caps`.
void SendPendingEvents(GstSgDemux* self, unsigned source_id, const FoundPad& found, GstCaps* caps) {
  SourcePad& state = *found.state;
  if (state.caps != nullptr && gst_caps_is_equal(state.caps, caps)) return;
  const bool start = state.caps == nullptr;
  if (start) {
    gchar* stream_id = g_strdup_printf("%s/%u", GST_OBJECT_NAME(self), source_id);
    gst_pad_push_event(found.pad, gst_event_new_stream_start(stream_id));
    g_free(stream_id);
  }
  gst_pad_push_event(found.pad, gst_event_new_caps(caps));
  if (start) {
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(found.pad, gst_event_new_segment(&segment));
  }
  gst_caps_replace(&state.caps, caps);
  gst_video_info_from_caps(&state.info, caps);
  state.takes_strides = TakesStrides(found.pad, caps);
}

bool IsPacked(const GstVideoInfo& info, const GstVideoMeta& meta) {
  for (guint plane = 0; plane < meta.n_planes; ++plane) {
    if (meta.stride[plane] != GST_VIDEO_INFO_PLANE_STRIDE(&info, plane) ||
        meta.offset[plane] != GST_VIDEO_INFO_PLANE_OFFSET(&info, plane)) {
      return false;
    }
  }
  return true;
}

// `frame` itself when its rows are as the caps imply, else a copy in which they are.
GstBuffer* Packed(GstVideoInfo info, GstBuffer* frame) {
  const GstVideoMeta* meta = gst_buffer_get_video_meta(frame);
  if (meta == nullptr || IsPacked(info, *meta)) return frame;
  GstVideoFrame from;
  if (!gst_video_frame_map(&from, &info, frame, GST_MAP_READ)) return frame;
  GstBuffer* packed = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
  GstVideoFrame to;
  const bool mapped = packed != nullptr && gst_video_frame_map(&to, &info, packed, GST_MAP_WRITE);
  if (mapped) {
    gst_video_frame_copy(&to, &from);
    gst_video_frame_unmap(&to);
  }
  gst_video_frame_unmap(&from);
  if (!mapped) {
    if (packed != nullptr) gst_buffer_unref(packed);
    return frame;
  }
  gst_buffer_copy_into(packed, frame, GST_BUFFER_COPY_METADATA, 0, static_cast<gsize>(-1));
  if (GstVideoMeta* copied = gst_buffer_get_video_meta(packed)) {
    gst_buffer_remove_meta(packed, reinterpret_cast<GstMeta*>(copied));
  }
  gst_buffer_unref(frame);
  return packed;
}

// Takes `frame`.
GstFlowReturn PushFrame(GstSgDemux* self, GstBuffer* frame, GstCaps* caps) {
  const GstSgFrameMeta* facts = sg::GetFrameMeta(frame);
  const FoundPad found = facts != nullptr ? FindPad(self->demux, facts->source_id) : FoundPad();
  if (!found) {
    gst_buffer_unref(frame);
    return GST_FLOW_OK;
  }
  SendPendingEvents(self, facts->source_id, found, caps);
  if (!found.state->takes_strides) frame = Packed(found.state->info, frame);
  const GstFlowReturn flow = gst_pad_push(found.pad, frame);
  if (flow == GST_FLOW_NOT_NEGOTIATED) {
    gchar* text = gst_caps_to_string(caps);
    GST_ELEMENT_ERROR(self, CORE, NEGOTIATION,
                      ("what follows %s does not take %s; put a videoconvert between them",
                       GST_PAD_NAME(found.pad), text),
                      (nullptr));
    g_free(text);
  }
  return CombineFlow(self->demux, found, flow);
}

// The frames leave the batch before they are pushed, so that whoever gets one may be its only
// owner.
GstFlowReturn gst_sg_demux_chain(GstPad*, GstObject* parent, GstBuffer* buffer) {
  GstSgDemux* self = GST_SG_DEMUX(parent);
  buffer = gst_buffer_make_writable(buffer);
  GstSgBatchMeta* batch = sg::GetBatchMeta(buffer);
  if (batch == nullptr) {
    gst_buffer_unref(buffer);
    GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("a buffer arrived that is not a batch"), (nullptr));
    return GST_FLOW_ERROR;
  }
  std::vector<sg::BatchFrame> frames;
  frames.swap(*batch->frames);
  gst_buffer_unref(buffer);

  GstFlowReturn flow = GST_FLOW_OK;
  for (const sg::BatchFrame& frame : frames) {
    if (flow == GST_FLOW_OK) {
      flow = PushFrame(self, frame.buffer, frame.caps);
    } else {
      gst_buffer_unref(frame.buffer);
    }
    gst_caps_unref(frame.caps);
  }
  return flow;
}

void EndSource(GstSgDemux* self, unsigned source_id) {
  const FoundPad found = FindPad(self->demux, source_id);
  if (!found) return;
  if (found.state->caps == nullptr) {  // it ended without a frame
    gchar* stream_id = g_strdup_printf("%s/%u", GST_OBJECT_NAME(self), source_id);
    gst_pad_push_event(found.pad, gst_event_new_stream_start(stream_id));
    g_free(stream_id);
  }
  gst_pad_push_event(found.pad, gst_event_new_eos());
  gst_caps_replace(&found.state->caps, nullptr);
  CombineFlow(self->demux, found, GST_FLOW_EOS);
}

std::vector<unsigned> SourceIds(Demux* demux) {
  const Lock lock(demux->mutex);
  std::vector<unsigned> ids;
  for (const auto& [id, state] : demux->pads) ids.push_back(id);
  return ids;
}

// The state of a fresh stream on every pad. Streaming thread, or no thread at all.
void ResetPads(Demux* demux) {
  const Lock lock(demux->mutex);
  for (const auto& [id, state] : demux->pads) gst_caps_replace(&state->caps, nullptr);
  gst_flow_combiner_reset(demux->flows);
}

gboolean gst_sg_demux_sink_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  GstSgDemux* self = GST_SG_DEMUX(parent);
  unsigned source_id = 0;
  if (sg::ParseSourceEosEvent(event, &source_id)) {
    EndSource(self, source_id);
    gst_event_unref(event);
    return TRUE;
  }
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_STREAM_START:
    case GST_EVENT_CAPS:
    case GST_EVENT_SEGMENT:
      gst_event_unref(event);
      return TRUE;
    case GST_EVENT_EOS:
      for (const unsigned id : SourceIds(self->demux)) {
        const FoundPad found = FindPad(self->demux, id);
        if (found && !GST_PAD_IS_EOS(found.pad)) EndSource(self, id);
      }
      gst_event_unref(event);
      return TRUE;
    case GST_EVENT_FLUSH_STOP: {
      const gboolean sent = gst_pad_event_default(pad, parent, event);
      ResetPads(self->demux);
      return sent;
    }
    default:
      return gst_pad_event_default(pad, parent, event);
  }
}

GstPad* gst_sg_demux_request_new_pad(GstElement* element, GstPadTemplate* pad_template,
                                     const gchar* requested_name, const GstCaps*) {
  Demux* demux = GST_SG_DEMUX(element)->demux;
  unsigned id = 0;
  {
    const Lock lock(demux->mutex);
    if (requested_name == nullptr || std::sscanf(requested_name, "src_%u", &id) != 1) {
      while (demux->pads.count(id) != 0) ++id;
    } else if (demux->pads.count(id) != 0) {
      GST_WARNING_OBJECT(element, "src_%u is taken", id);
      return nullptr;
    }
  }
  gchar* name = g_strdup_printf("src_%u", id);
  GstPad* pad = gst_pad_new_from_template(pad_template, name);
  g_free(name);
  // Active before the streaming thread can find it.
  if (!gst_element_add_pad(element, pad)) return nullptr;
  auto state = std::make_shared<SourcePad>();
  state->pad = pad;
  const Lock lock(demux->mutex);
  demux->pads[id] = std::move(state);
  gst_flow_combiner_add_pad(demux->flows, pad);
  return pad;
}

void gst_sg_demux_release_pad(GstElement* element, GstPad* pad) {
  Demux* demux = GST_SG_DEMUX(element)->demux;
  {
    const Lock lock(demux->mutex);
    std::erase_if(demux->pads, [pad](const auto& entry) { return entry.second->pad == pad; });
    gst_flow_combiner_remove_pad(demux->flows, pad);
  }
  gst_pad_set_active(pad, FALSE);
  gst_element_remove_pad(element, pad);
}

GstStateChangeReturn gst_sg_demux_change_state(GstElement* element, GstStateChange transition) {
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_sg_demux_parent_class)->change_state(element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) ResetPads(GST_SG_DEMUX(element)->demux);
  return result;
}

void gst_sg_demux_finalize(GObject* object) {
  delete GST_SG_DEMUX(object)->demux;
  G_OBJECT_CLASS(gst_sg_demux_parent_class)->finalize(object);
}

}  // namespace

static void gst_sg_demux_class_init(GstSgDemuxClass* klass) {
  GST_DEBUG_CATEGORY_INIT(gst_sg_demux_debug, "sgdemux", 0, "batches back to their sources");
  auto* element_class = GST_ELEMENT_CLASS(klass);
  G_OBJECT_CLASS(klass)->finalize = gst_sg_demux_finalize;
  element_class->request_new_pad = gst_sg_demux_request_new_pad;
  element_class->release_pad = gst_sg_demux_release_pad;
  element_class->change_state = gst_sg_demux_change_state;
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  gst_element_class_set_static_metadata(element_class, "Batch demuxer", "Video/Demuxer",
                                        "Gives each frame of a batch to the pad of its source",
                                        "streamgauge");
}

static void gst_sg_demux_init(GstSgDemux* self) {
  self->demux = new Demux();
  self->sinkpad = gst_pad_new_from_static_template(&sink_template, "sink");
  gst_pad_set_chain_function(self->sinkpad, gst_sg_demux_chain);
  gst_pad_set_event_function(self->sinkpad, gst_sg_demux_sink_event);
  gst_element_add_pad(GST_ELEMENT(self), self->sinkpad);
}
