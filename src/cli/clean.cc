// streamgauge clean: removes what an import only needed on the way, and nothing else.
#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/command.h"
#include "detector/card_builder.h"

namespace sg {
namespace {

namespace fs = std::filesystem;

struct CleanOptions {
  CommonFlags common;
  std::string name;
  std::string out = "models";
};

/// Of models/NAME; results, the ONNX and the engines stay.
constexpr const char* kStagingFolders[] = {"hf_model", "onnx_export", "ngc_download"};
constexpr char kBuildFolder[] = "build";
/// Of all models together, so it is never one model's: not even of one named "optimum".
constexpr char kSharedVenv[] = ".venv_optimum";

struct Candidate {
  std::string path;
  std::string root;  ///< it must really lie in there
};

std::vector<Candidate> Candidates(const CleanOptions& options) {
  std::vector<Candidate> candidates;
  for (const char* folder : kStagingFolders) {
    candidates.push_back({JoinPath(JoinPath(options.out, options.name), folder), options.out});
  }
  const std::string legacy_venv = ".venv_" + options.name;
  if (legacy_venv != kSharedVenv) {
    candidates.push_back({JoinPath(kBuildFolder, legacy_venv), kBuildFolder});
  }
  return candidates;
}

/// kUser when the path, or a folder on the way to it, is a link: what it leads to is not ours.
Status CheckNoLink(const Candidate& candidate) {
  const fs::path root = fs::path(candidate.root) / "";
  for (fs::path path = candidate.path; path != root.parent_path() && path.has_relative_path();
       path = path.parent_path()) {
    std::error_code ignored;
    if (!fs::is_symlink(path, ignored)) continue;
    return UserError(
        fmt::format("{}: is a link to {}; nothing behind a link is removed: remove the "
                    "link yourself",
                    path.string(), fs::read_symlink(path, ignored).string()));
  }
  return OkStatus();
}

uint64_t BytesIn(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code ignored;
  for (fs::recursive_directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    std::error_code no_size;
    if (entry->is_symlink(no_size) || !entry->is_regular_file(no_size)) continue;
    bytes += entry->file_size(no_size);
  }
  return bytes;
}

Status Clean(const CleanOptions& options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  SG_RETURN_IF_ERROR(CheckModelName(options.name));
  std::vector<std::string> found;
  for (const Candidate& candidate : Candidates(options)) {
    std::error_code ignored;
    if (!fs::exists(fs::symlink_status(candidate.path, ignored))) continue;
    SG_RETURN_IF_ERROR(CheckNoLink(candidate));
    found.push_back(candidate.path);
  }
  uint64_t bytes = 0;
  for (const std::string& path : found) {
    const uint64_t size = BytesIn(path);
    bytes += size;
    if (!options.common.dry_run) SG_RETURN_IF_ERROR(RemoveAll(path));
    console.Say(fmt::format("{} {} ({:.1f} MB)",
                            options.common.dry_run ? "would remove" : "removed", path,
                            static_cast<double>(size) / 1e6));
  }
  if (found.empty()) {
    console.Say(fmt::format("{}: nothing to remove", JoinPath(options.out, options.name)));
  }
  if (options.common.json) {
    std::fputs(
        ToJsonText({{"removed", found}, {"bytes", bytes}, {"dry_run", options.common.dry_run}})
            .c_str(),
        stdout);
  }
  return OkStatus();
}

}  // namespace

void AddCleanCommand(CLI::App* app, CommandRun* run) {
  auto options = std::make_shared<CleanOptions>();
  CLI::App* command = app->add_subcommand(
      "clean", "Remove a model's staging folders; results and the shared venv stay");
  command->add_option("name", options->name, "NAME of models/NAME")->required();
  command->add_option("--out", options->out, "Folder that has NAME/")->capture_default_str();
  AddCommonFlags(command, &options->common);
  command->callback([options, run] { *run = [options] { return Clean(*options); }; });
}

}  // namespace sg
