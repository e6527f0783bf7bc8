// Commands inside a container: `docker run` or `podman run` as an argument array. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

inline constexpr char kDeepStreamImage[] = "nvcr.io/nvidia/deepstream:9.1-triton-multiarch";
/// Where the working folder is inside.
inline constexpr char kContainerFolder[] = "/work";

enum class HostShell { kBash, kPowerShell, kCmd };
Result<HostShell> HostShellFromName(const std::string& name);

struct ContainerOptions {
  std::string runtime = "docker";  ///< or "podman", as it is to be started
  std::string image = kDeepStreamImage;
  std::string work_folder;  ///< absolute; mounted as /work
  /// The name that the container gets, so that a cancelled run can be ended by it; empty: none.
  std::string name;
  /// "1000:1000": who owns what is written. Empty: the image's user (with rootless podman that is
  /// the caller anyway).
  std::string user;
  bool cdi = false;  ///< --device nvidia.com/gpu=all instead of --gpus all
  bool no_gpu = false;
};

/// `argv` run in the image: argv[0] is its entry point.
std::vector<std::string> ContainerArgv(const ContainerOptions& options,
                                       const std::vector<std::string>& argv);

/// The command that ends the container `options.name`.
std::vector<std::string> ContainerKillArgv(const ContainerOptions& options);

/// The same as a person types it in that shell, from the working folder: the mount is written as
/// "$PWD":/work, "${PWD}:/work" or "%cd%:/work". No user and no name: Docker Desktop maps owners.
std::string ContainerLine(const ContainerOptions& options, const std::vector<std::string>& argv,
                          HostShell shell);

/// A path of the host as it is inside; kUser when it does not lie in the working folder.
Result<std::string> PathInContainer(const ContainerOptions& options, const std::string& path);

}  // namespace sg
