/**
 * SECTION:element-sgosd
 * @title: sgosd
 *
 * Draws the detections of each frame into its picture: a box in the class's colour, the label and
 * the confidence. Works in place; stands for nvdsosd.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=30 ! m.sink_0  sgmux name=m ! sgdemux name=d \
 *     d.src_0 ! queue ! sgosd border-width=3 ! fakesink
 * ]|
 */
#include <fmt/format.h>
#include <gst/gst.h>
#include <gst/video/gstvideofilter.h>
#include <gst/video/video.h>

#include <vector>

#include "gst/osd_core.h"
#include "pipeline/gst/batch_meta.h"

GST_DEBUG_CATEGORY_STATIC(gst_sg_osd_debug);
#define GST_CAT_DEFAULT gst_sg_osd_debug

namespace {

constexpr guint kDefaultBorderWidth = 2;

struct Osd {
  sg::OsdSettings settings;  ///< guarded by the object lock
  sg::OsdPainter painter;    ///< streaming thread
};

}  // namespace

struct GstSgOsd {
  GstVideoFilter parent;
  Osd* osd;
};

struct GstSgOsdClass {
  GstVideoFilterClass parent_class;
};

GType gst_sg_osd_get_type();
#define GST_SG_OSD(object) (reinterpret_cast<GstSgOsd*>(object))

G_DEFINE_TYPE(GstSgOsd, gst_sg_osd, GST_TYPE_VIDEO_FILTER)
GST_ELEMENT_REGISTER_DEFINE(sgosd, "sgosd", GST_RANK_NONE, gst_sg_osd_get_type())

namespace {

enum Property { kPropBorderWidth = 1, kPropDisplayText, kPropDisplayBbox };

#define SG_OSD_CAPS GST_VIDEO_CAPS_MAKE("{ I420, NV12, BGRx, BGRA, RGBA, RGBx, RGB }")
GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(SG_OSD_CAPS));
GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(SG_OSD_CAPS));
#undef SG_OSD_CAPS

sg::OsdFormat FormatOf(const GstVideoFrame& frame) {
  switch (GST_VIDEO_FRAME_FORMAT(&frame)) {
    case GST_VIDEO_FORMAT_NV12:
      return sg::OsdFormat::kNv12;
    case GST_VIDEO_FORMAT_BGRx:
    case GST_VIDEO_FORMAT_BGRA:
      return sg::OsdFormat::kBgr32;
    case GST_VIDEO_FORMAT_RGBA:
    case GST_VIDEO_FORMAT_RGBx:
      return sg::OsdFormat::kRgb32;
    case GST_VIDEO_FORMAT_RGB:
      return sg::OsdFormat::kRgb24;
    default:
      return sg::OsdFormat::kI420;
  }
}

sg::OsdPicture PictureOf(GstVideoFrame* frame) {
  sg::OsdPicture picture;
  picture.format = FormatOf(*frame);
  picture.width = GST_VIDEO_FRAME_WIDTH(frame);
  picture.height = GST_VIDEO_FRAME_HEIGHT(frame);
  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(frame); ++plane) {
    picture.planes[plane] = static_cast<uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(frame, plane));
    picture.strides[plane] = GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane);
  }
  return picture;
}

std::string LabelOf(const sg::Detection& detection) {
  if (detection.object_id < 0) {
    return fmt::format("{} {:.2f}", detection.label, detection.confidence);
  }
  return fmt::format("{} {} {:.2f}", detection.label, detection.object_id, detection.confidence);
}

GstFlowReturn gst_sg_osd_transform_frame_ip(GstVideoFilter* filter, GstVideoFrame* frame) {
  GstSgOsd* self = GST_SG_OSD(filter);
  GST_OBJECT_LOCK(self);
  const sg::OsdSettings settings = self->osd->settings;
  GST_OBJECT_UNLOCK(self);
  std::vector<sg::OsdBox> boxes;
  for (const sg::Detection& detection : sg::ReadDetections(frame->buffer)) {
    boxes.push_back({detection.x, detection.y, detection.w, detection.h, detection.label_id,
                     settings.draw_labels ? LabelOf(detection) : std::string()});
  }
  self->osd->painter.Draw(PictureOf(frame), boxes, settings);
  return GST_FLOW_OK;
}

