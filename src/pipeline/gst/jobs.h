// The worker's jobs "probe", "run", "frames" and "pictures": from JSON to JSON (docs/formats.md,
// "Worker protocol").
#pragma once

#include <functional>

#include "base/json.h"
#include "base/status.h"

namespace sg {

Result<Json> ProbeJob(const Json& request, const std::function<void(const Json&)>& emit);
Result<Json> PipelineRunJob(const Json& request, const std::function<void(const Json&)>& emit);
Result<Json> FramesJob(const Json& request, const std::function<void(const Json&)>& emit);
Result<Json> PicturesJob(const Json& request, const std::function<void(const Json&)>& emit);

}  // namespace sg
