#include "hub/archive_repository.h"

#include "base/files.h"
#include "hub/archive.h"
#include "hub/local_repository.h"

namespace sg {
namespace {

/// The one top folder that all paths lie under; empty: there is none.
std::string CommonTop(const std::vector<std::string>& paths) {
  const std::string top = paths.front().substr(0, paths.front().find('/'));
  for (const std::string& path : paths) {
    if (!path.starts_with(top + "/")) return "";
  }
  return top;
}

}  // namespace

Result<std::unique_ptr<Repository>> OpenArchiveRepository(ModelSnapshot snapshot,
                                                          const std::string& archive,
                                                          const std::string& folder) {
  SG_ASSIGN_OR_RETURN(const std::vector<std::string> files, UnpackArchive(archive, folder));
  const std::string top = CommonTop(files);
  snapshot.folder = top.empty() ? folder : JoinPath(folder, top);
  return OpenFolderRepository(std::move(snapshot));
}

}  // namespace sg
