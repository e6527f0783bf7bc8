#include "pipeline/file_check.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/testing.h"

namespace sg {
namespace {

class FileCheck : public testing::Test {
 protected:
  std::string Complaint(const std::string& bytes) {
    const std::string path = folder_ / "a.mp4";
    EXPECT_TRUE(WriteFileAtomic(path, bytes).ok());
    const Status status = CheckVideoFile(path);
    if (status.ok()) return "";
    EXPECT_EQ(status.error().kind, ErrorKind::kUser);
    EXPECT_EQ(status.error().message.rfind(path + ": ", 0), 0u);
    return status.error().message.substr(path.size() + 2);
  }
  const TempFolder folder_;
};

TEST_F(FileCheck, NamesAMissingFile) {
  const Status status = CheckVideoFile(folder_ / "none.mp4");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::kUser);
  EXPECT_EQ(status.error().message, (folder_ / "none.mp4") + ": no such file");
}

TEST_F(FileCheck, NamesAFolder) {
  EXPECT_EQ(CheckVideoFile(folder_.path()).error().message,
            folder_.path() + ": is a folder, not a video file");
}

TEST_F(FileCheck, DoesNotWaitForAPipe) {
  ASSERT_EQ(mkfifo((folder_ / "pipe.mp4").c_str(), 0600), 0);
  EXPECT_FALSE(CheckVideoFile(folder_ / "pipe.mp4").ok());
}

TEST_F(FileCheck, NamesAnEmptyFile) { EXPECT_EQ(Complaint(""), "is empty (0 bytes)"); }

TEST_F(FileCheck, NamesAWebPage) {
  for (const char* page : {"<!DOCTYPE html><html>", "\n  <HTML lang=\"tr\">", "\xef\xbb\xbf<html>",
                           "<!doctype html>\n<p>Datei nicht gefunden \xc3\xbc</p>"})
    EXPECT_EQ(Complaint(page).rfind("is a web page, not a video", 0), 0u) << page;
}

TEST_F(FileCheck, NamesAText) {
  EXPECT_EQ(Complaint("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n"),
            "is a text file, not a video");
}

TEST_F(FileCheck, NamesACutOffAvi) {
  const std::string riff = std::string("RIFF") + "\xf4\x01" + std::string(2, '\0') + "AVI ";
  EXPECT_EQ(Complaint(riff + std::string(88, '\0')), "is cut off: 100 of 508 bytes are there");
  EXPECT_EQ(Complaint(riff + std::string(496, '\0')), "");
}

TEST_F(FileCheck, NamesACutOffMp4) {
  const std::string mdat = std::string("\0\0\x01\0mdat", 8);
  EXPECT_EQ(Complaint(mdat + std::string(100, '\0')), "is cut off: 108 of 256 bytes are there");
}

TEST_F(FileCheck, LeavesOtherBinaryFilesToTheDecoder) {
  EXPECT_EQ(Complaint(std::string("\x1a\x45\xdf\xa3\0\0", 6)), "");
}

}  // namespace
}  // namespace sg
