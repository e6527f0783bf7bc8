#include "base/process_sampler.h"

#include <gtest/gtest.h>

#include "base/cgroup.h"
#include "base/files.h"
#include "base/testing.h"

namespace sg {
namespace {

constexpr char kStat[] =
    "cpu  300 0 200 1000 0 0 0 50 0 0\n"
    "cpu0 100 10 100 500 7 3 2 50 0 0\n"
    "cpu1 200 0 100 500 0 0 0 0 0 0\n"
    "intr 1 2 3\n";

TEST(ProcStat, SumsTheCoresThatAreOurs) {
  const double tick_s = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto both = ParseProcStat(kStat, {});
  ASSERT_TRUE(both.has_value());
  EXPECT_NEAR(both->busy_s, 515 * tick_s, 1e-9);
  EXPECT_NEAR(both->steal_s, 50 * tick_s, 1e-9);
  EXPECT_NEAR(ParseProcStat(kStat, {1})->busy_s, 300 * tick_s, 1e-9);
  EXPECT_FALSE(ParseProcStat(kStat, {7}).has_value());
  EXPECT_FALSE(ParseProcStat("", {}).has_value());
  EXPECT_FALSE(ParseProcStat("cpu0 x\n", {}).has_value());
}

TEST(CpuMhz, IsTheMean) {
  EXPECT_EQ(ParseCpuMhz("model name\t: x\ncpu MHz\t\t: 2000.5\ncpu MHz\t\t: 3000.5\n"), 2500.5);
  EXPECT_FALSE(ParseCpuMhz("processor : 0\n").has_value());
}

TEST(Throttled, ReadsBothVersions) {
  const TempFolder folder;
  const std::string root = folder / "v2";
  ASSERT_TRUE(MakeFolders(root + "/proc/self").ok());
  ASSERT_TRUE(MakeFolders(root + "/sys/fs/cgroup/a").ok());
  ASSERT_TRUE(WriteFileAtomic(root + "/proc/self/cgroup", "0::/a\n").ok());
  ASSERT_TRUE(WriteFileAtomic(root + "/sys/fs/cgroup/a/cpu.stat",
                              "nr_throttled 3\nthrottled_usec 1500000\n")
                  .ok());
  EXPECT_EQ(ReadThrottledSeconds(root), 1.5);
  const std::string old = folder / "v1";
  ASSERT_TRUE(MakeFolders(old + "/proc/self").ok());
  ASSERT_TRUE(MakeFolders(old + "/sys/fs/cgroup/cpu/b").ok());
  ASSERT_TRUE(WriteFileAtomic(old + "/proc/self/cgroup", "3:cpu:/b\n").ok());
  ASSERT_TRUE(
      WriteFileAtomic(old + "/sys/fs/cgroup/cpu/b/cpu.stat", "throttled_time 2500000000\n").ok());
  EXPECT_EQ(ReadThrottledSeconds(old), 2.5);
  EXPECT_FALSE(ReadThrottledSeconds(folder / "none").has_value());
}

TEST(ProcessSampler, KnowsThisProcess) {
  const SecondSample sample = SampleProcess(5);
  EXPECT_EQ(sample.time_ns, 5);
  EXPECT_GT(sample.cpu_s, 0);
  EXPECT_GT(sample.rss_bytes, 1'000'000u);
  ASSERT_TRUE(sample.steal_s.has_value());
}

}  // namespace
}  // namespace sg
