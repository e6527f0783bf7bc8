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
  SG_ASSIGN_OR_RETURN(const std::vector<std::string> paths, UnpackArchive(archive, folder));
  const std::string top = CommonTop(paths);
  snapshot.folder = top.empty() ? folder : JoinPath(folder, top);
  // Not by a walk through the folder, which passes over hidden and deep ones.
  std::vector<RepositoryFile> files;
  files.reserve(paths.size());
  for (const std::string& path : paths) {
    RepositoryFile file;
    file.path = top.empty() ? path : path.substr(top.size() + 1);
    SG_ASSIGN_OR_RETURN(file.size_bytes, FileSize(JoinPath(folder, path)));
    files.push_back(std::move(file));
  }
  return ListedFolderRepository(std::move(snapshot), std::move(files));
}

}  // namespace sg
