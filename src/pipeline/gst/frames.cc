#include "pipeline/gst/frames.h"

#include <fmt/format.h>
#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/files.h"
#include "base/interrupt.h"
#include "pipeline/gst/gst_error.h"
#include "pipeline/gst/probe.h"
#include "pipeline/launch.h"

namespace sg {
namespace {

/// A decoder that gives nothing for so long is stuck.
constexpr GstClockTime kFrameWithin = 20 * GST_SECOND;
/// Clips of fewer frames are decoded through, which is exact; longer ones are sought in.
constexpr double kDecodeThroughFrames = 1500;

struct SampleUnref {
  void operator()(GstSample* sample) const { gst_sample_unref(sample); }
};
using OwnedSample = std::unique_ptr<GstSample, SampleUnref>;

struct CapsUnref {
  void operator()(GstCaps* caps) const { gst_caps_unref(caps); }
};

/// A playing decoder whose raw pictures are pulled one by one.
class PictureReader {
 public:
  static Result<std::unique_ptr<PictureReader>> Open(const std::string& path) {
    // The sink takes pictures only, so the link passes over audio pads.
    SG_ASSIGN_OR_RETURN(GstOwned<GstElement> pipeline,
                        ParsePipeline("filesrc " + LaunchProperty("location", path) +
                                      " ! decodebin name=decode decode. ! video/x-raw ! appsink "
                                      "name=pictures sync=false max-buffers=2"));
    std::unique_ptr<PictureReader> reader(new PictureReader(path, std::move(pipeline)));
    gst_element_set_state(reader->pipeline_.get(), GST_STATE_PLAYING);
    // Preroll: the clip's first picture is decoded and can be sought from.
    gst_element_get_state(reader->pipeline_.get(), nullptr, nullptr, kFrameWithin);
    SG_RETURN_IF_ERROR(reader->BusError());
    return reader;
  }
  ~PictureReader() { gst_element_set_state(pipeline_.get(), GST_STATE_NULL); }

  /// The next picture; null at the end.
  Result<OwnedSample> Next() {
    OwnedSample sample(gst_app_sink_try_pull_sample(GST_APP_SINK(sink_.get()), kFrameWithin));
    if (sample != nullptr) return sample;
    SG_RETURN_IF_ERROR(BusError());
    if (!gst_app_sink_is_eos(GST_APP_SINK(sink_.get())))
      return UserError(path_ + ": gave no picture for 20 s; it is damaged");
    return OwnedSample();
  }

  /// Goes to the picture shown at `time`. False when the file cannot be sought in.
  bool Seek(GstClockTime time) {
    return gst_element_seek_simple(
        pipeline_.get(), GST_FORMAT_TIME,
        static_cast<GstSeekFlags>(GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE),
        static_cast<gint64>(time));
  }

 private:
  PictureReader(std::string path, GstOwned<GstElement> pipeline)
      : path_(std::move(path)),
        pipeline_(std::move(pipeline)),
        sink_(gst_bin_get_by_name(GST_BIN(pipeline_.get()), "pictures")),
        bus_(gst_element_get_bus(pipeline_.get())) {}

  Status BusError() {
    GstMessage* message = gst_bus_pop_filtered(bus_.get(), GST_MESSAGE_ERROR);
    if (message == nullptr) return OkStatus();
    const Error error = ErrorFromMessage(message);
    gst_message_unref(message);
    return Error{error.kind, path_ + ": " + error.message};
  }

  const std::string path_;
  GstOwned<GstElement> pipeline_;
  GstOwned<GstElement> sink_;
  GstOwned<GstBus> bus_;
};

Result<std::string> ToJpeg(GstSample* picture, const std::string& video) {
  const std::unique_ptr<GstCaps, CapsUnref> jpeg(gst_caps_new_empty_simple("image/jpeg"));
  GError* raw_error = nullptr;
  const OwnedSample converted(
      gst_video_convert_sample(picture, jpeg.get(), kFrameWithin, &raw_error));
  const OwnedGError error(raw_error);
  if (converted == nullptr)
    return EnvironmentError(video + ": a picture could not be written as JPEG: " +
                            (error != nullptr ? error->message : "no reason given"));
  GstMapInfo map;
  GstBuffer* buffer = gst_sample_get_buffer(converted.get());
  if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) return InternalError("a JPEG cannot be read");
  std::string bytes(reinterpret_cast<const char*>(map.data), map.size);
  gst_buffer_unmap(buffer, &map);
  return bytes;
}

/// Writes pictures as frame_0001.jpg, frame_0002.jpg, …
class FrameFiles {
 public:
  FrameFiles(std::string video, std::string folder)
      : video_(std::move(video)), folder_(std::move(folder)) {}

