/**
 * SECTION:element-sginfer
 * @title: sginfer
 *
 * Detects objects on the frames of a batch and attaches them as regions of interest, from the same
 * configuration file that DeepStream's nvinfer reads.
 *
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! qtdemux ! h264parse ! avdec_h264 max-threads=1 !
 *   m.sink_0 sgmux name=m batch-size=1 width=1280 height=720 !
 *   sginfer config-file-path=models/NAME/config/config_infer_primary_NAME.txt ! fakesink sync=false
 * ]|
 */

// Threads and order
//
// The chain thread preprocesses frames and starts requests; the source pad's task waits for them,
// parses, attaches boxes and pushes. Between them is one queue of items, each a batch (with its
// flight, when it is inferred) or a serialised event.
//
//  1. Everything serialised that goes downstream goes through the queue, in the order in which it
//     came. Only FLUSH_START, FLUSH_STOP and unserialised events pass by it.
//  2. `mutex` guards the queue, `flow` and `active`. It is never held while a request is waited
//     for, a pad is pushed to, or a message is posted.
//  3. `flow` is the last flow return of downstream; once it is not OK the task is paused, the core
//     is stopped (so that a chain thread waiting for a request returns) and chain returns it.
//  4. A batch and its frames are made writable before they are mapped, so nothing that is added to
//     them later can ask for a copy; pixels are never copied or written.
//  5. OpenVINO calls nothing of ours: the task waits for the head's requests itself. A thread that
//     drops a flight waits for its running requests, which take milliseconds and need nobody.
//  6. The core lives from READY→PAUSED to PAUSED→READY, and the queue is empty outside of that.

#include <fmt/format.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "deepstream/nvinfer_config.h"
#include "gst/infer_core.h"
#include "gst/infer_engine.h"
#include "gst/infer_picture.h"
#include "gst/infer_settings.h"
#include "pipeline/gst/batch_meta.h"

GST_DEBUG_CATEGORY_STATIC(gst_sg_infer_debug);
#define GST_CAT_DEFAULT gst_sg_infer_debug

namespace {

using sg::InferCore;

struct MiniObjectUnref {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
  void operator()(GstEvent* event) const { gst_event_unref(event); }
};

/// One place in the order: an event, or a batch with or without a flight.
struct Item {
  std::unique_ptr<GstEvent, MiniObjectUnref> event;
  std::unique_ptr<GstBuffer, MiniObjectUnref> batch;
  std::unique_ptr<InferCore::Flight> flight;
};

struct InferState {
  sg::InferSettings settings;  ///< object lock

  // From READY→PAUSED on. `core` appears and goes under the object lock, for the statistics.
  std::unique_ptr<InferCore> core;
  sg::NvinferConfig config;
  sg::IntervalCounter interval{0};  ///< chain thread
  sg::PictureMapper mapper;         ///< chain thread
  bool warned_unusable = false;     ///< chain thread

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> queue;
  size_t queued_batches = 0;
  GstFlowReturn flow = GST_FLOW_FLUSHING;
  bool active = false;  ///< the source pad is activated
};

}  // namespace

struct GstSgInfer {
  GstElement element;
  GstPad* sinkpad;
  GstPad* srcpad;
  InferState* state;
};
struct GstSgInferClass {
  GstElementClass parent_class;
};

G_DEFINE_TYPE(GstSgInfer, gst_sg_infer, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(sginfer, "sginfer", GST_RANK_NONE, gst_sg_infer_get_type())

#define GST_SG_INFER(object) (reinterpret_cast<GstSgInfer*>(object))

namespace {

enum Property {
  kPropConfigFilePath = 1,
  kPropBatchSize,
  kPropInterval,
  kPropUniqueId,
  kPropModelEngineFile,
  kPropFilterOutClassIds,
  kPropStats,
};

GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("application/x-sg-batch"));
GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("application/x-sg-batch"));

// Opening and closing
// ------------------------------------------------------------------------------

