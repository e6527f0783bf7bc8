#include "pipeline/gst/pictures.h"

#include <fmt/format.h>
#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <memory>

#include "base/files.h"
#include "base/interrupt.h"
#include "pipeline/gst/gst_error.h"
#include "pipeline/launch.h"

namespace sg {
namespace {

constexpr GstClockTime kPictureWithin = 20 * GST_SECOND;

struct SampleUnref {
  void operator()(GstSample* sample) const { gst_sample_unref(sample); }
};
using OwnedSample = std::unique_ptr<GstSample, SampleUnref>;

Status AppendPlanes(const PicturesRequest& request, GstSample* sample, const std::string& file,
                    std::string* floats) {
  GstVideoInfo info;
  GstVideoFrame frame;
  if (!gst_video_info_from_caps(&info, gst_sample_get_caps(sample)) ||
      !gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ))
    return InternalError(file + ": its picture cannot be read");
  const int stride = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
  const auto* pixels = static_cast<const uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0));
  for (size_t channel = 0; channel < 3; ++channel) {
    const float mean = request.mean[channel];
    const float deviation = request.deviation[channel];
    for (int y = 0; y < info.height; ++y) {
      for (int x = 0; x < info.width; ++x) {
        const uint8_t pixel = pixels[y * stride + 3 * x + static_cast<int>(channel)];
        const float value = (static_cast<float>(pixel) / 255.0F - mean) / deviation;
        floats->append(reinterpret_cast<const char*>(&value), sizeof(value));
      }
    }
  }
  gst_video_frame_unmap(&frame);
  return OkStatus();
}

Status AppendPicture(const PicturesRequest& request, const std::string& file, std::string* floats) {
  if (!FileExists(file)) return UserError(file + ": no such file");
  SG_ASSIGN_OR_RETURN(
      const GstOwned<GstElement> pipeline,
      ParsePipeline(fmt::format("filesrc {} ! decodebin ! videoconvert ! videoscale "
                                "add-borders=false ! video/x-raw,format=RGB,width={},height={},"
                                "pixel-aspect-ratio=1/1 ! appsink name=pictures sync=false "
                                "max-buffers=1",
                                LaunchProperty("location", file), request.width, request.height)));
  const GstOwned<GstElement> sink(gst_bin_get_by_name(GST_BIN(pipeline.get()), "pictures"));
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  const OwnedSample sample(gst_app_sink_try_pull_sample(GST_APP_SINK(sink.get()), kPictureWithin));
  const Status status = sample != nullptr
                            ? AppendPlanes(request, sample.get(), file, floats)
                            : UserError(file + ": holds no picture that can be decoded");
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  return status;
}

}  // namespace

Status WritePictures(const PicturesRequest& request, const std::string& path) {
  std::string floats;
  for (const std::string& file : request.files) {
    if (Interrupted()) return InterruptedError();
    SG_RETURN_IF_ERROR(AppendPicture(request, file, &floats));
  }
  return WriteFileAtomic(path, floats);
}

}  // namespace sg
