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
#include <cstdio>

#include "gst/mux_element.h"
#include "pipeline/gst/batch_meta.h"

GST_DEBUG_CATEGORY(gst_sg_mux_debug);
#define GST_CAT_DEFAULT gst_sg_mux_debug

GType gst_sg_mux_get_type();

G_DEFINE_TYPE(GstSgMux, gst_sg_mux, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(sgmux, "sgmux", GST_RANK_NONE, gst_sg_mux_get_type())

namespace {

using sg::mux::Lock;
using sg::mux::Mux;
using sg::mux::SetUpSinkPad;
using sg::mux::SinkPad;
using sg::mux::StateOf;

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

  SetUpSinkPad(pad, id);
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
                       -1, G_MAXINT, sg::mux::kDefaultPushTimeoutUs, while_playing));
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
  self->mux = new sg::mux::Mux();
  self->srcpad = gst_pad_new_from_static_template(&src_template, "src");
  sg::mux::SetUpSourcePad(self->srcpad);
  gst_element_add_pad(GST_ELEMENT(self), self->srcpad);
}