sg::Status Open(GstSgInfer* self) {
  InferState& state = *self->state;
  GST_OBJECT_LOCK(self);
  const sg::InferSettings settings = state.settings;
  GST_OBJECT_UNLOCK(self);
  SG_ASSIGN_OR_RETURN(state.config, sg::ReadInferConfig(settings));
  for (const std::string& key : state.config.unknown_keys) {
    GST_WARNING_OBJECT(self, "%s: not known, ignored", key.c_str());
  }
  SG_ASSIGN_OR_RETURN(const std::string path, sg::EmbeddedEnginePath(state.config));
  SG_ASSIGN_OR_RETURN(auto engine, sg::LoadOpenVinoInferEngine(
                                       path, state.config.onnx_file,
                                       {state.config.net_scale_factor, state.config.offsets}));
  const int largest = engine->batches().back();
  if (state.config.batch_size > largest) {
    GST_WARNING_OBJECT(self, "batch-size is %d, the engine %s takes at most %d at a time",
                       state.config.batch_size, path.c_str(), largest);
  }
  SG_ASSIGN_OR_RETURN(auto core, InferCore::Create(state.config, std::move(engine)));
  GST_OBJECT_LOCK(self);
  state.core = std::move(core);
  GST_OBJECT_UNLOCK(self);
  state.interval = sg::IntervalCounter(static_cast<unsigned>(state.config.interval));
  state.warned_unusable = false;
  return sg::OkStatus();
}

void PostError(GstSgInfer* self, const sg::Error& error) {
  switch (error.kind) {
    case sg::ErrorKind::kUser:
    case sg::ErrorKind::kUnsupported:
      GST_ELEMENT_ERROR(self, LIBRARY, SETTINGS, ("%s", error.message.c_str()), (nullptr));
      break;
    case sg::ErrorKind::kEnvironment:
      GST_ELEMENT_ERROR(self, LIBRARY, INIT, ("%s", error.message.c_str()), (nullptr));
      break;
    default:
      GST_ELEMENT_ERROR(self, LIBRARY, FAILED, ("%s", error.message.c_str()), (nullptr));
  }
}

// The queue
// ----------------------------------------------------------------------------------------

/// Empties the queue, outside of the lock, since dropping a flight waits. Of the events on their
/// way, the sticky ones that a flush leaves valid are kept for what comes after it.
void DropQueue(GstSgInfer* self) {
  InferState& state = *self->state;
  std::deque<Item> dropped;
  {
    const std::lock_guard lock(state.mutex);
    dropped.swap(state.queue);
    state.queued_batches = 0;
  }
  for (const Item& item : dropped) {
    GstEvent* event = item.event.get();
    if (event == nullptr || !GST_EVENT_IS_STICKY(event)) continue;
    if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT || GST_EVENT_TYPE(event) == GST_EVENT_EOS) {
      continue;
    }
    gst_pad_store_sticky_event(self->srcpad, event);
  }
}

void StopFlow(InferState& state, GstFlowReturn flow) {
  {
    const std::lock_guard lock(state.mutex);
    state.flow = flow;
  }
  state.changed.notify_all();
  if (state.core != nullptr) state.core->SetStopped(true);
}

void StartFlow(InferState& state) {
  if (state.core != nullptr) state.core->SetStopped(false);
  const std::lock_guard lock(state.mutex);
  state.flow = GST_FLOW_OK;
}

/// Waits while `limit` batches are queued; events have no limit. Downstream's flow return when that
/// is not OK; `item` is then dropped.
GstFlowReturn Enqueue(InferState& state, Item item, size_t limit) {
  std::unique_lock lock(state.mutex);
  if (item.batch != nullptr) {
    state.changed.wait(lock,
                       [&] { return state.flow != GST_FLOW_OK || state.queued_batches < limit; });
  }
  if (state.flow != GST_FLOW_OK) return state.flow;
  if (item.batch != nullptr) ++state.queued_batches;
  state.queue.push_back(std::move(item));
  lock.unlock();
  state.changed.notify_all();
  return GST_FLOW_OK;
}

// Source side: the task
// ----------------------------------------------------------------------------

