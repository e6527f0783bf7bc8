#include "hardware/machine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files.h"

namespace sg {
namespace {

TEST(MemInfo, IsInKib) {
  const MemoryInfo memory = ParseMemInfo(
      "MemTotal:       24689772 kB\nMemFree:         1 kB\nMemAvailable:   23000000 kB\n"
      "HugePages_Total:       0\n");
  EXPECT_EQ(memory.total_bytes, 24689772ULL * 1024);
  EXPECT_EQ(memory.available_bytes, 23000000ULL * 1024);
}

TEST(MemInfo, WhatIsMissingOrNonsenseIsUnknown) {
  for (const char* text :
       {"", "MemTotal: kB\n", "MemTotal: lots kB\n", " kB\n", "MemTotal: -1 kB\n"})
    EXPECT_EQ(ParseMemInfo(text).total_bytes, std::nullopt) << text;
  EXPECT_EQ(ParseMemInfo("MemTotal: 5 kB\n").available_bytes, std::nullopt);  // kernels before 3.14
}

TEST(OsRelease, PrefersThePrettyName) {
  EXPECT_EQ(ParseOsRelease("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(ParseOsRelease("# a comment\nNAME='Some OS'\nVERSION_ID=3\n"), "Some OS 3");
  EXPECT_EQ(ParseOsRelease("PRETTY_NAME=\"a \\\"b\\\"\"\n"), "a \"b\"");
  EXPECT_EQ(ParseOsRelease(""), "");
}

TEST(NvidiaSmi, OneLineAGpu) {
  const auto gpus = ParseNvidiaSmi(
      "NVIDIA L4, 550.54.15, 23034\nNVIDIA Thor, [N/A], [N/A]\nOdd, Name, 1.2, 1024\n");
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_EQ(gpus[0].name, "NVIDIA L4");
  EXPECT_EQ(gpus[0].driver_version, "550.54.15");
  EXPECT_EQ(gpus[0].memory_bytes, 23034ULL << 20);
  EXPECT_EQ(gpus[1].driver_version, "");
  EXPECT_EQ(gpus[1].memory_bytes, std::nullopt);
  EXPECT_EQ(gpus[2].name, "Odd, Name");
  EXPECT_TRUE(ParseNvidiaSmi("").empty());
  EXPECT_TRUE(ParseNvidiaSmi("garbage\n,\n").empty());
}

/// Puts a stand-in for nvidia-smi first on PATH.
class StandInNvidiaSmi : public testing::Test {
 protected:
  StandInNvidiaSmi() { setenv("PATH", (folder_ + ":" + path_before_).c_str(), 1); }
  ~StandInNvidiaSmi() override {
    setenv("PATH", path_before_.c_str(), 1);
    (void)RemoveAll(folder_).ok();
  }
  void Script(const std::string& text) {
    ASSERT_TRUE(MakeFolders(folder_).ok());
    ASSERT_TRUE(WriteFileAtomic(folder_ + "/nvidia-smi", "#!/bin/sh\n" + text).ok());
    ASSERT_EQ(chmod((folder_ + "/nvidia-smi").c_str(), 0755), 0);
  }
  const std::string path_before_ = std::getenv("PATH");
  const std::string folder_ = testing::TempDir() + "/smi." + std::to_string(getpid());
};

TEST_F(StandInNvidiaSmi, ItsGpuIsTheMachinesGpu) {
  Script("echo 'NVIDIA L4, 550.54.15, 23034'\n");
  const MachineInfo machine = DescribeMachine();
  EXPECT_EQ(machine.has_gpu, true);
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].name, "NVIDIA L4");
}

TEST_F(StandInNvidiaSmi, AFailureIsUnknownAndSaidSo) {
  Script("echo 'NVIDIA-SMI has failed because it could not reach the driver.'; exit 9\n");
  const MachineInfo machine = DescribeMachine();
  EXPECT_EQ(machine.has_gpu, std::nullopt);
  EXPECT_NE(machine.gpu_note.find("has failed"), std::string::npos);
  EXPECT_TRUE(machine.ToJson()["has_gpu"].is_null());
}

TEST_F(StandInNvidiaSmi, NoDeviceIsNoGpu) {
  Script("echo 'No devices were found'; exit 6\n");
  EXPECT_EQ(DescribeMachine().has_gpu, false);
}

TEST_F(StandInNvidiaSmi, HangingIsEndedByTheDeadline) {
  Script("sleep 60\n");
  EXPECT_EQ(DescribeMachine().gpu_note, "nvidia-smi does not answer");
}

TEST(Machine, ThisOneIsDescribed) {
  const MachineInfo machine = DescribeMachine();
  EXPECT_FALSE(machine.cpu_name.empty());
  EXPECT_GT(machine.cores_allowed.value_or(0), 0);
  EXPECT_LE(*machine.cores_allowed, machine.cores_online.value_or(0));
  EXPECT_GT(machine.memory_total_bytes.value_or(0), 1U << 20);
  EXPECT_LE(*machine.memory_available_bytes, *machine.memory_total_bytes);
  EXPECT_EQ(machine.kernel.rfind("Linux ", 0), 0U);
  EXPECT_EQ(machine.ToJson()["cores_allowed"], *machine.cores_allowed);
}

TEST(Machine, UnknownIsNullInJson) {
  const Json json = MachineInfo().ToJson();
  for (const char* key : {"cpu_name", "cores_online", "cores_allowed", "memory_total_bytes",
                          "os_name", "kernel", "has_gpu", "gpus"})
    EXPECT_TRUE(json[key].is_null()) << key;
}

}  // namespace
}  // namespace sg
