#include "deepstream/container.h"

#include <gtest/gtest.h>

namespace sg {
namespace {

using Argv = std::vector<std::string>;

ContainerOptions Options() {
  ContainerOptions options;
  options.work_folder = "/data/my work";
  return options;
}

TEST(ContainerArgv, IsTheSeedsCommand) {
  EXPECT_EQ(
      ContainerArgv(Options(), {"/usr/src/tensorrt/bin/trtexec", "--onnx=-a b.onnx"}),
      (Argv{"docker", "run", "--rm", "--gpus", "all", "--shm-size=16g", "-v", "/data/my work:/work",
            "-w", "/work", "--entrypoint", "/usr/src/tensorrt/bin/trtexec",
            "nvcr.io/nvidia/deepstream:9.1-triton-multiarch", "--onnx=-a b.onnx"}));
}

TEST(ContainerArgv, PodmanCdiNameAndOwner) {
  ContainerOptions options = Options();
  options.runtime = "podman";
  options.cdi = true;
  options.name = "streamgauge-7";
  options.user = "1000:1000";
  const Argv argv = ContainerArgv(options, {"true"});
  EXPECT_EQ(Argv(argv.begin(), argv.begin() + 7),
            (Argv{"podman", "run", "--rm", "--name=streamgauge-7", "--user=1000:1000", "--device",
                  "nvidia.com/gpu=all"}));
  EXPECT_EQ(ContainerKillArgv(options), (Argv{"podman", "kill", "streamgauge-7"}));
}

TEST(ContainerLine, MountsInTheShellsOwnWords) {
  const Argv command = {"bash", "-lc", "echo \"$HOME\" 100%; it's"};
  EXPECT_EQ(
      ContainerLine(Options(), command, HostShell::kBash),
      "docker run --rm --gpus all --shm-size=16g -v \"$PWD\":/work -w /work --entrypoint bash "
      "nvcr.io/nvidia/deepstream:9.1-triton-multiarch -lc 'echo \"$HOME\" 100%; it'\\''s'");
  const std::string power = ContainerLine(Options(), command, HostShell::kPowerShell);
  EXPECT_NE(power.find("-v \"${PWD}:/work\" -w"), std::string::npos);
  EXPECT_NE(power.find("'echo \"$HOME\" 100%; it''s'"), std::string::npos) << power;
  const std::string cmd = ContainerLine(Options(), command, HostShell::kCmd);
  EXPECT_NE(cmd.find("-v \"%cd%:/work\" -w"), std::string::npos);
  EXPECT_NE(cmd.find("\"echo \\\"$HOME\\\" 100%%; it's\""), std::string::npos) << cmd;
}

TEST(PathInContainer, IsUnderWorkOrRefused) {
  EXPECT_EQ(*PathInContainer(Options(), "/data/my work/models/m"), "/work/models/m");
  EXPECT_EQ(*PathInContainer(Options(), "/data/my work"), "/work");
  EXPECT_FALSE(PathInContainer(Options(), "/data/my workshop").ok());
  EXPECT_FALSE(PathInContainer(Options(), "/data/my work/../secret").ok());
}

}  // namespace
}  // namespace sg
