#include "pipeline/gst/batch_meta.h"

#include <gst/video/gstvideometa.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>

namespace sg {
namespace {

constexpr char kFrameMetaName[] = "GstSgFrameMeta";
constexpr char kBatchMetaName[] = "GstSgBatchMeta";
constexpr char kDetectionParam[] = "detection";
constexpr char kSourceEosName[] = "sg-source-eos";
constexpr char kSourceIdField[] = "source-id";

gboolean FrameMetaInit(GstMeta* meta, gpointer, GstBuffer*) {
  auto* frame = reinterpret_cast<GstSgFrameMeta*>(meta);
  frame->source_id = 0;
  frame->frame_number = 0;
  frame->capture_ns = 0;
  frame->mux_width = 0;
  frame->mux_height = 0;
  frame->inferred = FALSE;
  return TRUE;
}

// The facts belong to the picture, so they follow every kind of transform (a scaled picture is
// still the same frame of the same source).
gboolean FrameMetaTransform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark, gpointer) {
  const auto* from = reinterpret_cast<const GstSgFrameMeta*>(meta);
  GstSgFrameMeta* copy = AddFrameMeta(to);
  if (copy == nullptr) return FALSE;
  copy->source_id = from->source_id;
  copy->frame_number = from->frame_number;
  copy->capture_ns = from->capture_ns;
  copy->mux_width = from->mux_width;
  copy->mux_height = from->mux_height;
  copy->inferred = from->inferred;
  return TRUE;
}

gboolean BatchMetaInit(GstMeta* meta, gpointer, GstBuffer*) {
  reinterpret_cast<GstSgBatchMeta*>(meta)->frames = new std::vector<BatchFrame>();
  return TRUE;
}

void BatchMetaFree(GstMeta* meta, GstBuffer*) {
  auto* batch = reinterpret_cast<GstSgBatchMeta*>(meta);
  for (const BatchFrame& frame : *batch->frames) {
    gst_buffer_unref(frame.buffer);
    gst_caps_unref(frame.caps);
  }
  delete batch->frames;
  batch->frames = nullptr;
}

const GstMetaInfo* BatchMetaInfo();

gboolean BatchMetaTransform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer) {
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  const auto* from = reinterpret_cast<const GstSgBatchMeta*>(meta);
  auto* copy = reinterpret_cast<GstSgBatchMeta*>(gst_buffer_add_meta(to, BatchMetaInfo(), nullptr));
  if (copy == nullptr) return FALSE;
  for (const BatchFrame& frame : *from->frames) {
    copy->frames->push_back({gst_buffer_ref(frame.buffer), gst_caps_ref(frame.caps)});
  }
  return TRUE;
}

struct MetaClass {
  const char* name;
  const char* api_name;
  gsize size;
  GstMetaInitFunction init;
  GstMetaFreeFunction free;
  GstMetaTransformFunction transform;
};

// The other copy of this library may have registered the names already; its functions are the same.
const GstMetaInfo* RegisterOnce(const MetaClass& meta_class) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  if (const GstMetaInfo* info = gst_meta_get_info(meta_class.name)) return info;
  static const gchar* no_tags[] = {nullptr};
  GType api = g_type_from_name(meta_class.api_name);
  if (api == 0) api = gst_meta_api_type_register(meta_class.api_name, no_tags);
  return gst_meta_register(api, meta_class.name, meta_class.size, meta_class.init, meta_class.free,
                           meta_class.transform);
}

const GstMetaInfo* FrameMetaInfo() {
  static const GstMetaInfo* const info =
      RegisterOnce({kFrameMetaName, "GstSgFrameMetaAPI", sizeof(GstSgFrameMeta), FrameMetaInit,
                    nullptr, FrameMetaTransform});
  return info;
}

const GstMetaInfo* BatchMetaInfo() {
  static const GstMetaInfo* const info =
      RegisterOnce({kBatchMetaName, "GstSgBatchMetaAPI", sizeof(GstSgBatchMeta), BatchMetaInit,
                    BatchMetaFree, BatchMetaTransform});
  return info;
}

// First and length in whole pixels of the part of [from, to) that lies in [0, limit), at least one
// pixel long while the picture has one.
struct Span {
  int first;
  int length;
};
Span CutToPicture(double from, double to, int limit) {
  if (limit <= 0) return {0, 0};
  const auto whole = [limit](double value) {
    if (!(value > 0)) return 0;  // also not-a-number
    return static_cast<int>(std::lround(std::min(value, static_cast<double>(limit))));
  };
  const int first = std::min(whole(from), limit - 1);
  return {first, std::max(1, whole(to) - first)};
}

}  // namespace

uint64_t MonotonicNs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

GstCaps* NewBatchCaps(int width, int height, int batch_size, int fps_n, int fps_d) {
  const bool known_rate = fps_n >= 0 && fps_d > 0;
  return gst_caps_new_simple(kBatchMediaType, "width", G_TYPE_INT, width, "height", G_TYPE_INT,
                             height, "batch-size", G_TYPE_INT, batch_size, "framerate",
                             GST_TYPE_FRACTION, known_rate ? fps_n : 0, known_rate ? fps_d : 1,
                             nullptr);
}

