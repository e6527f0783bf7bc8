// Elements for the tracer's tests: sgplantedwork passes buffers on, sgplantedsink ends them. Both
// work and sleep as long as they are told, and say at their end how long they really did.
#include <gst/base/gstbasesink.h>
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>
#include <time.h>

#include <cstdint>

#include "gst/tracer/null_tracer.h"

namespace {

uint64_t ClockNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

struct Planted {
  guint busy_us = 0;
  guint sleep_us = 0;
  uint64_t calls = 0;
  uint64_t wall_ns = 0;
  uint64_t cpu_ns = 0;

  void Work() {
    const uint64_t wall = ClockNs(CLOCK_MONOTONIC);
    const uint64_t cpu = ClockNs(CLOCK_THREAD_CPUTIME_ID);
    while (ClockNs(CLOCK_THREAD_CPUTIME_ID) - cpu < uint64_t{busy_us} * 1000) {
    }
    if (sleep_us > 0) g_usleep(sleep_us);
    cpu_ns += ClockNs(CLOCK_THREAD_CPUTIME_ID) - cpu;
    wall_ns += ClockNs(CLOCK_MONOTONIC) - wall;
    ++calls;
  }
  void Say(GstObject* object) const {
    g_print("planted %s calls=%" G_GUINT64_FORMAT " wall_ns=%" G_GUINT64_FORMAT
            " cpu_ns=%" G_GUINT64_FORMAT "\n",
            GST_OBJECT_NAME(object), calls, wall_ns, cpu_ns);
  }
};

enum { kBusyUs = 1, kSleepUs };

void InstallProperties(GObjectClass* klass) {
  g_object_class_install_property(klass, kBusyUs,
                                  g_param_spec_uint("busy-us", "Busy", "CPU time for each buffer",
                                                    0, G_MAXUINT, 0, G_PARAM_WRITABLE));
  g_object_class_install_property(klass, kSleepUs,
                                  g_param_spec_uint("sleep-us", "Sleep", "Sleep for each buffer", 0,
                                                    G_MAXUINT, 0, G_PARAM_WRITABLE));
}

void Set(Planted* planted, guint id, const GValue* value) {
  (id == kBusyUs ? planted->busy_us : planted->sleep_us) = g_value_get_uint(value);
}

GstStaticPadTemplate g_sink =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
GstStaticPadTemplate g_source =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

}  // namespace

struct GstSgPlantedWork {
  GstBaseTransform parent;
  Planted planted;
};
struct GstSgPlantedWorkClass {
  GstBaseTransformClass parent_class;
};
G_DEFINE_TYPE(GstSgPlantedWork, gst_sg_planted_work, GST_TYPE_BASE_TRANSFORM)

static Planted* work_of(gpointer object) {
  return &reinterpret_cast<GstSgPlantedWork*>(object)->planted;
}

static void gst_sg_planted_work_class_init(GstSgPlantedWorkClass* klass) {
  auto* object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = [](GObject* object, guint id, const GValue* value, GParamSpec*) {
    Set(work_of(object), id, value);
  };
  InstallProperties(object_class);
  auto* element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_add_static_pad_template(element_class, &g_sink);
  gst_element_class_add_static_pad_template(element_class, &g_source);
  gst_element_class_set_static_metadata(element_class, "Planted work", "Filter", "For tests", "-");
  auto* transform_class = GST_BASE_TRANSFORM_CLASS(klass);
  transform_class->transform_ip = [](GstBaseTransform* transform, GstBuffer*) {
    work_of(transform)->Work();
    return GST_FLOW_OK;
  };
  transform_class->stop = [](GstBaseTransform* transform) -> gboolean {
    work_of(transform)->Say(GST_OBJECT(transform));
    return TRUE;
  };
}
static void gst_sg_planted_work_init(GstSgPlantedWork* self) {
  self->planted = {};
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

struct GstSgPlantedSink {
  GstBaseSink parent;
  Planted planted;
};
struct GstSgPlantedSinkClass {
  GstBaseSinkClass parent_class;
};
G_DEFINE_TYPE(GstSgPlantedSink, gst_sg_planted_sink, GST_TYPE_BASE_SINK)

static Planted* sink_of(gpointer object) {
  return &reinterpret_cast<GstSgPlantedSink*>(object)->planted;
}

static void gst_sg_planted_sink_class_init(GstSgPlantedSinkClass* klass) {
  auto* object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = [](GObject* object, guint id, const GValue* value, GParamSpec*) {
    Set(sink_of(object), id, value);
  };
  InstallProperties(object_class);
  auto* element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_add_static_pad_template(element_class, &g_sink);
  gst_element_class_set_static_metadata(element_class, "Planted sink", "Sink", "For tests", "-");
  auto* sink_class = GST_BASE_SINK_CLASS(klass);
  sink_class->render = [](GstBaseSink* sink, GstBuffer*) {
    sink_of(sink)->Work();
    return GST_FLOW_OK;
  };
  sink_class->stop = [](GstBaseSink* sink) -> gboolean {
    sink_of(sink)->Say(GST_OBJECT(sink));
    return TRUE;
  };
}
static void gst_sg_planted_sink_init(GstSgPlantedSink* self) {
  self->planted = {};
  gst_base_sink_set_sync(GST_BASE_SINK(self), FALSE);
}

static gboolean RegisterElements(GstPlugin* plugin) {
  return gst_element_register(plugin, "sgplantedwork", GST_RANK_NONE,
                              gst_sg_planted_work_get_type()) &&
         gst_element_register(plugin, "sgplantedsink", GST_RANK_NONE,
                              gst_sg_planted_sink_get_type()) &&
         RegisterNullTracer(plugin);
}

#define PACKAGE "streamgauge"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, sgplanted, "For the tracer's tests",
                  RegisterElements, "0.1.0", GST_LICENSE_UNKNOWN, PACKAGE, "streamgauge")
