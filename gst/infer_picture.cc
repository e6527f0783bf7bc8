#include "gst/infer_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace sg {
namespace {

constexpr size_t kMaxKnownCaps = 64;

std::optional<PixelFormat> FormatOf(GstVideoFormat format) {
  switch (format) {
    case GST_VIDEO_FORMAT_I420:
      return PixelFormat::kI420;
    case GST_VIDEO_FORMAT_NV12:
      return PixelFormat::kNv12;
    case GST_VIDEO_FORMAT_BGRx:
    case GST_VIDEO_FORMAT_BGRA:
      return PixelFormat::kBgrx;
    case GST_VIDEO_FORMAT_RGBx:
    case GST_VIDEO_FORMAT_RGBA:
      return PixelFormat::kRgba;
    case GST_VIDEO_FORMAT_RGB:
      return PixelFormat::kRgb;
    default:
      return std::nullopt;
  }
}

Picture PictureOf(const GstVideoFrame& frame) {
  const GstVideoInfo& info = frame.info;
  Picture picture;
  picture.format = *FormatOf(GST_VIDEO_INFO_FORMAT(&info));
  picture.width = GST_VIDEO_FRAME_WIDTH(&frame);
  picture.height = GST_VIDEO_FRAME_HEIGHT(&frame);
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&frame); ++i) {
    picture.planes[i] = static_cast<const uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, i));
    picture.strides[i] = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, i);
  }
  switch (info.colorimetry.matrix) {
    case GST_VIDEO_COLOR_MATRIX_BT709:
    case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
    case GST_VIDEO_COLOR_MATRIX_BT2020:
      picture.matrix = ColourMatrix::kBt709;
      break;
    default:
      picture.matrix = ColourMatrix::kBt601;
  }
  picture.full_range = info.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255;
  return picture;
}

}  // namespace

PictureMapper::~PictureMapper() {
  for (const Known& known : known_) gst_caps_unref(known.caps);
}

const PictureMapper::Known& PictureMapper::Find(GstCaps* caps) {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const Known& known) { return known.caps == caps; });
  if (found != known_.end()) {
    known_.splice(known_.begin(), known_, found);
    return known_.front();
  }
  Known known = {gst_caps_ref(caps), {}, false, ""};
  gst_video_info_init(&known.info);
  const GstCapsFeatures* features = gst_caps_get_features(caps, 0);
  if (!gst_video_info_from_caps(&known.info, caps)) {
    known.reason = "its caps are not raw video";
  } else if (!gst_caps_features_is_equal(features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY)) {
    known.reason = "its pixels are not in system memory";
  } else if (!FormatOf(GST_VIDEO_INFO_FORMAT(&known.info)).has_value()) {
    known.reason = fmt::format(
        "its format is {}; I420, NV12, BGRx, BGRA, RGBx, RGBA and RGB are read (videoconvert)",
        GST_VIDEO_INFO_NAME(&known.info));
  } else {
    known.usable = true;
  }
  known_.push_front(std::move(known));
  if (known_.size() > kMaxKnownCaps) {
    gst_caps_unref(known_.back().caps);
    known_.pop_back();
  }
  return known_.front();
}

bool PictureMapper::Map(GstBuffer* frame, GstCaps* caps, MappedPicture* mapped) {
  if (caps == nullptr || !gst_caps_is_fixed(caps)) {
    reason_ = "it has no caps";
    return false;
  }
  const Known& known = Find(caps);
  if (!known.usable) {
    reason_ = known.reason;
    return false;
  }
  if (gst_buffer_get_size(frame) == 0) {
    reason_ = "its buffer is empty";
    return false;
  }
  if (!gst_video_frame_map(&mapped->frame_, &known.info, frame, GST_MAP_READ)) {
    reason_ = fmt::format("its buffer of {} bytes does not hold a {}×{} picture",
                          gst_buffer_get_size(frame), known.info.width, known.info.height);
    return false;
  }
  mapped->mapped_ = true;
  mapped->picture_ = PictureOf(mapped->frame_);
  return true;
}

}  // namespace sg