  Status Add(GstSample* picture) {
    SG_ASSIGN_OR_RETURN(const std::string jpeg, ToJpeg(picture, video_));
    const std::string path = JoinPath(folder_, fmt::format("frame_{:04d}.jpg", files_.size() + 1));
    SG_RETURN_IF_ERROR(WriteFileAtomic(path, jpeg));
    files_.push_back(path);
    return OkStatus();
  }
  const std::vector<std::string>& files() const { return files_; }

 private:
  const std::string video_;
  const std::string folder_;
  std::vector<std::string> files_;
};

Result<uint64_t> CountPictures(const std::string& video) {
  SG_ASSIGN_OR_RETURN(const auto reader, PictureReader::Open(video));
  for (uint64_t pictures = 0;; ++pictures) {
    if (Interrupted()) return InterruptedError();
    SG_ASSIGN_OR_RETURN(const OwnedSample picture, reader->Next());
    if (picture == nullptr) return pictures;
  }
}

/// The middles of `count` equal parts of the clip's pictures: all of them when there are fewer.
std::vector<uint64_t> SpreadIndexes(uint64_t pictures, int count) {
  const uint64_t parts = std::min(pictures, static_cast<uint64_t>(count));
  std::vector<uint64_t> indexes;
  for (uint64_t i = 0; i < parts; ++i) indexes.push_back((2 * i + 1) * pictures / (2 * parts));
  return indexes;
}

Status ExtractByDecoding(const std::string& video, int count, FrameFiles* files) {
  SG_ASSIGN_OR_RETURN(const uint64_t pictures, CountPictures(video));
  const std::vector<uint64_t> wanted = SpreadIndexes(pictures, count);
  SG_ASSIGN_OR_RETURN(const auto reader, PictureReader::Open(video));
  uint64_t index = 0;
  for (uint64_t target : wanted) {
    for (; index <= target; ++index) {
      if (Interrupted()) return InterruptedError();
      SG_ASSIGN_OR_RETURN(const OwnedSample picture, reader->Next());
      if (picture == nullptr) return OkStatus();
      if (index == target) SG_RETURN_IF_ERROR(files->Add(picture.get()));
    }
  }
  return OkStatus();
}

/// False, with nothing written, when the file cannot be sought in.
Result<bool> ExtractBySeeking(const VideoInfo& info, int count, FrameFiles* files) {
  SG_ASSIGN_OR_RETURN(const auto reader, PictureReader::Open(info.path));
  for (int i = 0; i < count; ++i) {
    if (Interrupted()) return InterruptedError();
    const double middle_s = info.duration_s * (2 * i + 1) / (2 * count);
    if (!reader->Seek(static_cast<GstClockTime>(middle_s * GST_SECOND))) {
      if (i == 0) return false;
      return UserError(info.path + ": stopped to be seekable; it is damaged");
    }
    SG_ASSIGN_OR_RETURN(const OwnedSample picture, reader->Next());
    if (picture == nullptr) break;
    SG_RETURN_IF_ERROR(files->Add(picture.get()));
  }
  return !files->files().empty();
}

}  // namespace

Result<ExtractedFrames> ExtractFramesHere(const std::string& video, const std::string& folder,
                                          int count) {
  if (count < 1)
    return UserError("at least one frame must be asked for, not " + std::to_string(count));
  SG_ASSIGN_OR_RETURN(const VideoInfo info, ProbeVideoHere(video));
  SG_RETURN_IF_ERROR(MakeFolders(folder));
  FrameFiles files(video, folder);
  const double frames = info.fps * info.duration_s;
  bool done = false;
  if (frames > kDecodeThroughFrames && frames > 2.0 * count) {
    SG_ASSIGN_OR_RETURN(done, ExtractBySeeking(info, count, &files));
  }
  if (!done) SG_RETURN_IF_ERROR(ExtractByDecoding(video, count, &files));
  if (files.files().empty()) return UserError(video + ": no picture could be decoded");
  ExtractedFrames extracted;
  extracted.files = files.files();
  if (extracted.files.size() < static_cast<size_t>(count))
    extracted.note = fmt::format("{} has only {} frames; {} were asked for", video,
                                 extracted.files.size(), count);
  return extracted;
}

}  // namespace sg
