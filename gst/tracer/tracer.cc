/**
 * SECTION:tracer-sgtrace
 * @title: sgtrace
 *
 * Records where the time of every element goes, without touching the pipeline:
 *
 * |[
 * GST_TRACERS="sgtrace(file=run.sgtrace)" gst-launch-1.0 videotestsrc num-buffers=100 ! fakesink
 * streamgauge trace run.sgtrace
 * ]|
 *
 * Settings, in the parentheses or as environment variables: file (SGTRACE_FILE), period of reading
 * thread CPU clocks (SGTRACE_PERIOD), max-mib (SGTRACE_MAX_MIB), level-period-ms, allocations,
 * nvtx.
 */
#define GST_USE_UNSTABLE_API
#include <gst/gst.h>
#include <gst/gsttracer.h>

#include <cstdlib>

#include "gst/tracer/recorder.h"

namespace {

using sg::trace::Recorder;
using sg::trace::RecorderSettings;

// The process has one: GStreamer may make a tracer again and again, the file is one.
Recorder* g_recorder = nullptr;

uint64_t NumberOf(const char* text, uint64_t otherwise) {
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  return *end == '\0' ? value : otherwise;
}

void ReadStructure(const GstStructure* structure, RecorderSettings* settings) {
  const auto number = [structure](const char* name, uint64_t otherwise) -> uint64_t {
    gint value = 0;
    return gst_structure_get_int(structure, name, &value) && value >= 0
               ? static_cast<uint64_t>(value)
               : otherwise;
  };
  if (const char* file = gst_structure_get_string(structure, "file")) settings->file = file;
  settings->period = static_cast<uint32_t>(number("period", settings->period));
  settings->max_mib = number("max-mib", settings->max_mib);
  settings->level_period_ms =
      static_cast<uint32_t>(number("level-period-ms", settings->level_period_ms));
  gboolean value = TRUE;
  if (gst_structure_get_boolean(structure, "allocations", &value)) settings->allocations = value;
  if (gst_structure_get_boolean(structure, "nvtx", &value)) settings->nvtx = value;
}

RecorderSettings ReadSettings(const char* params) {
  RecorderSettings settings;
  if (const char* file = std::getenv("SGTRACE_FILE"); file != nullptr && *file != '\0')
    settings.file = file;
  settings.period = static_cast<uint32_t>(NumberOf(std::getenv("SGTRACE_PERIOD"), settings.period));
  settings.max_mib = NumberOf(std::getenv("SGTRACE_MAX_MIB"), settings.max_mib);
  if (params != nullptr && *params != '\0') {
    gchar* text = g_strdup_printf("sgtrace,%s", params);
    if (GstStructure* structure = gst_structure_from_string(text, nullptr)) {
      ReadStructure(structure, &settings);
      gst_structure_free(structure);
    } else {
      g_printerr("sgtrace: its settings \"%s\" are not a list of name=value\n", params);
    }
    g_free(text);
  }
  if (settings.level_period_ms == 0) settings.level_period_ms = RecorderSettings().level_period_ms;
  return settings;
}

}  // namespace

struct GstSgTracer {
  GstTracer parent;
};
struct GstSgTracerClass {
  GstTracerClass parent_class;
};

G_DEFINE_TYPE(GstSgTracer, gst_sg_tracer, GST_TYPE_TRACER)