void AttachBoxes(const InferState& state, GstBuffer* batch, size_t index,
                 const sg::FrameResult& result) {
  GstBuffer* frame = sg::MakeFrameWritable(batch, index);
  const sg::BatchFrame& entry = (*sg::GetBatchMeta(batch)->frames)[index];
  GstSgFrameMeta* facts = sg::GetFrameMeta(frame);
  if (facts != nullptr) facts->inferred = TRUE;
  const GstStructure* caps = gst_caps_get_structure(entry.caps, 0);
  int width = 0;
  int height = 0;
  gst_structure_get_int(caps, "width", &width);
  gst_structure_get_int(caps, "height", &height);
  const std::vector<std::string>& labels = state.core->labels();
  for (const sg::Box& box : result.boxes) {
    sg::Detection detection;
    const auto id = static_cast<size_t>(box.class_id);
    detection.label = id < labels.size() ? labels[id] : fmt::format("class {}", id);
    detection.label_id = box.class_id;
    detection.confidence = box.score;
    detection.left = box.left;
    detection.top = box.top;
    detection.right = box.left + box.width;
    detection.bottom = box.top + box.height;
    sg::AddDetection(frame, detection, width, height);
  }
}

GstFlowReturn PushBatch(GstSgInfer* self, Item item) {
  InferState& state = *self->state;
  if (item.flight != nullptr) {
    auto results = state.core->Collect(*item.flight);
    if (!results.ok()) {
      PostError(self, results.error());
      return GST_FLOW_ERROR;
    }
    item.flight.reset();
    for (size_t i = 0; i < results->size(); ++i) {
      if ((*results)[i].inferred) AttachBoxes(state, item.batch.get(), i, (*results)[i]);
    }
  }
  return gst_pad_push(self->srcpad, item.batch.release());
}

void gst_sg_infer_loop(gpointer data) {
  auto* self = GST_SG_INFER(data);
  InferState& state = *self->state;
  Item item;
  {
    std::unique_lock lock(state.mutex);
    state.changed.wait(lock, [&] { return state.flow != GST_FLOW_OK || !state.queue.empty(); });
    if (state.flow != GST_FLOW_OK) {
      gst_pad_pause_task(self->srcpad);
      return;
    }
    item = std::move(state.queue.front());
    state.queue.pop_front();
    if (item.batch != nullptr) --state.queued_batches;
  }
  state.changed.notify_all();
  if (item.event != nullptr) {
    gst_pad_push_event(self->srcpad, item.event.release());
    return;
  }
  const GstFlowReturn flow = PushBatch(self, std::move(item));
  if (flow == GST_FLOW_OK) return;
  GST_DEBUG_OBJECT(self, "downstream returned %s", gst_flow_get_name(flow));
  StopFlow(state, flow);
  gst_pad_pause_task(self->srcpad);
}

gboolean gst_sg_infer_src_activate_mode(GstPad* pad, GstObject* parent, GstPadMode mode,
                                        gboolean active) {
  if (mode != GST_PAD_MODE_PUSH) return FALSE;
  auto* self = GST_SG_INFER(parent);
  InferState& state = *self->state;
  if (active) {
    {
      const std::lock_guard lock(state.mutex);
      state.active = true;
    }
    StartFlow(state);
    return gst_pad_start_task(pad, gst_sg_infer_loop, self, nullptr);
  }
  {
    const std::lock_guard lock(state.mutex);
    state.active = false;
  }
  StopFlow(state, GST_FLOW_FLUSHING);
  const gboolean stopped = gst_pad_stop_task(pad);
  DropQueue(self);
  return stopped;
}

// Sink side
// ----------------------------------------------------------------------------------------

/// The batch's frames, mapped for the time of one Submit.
struct MappedBatch {
  std::vector<sg::InferFrame> frames;
  std::vector<sg::MappedPicture> pictures;
};

