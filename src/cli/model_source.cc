#include "cli/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "detector/file_selection.h"
#include "detector/task_gate.h"
#include "hub/safetensors.h"
#include "onnx/onnx_file.h"

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

/// The weight files that the graph itself names, whatever they are called. One that is not listed
/// is told when the graph is checked.
Status FetchExternal(Repository* repository, const FileSelection& selection) {
  SG_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                      ExternalFileNames(JoinPath(repository->snapshot().folder, selection.onnx)));
  const std::string folder = ParentFolder(selection.onnx);
  std::vector<std::string> wanted;
  for (const std::string& name : names) {
    const std::string path = folder == "." ? name : folder + "/" + name;
    const bool is_listed =
        std::any_of(repository->files().begin(), repository->files().end(),
                    [&](const RepositoryFile& file) { return file.path == path; });
    if (is_listed) wanted.push_back(path);
  }
  return repository->Fetch(wanted);
}

/// Fetches the small files, passes the gate, and selects.
Result<FileSelection> Select(Repository* repository, const std::string& variant) {
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

  return SelectFiles(files, {snapshot.source, variant, snapshot.file});
}

/// The ONNX with its weights beside it.
Result<ModelFiles> FetchOnnx(Repository* repository, const FileSelection& selection,
                             const Console& console) {
  console.Say(selection.selection_line);
  std::vector<std::string> wanted = selection.external;
  wanted.push_back(selection.onnx);
  SG_RETURN_IF_ERROR(repository->Fetch(wanted));
  SG_RETURN_IF_ERROR(FetchExternal(repository, selection));
  return FilesOnDisk(repository->snapshot().source, repository->snapshot().folder, selection);
}

/// model.safetensors, or the shards that the index names.
Result<std::vector<std::string>> FetchWeights(Repository* repository,
                                              const FileSelection& selection) {
  const std::string& folder = repository->snapshot().folder;
  std::vector<std::string> weights;
  for (const std::string& path : selection.weights) {
    if (path.ends_with(".index.json")) {
      SG_RETURN_IF_ERROR(repository->Fetch({path}));
      SG_ASSIGN_OR_RETURN(weights, ReadSafeTensorsIndex(JoinPath(folder, path)));
      break;
    }
    weights.push_back(path);
  }
  SG_RETURN_IF_ERROR(repository->Fetch(weights));
  for (std::string& path : weights) {
    path = JoinPath(folder, path);
    SG_RETURN_IF_ERROR(ReadSafeTensorsHeader(path).status());
  }
  return weights;
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
  SG_ASSIGN_OR_RETURN(const FileSelection selection, Select(repository, variant));
  if (selection.onnx.empty()) {
    return UnsupportedError(fmt::format(
        "{}: has SafeTensors and no ONNX; this version imports ONNX files: export the model (for "
        "instance with optimum-cli export onnx) and give the .onnx",
        repository->snapshot().source));
  }
  return FetchOnnx(repository, selection, console);
}

Result<std::vector<std::string>> FetchOnnxOrWeights(Repository* repository,
                                                    const std::string& variant,
                                                    const Console& console) {
  SG_ASSIGN_OR_RETURN(const FileSelection selection, Select(repository, variant));
  if (selection.onnx.empty()) return FetchWeights(repository, selection);
  SG_ASSIGN_OR_RETURN(const ModelFiles files, FetchOnnx(repository, selection, console));
  return std::vector<std::string>{files.onnx};
}

}  // namespace sg
