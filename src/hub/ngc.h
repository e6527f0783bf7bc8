// A model of the NVIDIA NGC catalog.
#pragma once

#include <memory>

#include "base/status.h"
#include "hub/repository.h"

namespace sg {

/// Lists one version's files; without a version it is refused and the versions are listed (kUser).
/// Public models need no key; else NGC_API_KEY (or NGC_CLI_API_KEY). Files go to
/// options.staging_folder, below a folder of the version's own. A version that is one archive is
/// fetched and unpacked here. Encrypted TAO models (.etlt, .tlt) without an .onnx beside them are
/// kUnsupported, engines alone kUser: they run only where they were built.
Result<std::unique_ptr<Repository>> OpenNgcRepository(const ModelSource& source,
                                                      const HubOptions& options);

}  // namespace sg