void MapBatch(GstSgInfer* self, GstBuffer* batch, MappedBatch* mapped) {
  InferState& state = *self->state;
  const size_t count = sg::GetBatchMeta(batch)->frames->size();
  mapped->frames.resize(count);
  mapped->pictures.resize(count);
  for (size_t i = 0; i < count; ++i) {
    GstBuffer* frame = sg::MakeFrameWritable(batch, i);
    GstCaps* caps = (*sg::GetBatchMeta(batch)->frames)[i].caps;
    sg::InferFrame& entry = mapped->frames[i];
    if (!state.mapper.Map(frame, caps, &mapped->pictures[i])) {
      if (!std::exchange(state.warned_unusable, true)) {
        GST_ELEMENT_WARNING(self, STREAM, FORMAT,
                            ("a frame passes without inference: %s; further ones are only counted",
                             state.mapper.reason().c_str()),
                            (nullptr));
      }
      continue;
    }
    entry.picture = mapped->pictures[i].picture();
    const GstSgFrameMeta* facts = sg::GetFrameMeta(frame);
    const bool has_space = facts != nullptr && facts->mux_width > 0 && facts->mux_height > 0;
    entry.mux_width = has_space ? static_cast<int>(facts->mux_width) : entry.picture->width;
    entry.mux_height = has_space ? static_cast<int>(facts->mux_height) : entry.picture->height;
  }
}

GstFlowReturn gst_sg_infer_chain(GstPad* /*pad*/, GstObject* parent, GstBuffer* buffer) {
  auto* self = GST_SG_INFER(parent);
  InferState& state = *self->state;
  Item item;
  item.batch.reset(gst_buffer_make_writable(buffer));
  if (sg::GetBatchMeta(item.batch.get()) == nullptr) {
    GST_ELEMENT_ERROR(self, STREAM, WRONG_TYPE,
                      ("a buffer is not a batch; put sgmux before sginfer"), (nullptr));
    return GST_FLOW_ERROR;
  }
  const size_t count = sg::GetBatchMeta(item.batch.get())->frames->size();
  if (state.interval.Next()) {
    MappedBatch mapped;
    MapBatch(self, item.batch.get(), &mapped);
    auto flight = state.core->Submit(mapped.frames);
    if (flight.ok()) {
      item.flight = std::move(*flight);
    } else if (flight.error().kind != sg::ErrorKind::kInterrupted) {
      PostError(self, flight.error());
      return GST_FLOW_ERROR;
    } else {
      const std::lock_guard lock(state.mutex);
      return state.flow != GST_FLOW_OK ? state.flow : GST_FLOW_FLUSHING;
    }
  } else {
    state.core->CountSkipped(count);
  }
  return Enqueue(state, std::move(item), state.core->FlightsInFlight(count) + 2);
}

gboolean SinkSerialisedEvent(GstSgInfer* self, GstEvent* event) {
  const bool eos = GST_EVENT_TYPE(event) == GST_EVENT_EOS;
  Item item;
  item.event.reset(event);
  const GstFlowReturn flow = Enqueue(*self->state, std::move(item), 0);
  if (flow == GST_FLOW_OK) return TRUE;
  // Nobody will ask for a flow return after EOS, so an error that chain did not tell is told here.
  if (eos && (flow == GST_FLOW_NOT_LINKED || flow < GST_FLOW_EOS)) {
    GST_ELEMENT_FLOW_ERROR(self, flow);
  }
  return FALSE;
}

gboolean gst_sg_infer_sink_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  auto* self = GST_SG_INFER(parent);
  InferState& state = *self->state;
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_FLUSH_START: {
      const gboolean pushed = gst_pad_push_event(self->srcpad, event);
      StopFlow(state, GST_FLOW_FLUSHING);
      gst_pad_pause_task(self->srcpad);
      return pushed;
    }
    case GST_EVENT_FLUSH_STOP: {
      DropQueue(self);
      const gboolean pushed = gst_pad_push_event(self->srcpad, event);
      bool active = false;
      {
        const std::lock_guard lock(state.mutex);
        active = state.active;
      }
      if (active) {
        StartFlow(state);
        gst_pad_start_task(self->srcpad, gst_sg_infer_loop, self, nullptr);
      }
      return pushed;
    }
    default:
      if (GST_EVENT_IS_SERIALIZED(event)) return SinkSerialisedEvent(self, event);
      return gst_pad_event_default(pad, parent, event);
  }
}

