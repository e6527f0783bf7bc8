#include "deepstream/toolset.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/files.h"
#include "base/testing.h"

namespace sg {
namespace {

/// Stand-ins that are first on PATH; the real programs are out of reach.
class ToolsetTest : public testing::Test {
 protected:
  void SetUp() override {
    old_path_ = std::getenv("PATH");
    setenv("PATH", (folder_ / "bin").c_str(), 1);
    ASSERT_TRUE(MakeFolders(folder_ / "bin").ok());
  }
  void TearDown() override { setenv("PATH", old_path_.c_str(), 1); }
  void Script(const std::string& path, const std::string& text) {
    const std::string whole = folder_ / path;
    ASSERT_TRUE(MakeFolders(ParentFolder(whole)).ok());
    ASSERT_TRUE(WriteFileAtomic(whole, "#!/bin/sh\n" + text).ok());
    chmod(whole.c_str(), 0755);
  }
  Toolset Find(double deadline_s = 5) {
    ToolsetSearch search;
    search.root = folder_.path();
    search.deadline_s = deadline_s;
    return FindToolset(search);
  }
  TempFolder folder_;
  std::string old_path_;
};

constexpr char kSmi[] = "echo 'NVIDIA H100, 595.45.04, 81559, 9.0'\n";

TEST_F(ToolsetTest, AnEmptyMachineHasNothing) {
  const Toolset tools = Find();
  EXPECT_FALSE(tools.IsNative());
  EXPECT_FALSE(tools.CanContain());
  EXPECT_TRUE(tools.trtexec.path.empty());
  EXPECT_TRUE(tools.ToJson()["trtexec"]["version"].is_null());
}

TEST_F(ToolsetTest, ANativeInstallationIsFoundInItsPlaces) {
  Script("bin/nvidia-smi", kSmi);
  Script(
      "usr/src/tensorrt/bin/trtexec",
      "echo '&&&& RUNNING TensorRT.trtexec [TensorRT v101600] [b34] # trtexec --help'\nexit 1\n");
  Script("opt/nvidia/deepstream/deepstream/bin/deepstream-app",
         "echo 'deepstream-app version 9.1.0'\necho 'DeepStreamSDK 9.1.0'\necho 'CUDA Driver "
         "Version: 13.0'\n");
  ASSERT_TRUE(MakeFolders(folder_ / "opt/nvidia/deepstream/deepstream/samples/streams").ok());
  ASSERT_TRUE(WriteFileAtomic(
                  folder_ / "opt/nvidia/deepstream/deepstream/samples/streams/sample_720p.mp4", "x")
                  .ok());
  const Toolset tools = Find();
  EXPECT_TRUE(tools.IsNative());
  EXPECT_EQ(tools.trtexec.version, "101600");
  EXPECT_EQ(tools.deepstream_app.version, "9.1.0");
  ASSERT_EQ(tools.gpus.size(), 1U);
  EXPECT_EQ(tools.gpus[0].compute_capability, "9.0");
  EXPECT_TRUE(tools.sample_video.ends_with("sample_720p.mp4"));
}

TEST_F(ToolsetTest, ADriverThatHangsIsAProblemAndNotAWait) {
  Script("bin/nvidia-smi", "exec /bin/sleep 60\n");
  const Toolset tools = Find(0.3);
  EXPECT_NE(tools.nvidia_smi.problem.find("no answer within 0.3 s"), std::string::npos)
      << tools.nvidia_smi.problem;
  EXPECT_TRUE(tools.gpus.empty());
}

TEST_F(ToolsetTest, ADaemonThatRefusesIsSaid) {
  Script("bin/nvidia-smi", kSmi);
  Script(
      "bin/docker",
      "echo 'permission denied while trying to connect to the Docker daemon socket' >&2\nexit 1\n");
  Toolset tools = Find();
  EXPECT_FALSE(tools.CanContain());
  EXPECT_NE(tools.container_runtime.problem.find("group docker"), std::string::npos);
  Script("bin/podman", "echo 5.2.0\n");
  tools = Find();
  EXPECT_TRUE(tools.CanContain());
  EXPECT_EQ(tools.container_runtime.version, "5.2.0");
}

TEST(GpuRows, KnowWhatDriversPrint) {
  const auto gpus = ParseGpuRows(
      "Warning: infoROM is corrupted at gpu 0000:3B:00.0, see the manual\n"
      "NVIDIA A30, 580.65.06, 24576, 8.0\r\n"
      "Orin (nvgpu), 540.4.0, [N/A], [Not Supported]\n"
      "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n");
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].name, "NVIDIA A30");
  EXPECT_EQ(gpus[1].memory_mib, "");
  EXPECT_EQ(gpus[1].compute_capability, "");
  EXPECT_EQ(DriverMajor("595.45.04"), 595);
  EXPECT_EQ(DriverMajor("[N/A]"), 0);
  EXPECT_EQ(DriverMajor("595"), 0);
}

}  // namespace
}  // namespace sg