static void on_push(GObject*, GstClockTime ts, GstPad* pad, GstBuffer* buffer) {
  g_recorder->PushBegin(ts, pad, buffer);
}
static void on_push_list(GObject*, GstClockTime ts, GstPad* pad, GstBufferList* list) {
  g_recorder->PushListBegin(ts, pad, list);
}
static void on_push_done(GObject*, GstClockTime ts, GstPad* pad, GstFlowReturn flow) {
  g_recorder->PushEnd(ts, pad, flow);
}
static void on_pull(GObject*, GstClockTime ts, GstPad* pad, guint64 offset, guint) {
  g_recorder->PullBegin(ts, pad, offset);
}
static void on_pull_done(GObject*, GstClockTime ts, GstPad* pad, GstBuffer* buffer,
                         GstFlowReturn flow) {
  g_recorder->PullEnd(ts, pad, buffer, flow);
}
static void on_event(GObject*, GstClockTime ts, GstPad* pad, GstEvent* event) {
  g_recorder->EventBegin(ts, pad, event);
}
static void on_event_done(GObject*, GstClockTime ts, GstPad* pad, gboolean handled) {
  g_recorder->EventEnd(ts, pad, handled);
}
static void on_query(GObject*, GstClockTime ts, GstPad* pad, GstQuery* query) {
  g_recorder->QueryBegin(ts, pad, query);
}
static void on_query_done(GObject*, GstClockTime ts, GstPad* pad, GstQuery*, gboolean answered) {
  g_recorder->QueryEnd(ts, pad, answered);
}
static void on_linked(GObject*, GstClockTime ts, GstPad* source, GstPad* sink,
                      GstPadLinkReturn linked) {
  g_recorder->Linked(ts, source, sink, linked);
}
static void on_unlinked(GObject*, GstClockTime ts, GstPad* source, GstPad*, gboolean unlinked) {
  g_recorder->Unlinked(ts, source, unlinked);
}
static void on_message(GObject*, GstClockTime ts, GstElement* element, GstMessage* message) {
  g_recorder->Message(ts, element, message);
}
static void on_state_changing(GObject*, GstClockTime ts, GstElement* element,
                              GstStateChange transition) {
  g_recorder->StateChanging(ts, element, transition);
}
static void on_state_changed(GObject*, GstClockTime ts, GstElement* element,
                             GstStateChange transition, GstStateChangeReturn) {
  g_recorder->StateChanged(ts, element, transition);
}
static void on_made(GObject*, GstClockTime, GstMiniObject* object) { g_recorder->Made(object); }
static void on_destroyed(GObject*, GstClockTime, GstObject* object) {
  g_recorder->Destroyed(object);
}

static void gst_sg_tracer_constructed(GObject* object) {
  G_OBJECT_CLASS(gst_sg_tracer_parent_class)->constructed(object);
  if (g_recorder != nullptr) return;
  gchar* params = nullptr;
  g_object_get(object, "params", &params, nullptr);
  const RecorderSettings settings = ReadSettings(params);
  g_free(params);
  g_recorder = new Recorder(settings);
  auto* tracer = GST_TRACER(object);
  const std::pair<const char*, GCallback> hooks[] = {
      {"pad-push-pre", G_CALLBACK(on_push)},
      {"pad-push-post", G_CALLBACK(on_push_done)},
      {"pad-push-list-pre", G_CALLBACK(on_push_list)},
      {"pad-push-list-post", G_CALLBACK(on_push_done)},
      {"pad-pull-range-pre", G_CALLBACK(on_pull)},
      {"pad-pull-range-post", G_CALLBACK(on_pull_done)},
      {"pad-push-event-pre", G_CALLBACK(on_event)},
      {"pad-push-event-post", G_CALLBACK(on_event_done)},
      {"pad-query-pre", G_CALLBACK(on_query)},
      {"pad-query-post", G_CALLBACK(on_query_done)},
      {"pad-link-post", G_CALLBACK(on_linked)},
      {"pad-unlink-post", G_CALLBACK(on_unlinked)},
      {"element-post-message-pre", G_CALLBACK(on_message)},
      {"element-change-state-pre", G_CALLBACK(on_state_changing)},
      {"element-change-state-post", G_CALLBACK(on_state_changed)},
      {"object-destroyed", G_CALLBACK(on_destroyed)},
  };
  for (const auto& [detail, callback] : hooks) gst_tracing_register_hook(tracer, detail, callback);
  if (settings.allocations)
    gst_tracing_register_hook(tracer, "mini-object-created", G_CALLBACK(on_made));
}

static void gst_sg_tracer_class_init(GstSgTracerClass* klass) {
  G_OBJECT_CLASS(klass)->constructed = gst_sg_tracer_constructed;
}

static void gst_sg_tracer_init(GstSgTracer*) {}

static gboolean RegisterTracer(GstPlugin* plugin) {
  return gst_tracer_register(plugin, "sgtrace", gst_sg_tracer_get_type());
}

#define PACKAGE "streamgauge"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, sgtrace,
                  "Records where the time of every element goes", RegisterTracer, "0.1.0",
                  GST_LICENSE_UNKNOWN, PACKAGE, "streamgauge")
