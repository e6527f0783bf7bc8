#include "pipeline/gst/probe.h"

#include <gst/gst.h>
#include <gst/pbutils/pbutils.h>

#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <vector>

#include "base/files.h"
#include "base/log.h"
#include "pipeline/file_check.h"
#include "pipeline/gst/gst_error.h"

namespace sg {
namespace {

/// Leaves the process's start and end their part of ProbeVideo's 20 s.
constexpr GstClockTime kDiscoverWithin = 15 * GST_SECOND;

struct StreamListFree {
  void operator()(GList* list) const { gst_discoverer_stream_info_list_free(list); }
};
using StreamList = std::unique_ptr<GList, StreamListFree>;

struct CapsUnref {
  void operator()(GstCaps* caps) const { gst_caps_unref(caps); }
};
using OwnedCaps = std::unique_ptr<GstCaps, CapsUnref>;

struct GFree {
  void operator()(gpointer memory) const { g_free(memory); }
};
using OwnedText = std::unique_ptr<gchar, GFree>;

std::string TextField(const GstStructure* structure, const char* field) {
  const gchar* text = gst_structure_get_string(structure, field);
  return text != nullptr ? text : "";
}

/// A picture that accompanies audio (cover art), or a picture file: no rate, and an image's type.
bool IsStillImage(GstDiscovererVideoInfo* video) {
  const OwnedCaps caps(gst_discoverer_stream_info_get_caps(GST_DISCOVERER_STREAM_INFO(video)));
  const bool image_type =
      caps != nullptr && gst_caps_get_size(caps.get()) > 0 &&
      std::strncmp(gst_structure_get_name(gst_caps_get_structure(caps.get(), 0)), "image/", 6) == 0;
  return image_type && gst_discoverer_video_info_get_framerate_num(video) == 0;
}

/// The tag says how far players turn the picture clockwise: "rotate-90", "flip-rotate-0", …
int RotationDegrees(const GstTagList* tags) {
  gchar* raw = nullptr;
  if (tags == nullptr || !gst_tag_list_get_string(tags, GST_TAG_IMAGE_ORIENTATION, &raw)) return 0;
  const OwnedText text(raw);
  const char* dash = std::strrchr(raw, '-');
  int degrees = 0;
  if (dash != nullptr) std::from_chars(dash + 1, dash + std::strlen(dash), degrees);
  return degrees;
}

/// Bit depth and chroma, where the caps say them or the profile implies them.
void ReadPixelFormat(const GstStructure* caps, VideoInfo* info) {
  guint depth = 0;
  if (gst_structure_get_uint(caps, "bit-depth-luma", &depth))
    info->bit_depth = static_cast<int>(depth);
  info->chroma = TextField(caps, "chroma-format");
  if (info->codec_mime == "video/x-theora" && info->chroma.empty()) info->bit_depth = 8;
}

std::string MimeOf(GstDiscovererStreamInfo* stream) {
  const OwnedCaps caps(gst_discoverer_stream_info_get_caps(stream));
  if (caps == nullptr || gst_caps_get_size(caps.get()) == 0) return {};
  return gst_structure_get_name(gst_caps_get_structure(caps.get(), 0));
}

std::string Description(GstDiscovererStreamInfo* stream) {
  const OwnedCaps caps(gst_discoverer_stream_info_get_caps(stream));
  if (caps == nullptr) return {};
  const OwnedText text(gst_pb_utils_get_codec_description(caps.get()));
  return text != nullptr ? text.get() : "";
}

void ReadContainer(GstDiscovererInfo* info, VideoInfo* video) {
  GstDiscovererStreamInfo* top = gst_discoverer_info_get_stream_info(info);
  if (top == nullptr) return;
  if (GST_IS_DISCOVERER_CONTAINER_INFO(top)) {
    video->container = Description(top);
    video->container_mime = MimeOf(top);
  }
  gst_discoverer_stream_info_unref(top);
}

void ReadVideoStream(GstDiscovererVideoInfo* stream, VideoInfo* video) {
  GstDiscovererStreamInfo* base = GST_DISCOVERER_STREAM_INFO(stream);
  video->codec = Description(base);
  video->codec_mime = MimeOf(base);
  video->width = static_cast<int>(gst_discoverer_video_info_get_width(stream));
  video->height = static_cast<int>(gst_discoverer_video_info_get_height(stream));
  const guint num = gst_discoverer_video_info_get_framerate_num(stream);
  const guint denom = gst_discoverer_video_info_get_framerate_denom(stream);
  if (num > 0 && denom > 0) video->fps = static_cast<double>(num) / denom;
  video->rotation_degrees = RotationDegrees(gst_discoverer_stream_info_get_tags(base));
  const OwnedCaps caps(gst_discoverer_stream_info_get_caps(base));
  if (caps != nullptr) ReadPixelFormat(gst_caps_get_structure(caps.get(), 0), video);
}

Result<VideoInfo> ReadFacts(const std::string& path, GstDiscovererInfo* info) {
  VideoInfo video;
  video.path = path;
  ReadContainer(info, &video);
  const StreamList audio(gst_discoverer_info_get_audio_streams(info));
  const StreamList pictures(gst_discoverer_info_get_video_streams(info));
  video.audio_tracks = static_cast<int>(g_list_length(audio.get()));
  bool still_image = false;
  for (GList* node = pictures.get(); node != nullptr; node = node->next) {
    GstDiscovererVideoInfo* stream = GST_DISCOVERER_VIDEO_INFO(node->data);
    if (IsStillImage(stream)) {
      still_image = true;
    } else if (++video.video_tracks == 1) {
      ReadVideoStream(stream, &video);
    }
  }
  if (video.video_tracks == 0) {
    if (video.audio_tracks > 0)
      return UserError(path + ": has no video track, only audio" +
                       (still_image ? " with a cover picture" : ""));
    return UserError(path + (still_image ? ": is a picture, not a video" : ": has no video track"));
  }
  const GstClockTime duration = gst_discoverer_info_get_duration(info);
  if (GST_CLOCK_TIME_IS_VALID(duration))
    video.duration_s = static_cast<double>(duration) / GST_SECOND;
  if (video.width <= 0 || video.height <= 0)
    return UserError(path + ": its video track has no picture size; the file is damaged");
  return video;
}

std::string MissingPlugins(GstDiscovererInfo* info) {
  std::string list;
  const gchar** details = gst_discoverer_info_get_missing_elements_installer_details(info);
  for (; details != nullptr && *details != nullptr; ++details) {
    // "gstreamer|1.0|program|H.266 decoder|decoder-video/x-h266"
    const std::string line = *details;
    size_t begin = 0;
    for (int field = 0; field < 3 && begin != std::string::npos; ++field)
      begin = line.find('|', begin) == std::string::npos ? std::string::npos
                                                         : line.find('|', begin) + 1;
    if (begin == std::string::npos) continue;
    list += (list.empty() ? "" : ", ") + line.substr(begin, line.find('|', begin) - begin);
  }
  return list;
}

Error FailureOf(const std::string& path, GstDiscovererInfo* info, const GError* error) {
  const std::string why = error != nullptr ? MaskSecrets(error->message) : "no reason given";
  switch (info != nullptr ? gst_discoverer_info_get_result(info) : GST_DISCOVERER_ERROR) {
    case GST_DISCOVERER_TIMEOUT:
      return UserError(path +
                       ": could not be read within 15 s; it is damaged or on a disk that "
                       "does not answer");
    case GST_DISCOVERER_MISSING_PLUGINS:
      return EnvironmentError(path + ": needs a GStreamer plugin that is not installed (" +
                              MissingPlugins(info) +
                              "); apt install gstreamer1.0-libav gstreamer1.0-plugins-bad");
    default:
      return UserError(path + ": is not a video that can be read: " + why);
  }
}

}  // namespace

Result<VideoInfo> ProbeVideoHere(const std::string& path) {
  SG_RETURN_IF_ERROR(CheckVideoFile(path));
  GError* raw_error = nullptr;
  const GstOwned<GstDiscoverer> discoverer(gst_discoverer_new(kDiscoverWithin, &raw_error));
  if (discoverer == nullptr)
    return EnvironmentError(
        "GStreamer cannot look into videos (apt install gstreamer1.0-plugins-base)");
  const OwnedText uri(gst_filename_to_uri(path.c_str(), nullptr));
  if (uri == nullptr) return UserError(path + ": is not a path that GStreamer can open");
  const GstOwned<GstDiscovererInfo> info(
      gst_discoverer_discover_uri(discoverer.get(), uri.get(), &raw_error));
  const OwnedGError error(raw_error);
  if (info == nullptr || gst_discoverer_info_get_result(info.get()) != GST_DISCOVERER_OK)
    return FailureOf(path, info.get(), error.get());
  return ReadFacts(path, info.get());
}

}  // namespace sg
