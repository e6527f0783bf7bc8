// Files that are on this machine already, as a repository.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "hub/repository.h"

namespace sg {

/// A folder with all its files. `snapshot` says where they came from; its folder is listed.
/// kUser when there are more files than a model has (the wrong folder).
Result<std::unique_ptr<Repository>> OpenFolderRepository(ModelSnapshot snapshot);

/// The folder whose configs belong to an .onnx file: its own, or the one above where config.json is
/// there alone (onnx/model.onnx). The file may be a link (the hub's cache): its own place counts.
std::string ModelFolderOf(const std::string& onnx_path);

/// OpenFolderRepository with the files already listed; they are all in snapshot.folder.
std::unique_ptr<Repository> ListedFolderRepository(ModelSnapshot snapshot,
                                                   std::vector<RepositoryFile> files);

}  // namespace sg
