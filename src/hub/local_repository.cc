#include "hub/local_repository.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"

namespace sg {
namespace {

namespace fs = std::filesystem;

/// A folder with more is a home folder or a data set, not a model.
constexpr size_t kMaxFiles = 20000;
constexpr int kMaxDepth = 8;

class FolderRepository : public Repository {
 public:
  FolderRepository(ModelSnapshot snapshot, std::vector<RepositoryFile> files)
      : snapshot_(std::move(snapshot)), files_(std::move(files)) {}

  const ModelSnapshot& snapshot() const override { return snapshot_; }
  const std::vector<RepositoryFile>& files() const override { return files_; }

  Status Fetch(const std::vector<std::string>& paths) override {
    for (const std::string& path : paths) {
      if (!FileExists(JoinPath(snapshot_.folder, path))) {
        return UserError(fmt::format("{}: has no file {}", snapshot_.folder, path));
      }
    }
    return OkStatus();
  }

 private:
  const ModelSnapshot snapshot_;
  const std::vector<RepositoryFile> files_;
};

/// Hidden folders (.git, .cache) hold no model of the user's.
bool IsHidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

/// A file that was named needs only what lies near it; a folder that was named is the model.
Result<std::vector<RepositoryFile>> ListFiles(const fs::path& root, bool only_near) {
  const int max_depth = only_near ? 1 : kMaxDepth;
  std::vector<RepositoryFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      if (IsHidden(entry->path()) || entry.depth() >= max_depth) {
        entry.disable_recursion_pending();
      }
      continue;
    }
    if (!entry->is_regular_file(ignored)) continue;
    if (files.size() == kMaxFiles && only_near) break;
    if (files.size() == kMaxFiles) {
      return UserError(fmt::format("{}: holds more than {} files, so it is no model's folder",
                                   root.string(), kMaxFiles));
    }
    RepositoryFile file;
    file.path = entry->path().lexically_relative(root).string();
    file.size_bytes = entry->file_size(ignored);
    files.push_back(std::move(file));
  }
  if (error) {
    return EnvironmentError(fmt::format("{}: cannot be read: {}", root.string(), error.message()));
  }
  std::sort(files.begin(), files.end(),
            [](const RepositoryFile& a, const RepositoryFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace

Result<std::unique_ptr<Repository>> OpenFolderRepository(ModelSnapshot snapshot) {
  SG_ASSIGN_OR_RETURN(std::vector<RepositoryFile> files,
                      ListFiles(snapshot.folder, !snapshot.file.empty()));
  return ListedFolderRepository(std::move(snapshot), std::move(files));
}

std::unique_ptr<Repository> ListedFolderRepository(ModelSnapshot snapshot,
                                                   std::vector<RepositoryFile> files) {
  return std::make_unique<FolderRepository>(std::move(snapshot), std::move(files));
}

std::string ModelFolderOf(const std::string& onnx_path) {
  const std::string beside = AbsolutePath(ParentFolder(onnx_path));
  const std::string above = ParentFolder(beside);
  const bool is_above =
      !FileExists(JoinPath(beside, "config.json")) && FileExists(JoinPath(above, "config.json"));
  return is_above ? above : beside;
}

}  // namespace sg