// Mapping for writing copies the pixels of a frame that the decoder still refers to, so a frame
// without anything to draw is not mapped.
GstFlowReturn gst_sg_osd_transform_ip(GstBaseTransform* transform, GstBuffer* buffer) {
  if (sg::ReadDetections(buffer).empty()) return GST_FLOW_OK;
  return GST_BASE_TRANSFORM_CLASS(gst_sg_osd_parent_class)->transform_ip(transform, buffer);
}

void gst_sg_osd_set_property(GObject* object, guint id, const GValue* value, GParamSpec* pspec) {
  GstSgOsd* self = GST_SG_OSD(object);
  GST_OBJECT_LOCK(self);
  switch (id) {
    case kPropBorderWidth:
      self->osd->settings.border_width = static_cast<int>(g_value_get_uint(value));
      break;
    case kPropDisplayText:
      self->osd->settings.draw_labels = g_value_get_boolean(value);
      break;
    case kPropDisplayBbox:
      self->osd->settings.draw_boxes = g_value_get_boolean(value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
  GST_OBJECT_UNLOCK(self);
}

void gst_sg_osd_get_property(GObject* object, guint id, GValue* value, GParamSpec* pspec) {
  GstSgOsd* self = GST_SG_OSD(object);
  GST_OBJECT_LOCK(self);
  switch (id) {
    case kPropBorderWidth:
      g_value_set_uint(value, static_cast<guint>(self->osd->settings.border_width));
      break;
    case kPropDisplayText:
      g_value_set_boolean(value, self->osd->settings.draw_labels);
      break;
    case kPropDisplayBbox:
      g_value_set_boolean(value, self->osd->settings.draw_boxes);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
  GST_OBJECT_UNLOCK(self);
}

void gst_sg_osd_finalize(GObject* object) {
  delete GST_SG_OSD(object)->osd;
  G_OBJECT_CLASS(gst_sg_osd_parent_class)->finalize(object);
}

}  // namespace

static void gst_sg_osd_class_init(GstSgOsdClass* klass) {
  GST_DEBUG_CATEGORY_INIT(gst_sg_osd_debug, "sgosd", 0, "boxes and labels in pictures");
  auto* object_class = G_OBJECT_CLASS(klass);
  auto* element_class = GST_ELEMENT_CLASS(klass);
  object_class->set_property = gst_sg_osd_set_property;
  object_class->get_property = gst_sg_osd_get_property;
  object_class->finalize = gst_sg_osd_finalize;
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_PLAYING);
  g_object_class_install_property(
      object_class, kPropBorderWidth,
      g_param_spec_uint("border-width", "Border width",
                        "Thickness of a box's lines in pixels of the picture; 0 draws none", 0,
                        1024, kDefaultBorderWidth, flags));
  g_object_class_install_property(
      object_class, kPropDisplayText,
      g_param_spec_boolean("display-text", "Display text", "Draw the label and the confidence",
                           TRUE, flags));
  g_object_class_install_property(
      object_class, kPropDisplayBbox,
      g_param_spec_boolean("display-bbox", "Display boxes", "Draw the boxes", TRUE, flags));
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  gst_element_class_set_static_metadata(element_class, "Detection overlay", "Filter/Effect/Video",
                                        "Draws detections into the picture", "streamgauge");
  GST_BASE_TRANSFORM_CLASS(klass)->transform_ip = gst_sg_osd_transform_ip;
  GST_VIDEO_FILTER_CLASS(klass)->transform_frame_ip = gst_sg_osd_transform_frame_ip;
}

static void gst_sg_osd_init(GstSgOsd* self) {
  self->osd = new Osd();
  gst_base_transform_set_qos_enabled(GST_BASE_TRANSFORM(self), FALSE);
}
