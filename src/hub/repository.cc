#include "hub/repository.h"

#include <fmt/format.h>

#include "base/files.h"
#include "hub/archive.h"
#include "hub/archive_repository.h"
#include "hub/hf_repository.h"
#include "hub/local_repository.h"
#include "hub/ngc.h"
#include "hub/url_repository.h"

namespace sg {
namespace {

Result<std::unique_ptr<Repository>> OpenLocal(const ModelSource& source,
                                              const HubOptions& options) {
  ModelSnapshot snapshot;
  snapshot.source = source.text;
  snapshot.kind = SourceKindName(source.kind);
  snapshot.id = AbsolutePath(source.path);
  snapshot.name = source.name;
  if (source.kind == SourceKind::kLocalFolder) {
    snapshot.folder = source.path;
    return OpenFolderRepository(std::move(snapshot));
  }
  if (IsArchiveName(source.path)) {
    snapshot.name = source.name.substr(0, source.name.find('.'));
    return OpenArchiveRepository(std::move(snapshot), source.path, options.staging_folder);
  }
  if (source.path.ends_with(".engine") || source.path.ends_with(".plan")) {
    return UserError(fmt::format(
        "{}: is a TensorRT engine, which runs on the machine that built it alone; give its ONNX",
        source.path));
  }
  if (!source.path.ends_with(".onnx")) {
    return UserError(
        fmt::format("{}: is not an .onnx file, an archive or a model's folder", source.path));
  }
  const std::string beside = AbsolutePath(ParentFolder(source.path));
  snapshot.folder = ModelFolderOf(source.path);
  snapshot.file = (snapshot.folder == beside ? "" : BaseName(beside) + "/") + BaseName(source.path);
  return OpenFolderRepository(std::move(snapshot));
}

}  // namespace

const RepositoryFile* Repository::Find(const std::string& path) const {
  for (const RepositoryFile& file : files()) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

Result<std::unique_ptr<Repository>> OpenRepository(const ModelSource& source,
                                                   const HubOptions& options) {
  if (!options.revision.empty() && source.kind != SourceKind::kHuggingFace) {
    return UserError(fmt::format("--revision {}: only a Hugging Face model has revisions, {} is {}",
                                 options.revision, source.text, SourceKindName(source.kind)));
  }
  switch (source.kind) {
    case SourceKind::kHuggingFace:
      return OpenHfRepository(source, ReadHfEnvironment(), options);
    case SourceKind::kNgc:
      return OpenNgcRepository(source, options);
    case SourceKind::kUrl:
      return OpenUrlRepository(source, options);
    case SourceKind::kLocalFolder:
    case SourceKind::kLocalFile:
      return OpenLocal(source, options);
  }
  return InternalError("a source of no kind");
}

}  // namespace sg
