#include "cli/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "detector/card_evidence.h"
#include "detector/file_selection.h"
#include "detector/task_gate.h"
#include "hub/safetensors.h"
#include "onnx/onnx_contents.h"

namespace sg {
namespace {

/// Of a source that is not here, at most so many ONNX files are fetched to find the right one.
constexpr int kMaxFetched = 3;
/// Of one that is, at most so many are looked into; further ones go by their names.
constexpr size_t kMaxLookedInto = 64;

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

/// Looks into the candidates that are on disk already: all of a local folder's.
void LookIntoThoseHere(const std::string& folder, const std::vector<ListedFile>& files,
                       SelectionWish* wish) {
  for (const std::string& candidate : OnnxCandidates(files, *wish)) {
    if (wish->contents.size() == kMaxLookedInto) return;
    const std::string path = JoinPath(folder, candidate);
    if (!FileExists(path)) continue;
    // A damaged file keeps what its name says; when it is chosen, reading it whole says what is
    // wrong.
    Result<OnnxContents> contents = ReadOnnxContents(path);
    if (contents.ok()) wish->contents[candidate] = *std::move(contents);
  }
}

/// The ONNX, chosen by its name, is fetched and looked into; where that speaks against it, the next
/// one that may be right is, and so on. `wish` gets what was seen.
Result<FileSelection> SelectByContents(Repository* repository, const std::vector<ListedFile>& files,
                                       SelectionWish* wish) {
  const std::string& folder = repository->snapshot().folder;
  LookIntoThoseHere(folder, files, wish);
  for (int fetched = 0;; ++fetched) {
    wish->known_only = fetched == kMaxFetched;
    SG_ASSIGN_OR_RETURN(FileSelection selection, SelectFiles(files, *wish));
    if (selection.onnx.empty() || wish->contents.contains(selection.onnx)) return selection;
    SG_RETURN_IF_ERROR(repository->Fetch({selection.onnx}));
    Result<OnnxContents> contents = ReadOnnxContents(JoinPath(folder, selection.onnx));
    if (!contents.ok()) return contents.error();
    wish->contents[selection.onnx] = *std::move(contents);
  }
}

/// The SafeTensors, whatever ONNX files there are.
Result<FileSelection> SelectWeights(const std::vector<ListedFile>& files,
                                    const std::string& where) {
  std::vector<ListedFile> weights;
  for (const ListedFile& file : files) {
    if (file.path.ends_with(".safetensors") || file.path.ends_with(".safetensors.index.json"))
      weights.push_back(file);
  }
  if (weights.empty()) {
    return UserError(fmt::format("{}: has no SafeTensors to export from", where));
  }
  return SelectFiles(weights, {where, "", ""});
}

/// Fetches the small files, passes the gate, and selects; the ONNX that it chooses is on disk then,
/// with the weight files that its graph names, whatever they are called. One that is not listed is
/// told when the graph is checked.
Result<FileSelection> Select(Repository* repository, const ModelWish& wish) {
  const ModelSnapshot& snapshot = repository->snapshot();
  const std::vector<ListedFile> files = Listed(*repository);
  SG_RETURN_IF_ERROR(repository->Fetch(SelectConfigs(files)));

  TaskEvidence evidence;
  evidence.where = snapshot.source;
  evidence.pipeline_tag = snapshot.task;
  // A folder has its page's word in the README, as the hub has.
  if (const std::string readme = JoinPath(snapshot.folder, "README.md");
      snapshot.task.empty() && FileExists(readme)) {
    SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(readme));
    evidence.pipeline_tag = ReadCardEvidence(text).pipeline_tag;
  }
  evidence.files = PathsOf(files);
  evidence.prompt = wish.prompt;
  evidence.trust = wish.trust;
  std::optional<Json> config;
  if (const std::string path = JoinPath(snapshot.folder, "config.json"); FileExists(path)) {
    SG_ASSIGN_OR_RETURN(config, ReadJsonFile(path));
    if (!config->is_object()) {
      return UserError(fmt::format("{}: is not a model's config (no JSON object)", path));
    }
    evidence.config = &*config;
  }
  SG_RETURN_IF_ERROR(CheckTask(evidence));

  if (wish.from_weights) return SelectWeights(files, snapshot.source);
  SelectionWish choice{snapshot.source, wish.variant, snapshot.file};
  SG_ASSIGN_OR_RETURN(const FileSelection selection, SelectByContents(repository, files, &choice));
  if (selection.onnx.empty()) return selection;
  std::vector<std::string> wanted = selection.external;
  const std::string parent = ParentFolder(selection.onnx);
  for (const std::string& name : choice.contents[selection.onnx].external_files) {
    const std::string path = parent == "." ? name : parent + "/" + name;
    if (repository->Find(path) != nullptr) wanted.push_back(path);
  }
  SG_RETURN_IF_ERROR(repository->Fetch(wanted));
  return selection;
}

/// The selection's paths on disk.
ModelFiles FilesOnDisk(const ModelSnapshot& snapshot, const FileSelection& selection) {
  ModelFiles files;
  files.source = snapshot.source;
  files.onnx = JoinPath(snapshot.folder, selection.onnx);
  files.config_folder = snapshot.folder;
  files.variant = selection.variant;
  files.variants = selection.variants;
  files.selection_line = selection.selection_line;
  files.notes = selection.notes;
  return files;
}

void SaySelection(const FileSelection& selection, const Console& console) {
  console.Say(selection.selection_line);
  for (const std::string& note : selection.notes) console.Say(note);
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

/// What transformers needs beside config and weights: how text becomes numbers, and, where the user
/// trusts it, the model's own code.
Status FetchTokenizerAndCode(Repository* repository, const ModelWish& wish) {
  constexpr const char* kTokenizerFiles[] = {"tokenizer.json",
                                             "tokenizer_config.json",
                                             "special_tokens_map.json",
                                             "added_tokens.json",
                                             "vocab.json",
                                             "vocab.txt",
                                             "merges.txt"};
  std::vector<std::string> wanted;
  for (const RepositoryFile& file : repository->files()) {
    const bool is_tokenizer =
        !wish.prompt.empty() && std::find(std::begin(kTokenizerFiles), std::end(kTokenizerFiles),
                                          file.path) != std::end(kTokenizerFiles);
    const bool is_code =
        wish.trust && file.path.ends_with(".py") && file.path.find('/') == std::string::npos;
    if (is_tokenizer || is_code) wanted.push_back(file.path);
  }
  return repository->Fetch(wanted);
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

Result<FetchedModel> FetchModel(Repository* repository, const ModelWish& wish,
                                const Console& console) {
  SG_ASSIGN_OR_RETURN(const FileSelection selection, Select(repository, wish));
  FetchedModel model;
  if (!selection.onnx.empty()) {
    SaySelection(selection, console);
    model.files = FilesOnDisk(repository->snapshot(), selection);
    return model;
  }
  SG_ASSIGN_OR_RETURN(model.weights, FetchWeights(repository, selection));
  SG_RETURN_IF_ERROR(FetchTokenizerAndCode(repository, wish));
  model.files.source = repository->snapshot().source;
  model.files.config_folder = repository->snapshot().folder;
  return model;
}

}  // namespace sg
