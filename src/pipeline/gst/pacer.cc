#include "pipeline/gst/pacer.h"

#include <algorithm>
#include <chrono>

#include "pipeline/gst/batch_meta.h"
#include "pipeline/gst/gst_error.h"

namespace sg {
namespace {

constexpr uint64_t kLongestStartNs = 10'000'000'000;

bool IsVideoDecoder(GstElement* element) {
  GstElementFactory* factory = gst_element_get_factory(element);
  return factory != nullptr &&
         gst_element_factory_list_is_type(
             factory, GST_ELEMENT_FACTORY_TYPE_DECODER | GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO);
}

/// The only sink pad of an element, or nothing.
GstOwned<GstPad> OnlySinkPad(GstElement* element) {
  GstOwned<GstPad> pad;
  GST_OBJECT_LOCK(element);
  if (element->numsinkpads == 1) pad.reset(GST_PAD(gst_object_ref(element->sinkpads->data)));
  GST_OBJECT_UNLOCK(element);
  return pad;
}

/// What is behind ghost pads.
GstOwned<GstPad> Innermost(GstPad* pad) {
  GstOwned<GstPad> inner(GST_PAD(gst_object_ref(pad)));
  while (inner != nullptr && GST_IS_GHOST_PAD(inner.get()))
    inner.reset(gst_ghost_pad_get_target(GST_GHOST_PAD(inner.get())));
  return inner;
}

}  // namespace

GstPad* DecoderInput(GstPad* pad) {
  constexpr int kMostElements = 32;
  GstOwned<GstPad> at = Innermost(pad);
  for (int i = 0; i < kMostElements && at != nullptr; ++i) {
    const GstOwned<GstElement> element(gst_pad_get_parent_element(at.get()));
    if (element == nullptr) {
      // The inner side of a bin's sink ghost pad: go on outside.
      const GstOwned<GstObject> parent(gst_object_get_parent(GST_OBJECT(at.get())));
      if (parent == nullptr || !GST_IS_GHOST_PAD(parent.get())) return nullptr;
      GstPad* outside = gst_pad_get_peer(GST_PAD(parent.get()));
      if (outside == nullptr) return nullptr;
      at = Innermost(outside);
      gst_object_unref(outside);
      continue;
    }
    GstOwned<GstPad> sink = OnlySinkPad(element.get());
    if (sink == nullptr) return nullptr;
    if (IsVideoDecoder(element.get())) return sink.release();
    GstPad* peer = gst_pad_get_peer(sink.get());
    if (peer == nullptr) return nullptr;
    at = Innermost(peer);
    gst_object_unref(peer);
  }
  return nullptr;
}

Pacer::Pacer(int streams, const PaceOptions& options)
    : options_(options), streams_(static_cast<size_t>(streams)) {}

void Pacer::WaitUntil(std::unique_lock<std::mutex>* lock, uint64_t at_ns) {
  while (!stopped_) {
    const uint64_t now_ns = MonotonicNs();
    if (now_ns >= at_ns) return;
    // libstdc++'s steady clock is CLOCK_MONOTONIC too, but only a length of time is sure.
    wake_.wait_for(*lock, std::chrono::nanoseconds(at_ns - now_ns));
  }
}

uint64_t Pacer::WaitStart(std::unique_lock<std::mutex>* lock, Stream* stream) {
  const uint64_t now_ns = MonotonicNs();
  if (!first_ns_) first_ns_ = now_ns;
  if (++present_ == static_cast<int>(streams_.size()) && !start_ns_) {
    start_ns_ = now_ns;
    wake_.notify_all();
  }
  while (!start_ns_ && !stopped_) {
    const uint64_t limit_ns = *first_ns_ + kLongestStartNs;
    const uint64_t at_ns = MonotonicNs();
    if (at_ns >= limit_ns) {
      start_ns_ = at_ns;
      wake_.notify_all();
    } else {
      wake_.wait_for(*lock, std::chrono::nanoseconds(limit_ns - at_ns));
    }
  }
  stream->start_ns = std::max(start_ns_.value_or(now_ns), now_ns);
  return *stream->start_ns;
}

std::optional<uint64_t> Pacer::WaitFrame(int number) {
  std::unique_lock<std::mutex> lock(mutex_);
  Stream& stream = streams_[static_cast<size_t>(number)];
  const uint64_t frame = stream.frames++;
  stream.kept = std::max(stream.kept, stream.units - static_cast<int64_t>(frame));
  const uint64_t start_ns = stream.start_ns ? *stream.start_ns : WaitStart(&lock, &stream);
  const uint64_t due_ns =
      start_ns + static_cast<uint64_t>(PaceSchedule(options_, number).DueNs(frame));
  WaitUntil(&lock, due_ns);
  if (stopped_) return std::nullopt;
  return due_ns;
}

void Pacer::WaitUnit(int number) {
  std::unique_lock<std::mutex> lock(mutex_);
  Stream& stream = streams_[static_cast<size_t>(number)];
  const int64_t unit = stream.units++;
  if (!stream.start_ns) return;
  const auto frame = static_cast<uint64_t>(std::max<int64_t>(0, unit + 1 - stream.kept));
  WaitUntil(&lock,
            *stream.start_ns + static_cast<uint64_t>(PaceSchedule(options_, number).DueNs(frame)));
}

void Pacer::Stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
  wake_.notify_all();
}

}  // namespace sg
