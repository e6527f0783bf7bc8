/**
 * SECTION:element-sgkitti
 * @title: sgkitti
 *
 * Writes the detections of each frame into a KITTI file, as deepstream-app does with
 * gie-kitti-output-dir, and passes everything on unchanged. It takes batches and single frames that
 * went through sgmux. A frame without detections gets an empty file.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=30 ! m.sink_0 \
 *     sgmux name=m ! sgkitti output-dir=/tmp num-frames=1 ! fakesink
 * ]|
 */
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

#include <string>
#include <vector>

#include "gst/kitti_core.h"
#include "pipeline/gst/batch_meta.h"

GST_DEBUG_CATEGORY_STATIC(gst_sg_kitti_debug);
#define GST_CAT_DEFAULT gst_sg_kitti_debug

namespace {

// Guarded by the object lock.
struct Kitti {
  std::string output_folder;
  guint app_index = 0;
  guint64 num_frames = 0;
};

}  // namespace

struct GstSgKitti {
  GstBaseTransform parent;
  Kitti* kitti;
};

struct GstSgKittiClass {
  GstBaseTransformClass parent_class;
};

GType gst_sg_kitti_get_type();
#define GST_SG_KITTI(object) (reinterpret_cast<GstSgKitti*>(object))

G_DEFINE_TYPE(GstSgKitti, gst_sg_kitti, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(sgkitti, "sgkitti", GST_RANK_NONE, gst_sg_kitti_get_type())

namespace {

enum Property { kPropOutputDir = 1, kPropAppIndex, kPropNumFrames };

#define SG_KITTI_CAPS "application/x-sg-batch; video/x-raw(ANY)"
GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(SG_KITTI_CAPS));
GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(SG_KITTI_CAPS));
#undef SG_KITTI_CAPS

Kitti SettingsOf(GstSgKitti* self) {
  GST_OBJECT_LOCK(self);
  Kitti settings = *self->kitti;
  GST_OBJECT_UNLOCK(self);
  return settings;
}

sg::Status WriteFrame(const Kitti& settings, GstBuffer* frame) {
  const GstSgFrameMeta* facts = sg::GetFrameMeta(frame);
  if (facts == nullptr) return sg::OkStatus();
  if (settings.num_frames != 0 && facts->frame_number >= settings.num_frames) {
    return sg::OkStatus();
  }
  std::vector<sg::KittiBox> boxes;
  for (const sg::Detection& detection : sg::ReadDetections(frame)) {
    boxes.push_back({detection.label, detection.left, detection.top, detection.right,
                     detection.bottom, detection.confidence});
  }
  return sg::WriteKittiFile(
      settings.output_folder,
      sg::KittiFileName(settings.app_index, facts->source_id, facts->frame_number),
      sg::KittiText(boxes));
}

GstFlowReturn gst_sg_kitti_transform_ip(GstBaseTransform* transform, GstBuffer* buffer) {
  GstSgKitti* self = GST_SG_KITTI(transform);
  const Kitti settings = SettingsOf(self);
  if (settings.output_folder.empty()) return GST_FLOW_OK;
  sg::Status status;
  sg::ForEachFrame(buffer, [&](GstBuffer* frame, GstCaps*, size_t) {
    if (status.ok()) status = WriteFrame(settings, frame);
  });
  if (status.ok()) return GST_FLOW_OK;
  GST_ELEMENT_ERROR(self, RESOURCE, WRITE, ("%s", status.error().message.c_str()), (nullptr));
  return GST_FLOW_ERROR;
}

void gst_sg_kitti_set_property(GObject* object, guint id, const GValue* value, GParamSpec* pspec) {
  GstSgKitti* self = GST_SG_KITTI(object);
  GST_OBJECT_LOCK(self);
  switch (id) {
    case kPropOutputDir: {
      const gchar* folder = g_value_get_string(value);
      self->kitti->output_folder = folder != nullptr ? folder : "";
      break;
    }
    case kPropAppIndex:
      self->kitti->app_index = g_value_get_uint(value);
      break;
    case kPropNumFrames:
      self->kitti->num_frames = g_value_get_uint64(value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
  GST_OBJECT_UNLOCK(self);
}

void gst_sg_kitti_get_property(GObject* object, guint id, GValue* value, GParamSpec* pspec) {
  const Kitti settings = SettingsOf(GST_SG_KITTI(object));
  switch (id) {
    case kPropOutputDir:
      g_value_set_string(value, settings.output_folder.c_str());
      break;
    case kPropAppIndex:
      g_value_set_uint(value, settings.app_index);
      break;
    case kPropNumFrames:
      g_value_set_uint64(value, settings.num_frames);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
}

void gst_sg_kitti_finalize(GObject* object) {
  delete GST_SG_KITTI(object)->kitti;
  G_OBJECT_CLASS(gst_sg_kitti_parent_class)->finalize(object);
}

}  // namespace

static void gst_sg_kitti_class_init(GstSgKittiClass* klass) {
  GST_DEBUG_CATEGORY_INIT(gst_sg_kitti_debug, "sgkitti", 0, "detections into KITTI files");
  auto* object_class = G_OBJECT_CLASS(klass);
  auto* element_class = GST_ELEMENT_CLASS(klass);
  auto* transform_class = GST_BASE_TRANSFORM_CLASS(klass);
  object_class->set_property = gst_sg_kitti_set_property;
  object_class->get_property = gst_sg_kitti_get_property;
  object_class->finalize = gst_sg_kitti_finalize;
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_PLAYING);
  g_object_class_install_property(
      object_class, kPropOutputDir,
      g_param_spec_string("output-dir", "Output folder",
                          "Existing folder that gets one text file per frame; empty writes nothing",
                          "", flags));
  g_object_class_install_property(
      object_class, kPropAppIndex,
      g_param_spec_uint("app-index", "Application index", "First number in the files' names", 0,
                        G_MAXUINT, 0, flags));
  g_object_class_install_property(
      object_class, kPropNumFrames,
      g_param_spec_uint64(
          "num-frames", "Number of frames",
          "Frames of each source that are written, counted from its first; 0 writes "
          "all",
          0, G_MAXUINT64, 0, flags));
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  gst_element_class_set_static_metadata(element_class, "KITTI writer", "Filter/Analyzer/Video",
                                        "Writes each frame's detections into a KITTI text file",
                                        "streamgauge");
  transform_class->transform_ip = gst_sg_kitti_transform_ip;
  transform_class->transform_ip_on_passthrough = TRUE;
  transform_class->passthrough_on_same_caps = TRUE;
}

static void gst_sg_kitti_init(GstSgKitti* self) {
  self->kitti = new Kitti();
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), TRUE);
  gst_base_transform_set_qos_enabled(GST_BASE_TRANSFORM(self), FALSE);
}
