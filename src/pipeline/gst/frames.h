// Pulls pictures out of a video as JPEG files.
#pragma once

#include <string>

#include "base/status.h"
#include "pipeline/run_job.h"

namespace sg {

/// As ExtractFrames (pipeline/run_job.h), in this process.
Result<ExtractedFrames> ExtractFramesHere(const std::string& video, const std::string& folder,
                                          int count);

}  // namespace sg
