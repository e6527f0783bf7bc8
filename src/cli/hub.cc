// streamgauge hub ls|get: what a source holds, and its files on this machine.
#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/model_source.h"
#include "hub/safetensors.h"

namespace sg {
namespace {

struct HubCommandOptions {
  CommonFlags common;
  std::string source;
  std::string revision;
  std::string variant;
  std::vector<std::string> paths;
  bool all = false;
};

Json ToJson(const ModelSnapshot& snapshot, const std::vector<RepositoryFile>& files) {
  Json list = Json::array();
  for (const RepositoryFile& file : files) {
    Json entry = {{"path", file.path}, {"size_bytes", file.size_bytes}};
    if (!file.sha256.empty()) entry["sha256"] = file.sha256;
    if (!file.git_sha1.empty()) entry["git_sha1"] = file.git_sha1;
    list.push_back(std::move(entry));
  }
  return {
      {"source", snapshot.source},     {"kind", snapshot.kind},     {"id", snapshot.id},
      {"revision", snapshot.revision}, {"commit", snapshot.commit}, {"licence", snapshot.licence},
      {"task", snapshot.task},         {"folder", snapshot.folder}, {"files", std::move(list)}};
}

void SaySnapshot(const Console& console, const ModelSnapshot& snapshot) {
  console.Say(fmt::format("{}: {}{}", snapshot.kind, snapshot.id,
                          snapshot.commit.empty() ? "" : " at " + snapshot.commit));
  if (!snapshot.task.empty() || !snapshot.licence.empty()) {
    console.Say(fmt::format("task {}, licence {}",
                            snapshot.task.empty() ? "unknown" : snapshot.task,
                            snapshot.licence.empty() ? "unknown" : snapshot.licence));
  }
}

/// What ls and get do with a source once it is looked up.
using Act = Status (*)(const HubCommandOptions&, const Console&, Repository*);

Status LookUp(const HubCommandOptions& options, const char* would, Act act) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  if (options.common.dry_run) {
    SG_RETURN_IF_ERROR(ParseSource(options.source).status());
    console.Say(fmt::format(fmt::runtime(would), options.source));
    return OkStatus();
  }
  SG_ASSIGN_OR_RETURN(const std::unique_ptr<Repository> repository,
                      OpenSource(options.source, options.revision, "", console));
  SaySnapshot(console, repository->snapshot());
  SG_RETURN_IF_ERROR(act(options, console, repository.get()));
  if (options.common.json) {
    std::fputs(ToJsonText(ToJson(repository->snapshot(), repository->files())).c_str(), stdout);
  }
  return OkStatus();
}

Status List(const HubCommandOptions&, const Console& console, Repository* repository) {
  for (const RepositoryFile& file : repository->files()) {
    console.Say(fmt::format("{:>14}  {}", file.size_bytes, file.path));
  }
  return OkStatus();
}

std::vector<std::string> AllPaths(const Repository& repository) {
  std::vector<std::string> paths;
  for (const RepositoryFile& file : repository.files()) paths.push_back(file.path);
  return paths;
}

/// A file that came without a hash may still be cut off.
Status CheckSafeTensors(const std::string& folder, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (!path.ends_with(".safetensors")) continue;
    SG_RETURN_IF_ERROR(ReadSafeTensorsHeader(JoinPath(folder, path)).status());
  }
  return OkStatus();
}

Status Get(const HubCommandOptions& options, const Console& console, Repository* repository) {
  if (options.all || !options.paths.empty()) {
    const std::vector<std::string> paths = options.all ? AllPaths(*repository) : options.paths;
    SG_RETURN_IF_ERROR(repository->Fetch(paths));
    SG_RETURN_IF_ERROR(CheckSafeTensors(repository->snapshot().folder, paths));
  } else {
    ModelWish wish;
    wish.variant = options.variant;
    SG_ASSIGN_OR_RETURN(const FetchedModel model, FetchModel(repository, wish, console));
    if (!model.files.onnx.empty()) console.Say(model.files.onnx);
    for (const std::string& file : model.weights) console.Say(file);
  }
  console.Say(repository->snapshot().folder);
  return OkStatus();
}

}  // namespace

void AddHubCommand(CLI::App* app, CommandRun* run) {
  CLI::App* hub = app->add_subcommand("hub", "List or fetch a model's files (ls, get)");
  hub->require_subcommand(1);
  auto options = std::make_shared<HubCommandOptions>();
  const auto add = [&](const char* name, const char* words, const char* would, Act act) {
    CLI::App* command = hub->add_subcommand(name, words);
    command->add_option("source", options->source, "Where the model is, as for import")->required();
    command->add_option("--revision", options->revision, "Branch, tag or commit");
    AddCommonFlags(command, &options->common);
    command->callback([options, run, would, act] {
      *run = [options, would, act] { return LookUp(*options, would, act); };
    });
    return command;
  };
  add("ls", "List a model's files with their sizes", "would list the files of {}", List);
  CLI::App* get = add("get", "Fetch the files that an import needs",
                      "would fetch the files of {} that an import needs", Get);
  get->add_option("paths", options->paths, "Only these files");
  get->add_option("--variant", options->variant,
                  "fp16, fp32, int8, int4, quantized or a file name");
  get->add_flag("--all", options->all, "Every file");
}

}  // namespace sg
