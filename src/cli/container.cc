// streamgauge container run -- CMD: a command inside DeepStream's image, with the working folder.
#include "deepstream/container.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/files.h"
#include "base/log.h"
#include "base/subprocess.h"
#include "cli/command.h"
#include "deepstream/symptoms.h"

namespace sg {
namespace {

struct ContainerCommand {
  CommonFlags common;
  ContainerOptions container;
  std::string shell = "bash";
  std::vector<std::string> argv;
};

/// Ends the container when the client that was to end it is gone already.
void EndContainer(const ContainerOptions& options) {
  Subprocess kill;
  kill.argv = ContainerKillArgv(options);
  kill.deadline_s = 20;
  kill.on_stdout_line = [](const std::string&) {};
  kill.on_stderr_line = [](const std::string&) {};  // "No such container" is what is hoped for
  (void)RunSubprocess(kill);
}

Status RunInContainer(ContainerCommand command) {
  SetUpLog(command.common.verbose);
  ContainerOptions& container = command.container;
  container.work_folder = AbsolutePath(".");
  if (container.work_folder.find(':') != std::string::npos)
    return UserError(
        fmt::format("{}: a folder with ':' in its name cannot be mounted; work in another",
                    container.work_folder));
  if (command.common.dry_run) {
    SG_ASSIGN_OR_RETURN(const HostShell shell, HostShellFromName(command.shell));
    std::fputs((ContainerLine(container, command.argv, shell) + "\n").c_str(), stdout);
    return OkStatus();
  }
  if (FindProgram(container.runtime).empty())
    return EnvironmentError(
        fmt::format("{} is not on PATH: streamgauge doctor says how to get it", container.runtime));
  container.name = fmt::format("streamgauge-{}", getpid());
  // Rootless podman maps the caller to the container's root by itself.
  if (BaseName(container.runtime) != "podman")
    container.user = fmt::format("{}:{}", getuid(), getgid());

  Subprocess process;
  process.argv = ContainerArgv(container, command.argv);
  process.grace_s = 15;
  std::string tail;
  process.on_stdout_line = [](const std::string& line) { std::puts(line.c_str()); };
  process.on_stderr_line = [&](const std::string& line) {
    std::fprintf(stderr, "%s\n", line.c_str());
    tail = (tail + line + "\n").substr(tail.size() > 4096 ? tail.size() - 4096 : 0);
  };
  const Result<SubprocessExit> exit = RunSubprocess(process);
  if (!exit.ok()) return exit.error();
  if (exit->interrupted) {
    EndContainer(container);
    return InterruptedError();
  }
  if (exit->code == 0) return OkStatus();
  const std::string why = ExplainLog(tail);
  // docker's own failures end with 125; everything else is the command's.
  if (exit->code == 125)
    return EnvironmentError(fmt::format("{} could not start the container: {}", container.runtime,
                                        why.empty() ? exit->stderr_tail : why));
  return GateError(fmt::format("{} ended with exit code {} in the container{}",
                               command.argv.front(), exit->code, why.empty() ? "" : ": " + why));
}

}  // namespace

void AddContainerCommand(CLI::App* app, CommandRun* run) {
  CLI::App* group = app->add_subcommand("container", "Commands inside DeepStream's image");
  group->require_subcommand(1);
  auto options = std::make_shared<ContainerCommand>();
  CLI::App* command = group->add_subcommand(
      "run", "CMD in the image, the working folder mounted as /work: container run -- CMD ARGS");
  command->add_option("--image", options->container.image, "The image")->capture_default_str();
  command->add_option("--runtime", options->container.runtime, "docker or podman")
      ->capture_default_str();
  command->add_flag("--cdi", options->container.cdi,
                    "Ask for the GPU as the CDI device nvidia.com/gpu=all");
  command->add_flag("--no-gpu", options->container.no_gpu, "Without a GPU");
  command
      ->add_option("--shell", options->shell,
                   "With --dry-run: the line as bash, powershell or cmd takes it")
      ->check(CLI::IsMember({"bash", "powershell", "cmd"}))
      ->capture_default_str();
  command->add_option("command", options->argv, "CMD and its arguments, behind --")->required();
  AddCommonFlags(command, &options->common);
  command->callback([options, run] { *run = [options] { return RunInContainer(*options); }; });
}

}  // namespace sg