GstBuffer* NewBatch() {
  GstBuffer* batch = gst_buffer_new();
  gst_buffer_add_meta(batch, BatchMetaInfo(), nullptr);
  return batch;
}

GstSgBatchMeta* GetBatchMeta(GstBuffer* buffer) {
  return reinterpret_cast<GstSgBatchMeta*>(gst_buffer_get_meta(buffer, BatchMetaInfo()->api));
}

void AppendFrame(GstBuffer* batch, GstBuffer* frame, GstCaps* caps) {
  GetBatchMeta(batch)->frames->push_back({frame, gst_caps_ref(caps)});
}

GstBuffer* MakeFrameWritable(GstBuffer* batch, size_t index) {
  BatchFrame& frame = GetBatchMeta(batch)->frames->at(index);
  frame.buffer = gst_buffer_make_writable(frame.buffer);
  return frame.buffer;
}

void ForEachFrame(GstBuffer* batch_or_frame,
                  const std::function<void(GstBuffer*, GstCaps*, size_t)>& fn) {
  const GstSgBatchMeta* batch = GetBatchMeta(batch_or_frame);
  if (batch == nullptr) return fn(batch_or_frame, nullptr, 0);
  for (size_t i = 0; i < batch->frames->size(); ++i) {
    fn((*batch->frames)[i].buffer, (*batch->frames)[i].caps, i);
  }
}

GstSgFrameMeta* AddFrameMeta(GstBuffer* frame) {
  if (GstSgFrameMeta* meta = GetFrameMeta(frame)) return meta;
  return reinterpret_cast<GstSgFrameMeta*>(gst_buffer_add_meta(frame, FrameMetaInfo(), nullptr));
}

GstSgFrameMeta* GetFrameMeta(GstBuffer* frame) {
  return reinterpret_cast<GstSgFrameMeta*>(gst_buffer_get_meta(frame, FrameMetaInfo()->api));
}

void AddDetection(GstBuffer* frame, const Detection& detection, int frame_width, int frame_height) {
  const GstSgFrameMeta* facts = GetFrameMeta(frame);
  double scale_x = 1;
  double scale_y = 1;
  if (facts != nullptr && facts->mux_width > 0 && facts->mux_height > 0) {
    scale_x = static_cast<double>(frame_width) / facts->mux_width;
    scale_y = static_cast<double>(frame_height) / facts->mux_height;
  }
  const Span across =
      CutToPicture(detection.left * scale_x, detection.right * scale_x, frame_width);
  const Span down = CutToPicture(detection.top * scale_y, detection.bottom * scale_y, frame_height);
  GstVideoRegionOfInterestMeta* region = gst_buffer_add_video_region_of_interest_meta(
      frame, detection.label.c_str(), across.first, down.first, across.length, down.length);
  gst_video_region_of_interest_meta_add_param(
      region,
      gst_structure_new(kDetectionParam, "label_id", G_TYPE_INT, detection.label_id, "confidence",
                        G_TYPE_DOUBLE, detection.confidence, "left", G_TYPE_DOUBLE, detection.left,
                        "top", G_TYPE_DOUBLE, detection.top, "right", G_TYPE_DOUBLE,
                        detection.right, "bottom", G_TYPE_DOUBLE, detection.bottom, "object_id",
                        G_TYPE_INT64, gint64{detection.object_id}, nullptr));
}

std::vector<Detection> ReadDetections(GstBuffer* frame) {
  std::vector<Detection> detections;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* region = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    const GstStructure* param =
        gst_video_region_of_interest_meta_get_param(region, kDetectionParam);
    if (param == nullptr) continue;
    Detection detection;
    gint64 object_id = -1;
    if (!gst_structure_get(param, "label_id", G_TYPE_INT, &detection.label_id, "confidence",
                           G_TYPE_DOUBLE, &detection.confidence, "left", G_TYPE_DOUBLE,
                           &detection.left, "top", G_TYPE_DOUBLE, &detection.top, "right",
                           G_TYPE_DOUBLE, &detection.right, "bottom", G_TYPE_DOUBLE,
                           &detection.bottom, nullptr)) {
      continue;
    }
    gst_structure_get(param, "object_id", G_TYPE_INT64, &object_id, nullptr);
    detection.object_id = object_id;
    if (const gchar* label = g_quark_to_string(region->roi_type)) detection.label = label;
    detection.x = static_cast<int>(region->x);
    detection.y = static_cast<int>(region->y);
    detection.w = static_cast<int>(region->w);
    detection.h = static_cast<int>(region->h);
    detections.push_back(std::move(detection));
  }
  return detections;
}

GstEvent* NewSourceEosEvent(unsigned source_id) {
  return gst_event_new_custom(
      GST_EVENT_CUSTOM_DOWNSTREAM,
      gst_structure_new(kSourceEosName, kSourceIdField, G_TYPE_UINT, source_id, nullptr));
}

bool ParseSourceEosEvent(GstEvent* event, unsigned* source_id) {
  if (GST_EVENT_TYPE(event) != GST_EVENT_CUSTOM_DOWNSTREAM) return false;
  const GstStructure* structure = gst_event_get_structure(event);
  return structure != nullptr && gst_structure_has_name(structure, kSourceEosName) &&
         gst_structure_get_uint(structure, kSourceIdField, source_id);
}

}  // namespace sg
