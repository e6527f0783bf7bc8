#include <gtest/gtest.h>

#include "base/files.h"
#include "base/journal.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/testing.h"

namespace sg {
namespace {

TEST(Status, KindsAreTheExitCodes) {
  EXPECT_EQ(static_cast<int>(ErrorKind::kGate), 1);
  EXPECT_EQ(static_cast<int>(ErrorKind::kUser), 2);
  EXPECT_EQ(static_cast<int>(ErrorKind::kEnvironment), 3);
  EXPECT_EQ(static_cast<int>(ErrorKind::kUnsupported), 4);
  EXPECT_EQ(static_cast<int>(ErrorKind::kInternal), 5);
  EXPECT_EQ(static_cast<int>(ErrorKind::kInterrupted), 130);
}

TEST(Status, KindNamesReadBack) {
  for (ErrorKind kind : {ErrorKind::kGate, ErrorKind::kUser, ErrorKind::kEnvironment,
                         ErrorKind::kUnsupported, ErrorKind::kInternal, ErrorKind::kInterrupted})
    EXPECT_EQ(ErrorKindFromName(ErrorKindName(kind)), kind);
}

TEST(Json, ErrorsNameTheFileInOneLine) {
  const Result<Json> json = ParseJson("{\"a\": ", "config.json");
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(json.error().kind, ErrorKind::kUser);
  EXPECT_EQ(json.error().message.rfind("config.json: not valid JSON: ", 0), 0u);
  EXPECT_EQ(json.error().message.find('\n'), std::string::npos);
}

TEST(Json, InvalidUtf8DoesNotThrow) { EXPECT_EQ(ToJsonLine(Json("\xff")), "\"\xEF\xBF\xBD\""); }

JournalRecord BuildStep(const std::string& key) {
  return {"build", key, {{"images_per_s", 161.5}}, 2.5, {"engine.blob"}, ""};
}

TEST(Journal, AFinishedStepIsFoundAgainWithItsValues) {
  const TempFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "engine.blob", "bytes").ok());
  Result<Journal> journal = Journal::Open(folder.path());
  ASSERT_TRUE(journal.ok());
  ASSERT_TRUE(journal->Append(BuildStep("k1")).ok());

  const Result<Journal> reopened = Journal::Open(folder.path());
  const auto found = reopened->Find("build", "k1");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->values["images_per_s"], 161.5);
  EXPECT_EQ(found->seconds, 2.5);
  EXPECT_FALSE(reopened->Find("build", "k2").has_value());
  EXPECT_FALSE(reopened->Find("report", "k1").has_value());
}

TEST(Journal, TheDigestFollowsValuesAndBytesAndOutlivesTheProcess) {
  const TempFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "engine.blob", "bytes").ok());
  Result<Journal> journal = Journal::Open(folder.path());
  const Result<JournalRecord> first = journal->Append(BuildStep("k1"));
  EXPECT_EQ(Journal::Open(folder.path())->Find("build", "k1")->digest, first->digest);
  ASSERT_TRUE(WriteFileAtomic(folder / "engine.blob", "other bytes").ok());
  EXPECT_NE(journal->Append(BuildStep("k1"))->digest, first->digest);
}

TEST(Journal, AFileThatAStepNamesTwiceIsOneFile) {
  const TempFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "engine.blob", "bytes").ok());
  ASSERT_TRUE(WriteFileAtomic(folder / "log", "lines").ok());
  Result<Journal> journal = Journal::Open(folder.path());
  JournalRecord step = BuildStep("k1");
  step.files = {"log", "log", "engine.blob"};
  const Result<JournalRecord> first = journal->Append(step);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(journal->Find("build", "k1").has_value());
  EXPECT_EQ(Journal::Open(folder.path())->Find("build", "k1")->digest, first->digest);
}

TEST(Journal, AStepWhoseFileChangedOrWentIsNotDone) {
  const TempFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "engine.blob", "bytes").ok());
  Result<Journal> journal = Journal::Open(folder.path());
  ASSERT_TRUE(journal->Append(BuildStep("k1")).ok());
  ASSERT_TRUE(WriteFileAtomic(folder / "engine.blob", "bytfs").ok());
  EXPECT_FALSE(journal->Find("build", "k1").has_value());
  ASSERT_TRUE(RemoveAll(folder / "engine.blob").ok());
  EXPECT_FALSE(journal->Find("build", "k1").has_value());
}

TEST(Journal, OnlyTheLastRecordOfAStepCounts) {
  const TempFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "engine.blob", "bytes").ok());
  Result<Journal> journal = Journal::Open(folder.path());
  ASSERT_TRUE(journal->Append(BuildStep("k1")).ok());
  ASSERT_TRUE(journal->Append(BuildStep("k2")).ok());
  EXPECT_FALSE(journal->Find("build", "k1").has_value());
  EXPECT_TRUE(journal->Find("build", "k2").has_value());
}

TEST(Journal, ACutLastLineIsDroppedAndTheRestKept) {
  const TempFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "engine.blob", "bytes").ok());
  Result<Journal> journal = Journal::Open(folder.path());
  ASSERT_TRUE(journal->Append(BuildStep("k1")).ok());
  const std::string path = folder / ".journal.jsonl";
  const std::string whole = *ReadFile(path);
  ASSERT_TRUE(WriteFileAtomic(path, whole + whole.substr(0, whole.size() / 2)).ok());
  Result<Journal> reopened = Journal::Open(folder.path());
  EXPECT_TRUE(reopened->Find("build", "k1").has_value());
  ASSERT_TRUE(reopened->Append({"report", "k", {}, 1, {}, ""}).ok());
  const Result<Journal> again = Journal::Open(folder.path());
  EXPECT_TRUE(again->Find("build", "k1").has_value());
  EXPECT_TRUE(again->Find("report", "k").has_value());
}

TEST(Log, PasswordsInUrlsAreMasked) {
  EXPECT_EQ(MaskSecrets("open rtsp://user:P%40ss%21@cam/1 failed"), "open rtsp://***@cam/1 failed");
  EXPECT_EQ(MaskSecrets("srt://h:1?passphrase=top&mode=caller"),
            "srt://h:1?passphrase=***&mode=caller");
  EXPECT_EQ(MaskSecrets("https://h/x?API_KEY=1&TOKEN=2'"), "https://h/x?API_KEY=***&TOKEN=***'");
  EXPECT_EQ(MaskSecrets("rtsp://a:p@ss@cam rtsp://cam/a@b"), "rtsp://***@cam rtsp://cam/a@b");
  EXPECT_EQ(MaskSecrets("/videos/a@b.mp4 token="), "/videos/a@b.mp4 token=");
}

TEST(Progress, ClockText) {
  EXPECT_EQ(ClockText(0), "0:00");
  EXPECT_EQ(ClockText(67.4), "1:07");
  EXPECT_EQ(ClockText(7390), "2:03:10");
  EXPECT_EQ(ClockText(-3), "0:00");
}

}  // namespace
}  // namespace sg
