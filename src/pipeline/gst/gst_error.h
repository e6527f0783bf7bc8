// GStreamer's errors as ours: one line with the element's name, the kind of the cause, no secrets.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <string>

#include "base/status.h"

namespace sg {

struct GstObjectUnref {
  void operator()(gpointer object) const { gst_object_unref(object); }
};
template <typename T>
using GstOwned = std::unique_ptr<T, GstObjectUnref>;

struct GErrorFree {
  void operator()(GError* error) const { g_error_free(error); }
};
using OwnedGError = std::unique_ptr<GError, GErrorFree>;

/// "gstreamer1.0-libav" for "avdec_h264"; empty where unknown.
std::string DebianPackageOf(const std::string& element);

/// `launch` as a pipeline, or why it is none: kEnvironment when an element is not installed, with
/// its package; kUser when the text itself is wrong.
Result<GstOwned<GstElement>> ParsePipeline(const std::string& launch);

/// The error of a GST_MESSAGE_ERROR.
Error ErrorFromMessage(GstMessage* message);

/// The line of a GST_MESSAGE_WARNING.
std::string WarningFromMessage(GstMessage* message);

}  // namespace sg
