#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/testing.h"
#include "trace/nsys_command.h"
#include "trace/nsys_export.h"
#include "trace/time_tables.h"
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"

namespace sg::trace {
namespace {

bool Has(const std::vector<std::string>& argv, const std::string& word) {
  return std::find(argv.begin(), argv.end(), word) != argv.end();
}

NsysVersion Version(const char* text) { return ParseNsysVersion(text).value(); }

TEST(NsysCommand, ReadsVersions) {
  const NsysVersion version = Version("NVIDIA Nsight Systems version 2022.4.2.1-df9881f\n");
  EXPECT_EQ(version.year, 2022);
  EXPECT_EQ(version.minor, 4);
  EXPECT_EQ(version.text, "2022.4.2.1");
  EXPECT_EQ(Version("NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0").minor, 3);
  EXPECT_FALSE(ParseNsysVersion("nsys: command not found"));
  EXPECT_FALSE(ParseNsysVersion(""));
}

TEST(NsysCommand, OptionsFollowTheVersion) {
  NsysRequest request;
  request.output = "/tmp/a b";
  request.duration_s = 30;
  request.program = {"gst-launch-1.0", "fakesrc"};
  const auto old = NsysProfileCommand(Version("2020.3.1"), NsysRung::kFull, request);
  EXPECT_FALSE(Has(old, "--gpu-metrics-device=all"));
  EXPECT_FALSE(Has(old, "--cpuctxsw=none"));
  const auto middle = NsysProfileCommand(Version("2022.4.2"), NsysRung::kFull, request);
  EXPECT_TRUE(Has(middle, "--gpu-metrics-device=all"));
  EXPECT_TRUE(Has(middle, "--output=/tmp/a b"));
  EXPECT_TRUE(Has(middle, "--duration=30"));
  EXPECT_EQ(middle.back(), "fakesrc");
  EXPECT_TRUE(Has(NsysProfileCommand(Version("2025.1"), NsysRung::kFull, request),
                  "--gpu-metrics-devices=all"));
  request.has_gpu = false;
  EXPECT_FALSE(Has(NsysProfileCommand(Version("2022.4.2"), NsysRung::kFull, request),
                   "--gpu-metrics-device=all"));
}

TEST(NsysCommand, TheFirstRungIsTheWholeLine) {
  NsysRequest request;
  request.output = "/tmp/ds_profile_1";
  request.duration_s = 30;
  request.program = {"deepstream-app", "-c", "a b.txt"};
  EXPECT_EQ(NsysProfileCommand(Version("2025.1"), NsysRung::kFull, request),
            (std::vector<std::string>{"nsys", "profile", "--trace=cuda,nvtx,osrt",
                                      "--gpu-metrics-devices=all", "--cuda-memory-usage=true",
                                      "--force-overwrite=true", "--duration=30",
                                      "--output=/tmp/ds_profile_1", "deepstream-app", "-c",
                                      "a b.txt"}));
}

TEST(NsysCommand, EachRungAsksForLess) {
  NsysRequest request;
  size_t last = SIZE_MAX;
  for (const NsysRung rung : kNsysRungs) {
    const auto argv = NsysProfileCommand(Version("2022.4.2"), rung, request);
    size_t size = 0;
    for (const std::string& word : argv) size += word.size();
    EXPECT_LT(size, last);
    last = size;
  }
}

TEST(NsysCommand, ReportsHaveTheNamesOfTheVersion) {
  EXPECT_NE(NsysStatsCommand(Version("2022.4.2"), "a")[5].find("gpukernsum"), std::string::npos);
  EXPECT_NE(NsysStatsCommand(Version("2023.1.1"), "a")[5].find("cuda_gpu_kern_sum"),
            std::string::npos);
}

TEST(NsysCommand, FindsTheImporterBesideNsysFirst) {
  const std::string beside = "/opt/nvidia/nsight-systems/2024.1/host-linux-x64/QdstrmImporter";
  const std::string debian = "/usr/lib/nsight-systems/host-linux-x64/QdstrmImporter";
  const auto both = [&](const std::string& path) { return path == beside || path == debian; };
  EXPECT_EQ(FindQdstrmImporter("/opt/nvidia/nsight-systems/2024.1/bin/nsys", both), beside);
  EXPECT_EQ(FindQdstrmImporter("/usr/bin/nsys", both), debian);
  EXPECT_EQ(FindQdstrmImporter("", [](const std::string&) { return false; }), "");
}

TEST(NsysStats, SaysWhereALineMakesNoSense) {
  const auto short_row = ParseNsysStats("Total Time (ns),Num Calls,Name\n5,1\n", "a.csv");
  ASSERT_FALSE(short_row.ok());
  EXPECT_NE(short_row.error().message.find("a.csv:2"), std::string::npos);
  EXPECT_FALSE(ParseNsysStats("Total Time (ns),Num Calls,Name\nx,1,a\n", "a.csv").ok());
  EXPECT_FALSE(ParseNsysStats("", "a.csv").ok());
  EXPECT_FALSE(ParseNsysStats("hello\n", "a.csv").ok());
}

TEST(NsysStats, LargeTimesStayExact) {
  const auto tables =
      ParseNsysStats("Total Time (ns),Num Calls,Name\n9007199254740993,1,a\n", "a.csv");
  ASSERT_TRUE(tables.ok());
  EXPECT_EQ(tables->api[0].total_ns, 9007199254740993);
}

TEST(RangeNames, WhatCountsUpIsNormalised) {
  EXPECT_EQ(NormalizedRangeName("buffer_process batch_num=12"), "buffer_process batch_num=N");
  EXPECT_EQ(NormalizedRangeName("dequeueOutputAndAttachMeta batch_num=7 UID=3"),
            "dequeueOutputAndAttachMeta batch_num=N UID=N");
  EXPECT_EQ(NormalizedRangeName("nvinfer_Frame=9"), "nvinfer_Frame=N");
  EXPECT_EQ(NormalizedRangeName("Batch = 4"), "Batch = N");
  EXPECT_EQ(NormalizedRangeName("Frame=12,Batch:3"), "Frame=N,Batch:N");
  EXPECT_EQ(NormalizedRangeName("Frame= and Frame=x, uid"), "Frame= and Frame=x, uid");
  EXPECT_EQ(NormalizedRangeName("conv1 + relu1"), "conv1 + relu1");
  EXPECT_EQ(NormalizedRangeName(""), "");
}

TEST(TraceTables, TheGpusRecordsBecomeTables) {
  const TempFolder folder;
  {
    TraceOptions options;
    options.path = folder / "a.sgtrace";
    options.max_bytes = 1 << 24;
    const auto writer = *std::move(TraceWriter::Create(options));
    ThreadTrace thread = writer->NewThread();
    const uint64_t now = MonotonicNs();
    thread.WriteText(RecordType::kNameDef, 1, now, "gemm");
    using Words = std::array<uint64_t, 4>;
    thread.Write(RecordType::kGpuKernel, 1, now, Words{100, 300, 0, 1});
    thread.Write(RecordType::kGpuKernel, 1, now, Words{200, 500, 0, 2});  // on another stream
    thread.Write(RecordType::kGpuCopy, kCopyHostToDevice, now, Words{600, 700, 0, 4096});
    thread.Write(RecordType::kApiCall, 1, now, Words{50, 60, 7, 1});
    thread.Write(RecordType::kGpuSync, 1, now, std::array<uint64_t, 3>{700, 900, 0});
    for (const auto& [what, bytes, address] :
         {std::tuple(1u, 100u, 1u), std::tuple(1u, 50u, 2u), std::tuple(2u, 100u, 1u),
          std::tuple(1u, 20u, 3u), std::tuple(2u, 9u, 77u)})
      thread.Write(RecordType::kGpuMemory, what, now, std::array<uint64_t, 3>{bytes, address, 0});
  }
  const ProfileTables tables = TablesOfTrace(*TraceFile::Open(folder / "a.sgtrace"));
  ASSERT_EQ(tables.kernels.size(), 1u);
  EXPECT_EQ(tables.kernels[0].name, "gemm");
  EXPECT_EQ(tables.kernels[0].total_ns, 500);
  EXPECT_EQ(tables.kernels[0].count, 2u);
  EXPECT_EQ(tables.copies[0].bytes, 4096u);
  EXPECT_EQ(tables.syncs[0].total_ns, 200);
  EXPECT_EQ(tables.api[0].total_ns, 10);
  EXPECT_EQ(tables.gpu_busy_ns, 400 + 100);
  EXPECT_EQ(tables.memory_peak_bytes, 150u);
}

TEST(BusySpans, OverlapsCountOnce) {
  BusySpans spans = {{10, 20}, {0, 5}, {15, 30}, {16, 17}, {30, 31}};
  EXPECT_EQ(UnionNs(&spans), 5 + 20 + 1);
  BusySpans none;
  EXPECT_EQ(UnionNs(&none), 0);
}

}  // namespace
}  // namespace sg::trace
