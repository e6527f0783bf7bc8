// An archive's files as a repository.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "hub/repository.h"

namespace sg {

/// Unpacks `archive` into `folder` and lists what is in it; when everything lies under one top
/// folder, that one is the root. Takes over `snapshot` but its folder and task.
Result<std::unique_ptr<Repository>> OpenArchiveRepository(ModelSnapshot snapshot,
                                                          const std::string& archive,
                                                          const std::string& folder);

}  // namespace sg
