// One file behind an http(s) URL: an .onnx or an archive.
#pragma once

#include <memory>

#include "base/status.h"
#include "hub/repository.h"

namespace sg {

/// Fetches the file into ~/.cache/streamgauge (XDG_CACHE_HOME), where a second call finds it while
/// the server still says the same of it; an archive is unpacked into options.staging_folder.
/// kUser when it is neither, by name and by its first bytes.
Result<std::unique_ptr<Repository>> OpenUrlRepository(const ModelSource& source,
                                                      const HubOptions& options);

}  // namespace sg
