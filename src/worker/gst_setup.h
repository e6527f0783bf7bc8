// GStreamer with streamgauge's own plugin, started quickly.
#pragma once

#include <string>

#include "base/status.h"

namespace sg {

/// Puts PROGRAM_FOLDER/../lib/gstreamer-1.0 in front of GST_PLUGIN_PATH, chooses a registry file of
/// our own unless GST_REGISTRY is set, and initialises GStreamer. With a `trace_path` sgtrace
/// records into that file, beside whatever tracers GST_TRACERS names. Call before any thread
/// starts.
Status SetUpGStreamer(const std::string& trace_path);

/// The registry file: in XDG_CACHE_HOME/streamgauge or ~/.cache/streamgauge, named by `version` and
/// by the plugin folder (two builds must not overwrite each other's); in a private folder of the
/// temporary folder when neither can be written; empty when that fails too.
std::string RegistryPath(const std::string& version, const std::string& plugin_folder);

}  // namespace sg
