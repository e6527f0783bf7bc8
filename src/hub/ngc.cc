#include "hub/ngc.h"

#include <fmt/format.h>

#include "base/files.h"
#include "hub/archive.h"
#include "hub/archive_repository.h"
#include "hub/download.h"
#include "hub/ngc_api.h"

namespace sg {
namespace {

ModelSnapshot SnapshotOf(const ModelSource& source, const NgcApi& api, const HubOptions& options) {
  ModelSnapshot snapshot;
  snapshot.source = source.text;
  snapshot.kind = SourceKindName(source.kind);
  snapshot.id = api.id();
  snapshot.name = source.name;
  snapshot.revision = source.revision;
  snapshot.commit = source.revision;  // a version does not change once it is published
  snapshot.file = source.file;
  // Versions have files of the same names and often sizes, so each has its own folder.
  const std::string team = source.team.empty() ? "no-team" : source.team;
  snapshot.folder = JoinPath(options.staging_folder, fmt::format("{}/{}/{}/{}", source.org, team,
                                                                 source.name, source.revision));
  return snapshot;
}

Status FetchFiles(NgcApi* api, const HubOptions& options,
                  const std::vector<DownloadFile>& downloads) {
  DownloadOptions download_options;
  download_options.token = api->token();
  download_options.explain = [api](const HttpResponse& response) { return api->Explain(response); };
  download_options.progress = options.progress;
  return DownloadFiles(api->client(), downloads, download_options);
}

class NgcRepository : public Repository {
 public:
  NgcRepository(std::unique_ptr<NgcApi> api, ModelSnapshot snapshot, HubOptions options,
                std::vector<RepositoryFile> files)
      : api_(std::move(api)),
        snapshot_(std::move(snapshot)),
        options_(std::move(options)),
        files_(std::move(files)) {}

  const ModelSnapshot& snapshot() const override { return snapshot_; }
  const std::vector<RepositoryFile>& files() const override { return files_; }

  Status Fetch(const std::vector<std::string>& paths) override {
    std::vector<DownloadFile> downloads;
    for (const std::string& path : paths) {
      const RepositoryFile* file = Find(path);
      if (file == nullptr) {
        return UserError(fmt::format("{}: has no file {}", snapshot_.id, path));
      }
      DownloadFile download;
      download.url = api_->FileUrl(path);
      download.path = JoinPath(snapshot_.folder, path);
      if (file->size_bytes > 0) download.size_bytes = file->size_bytes;
      downloads.push_back(std::move(download));
    }
    return FetchFiles(api_.get(), options_, downloads);
  }

 private:
  const std::unique_ptr<NgcApi> api_;
  const ModelSnapshot snapshot_;
  const HubOptions options_;
  const std::vector<RepositoryFile> files_;
};

struct FileKinds {
  bool usable = false;
  std::vector<std::string> archives;
  bool encrypted = false;
  bool engine = false;
};

FileKinds KindsOf(const std::vector<RepositoryFile>& files, const std::string& only) {
  FileKinds kinds;
  for (const RepositoryFile& file : files) {
    const auto ends = [&](const char* end) { return file.path.ends_with(end); };
    if (!only.empty() && file.path != only) continue;
    kinds.usable = kinds.usable || ends(".onnx") || ends(".safetensors");
    if (IsArchiveName(file.path)) kinds.archives.push_back(file.path);
    kinds.encrypted = kinds.encrypted || ends(".etlt") || ends(".tlt");
    kinds.engine = kinds.engine || ends(".engine") || ends(".plan");
  }
  return kinds;
}

/// Refuses files that nothing here can read, before any is fetched.
Status CheckKinds(const FileKinds& kinds, NgcApi* api) {
  if (kinds.usable || (!kinds.encrypted && !kinds.engine)) return OkStatus();
  const Result<std::vector<std::string>> versions = api->ListVersions();
  const std::string others =
      versions.ok() ? " (there are: " + NgcVersionsText(*versions) + ")" : "";
  if (kinds.encrypted) {
    return UnsupportedError(fmt::format(
        "{}: holds only TAO weights (.etlt, .tlt), which are encrypted, so nothing but TAO reads "
        "them; pick a deployable version with an .onnx{}, or export one with `tao model … export`",
        api->id(), others));
  }
  return UserError(fmt::format(
      "{}: holds only a TensorRT engine, which runs on the machine that built it alone; pick a "
      "version with an .onnx{}",
      api->id(), others));
}

/// Fetches the archive beside the folder it is unpacked in.
Result<std::unique_ptr<Repository>> OpenArchive(NgcApi* api, const HubOptions& options,
                                                const ModelSnapshot& snapshot,
                                                const RepositoryFile& archive) {
  DownloadFile download;
  const bool is_listed = !archive.path.empty();
  download.url = is_listed ? api->FileUrl(archive.path) : api->ArchiveUrl();
  download.path = snapshot.folder + ".archive/" +
                  (is_listed ? BaseName(archive.path) : snapshot.revision + ".zip");
  if (archive.size_bytes > 0) download.size_bytes = archive.size_bytes;
  SG_RETURN_IF_ERROR(FetchFiles(api, options, {download}));
  ModelSnapshot unpacked = snapshot;
  if (unpacked.file == archive.path) unpacked.file.clear();
  Result<std::unique_ptr<Repository>> repository =
      OpenArchiveRepository(std::move(unpacked), download.path, snapshot.folder);
  if (!repository.ok() && repository.error().kind == ErrorKind::kUser) {
    // NGC does not say what it should hash to; the next try fetches it again.
    SG_RETURN_IF_ERROR(RemoveAll(download.path));
  }
  return repository;
}

}  // namespace

Result<std::unique_ptr<Repository>> OpenNgcRepository(const ModelSource& source,
                                                      const HubOptions& options) {
  auto api = std::make_unique<NgcApi>(source);
  if (source.revision.empty()) {
    SG_ASSIGN_OR_RETURN(const std::vector<std::string> versions, api->ListVersions());
    return UserError(
        fmt::format("{}: names no version; add ?version=VERSION to the model's catalog page, one "
                    "of: {}",
                    source.text, NgcVersionsText(versions)));
  }
  SG_ASSIGN_OR_RETURN(std::vector<RepositoryFile> files, api->ListFiles());
  const ModelSnapshot snapshot = SnapshotOf(source, *api, options);
  const FileKinds kinds = KindsOf(files, source.file);
  const bool is_one_archive = !kinds.usable && kinds.archives.size() == 1;
  if (!files.empty() && !is_one_archive) {
    SG_RETURN_IF_ERROR(CheckKinds(kinds, api.get()));
    return std::unique_ptr<Repository>(
        std::make_unique<NgcRepository>(std::move(api), snapshot, options, std::move(files)));
  }
  RepositoryFile archive;
  for (const RepositoryFile& file : files) {
    if (is_one_archive && file.path == kinds.archives.front()) archive = file;
  }
  SG_ASSIGN_OR_RETURN(std::unique_ptr<Repository> repository,
                      OpenArchive(api.get(), options, snapshot, archive));
  SG_RETURN_IF_ERROR(CheckKinds(KindsOf(repository->files(), ""), api.get()));
  return repository;
}

}  // namespace sg
