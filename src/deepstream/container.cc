#include "deepstream/container.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/subprocess.h"

namespace sg {
namespace {

struct Words {
  std::vector<std::string> before_mount;
  std::vector<std::string> after_mount;
};

Words WordsOf(const ContainerOptions& options, const std::vector<std::string>& argv) {
  Words words;
  words.before_mount = {options.runtime, "run", "--rm"};
  if (!options.name.empty()) words.before_mount.push_back("--name=" + options.name);
  if (!options.user.empty()) words.before_mount.push_back("--user=" + options.user);
  if (!options.no_gpu) {
    if (options.cdi)
      words.before_mount.insert(words.before_mount.end(), {"--device", "nvidia.com/gpu=all"});
    else
      words.before_mount.insert(words.before_mount.end(), {"--gpus", "all"});
  }
  words.before_mount.push_back("--shm-size=16g");
  words.before_mount.push_back("-v");
  words.after_mount = {"-w", kContainerFolder};
  if (!argv.empty()) words.after_mount.insert(words.after_mount.end(), {"--entrypoint", argv[0]});
  words.after_mount.push_back(options.image);
  if (!argv.empty())
    words.after_mount.insert(words.after_mount.end(), argv.begin() + 1, argv.end());
  return words;
}

/// One word for PowerShell: in single quotes nothing is expanded, a quote is doubled.
std::string PowerShellQuoted(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \t'\"`$&|;<>(){}@#,*?[]%") == std::string::npos)
    return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

/// One word for cmd: in double quotes, with inner quotes escaped as the C runtime reads them, and
/// '%' doubled as in a batch file.
std::string CmdQuoted(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \t\"&|<>^%()!;,=") == std::string::npos) return word;
  std::string quoted = "\"";
  for (const char c : word) {
    if (c == '"') quoted += '\\';
    if (c == '%') quoted += '%';
    quoted += c;
  }
  return quoted + "\"";
}

std::string Quoted(const std::string& word, HostShell shell) {
  switch (shell) {
    case HostShell::kBash:
      return ShellQuoted({word});
    case HostShell::kPowerShell:
      return PowerShellQuoted(word);
    case HostShell::kCmd:
      return CmdQuoted(word);
  }
  return word;
}

}  // namespace

Result<HostShell> HostShellFromName(const std::string& name) {
  if (name == "bash") return HostShell::kBash;
  if (name == "powershell") return HostShell::kPowerShell;
  if (name == "cmd") return HostShell::kCmd;
  return UserError(fmt::format("{}: is not bash, powershell or cmd", name));
}

std::vector<std::string> ContainerArgv(const ContainerOptions& options,
                                       const std::vector<std::string>& argv) {
  Words words = WordsOf(options, argv);
  std::vector<std::string> all = std::move(words.before_mount);
  all.push_back(options.work_folder + ":" + kContainerFolder);
  all.insert(all.end(), words.after_mount.begin(), words.after_mount.end());
  return all;
}

std::vector<std::string> ContainerKillArgv(const ContainerOptions& options) {
  return {options.runtime, "kill", options.name};
}

std::string ContainerLine(const ContainerOptions& options, const std::vector<std::string>& argv,
                          HostShell shell) {
  ContainerOptions plain = options;
  plain.name.clear();
  if (shell != HostShell::kBash) plain.user.clear();
  const Words words = WordsOf(plain, argv);
  std::string line;
  for (const std::string& word : words.before_mount) line += Quoted(word, shell) + " ";
  line += shell == HostShell::kBash         ? "\"$PWD\":/work"
          : shell == HostShell::kPowerShell ? "\"${PWD}:/work\""
                                            : "\"%cd%:/work\"";
  for (const std::string& word : words.after_mount) line += " " + Quoted(word, shell);
  return line;
}

Result<std::string> PathInContainer(const ContainerOptions& options, const std::string& path) {
  const std::string whole = AbsolutePath(path);
  if (whole == options.work_folder) return std::string(kContainerFolder);
  if (whole.starts_with(options.work_folder + "/"))
    return kContainerFolder + whole.substr(options.work_folder.size());
  return UserError(fmt::format("{}: lies outside {}, which is all that the container sees", whole,
                               options.work_folder));
}

}  // namespace sg
