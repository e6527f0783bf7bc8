// GStreamer's frames as Pictures: mapped, never copied.
#pragma once

#include <gst/video/video.h>

#include <list>
#include <string>

#include "gst/preprocess.h"

namespace sg {

/// A frame mapped for reading until this object goes.
class MappedPicture {
 public:
  MappedPicture() = default;
  ~MappedPicture() {
    if (mapped_) gst_video_frame_unmap(&frame_);
  }
  MappedPicture(const MappedPicture&) = delete;
  MappedPicture& operator=(const MappedPicture&) = delete;
  MappedPicture(MappedPicture&& other) noexcept
      : frame_(other.frame_), picture_(other.picture_), mapped_(other.mapped_) {
    other.mapped_ = false;
  }
  MappedPicture& operator=(MappedPicture&&) = delete;

  /// REQUIRES: PictureMapper::Map succeeded.
  const Picture& picture() const { return picture_; }

 private:
  friend class PictureMapper;
  GstVideoFrame frame_ = {};
  Picture picture_;
  bool mapped_ = false;
};

/// Not thread-safe.
class PictureMapper {
 public:
  PictureMapper() = default;
  ~PictureMapper();
  PictureMapper(const PictureMapper&) = delete;
  PictureMapper& operator=(const PictureMapper&) = delete;

  /// False when the frame has no picture that preprocessing reads; reason() says why.
  bool Map(GstBuffer* frame, GstCaps* caps, MappedPicture* mapped);
  const std::string& reason() const { return reason_; }

 private:
  /// Caps that were read, most recently used first: sources send the same ones again and again.
  struct Known {
    GstCaps* caps;
    GstVideoInfo info;
    bool usable;
    std::string reason;
  };
  const Known& Find(GstCaps* caps);

  std::list<Known> known_;
  std::string reason_;
};

}  // namespace sg
