// What travels with the frames through the elements: batches, the facts of one frame, detections.
//
// A batch is a GstBuffer without memory that carries a GstSgBatchMeta: references to the sources'
// own frame buffers, whose pixels are never copied. Every frame buffer carries a GstSgFrameMeta
// and, once inferred, one GstVideoRegionOfInterestMeta for each detection. All of it survives
// gst_buffer_copy() and gst_buffer_make_writable().
//
// This library is linked into the plugin and into the worker program; the types are registered once
// by name, so both copies see each other's metas. All functions may be called from any thread; the
// usual rules of GstBuffer (only the owner of a writable buffer changes it) hold.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// The facts of one frame, on the frame's own buffer.
struct GstSgFrameMeta {
  GstMeta meta;
  guint source_id;       ///< number of the mux's sink pad
  guint64 frame_number;  ///< of its source, from 0
  /// When the frame was due, if its source is paced; else when it entered the mux;
  /// sg::MonotonicNs().
  guint64 capture_ns;
  guint mux_width;  ///< the coordinate space of boxes
  guint mux_height;
  gboolean inferred;  ///< the inference element looked at this frame (detections may still be none)
};

namespace sg {

/// One frame of a batch. Both references are owned by the batch.
struct BatchFrame {
  GstBuffer* buffer;
  GstCaps* caps;  ///< video/x-raw, the frame's own size and format
};

}  // namespace sg

/// The frames of a batch, on the batch buffer.
struct GstSgBatchMeta {
  GstMeta meta;
  std::vector<sg::BatchFrame>* frames;  ///< never null
};

namespace sg {

/// The clock of GstSgFrameMeta::capture_ns: CLOCK_MONOTONIC.
uint64_t MonotonicNs();

// Batches

inline constexpr char kBatchMediaType[] = "application/x-sg-batch";

/// Media type with width, height (the mux space), batch-size and framerate. fps_d 0: 0/1.
GstCaps* NewBatchCaps(int width, int height, int batch_size, int fps_n, int fps_d);

/// An empty batch buffer: no memory, a GstSgBatchMeta without frames.
GstBuffer* NewBatch();

/// The buffer's frames, or nullptr when it is not a batch.
GstSgBatchMeta* GetBatchMeta(GstBuffer* buffer);

/// Appends a frame, taking the caller's reference to `frame` and adding one to `caps`.
/// REQUIRES: `batch` is a writable batch.
void AppendFrame(GstBuffer* batch, GstBuffer* frame, GstCaps* caps);

/// Frame `index` of the batch as a buffer whose metas may be changed, put back in its place; still
/// owned by the batch. Shallow: the pixels' memory stays shared with any other holder.
/// REQUIRES: `batch` is a writable batch with more than `index` frames.
GstBuffer* MakeFrameWritable(GstBuffer* batch, size_t index);

/// Calls `fn(frame, caps, index)` for each frame of a batch, or once with (buffer, nullptr, 0) for
/// a buffer that is not a batch. Nothing is owned by the callee.
void ForEachFrame(GstBuffer* batch_or_frame,
                  const std::function<void(GstBuffer* frame, GstCaps* caps, size_t index)>& fn);

// Frames

/// Adds zeroed facts, or returns those the frame has. REQUIRES: `frame` is writable.
GstSgFrameMeta* AddFrameMeta(GstBuffer* frame);

/// The frame's facts, or nullptr. They may be changed only while the buffer is writable.
GstSgFrameMeta* GetFrameMeta(GstBuffer* frame);

// Detections

/// One box. The corners are in the mux space; x, y, w, h are the same box in whole pixels of the
/// frame itself, cut to the picture.
struct Detection {
  std::string label;
  int label_id = 0;
  double confidence = 0;
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
  int64_t object_id = -1;  ///< -1 until a tracker sets it
  int x = 0;
  int y = 0;
  int w = 0;
  int h = 0;
};

/// Adds a detection to a frame of frame_width × frame_height pixels. x, y, w, h of `detection` are
/// not read: they are derived from the corners, the frame's mux space (its GstSgFrameMeta; without
/// one, the frame's own size) and its size.
/// REQUIRES: `frame` is writable.
void AddDetection(GstBuffer* frame, const Detection& detection, int frame_width, int frame_height);

/// The frame's detections in the order they were added. Regions of interest of other elements,
/// without our parameters, are left out.
std::vector<Detection> ReadDetections(GstBuffer* frame);

// Events

/// Serialised downstream event: source `source_id` has ended, its last frame is before this.
GstEvent* NewSourceEosEvent(unsigned source_id);

/// Whether `event` is one, and of which source.
bool ParseSourceEosEvent(GstEvent* event, unsigned* source_id);

}  // namespace sg
