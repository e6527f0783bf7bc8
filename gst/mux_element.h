// What the files of sgmux share: the element's state and the two sides of its pads.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "gst/mux_core.h"

GST_DEBUG_CATEGORY_EXTERN(gst_sg_mux_debug);

namespace sg::mux {

using Lock = std::unique_lock<std::mutex>;

// A frame on its way through the mux. Owns both references.
struct QueuedFrame : MuxFrame {
  QueuedFrame(GstBuffer* frame, GstCaps* frame_caps)
      : buffer(frame), caps(gst_caps_ref(frame_caps)) {}
  ~QueuedFrame() override {
    if (buffer != nullptr) gst_buffer_unref(buffer);
    gst_caps_unref(caps);
  }
  QueuedFrame(const QueuedFrame&) = delete;
  QueuedFrame& operator=(const QueuedFrame&) = delete;

  GstBuffer* buffer;
  GstCaps* caps;
};

// One sink pad. Everything is guarded by Mux::mutex.
struct SinkPad {
  unsigned source_id = 0;
  GstCaps* caps = nullptr;  ///< nullptr until there are usable ones
  GstVideoInfo info;
  GstSegment segment;
  uint64_t next_frame_number = 0;
  uint64_t dropped_frames = 0;
  bool flushing = false;
  bool released = false;
  bool ended = false;

  ~SinkPad() { gst_caps_replace(&caps, nullptr); }
};

inline constexpr int kDefaultPushTimeoutUs = -1;

struct Settings {
  guint batch_size = 1;
  gint push_timeout_us = kDefaultPushTimeoutUs;
  guint width = 0;
  guint height = 0;
  bool live_source = false;
  bool sync_inputs = false;
};

// Lock order: the pads' stream locks before `mutex`. Nothing is pushed or posted under `mutex`.
struct Mux {
  std::mutex mutex;
  std::condition_variable work;  ///< the task waits for frames
  std::condition_variable room;  ///< chain functions wait for room in their queue

  Settings settings;
  BatchFormer former;
  bool running = false;  ///< between READY and PAUSED, in both directions
  bool caps_changed = true;
  bool stream_started = false;
  GstFlowReturn src_flow = GST_FLOW_OK;
  guint space_width = 0;  ///< the coordinate space; 0 until the first caps
  guint space_height = 0;
  int fps_n = 0;
  int fps_d = 1;
  bool fps_known = false;
};

}  // namespace sg::mux

struct GstSgMux {
  GstElement parent;
  GstPad* srcpad;
  sg::mux::Mux* mux;
};

struct GstSgMuxClass {
  GstElementClass parent_class;
};

#define GST_SG_MUX(object) (reinterpret_cast<GstSgMux*>(object))

namespace sg::mux {

inline SinkPad* StateOf(GstPad* pad) {
  return static_cast<SinkPad*>(gst_pad_get_element_private(pad));
}

/// mux_sink.cc: gives a new sink pad its state and its functions.
void SetUpSinkPad(GstPad* pad, unsigned source_id);

/// mux_source.cc: gives the source pad its functions.
void SetUpSourcePad(GstPad* pad);
/// Starts the task that forms batches, or lets it go on after it stopped.
bool StartTask(GstSgMux* self);

}  // namespace sg::mux
