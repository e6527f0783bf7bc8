#include "pipeline/gst/tap.h"

#include <gst/video/gstvideometa.h>

#include "pipeline/gst/batch_meta.h"
#include "pipeline/gst/gst_error.h"

namespace sg {
namespace {

/// The element's sink pad: "sink" as nearly all name it, else the first one.
GstOwned<GstPad> SinkPad(GstElement* element) {
  GstOwned<GstPad> pad(gst_element_get_static_pad(element, "sink"));
  if (pad != nullptr) return pad;
  GstIterator* pads = gst_element_iterate_sink_pads(element);
  GValue value = G_VALUE_INIT;
  if (gst_iterator_next(pads, &value) == GST_ITERATOR_OK) {
    pad.reset(GST_PAD(g_value_dup_object(&value)));
    g_value_unset(&value);
  }
  gst_iterator_free(pads);
  return pad;
}

int CountBoxes(GstBuffer* frame) {
  int boxes = 0;
  gpointer state = nullptr;
  while (gst_buffer_iterate_meta_filtered(frame, &state,
                                          GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE) != nullptr)
    ++boxes;
  return boxes;
}

}  // namespace

Tap::Tap(int streams, uint64_t start_ns, SamplesWriter* samples)
    : start_ns_(start_ns), samples_(samples), frames_(static_cast<size_t>(streams)) {}

bool Tap::Attach(GstElement* element) {
  const GstOwned<GstPad> pad = SinkPad(element);
  if (pad == nullptr) return false;
  const auto kinds =
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST);
  gst_pad_add_probe(pad.get(), kinds, &Tap::OnData, this, nullptr);
  return true;
}

uint64_t Tap::total_frames() const {
  uint64_t total = 0;
  for (const std::atomic<uint64_t>& frames : frames_) total += frames.load();
  return total;
}

GstPadProbeReturn Tap::OnData(GstPad*, GstPadProbeInfo* info, gpointer self) {
  Tap* tap = static_cast<Tap*>(self);
  const auto arrival_ns = static_cast<int64_t>(MonotonicNs() - tap->start_ns_);
  if ((GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER_LIST) != 0) {
    GstBufferList* list = GST_PAD_PROBE_INFO_BUFFER_LIST(info);
    for (guint i = 0; i < gst_buffer_list_length(list); ++i)
      tap->Record(gst_buffer_list_get(list, i), arrival_ns);
  } else {
    tap->Record(GST_PAD_PROBE_INFO_BUFFER(info), arrival_ns);
  }
  return GST_PAD_PROBE_OK;
}

void Tap::Record(GstBuffer* buffer, int64_t arrival_ns) {
  int64_t none = -1;
  first_arrival_ns_.compare_exchange_strong(none, arrival_ns);
  last_arrival_ns_.store(arrival_ns);
  if (const GstSgBatchMeta* batch = GetBatchMeta(buffer)) {
    for (const BatchFrame& frame : *batch->frames) RecordFrame(frame.buffer, arrival_ns);
  } else {
    RecordFrame(buffer, arrival_ns);
  }
}

void Tap::RecordFrame(GstBuffer* frame, int64_t arrival_ns) {
  FrameSample sample;
  sample.arrival_ns = arrival_ns;
  sample.boxes = CountBoxes(frame);
  const GstSgFrameMeta* facts = GetFrameMeta(frame);
  const guint stream = facts != nullptr ? facts->source_id : 0;
  if (stream >= frames_.size()) {
    strangers_.fetch_add(1);
    return;
  }
  const uint64_t number = frames_[stream].fetch_add(1);
  sample.stream = static_cast<int>(stream);
  sample.frame = facts != nullptr ? facts->frame_number : number;
  if (facts != nullptr) sample.capture_ns = static_cast<int64_t>(facts->capture_ns - start_ns_);
  if (samples_ != nullptr) samples_->AddFrame(sample);
}

}  // namespace sg
