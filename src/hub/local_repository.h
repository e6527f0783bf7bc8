// Files that are on this machine already, as a repository.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "hub/repository.h"

namespace sg {

/// A folder with all its files. `snapshot` says where they came from; its folder is listed.
/// kUser when there are more files than a model has (the wrong folder).
Result<std::unique_ptr<Repository>> OpenFolderRepository(ModelSnapshot snapshot);

/// The same with the files already listed; they are all in snapshot.folder.
std::unique_ptr<Repository> ListedFolderRepository(ModelSnapshot snapshot,
                                                   std::vector<RepositoryFile> files);

}  // namespace sg
