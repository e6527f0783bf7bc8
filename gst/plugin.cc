// The plugin. One line for each element; its file has GST_ELEMENT_REGISTER_DEFINE(name, …).
#include <gst/gst.h>

// clang-format off
#define SG_FOR_EACH_ELEMENT(X) \
  X(sgmux)                     \
  X(sginfer)                   \
  X(sgdemux)                   \
  X(sgosd)                     \
  X(sgkitti)
// clang-format on

#define SG_DECLARE(name) GST_ELEMENT_REGISTER_DECLARE(name)
SG_FOR_EACH_ELEMENT(SG_DECLARE)
#undef SG_DECLARE

namespace {

gboolean RegisterElements([[maybe_unused]] GstPlugin* plugin) {
#define SG_REGISTER(name) \
  if (!GST_ELEMENT_REGISTER(name, plugin)) return FALSE;
  SG_FOR_EACH_ELEMENT(SG_REGISTER)
#undef SG_REGISTER
  return TRUE;
}

}  // namespace

#define PACKAGE "streamgauge"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, streamgauge,
                  "Video analytics: batches of several sources, inference, drawing, results",
                  RegisterElements, "0.1.0", GST_LICENSE_UNKNOWN, PACKAGE, "streamgauge")
