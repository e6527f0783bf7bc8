// Holds the frames of file sources back until they are due, as cameras would.
//
// A frame is held at two places. In front of the mux no frame passes before it is due. In front of
// the decoder the frame's bytes are held as well, so that decoding is part of the latency: a unit
// of bytes is let in when the picture that it makes the decoder put out is due. How many units a
// decoder keeps to itself (reordering) is not known beforehand; it is counted from what went in and
// came out, and is then taken off, because a camera's own stream has no such delay.
//
// The schedule begins when every stream has its first frame, or 10 s after the first one; a stream
// that comes later has a schedule of its own from then on. Frames that are late are not dropped and
// do not shift the schedule: the next ones follow at once.
#pragma once

#include <gst/gst.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "pipeline/pace_schedule.h"

namespace sg {

class Pacer {
 public:
  Pacer(int streams, const PaceOptions& options);

  /// A frame of the stream is in front of the mux: waits until it is due and returns when it was,
  /// in MonotonicNs; nothing when stopped. Streaming threads, one per stream.
  std::optional<uint64_t> WaitFrame(int stream);
  /// A unit of bytes is in front of the stream's decoder.
  void WaitUnit(int stream);

  /// Nobody waits any more.
  void Stop();

 private:
  struct Stream {
    uint64_t frames = 0;  ///< that came to the mux
    int64_t units = 0;    ///< that went into the decoder since its first frame came out
    int64_t kept = 0;     ///< units the decoder keeps, at most seen
    std::optional<uint64_t> start_ns;
  };
  /// Under the lock; returns early when stopped.
  void WaitUntil(std::unique_lock<std::mutex>* lock, uint64_t at_ns);
  uint64_t WaitStart(std::unique_lock<std::mutex>* lock, Stream* stream);

  const PaceOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Stream> streams_;
  int present_ = 0;
  std::optional<uint64_t> first_ns_;
  std::optional<uint64_t> start_ns_;
  bool stopped_ = false;
};

/// The sink pad of the video decoder that feeds `pad`, through elements with one input; nullptr
/// when there is none (a raw source). The caller owns the reference.
GstPad* DecoderInput(GstPad* pad);

}  // namespace sg
