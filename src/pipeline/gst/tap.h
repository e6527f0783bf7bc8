// Counts and stamps the frames that reach one element of a running pipeline.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/samples_writer.h"

namespace sg {

class Tap {
 public:
  /// Times are counted from `start_ns` (MonotonicNs). `samples` may be null; both it and the tap
  /// outlive the pipeline's streaming.
  Tap(int streams, uint64_t start_ns, SamplesWriter* samples);

  /// Hooks the element's sink pad. False when it has none.
  bool Attach(GstElement* element);

  /// Any thread, at any time.
  uint64_t frames(int stream) const { return frames_[static_cast<size_t>(stream)].load(); }
  uint64_t total_frames() const;
  /// Since the start; -1 before the first frame.
  int64_t first_arrival_ns() const { return first_arrival_ns_.load(); }
  int64_t last_arrival_ns() const { return last_arrival_ns_.load(); }
  /// Frames of a stream number that the job does not have; they are not recorded.
  uint64_t strangers() const { return strangers_.load(); }

 private:
  static GstPadProbeReturn OnData(GstPad* pad, GstPadProbeInfo* info, gpointer self);
  void Record(GstBuffer* buffer, int64_t arrival_ns);
  void RecordFrame(GstBuffer* frame, int64_t arrival_ns);

  const uint64_t start_ns_;
  SamplesWriter* const samples_;
  std::vector<std::atomic<uint64_t>> frames_;
  std::atomic<int64_t> first_arrival_ns_{-1};
  std::atomic<int64_t> last_arrival_ns_{-1};
  std::atomic<uint64_t> strangers_{0};
};

}  // namespace sg
