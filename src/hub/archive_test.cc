#include "hub/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/files.h"
#include "base/testing.h"

namespace sg {
namespace {

struct Entry {
  std::string path;
  std::string bytes = "";
  unsigned type = AE_IFREG;
  std::string link = "";  ///< target of a symbolic ("s:…") or hard ("h:…") link
};

/// Writes an archive with libarchive; its kind is that of the name's end.
void WriteArchive(const std::string& file, const std::vector<Entry>& entries,
                  const char* password = nullptr) {
  archive* writer = archive_write_new();
  if (file.ends_with(".zip")) {
    archive_write_set_format_zip(writer);
    archive_write_set_options(writer, "zip:compression=store");
    if (password != nullptr) {
      archive_write_set_options(writer, "zip:encryption=traditional");
      archive_write_set_passphrase(writer, password);
    }
  } else {
    archive_write_set_format_gnutar(writer);
    if (file.ends_with("gz")) archive_write_add_filter_gzip(writer);
  }
  ASSERT_EQ(archive_write_open_filename(writer, file.c_str()), ARCHIVE_OK);
  for (const Entry& one : entries) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, one.path.c_str());
    archive_entry_set_filetype(entry, one.type);
    archive_entry_set_perm(entry, 04755);
    archive_entry_set_size(entry, static_cast<la_int64_t>(one.bytes.size()));
    if (one.link.starts_with("s:")) archive_entry_set_symlink(entry, one.link.c_str() + 2);
    if (one.link.starts_with("h:")) archive_entry_set_hardlink(entry, one.link.c_str() + 2);
    ASSERT_EQ(archive_write_header(writer, entry), ARCHIVE_OK) << archive_error_string(writer);
    archive_write_data(writer, one.bytes.data(), one.bytes.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
}

class Archive : public testing::Test {
 protected:
  Result<std::vector<std::string>> Unpack(const std::string& name,
                                          const std::vector<Entry>& entries,
                                          const ArchiveLimits& limits = {}) {
    WriteArchive(folder_ / name, entries);
    return UnpackArchive(folder_ / name, folder_ / "out", limits);
  }
  /// Refused with the word, and nothing is left.
  void ExpectRefused(const Result<std::vector<std::string>>& result, const std::string& word) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::kUser) << result.error().message;
    EXPECT_NE(result.error().message.find(word), std::string::npos) << result.error().message;
    EXPECT_FALSE(FolderExists(folder_ / "out"));
    EXPECT_FALSE(FolderExists(folder_ / "out.part"));
  }
  TempFolder folder_;
};

TEST_F(Archive, EveryKindIsUnpacked) {
  for (const char* name : {"a.zip", "a.tar", "a.tar.gz", "a.tgz"}) {
    const auto files = Unpack(name, {{"m/config.json", "{}"}, {"m/onnx/model.onnx", "weights"}});
    ASSERT_TRUE(files.ok()) << files.error().message;
    EXPECT_EQ(*files, (std::vector<std::string>{"m/config.json", "m/onnx/model.onnx"}));
    EXPECT_EQ(*ReadFile(folder_ / "out/m/onnx/model.onnx"), "weights");
    EXPECT_TRUE(IsArchiveName(name));
  }
  EXPECT_FALSE(IsArchiveName("model.onnx"));
  EXPECT_TRUE(IsArchiveName("MODEL.ZIP"));
}

TEST_F(Archive, ADotAndFoldersInFrontAreNotNames) {
  const auto files =
      Unpack("a.tar", {{"./", "", AE_IFDIR}, {"./m/", "", AE_IFDIR}, {"./m/a", "1"}});
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_EQ(*files, std::vector<std::string>{"m/a"});
}

TEST_F(Archive, NamesThatLeadOutAreRefused) {
  for (const char* path :
       {"../a", "m/../../a", "/etc/a", "m/..", "..\\a", "C:\\a", "m//a", "a\nb"}) {
    ExpectRefused(Unpack("a.tar", {{"good", "1"}, {path, "2"}}), "nothing was unpacked");
  }
  EXPECT_FALSE(FileExists(folder_ / "a"));
}

TEST_F(Archive, LinksAndDevicesAreRefused) {
  ExpectRefused(Unpack("a.tar", {{"l", "", AE_IFLNK, "s:/etc/passwd"}}), "link");
  ExpectRefused(Unpack("a.tar", {{"a", "1"}, {"b", "", AE_IFREG, "h:a"}}), "link");
  ExpectRefused(Unpack("a.zip", {{"l", "", AE_IFLNK, "s:x"}}), "link");
  ExpectRefused(Unpack("a.tar", {{"p", "", AE_IFIFO}}), "not a file");
}

TEST_F(Archive, NamesThatMeetAreRefused) {
  ExpectRefused(Unpack("a.zip", {{"a", "1"}, {"a", "2"}}), "twice");
  ExpectRefused(Unpack("a.zip", {{"Model.onnx", "1"}, {"model.onnx", "2"}}), "twice");
  ExpectRefused(Unpack("a.tar", {{"a", "1"}, {"a/b", "2"}}), "");
}

