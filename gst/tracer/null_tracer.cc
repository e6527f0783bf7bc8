#include "gst/tracer/null_tracer.h"

#define GST_USE_UNSTABLE_API
#include <gst/gsttracer.h>

#include <initializer_list>

struct GstSgNullTracer {
  GstTracer parent;
};
struct GstSgNullTracerClass {
  GstTracerClass parent_class;
};
G_DEFINE_TYPE(GstSgNullTracer, gst_sg_null_tracer, GST_TYPE_TRACER)

static void on_any() {}

static void gst_sg_null_tracer_init(GstSgNullTracer* self) {
  for (const char* hook :
       {"pad-push-pre", "pad-push-post", "pad-push-list-pre", "pad-push-list-post",
        "pad-pull-range-pre", "pad-pull-range-post", "pad-push-event-pre", "pad-push-event-post",
        "pad-query-pre", "pad-query-post", "mini-object-created", "object-destroyed"})
    gst_tracing_register_hook(GST_TRACER(self), hook, G_CALLBACK(on_any));
}
static void gst_sg_null_tracer_class_init(GstSgNullTracerClass*) {}

gboolean RegisterNullTracer(GstPlugin* plugin) {
  return gst_tracer_register(plugin, "sgnull", gst_sg_null_tracer_get_type());
}
