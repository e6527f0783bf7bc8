#include "cli/model_source.h"

#include <fmt/format.h>

#include <optional>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "detector/file_selection.h"
#include "detector/task_gate.h"

namespace sg {
namespace {

std::vector<ListedFile> Listed(const Repository& repository) {
  std::vector<ListedFile> files;
  files.reserve(repository.files().size());
  for (const RepositoryFile& file : repository.files()) {
    files.push_back({file.path, file.size_bytes});
  }
  return files;
}

std::vector<std::string> PathsOf(const std::vector<ListedFile>& files) {
  std::vector<std::string> paths;
  paths.reserve(files.size());
  for (const ListedFile& file : files) paths.push_back(file.path);
  return paths;
}

std::string StagingFolder(const std::string& asked, const ModelSource& source) {
  if (!asked.empty()) return asked;
  return fmt::format("{}/staging/{}", UserCacheFolder(), Sha256(source.text).substr(0, 16));
}

}  // namespace

Result<std::unique_ptr<Repository>> OpenSource(const std::string& source,
                                               const std::string& revision,
                                               const std::string& staging_folder,
                                               const Console& console) {
  SG_ASSIGN_OR_RETURN(const ModelSource parsed, ParseSource(source));
  HubOptions options;
  options.revision = revision;
  options.staging_folder = StagingFolder(staging_folder, parsed);
  const auto progress = std::make_shared<Progress>(console.progress_mode(), "fetching " + source);
  options.progress = [progress](double fraction, const std::string& note) {
    progress->Update(fraction, note);
  };
  return OpenRepository(parsed, options);
}

Result<ModelFiles> FetchModelFiles(Repository* repository, const std::string& variant,
                                   const Console& console) {
  const ModelSnapshot& snapshot = repository->snapshot();
  const std::vector<ListedFile> files = Listed(*repository);
  SG_RETURN_IF_ERROR(repository->Fetch(SelectConfigs(files)));

  TaskEvidence evidence;
  evidence.where = snapshot.source;
  evidence.pipeline_tag = snapshot.task;
  evidence.files = PathsOf(files);
  std::optional<Json> config;
  if (const std::string path = JoinPath(snapshot.folder, "config.json"); FileExists(path)) {
    SG_ASSIGN_OR_RETURN(config, ReadJsonFile(path));
    if (!config->is_object()) {
      return UserError(fmt::format("{}: is not a model's config (no JSON object)", path));
    }
    evidence.config = &*config;
  }
  SG_RETURN_IF_ERROR(CheckTask(evidence));

  SG_ASSIGN_OR_RETURN(const FileSelection selection,
                      SelectFiles(files, {snapshot.source, variant, snapshot.file}));
  if (selection.onnx.empty()) {
    return UnsupportedError(fmt::format(
        "{}: has SafeTensors and no ONNX; this version imports ONNX files: export the model (for "
        "instance with optimum-cli export onnx) and give the .onnx",
        snapshot.source));
  }
  console.Say(selection.selection_line);
  std::vector<std::string> wanted = selection.external;
  wanted.push_back(selection.onnx);
  SG_RETURN_IF_ERROR(repository->Fetch(wanted));
  return FilesOnDisk(snapshot.source, snapshot.folder, selection);
}

}  // namespace sg
