// From what the user typed to a model's files on disk: looked up, judged before anything large is
// fetched, then only what is needed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "detector/model_files.h"
#include "hub/repository.h"

namespace sg {

/// Understands the source and looks it up. `staging_folder` may be empty where the source needs
/// none; it is then a folder under ~/.cache/streamgauge.
Result<std::unique_ptr<Repository>> OpenSource(const std::string& source,
                                               const std::string& revision,
                                               const std::string& staging_folder,
                                               const Console& console);

/// Reads the small files, passes the task gate, selects the ONNX and fetches it with what belongs
/// to it. The paths in the result are on disk. kUnsupported when there is no ONNX.
Result<ModelFiles> FetchModelFiles(Repository* repository, const std::string& variant,
                                   const Console& console);

/// The same for a model that may have SafeTensors instead: these are fetched, those that
/// model.safetensors.index.json names when there is one, and their headers checked. Returns the
/// paths on disk of the ONNX or of the weights.
Result<std::vector<std::string>> FetchOnnxOrWeights(Repository* repository,
                                                    const std::string& variant,
                                                    const Console& console);

}  // namespace sg