TEST_F(Archive, BombsAreRefusedWhileTheyUnpack) {
  ArchiveLimits limits;
  limits.max_bytes = 1000;
  ExpectRefused(
      Unpack("a.zip", {{"a", std::string(600, 'x')}, {"b", std::string(600, 'y')}}, limits),
      "unpacked");
  limits = {};
  limits.max_files = 3;
  ExpectRefused(Unpack("a.zip", {{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}}, limits), "3 files");
  ExpectRefused(Unpack("a.tar.gz", {{"zeros", std::string(size_t{128} << 20, '\0')}}), "bomb");
}

TEST_F(Archive, EncryptedAndDamagedOnesAreRefused) {
  WriteArchive(folder_ / "a.zip", {{"a", "secret"}}, "word");
  ExpectRefused(UnpackArchive(folder_ / "a.zip", folder_ / "out"), "encrypted");
  WriteArchive(folder_ / "a.tar.gz", {{"a", std::string(100000, 'a')}, {"b", "1"}});
  std::string bytes = *ReadFile(folder_ / "a.tar.gz");
  for (const size_t size : {size_t{0}, size_t{5}, bytes.size() / 4, bytes.size() / 2}) {
    ASSERT_TRUE(WriteFileAtomic(folder_ / "cut.tar.gz", bytes.substr(0, size)).ok());
    ExpectRefused(UnpackArchive(folder_ / "cut.tar.gz", folder_ / "out"), "");
  }
  WriteArchive(folder_ / "a.zip", {{"a", "some bytes that are stored"}});
  bytes = *ReadFile(folder_ / "a.zip");
  bytes[bytes.find("stored")] ^= 1;
  ASSERT_TRUE(WriteFileAtomic(folder_ / "b.zip", bytes).ok());
  ExpectRefused(UnpackArchive(folder_ / "b.zip", folder_ / "out"), "");
  ASSERT_TRUE(WriteFileAtomic(folder_ / "page.zip", "<html>no archive</html>").ok());
  ExpectRefused(UnpackArchive(folder_ / "page.zip", folder_ / "out"), "no archive");
}

TEST_F(Archive, AnOlderFolderIsReplacedOnlyByAWholeOne) {
  ASSERT_TRUE(MakeFolders(folder_ / "out").ok());
  ASSERT_TRUE(WriteFileAtomic(folder_ / "out/old", "1").ok());
  ASSERT_TRUE(WriteFileAtomic(folder_ / "bad.zip", "no").ok());
  EXPECT_FALSE(UnpackArchive(folder_ / "bad.zip", folder_ / "out").ok());
  EXPECT_TRUE(FileExists(folder_ / "out/old"));
  ASSERT_TRUE(Unpack("a.zip", {{"new", "2"}}).ok());
  EXPECT_FALSE(FileExists(folder_ / "out/old"));
}

TEST_F(Archive, AKillNeverLosesTheOlderFolder) {
  std::vector<Entry> entries;
  for (int i = 0; i < 200; ++i) entries.push_back({fmt::format("m/{}", i), "weights"});
  ASSERT_TRUE(Unpack("a.zip", entries).ok());
  ASSERT_TRUE(WriteFileAtomic(folder_ / "bad.zip", "no").ok());
  int interrupted = 0;
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      while (UnpackArchive(folder_ / "a.zip", folder_ / "out").ok()) continue;
      _exit(1);
    }
    usleep(static_cast<useconds_t>(2000 + 777 * i));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    if (FolderExists(folder_ / "out.part") || FolderExists(folder_ / "out.old")) ++interrupted;
    // Nothing new comes, so it is the older one that has to be there.
    EXPECT_FALSE(UnpackArchive(folder_ / "bad.zip", folder_ / "out").ok());
    for (const Entry& entry : entries) {
      ASSERT_TRUE(FileExists(folder_ / "out/" + entry.path)) << entry.path << " in round " << i;
    }
    ASSERT_FALSE(FolderExists(folder_ / "out.old"));
  }
  EXPECT_GT(interrupted, 0) << "no kill came in the middle";
}

TEST_F(Archive, AnOlderFolderThatAKillPutAsideComesBack) {
  ASSERT_TRUE(MakeFolders(folder_ / "out.old").ok());
  ASSERT_TRUE(WriteFileAtomic(folder_ / "out.old/old", "1").ok());
  ASSERT_TRUE(WriteFileAtomic(folder_ / "bad.zip", "no").ok());
  EXPECT_FALSE(UnpackArchive(folder_ / "bad.zip", folder_ / "out").ok());
  EXPECT_TRUE(FileExists(folder_ / "out/old"));
  ASSERT_TRUE(MakeFolders(folder_ / "out.old").ok());
  ASSERT_TRUE(Unpack("a.zip", {{"new", "2"}}).ok());
  EXPECT_FALSE(FolderExists(folder_ / "out.old"));
  EXPECT_TRUE(FileExists(folder_ / "out/new"));
}

}  // namespace
}  // namespace sg
