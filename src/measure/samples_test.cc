#include "measure/samples.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing.h"

namespace sg {
namespace {

constexpr char kHeader[] =
    "{\"format\":\"streamgauge-samples\",\"version\":1,\"streams\":[\"a.mp4\",\"b.mp4\"],"
    "\"launch\":\"x\","
    "\"loop\":true,\"warmup_s\":5.0,\"measure_s\":30.0}\n";

Result<RunRecord> Parse(const std::string& lines) {
  return ParseSamples(kHeader + lines, "s.jsonl");
}

std::string ErrorOf(const std::string& lines) {
  const Result<RunRecord> record = Parse(lines);
  return record.ok() ? "" : record.error().message;
}

TEST(Samples, ReadsWhatTheWriterWrote) {
  const TempFolder folder;
  const std::string path = folder / "samples.jsonl";
  {
    auto writer = SamplesWriter::Open(path, {{"streams", {"a", "b"}}, {"tap", "tap"}});
    ASSERT_TRUE(writer.ok());
    (*writer)->AddFrame({1, 7, 100, 250, 3});
    (*writer)->AddFrame({0, 0, -1, 260, 0});
    SecondSample second;
    second.time_ns = 1000;
    second.cpu_s = 1.25;
    second.rss_bytes = 4096;
    second.steal_s = 0.5;
    (*writer)->AddSecond(second);
    ASSERT_TRUE((*writer)->Close("eos").ok());
  }
  const Result<RunRecord> record = ReadSamples(path);
  ASSERT_TRUE(record.ok()) << record.error().message;
  EXPECT_EQ(record->streams, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(record->tap, "tap");
  EXPECT_EQ(record->ended_by, "eos");
  EXPECT_FALSE(record->cut);
  ASSERT_EQ(record->frames.size(), 2u);
  EXPECT_EQ(record->frames[0].stream, 1);
  EXPECT_EQ(record->frames[0].frame, 7u);
  EXPECT_EQ(record->frames[0].capture_ns, 100);
  EXPECT_EQ(record->frames[0].arrival_ns, 250);
  EXPECT_EQ(record->frames[0].boxes, 3);
  EXPECT_EQ(record->frames[1].capture_ns, -1);
  ASSERT_EQ(record->seconds.size(), 1u);
  EXPECT_DOUBLE_EQ(record->seconds[0].cpu_s, 1.25);
  EXPECT_EQ(record->seconds[0].rss_bytes, 4096u);
  EXPECT_EQ(record->seconds[0].steal_s, 0.5);
  EXPECT_FALSE(record->seconds[0].throttled_s.has_value());
}

TEST(Samples, WriterReportsAFullDisk) {
  auto writer = SamplesWriter::Open("/dev/full", {{"streams", {"a"}}});
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().kind, ErrorKind::kEnvironment);
  EXPECT_EQ(writer.error().message.rfind("/dev/full: cannot be written: ", 0), 0u);
}

TEST(Samples, KeepsTheHeader) {
  const Result<RunRecord> record = Parse("");
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->streams.size(), 2u);
  EXPECT_TRUE(record->loop);
  EXPECT_DOUBLE_EQ(record->warmup_s, 5);
  EXPECT_DOUBLE_EQ(record->measure_s, 30);
  EXPECT_EQ(record->ended_by, "");
}

TEST(Samples, LeavesACutLastLineOut) {
  const Result<RunRecord> record = Parse("[0,0,1,2,0]\n[0,1,3,4");
  ASSERT_TRUE(record.ok());
  EXPECT_TRUE(record->cut);
  EXPECT_EQ(record->frames.size(), 1u);
}

TEST(Samples, ALastLineWithoutItsNewlineIsCutEvenWhenItParses) {
  // "[0,1,3,4,1" + "2]\n" would have been another number.
  const Result<RunRecord> record = Parse("[0,0,1,2,0]\n[0,1,3,4,1]");
  ASSERT_TRUE(record.ok());
  EXPECT_TRUE(record->cut);
  EXPECT_EQ(record->frames.size(), 1u);
}

TEST(Samples, SortsByArrival) {
  const Result<RunRecord> record = Parse("[0,0,1,20,0]\n[1,0,1,10,0]\n");
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->frames[0].stream, 1);
}

TEST(Samples, RefusesADamagedLineWithItsPlace) {
  EXPECT_EQ(ErrorOf("[0,0,1,2,0]\n[0,0,x,2,0]\n[0,1,2,3,0]\n"), "s.jsonl:3: not a line of samples");
  EXPECT_EQ(ErrorOf("[0,0,1,2]\n"), "s.jsonl:2: not a line of samples");
  EXPECT_EQ(ErrorOf("[0,0,1,2,0] \n"), "s.jsonl:2: not a line of samples");
  EXPECT_EQ(ErrorOf("[0,-1,1,2,0]\n"), "s.jsonl:2: not a line of samples");
  EXPECT_EQ(ErrorOf("{\"time_ns\":1}\n"), "s.jsonl:2: a value is missing or of the wrong type");
  EXPECT_EQ(ErrorOf("[2,0,1,2,0]\n"), "s.jsonl:2: stream 2 is not one of the header's 2");
  EXPECT_EQ(ErrorOf("[-1,0,1,2,0]\n"), "s.jsonl:2: stream -1 is not one of the header's 2");
  EXPECT_EQ(ErrorOf("[4294967296,0,1,2,0]\n"), "s.jsonl:2: not a line of samples");
}

TEST(Samples, RefusesOtherFiles) {
  EXPECT_EQ(ParseSamples("", "s").error().message, "s: is empty");
  EXPECT_EQ(ParseSamples("hello\n", "s").error().message,
            "s:1: is not a samples file of streamgauge");
  EXPECT_EQ(ParseSamples("{\"format\":\"streamgauge-samples\",\"version\":2}\n", "s").error().kind,
            ErrorKind::kUnsupported);
  EXPECT_EQ(ReadSamples("/nowhere/s.jsonl").error().kind, ErrorKind::kUser);
}

}  // namespace
}  // namespace sg
