#include "base/processor.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace sg {
namespace {

TEST(Processor, X86IsReadByNameAndFlags) {
  const Processor processor = ParseCpuInfo(
      "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 143\n"
      "model name\t: Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz\n"
      "flags\t\t: fpu sse4_2 avx2 avx512f amx_bf16 avx512_bf16 vme\n\n"
      "processor\t: 1\nmodel name\t: another\nflags\t\t: avx2 amx_tile\n");
  EXPECT_EQ(processor.model_name, "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz");
  EXPECT_EQ(processor.FeatureKey(), "amx_bf16+amx_tile+avx2+avx512_bf16+avx512f+sse4_2");
}

TEST(Processor, ArmHasNumbersForAName) {
  const Processor processor = ParseCpuInfo(
      "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd aes asimdhp i8mm bf16 sve\n"
      "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd40\n\n"
      "processor\t: 1\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
  EXPECT_EQ(processor.model_name, "CPU implementer 0x41, CPU part 0xd40");
  EXPECT_EQ(processor.FeatureKey(), "asimd+asimdhp+bf16+i8mm+sve");
}

TEST(Processor, NonsenseIsUnknown) {
  for (const char* text : {"", "\n\n", "no colon", ":::", "flags"}) {
    EXPECT_EQ(ParseCpuInfo(text).model_name, "");
    EXPECT_EQ(ParseCpuInfo(text).FeatureKey(), "");
  }
}

TEST(Processor, UsableCoresFollowTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(AffinityCores(), CPU_COUNT(&before));
  EXPECT_LE(UsableCores(), AffinityCores());
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(AffinityCores(), 1);
  EXPECT_EQ(UsableCores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace sg