gboolean gst_sg_infer_sink_activate_mode(GstPad* /*pad*/, GstObject* parent, GstPadMode mode,
                                         gboolean active) {
  if (mode != GST_PAD_MODE_PUSH) return FALSE;
  if (!active) StopFlow(*GST_SG_INFER(parent)->state, GST_FLOW_FLUSHING);
  return TRUE;
}

// The element
// --------------------------------------------------------------------------------------

GstStateChangeReturn gst_sg_infer_change_state(GstElement* element, GstStateChange transition) {
  auto* self = GST_SG_INFER(element);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) {
    if (sg::Status opened = Open(self); !opened.ok()) {
      PostError(self, opened.error());
      return GST_STATE_CHANGE_FAILURE;
    }
  }
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_sg_infer_parent_class)->change_state(element, transition);
  const bool failed_start =
      transition == GST_STATE_CHANGE_READY_TO_PAUSED && result == GST_STATE_CHANGE_FAILURE;
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY || failed_start) {
    DropQueue(self);
    GST_OBJECT_LOCK(self);
    const std::unique_ptr<InferCore> closing = std::move(self->state->core);
    GST_OBJECT_UNLOCK(self);
  }
  return result;
}

GstStructure* NewStats(GstSgInfer* self) {
  GST_OBJECT_LOCK(self);
  const sg::InferStats stats =
      self->state->core != nullptr ? self->state->core->stats() : sg::InferStats();
  GST_OBJECT_UNLOCK(self);
  return gst_structure_new(
      "application/x-sg-infer-stats", "frames", G_TYPE_UINT64, guint64{stats.frames}, "inferences",
      G_TYPE_UINT64, guint64{stats.inferences}, "unusable-frames", G_TYPE_UINT64,
      guint64{stats.unusable}, "requests-in-flight", G_TYPE_UINT64,
      guint64{stats.requests_in_flight}, "preprocess-ns", G_TYPE_UINT64,
      guint64{stats.preprocess_ns}, "submit-wait-ns", G_TYPE_UINT64, guint64{stats.submit_wait_ns},
      "wait-ns", G_TYPE_UINT64, guint64{stats.wait_ns}, "postprocess-ns", G_TYPE_UINT64,
      guint64{stats.postprocess_ns}, nullptr);
}

const char* OrEmpty(const char* text) { return text != nullptr ? text : ""; }

