#include "base/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"

namespace sg {
namespace {

TEST(CgroupCpu, QuotaDividedByPeriodIsCores) {
  EXPECT_EQ(ParseCpuMax("150000 100000\n"), 1.5);
  EXPECT_EQ(ParseCpuMax("max 100000\n"), std::nullopt);
  EXPECT_EQ(ParseCpuMax(""), std::nullopt);
  EXPECT_EQ(ParseCpuMax("garbage"), std::nullopt);
  EXPECT_EQ(ParseCpuMax("0 100000"), std::nullopt);
  EXPECT_EQ(ParseCpuMax("100000 0"), std::nullopt);
  EXPECT_EQ(ParseCfsQuota("-1\n", "100000\n"), std::nullopt);
  EXPECT_EQ(ParseCfsQuota("50000\n", "100000\n"), 0.5);
}

TEST(CgroupMemory, BothVersionsNoLimitIsNone) {
  EXPECT_EQ(ParseMemoryLimit("536870912\n"), 536870912U);
  EXPECT_EQ(ParseMemoryLimit("max\n"), std::nullopt);
  EXPECT_EQ(ParseMemoryLimit("9223372036854771712\n"), std::nullopt);
  EXPECT_EQ(ParseMemoryLimit(""), std::nullopt);
  EXPECT_EQ(ParseMemoryLimit("-5"), std::nullopt);
  EXPECT_EQ(ParseStatValue("anon 5\ninactive_file 77\n", "inactive_file"), 77U);
  EXPECT_EQ(ParseStatValue("total_inactive_file 77\n", "inactive_file"), std::nullopt);
}

TEST(CgroupPaths, AreFoundByController) {
  const std::string v1 = "12:cpu,cpuacct:/docker/abc\n3:memory:/m\n1:name=systemd:/x\n0::/u\n";
  EXPECT_EQ(CgroupPath(v1, "cpu"), "/docker/abc");
  EXPECT_EQ(CgroupPath(v1, "memory"), "/m");
  EXPECT_EQ(CgroupPath(v1, ""), "/u");
  EXPECT_EQ(CgroupPath(v1, "pids"), std::nullopt);
  EXPECT_EQ(CgroupPath("0::/a:b\n", ""), "/a:b");
  EXPECT_EQ(CgroupPath("nonsense", ""), std::nullopt);
}

/// A made-up /proc and /sys.
class CgroupTree : public testing::Test {
 protected:
  ~CgroupTree() override { (void)RemoveAll(root_).ok(); }
  void Put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(MakeFolders(ParentFolder(root_ + path)).ok());
    ASSERT_TRUE(WriteFileAtomic(root_ + path, text).ok());
  }
  const std::string root_ = testing::TempDir() + "/cgroup." + std::to_string(getpid());
};

TEST_F(CgroupTree, Version2TakesTheTightestOfTheGroupAndItsParents) {
  Put("/proc/self/cgroup", "0::/outer/inner\n");
  Put("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  Put("/sys/fs/cgroup/outer/cpu.max", "200000 100000\n");
  Put("/sys/fs/cgroup/outer/inner/memory.max", "8000\n");
  Put("/sys/fs/cgroup/outer/inner/memory.current", "3000\n");
  Put("/sys/fs/cgroup/outer/inner/memory.stat", "anon 1\ninactive_file 1000\n");
  Put("/sys/fs/cgroup/outer/memory.max", "9000\n");
  Put("/sys/fs/cgroup/outer/memory.current", "5000\n");
  const CgroupLimits limits = ReadCgroupLimits(root_);
  EXPECT_EQ(limits.cpu_cores, 2.0);
  EXPECT_EQ(limits.memory_bytes, 8000U);
  EXPECT_EQ(limits.memory_used_bytes, 2000U);
}

TEST_F(CgroupTree, Version1IsReadWhereTheContainersMountShowsIt) {
  // The path is the host's; inside the container the mount itself is the group.
  Put("/proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n5:memory:/docker/abc\n");
  Put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
  Put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  Put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n");
  const CgroupLimits limits = ReadCgroupLimits(root_);
  EXPECT_EQ(limits.cpu_cores, 2.5);
  EXPECT_EQ(limits.memory_bytes, 1048576U);
  EXPECT_EQ(limits.memory_used_bytes, std::nullopt);
}

TEST_F(CgroupTree, NothingToReadIsNoLimit) {
  const CgroupLimits limits = ReadCgroupLimits(root_);
  EXPECT_EQ(limits.cpu_cores, std::nullopt);
  EXPECT_EQ(limits.memory_bytes, std::nullopt);
}

}  // namespace
}  // namespace sg
