// Looks into a video file: its facts, or why it is none.
#pragma once

#include <string>

#include "base/status.h"
#include "pipeline/run_job.h"

namespace sg {

/// As ProbeVideo, in this process. The file's own bytes are looked at first, so that a web page, an
/// empty or a cut-off file is named as such, whatever GStreamer makes of it.
Result<VideoInfo> ProbeVideoHere(const std::string& path);

}  // namespace sg