void gst_sg_infer_set_property(GObject* object, guint id, const GValue* value, GParamSpec* pspec) {
  auto* self = GST_SG_INFER(object);
  sg::InferSettings& settings = self->state->settings;
  GST_OBJECT_LOCK(self);
  switch (id) {
    case kPropConfigFilePath:
      settings.config_path = OrEmpty(g_value_get_string(value));
      break;
    case kPropBatchSize:
      settings.batch_size = g_value_get_uint(value);
      break;
    case kPropInterval:
      settings.interval = g_value_get_uint(value);
      break;
    case kPropUniqueId:
      settings.unique_id = g_value_get_uint(value);
      break;
    case kPropModelEngineFile:
      settings.engine_path = OrEmpty(g_value_get_string(value));
      break;
    case kPropFilterOutClassIds:
      settings.filter_out_classes = OrEmpty(g_value_get_string(value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
  GST_OBJECT_UNLOCK(self);
}

void gst_sg_infer_get_property(GObject* object, guint id, GValue* value, GParamSpec* pspec) {
  auto* self = GST_SG_INFER(object);
  if (id == kPropStats) {
    g_value_take_boxed(value, NewStats(self));
    return;
  }
  const sg::InferSettings& settings = self->state->settings;
  GST_OBJECT_LOCK(self);
  switch (id) {
    case kPropConfigFilePath:
      g_value_set_string(value, settings.config_path.c_str());
      break;
    case kPropBatchSize:
      g_value_set_uint(value, settings.batch_size);
      break;
    case kPropInterval:
      g_value_set_uint(value, settings.interval.value_or(0));
      break;
    case kPropUniqueId:
      g_value_set_uint(value, settings.unique_id);
      break;
    case kPropModelEngineFile:
      g_value_set_string(value, settings.engine_path.c_str());
      break;
    case kPropFilterOutClassIds:
      g_value_set_string(value, settings.filter_out_classes.c_str());
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
  GST_OBJECT_UNLOCK(self);
}

void gst_sg_infer_finalize(GObject* object) {
  delete GST_SG_INFER(object)->state;
  G_OBJECT_CLASS(gst_sg_infer_parent_class)->finalize(object);
}

void InstallProperties(GObjectClass* object_class) {
  constexpr auto kReady = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                   GST_PARAM_MUTABLE_READY);
  constexpr auto kRead = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_property(
      object_class, kPropConfigFilePath,
      g_param_spec_string("config-file-path", "Configuration", "nvinfer config (.txt or .yml)",
                          nullptr, kReady));
  g_object_class_install_property(
      object_class, kPropBatchSize,
      g_param_spec_uint("batch-size", "Batch size",
                        "Most frames of one request; 0: as the config says", 0, 1024, 0, kReady));
  g_object_class_install_property(
      object_class, kPropInterval,
      g_param_spec_uint("interval", "Interval",
                        "Batches passed without boxes between two inferred ones; unset: as the "
                        "config says",
                        0, G_MAXINT, 0, kReady));
  g_object_class_install_property(
      object_class, kPropUniqueId,
      g_param_spec_uint("unique-id", "Unique id", "Id of this inference; 0: as the config says", 0,
                        G_MAXUINT, 0, kReady));
  g_object_class_install_property(
      object_class, kPropModelEngineFile,
      g_param_spec_string("model-engine-file", "Engine file",
                          "Instead of the config's; X.engine stands for X.blob", nullptr, kReady));
  g_object_class_install_property(
      object_class, kPropFilterOutClassIds,
      g_param_spec_string("filter-out-class-ids", "Classes to drop",
                          "Class ids that get no boxes, as 0;2;3; empty: as the config says",
                          nullptr, kReady));
  g_object_class_install_property(
      object_class, kPropStats,
      g_param_spec_boxed("stats", "Statistics",
                         "Frames, inferences and where their time went, since the start",
                         GST_TYPE_STRUCTURE, kRead));
}

}  // namespace

static void gst_sg_infer_class_init(GstSgInferClass* klass) {
  auto* object_class = G_OBJECT_CLASS(klass);
  auto* element_class = GST_ELEMENT_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(gst_sg_infer_debug, "sginfer", 0, "detection on batches");
  object_class->set_property = gst_sg_infer_set_property;
  object_class->get_property = gst_sg_infer_get_property;
  object_class->finalize = gst_sg_infer_finalize;
  InstallProperties(object_class);
  element_class->change_state = gst_sg_infer_change_state;
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  gst_element_class_set_static_metadata(
      element_class, "Inference on batches", "Filter/Analyzer/Video",
      "Detects objects on the frames of a batch, as its nvinfer config says", "streamgauge");
}

static void gst_sg_infer_init(GstSgInfer* self) {
  self->state = new InferState();
  self->sinkpad = gst_pad_new_from_static_template(&sink_template, "sink");
  gst_pad_set_chain_function(self->sinkpad, gst_sg_infer_chain);
  gst_pad_set_event_function(self->sinkpad, gst_sg_infer_sink_event);
  gst_pad_set_activatemode_function(self->sinkpad, gst_sg_infer_sink_activate_mode);
  GST_PAD_SET_PROXY_CAPS(self->sinkpad);
  gst_element_add_pad(GST_ELEMENT(self), self->sinkpad);
  self->srcpad = gst_pad_new_from_static_template(&src_template, "src");
  gst_pad_set_activatemode_function(self->srcpad, gst_sg_infer_src_activate_mode);
  GST_PAD_SET_PROXY_CAPS(self->srcpad);
  gst_element_add_pad(GST_ELEMENT(self), self->srcpad);
}
