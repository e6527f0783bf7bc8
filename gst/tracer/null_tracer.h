// A tracer that hooks what sgtrace hooks and does nothing: what GStreamer's own dispatch costs.
#pragma once

#include <gst/gst.h>

gboolean RegisterNullTracer(GstPlugin* plugin);
