#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.h"

namespace sg {
namespace {

TEST(Files, WrittenFileIsWholeAndNothingElseIsLeft) {
  const TempFolder folder;
  const std::string path = folder / "a.txt";
  ASSERT_TRUE(WriteFileAtomic(path, "one").ok());
  ASSERT_TRUE(WriteFileAtomic(path, "two").ok());
  EXPECT_EQ(*ReadFile(path), "two");
  EXPECT_EQ(*ListFolder(folder.path()), std::vector<std::string>{"a.txt"});
}

TEST(Files, AFailedWriteLeavesTheOldFileAndNoPart) {
  const TempFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "a", "old").ok());
  ASSERT_EQ(mkdir((folder / "target").c_str(), 0755), 0);
  ASSERT_TRUE(WriteFileAtomic(folder / "target/x", "").ok());
  // The target is a folder that is not empty, so the rename fails.
  const Status status = WriteFileAtomic(folder / "target", "new");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::kEnvironment);
  EXPECT_EQ(*ListFolder(folder.path()), (std::vector<std::string>{"a", "target"}));
}

TEST(Files, ReadErrorsTellMissingFromFolder) {
  const TempFolder folder;
  EXPECT_NE(ReadFile(folder / "none").error().message.find("no such file"), std::string::npos);
  EXPECT_NE(ReadFile(folder.path()).error().message.find("is a folder"), std::string::npos);
  EXPECT_EQ(ReadFile(folder / "none").error().kind, ErrorKind::kUser);
}

TEST(Files, Sha256IsTheStandardsOwnExample) {
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const TempFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "abc", "abc").ok());
  EXPECT_EQ(*Sha256File(folder / "abc"), Sha256("abc"));
}

TEST(Files, CheckWritableWantsTheSpaceAskedFor) {
  const TempFolder folder;
  EXPECT_TRUE(CheckWritable(folder / "not/yet/there", 1 << 20).ok());
  const Status status = CheckWritable(folder.path(), uint64_t{1} << 60);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::kEnvironment);
  EXPECT_NE(status.error().message.find("MiB free"), std::string::npos);
}

TEST(Files, CheckWritableRefusesAFileInThePath) {
  const TempFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "file", "").ok());
  EXPECT_FALSE(CheckWritable(folder / "file/below", 0).ok());
}

TEST(Files, CopyKeepsEveryByte) {
  const TempFolder folder;
  std::string bytes(3 << 20, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
  ASSERT_TRUE(WriteFileAtomic(folder / "a", bytes).ok());
  ASSERT_TRUE(CopyFileAtomic(folder / "a", folder / "b").ok());
  EXPECT_EQ(*ReadFile(folder / "b"), bytes);
}

}  // namespace
}  // namespace sg
