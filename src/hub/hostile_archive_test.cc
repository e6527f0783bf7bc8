// Archives made to harm, and archives that came to harm. They are written byte by byte here, for no
// archiver writes them.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <fstream>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/testing.h"
#include "hub/archive.h"

namespace sg {
namespace {

using Files = Result<std::vector<std::string>>;

std::string Bytes(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

struct ZipEntry {
  std::string name;
  std::string bytes = "";
  unsigned mode = S_IFREG | 0644;
  unsigned flags = 0;
  unsigned method = 0;
  uint64_t said_bytes = 0;  ///< unpacked size; 0: the true one
  bool is_zip64 = false;    ///< sizes in the 64-bit field
};

/// What the local and the directory's header share, from the version on.
std::string ZipHeader(const ZipEntry& entry, size_t extra_bytes) {
  const uint64_t size = entry.said_bytes != 0 ? entry.said_bytes : entry.bytes.size();
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(entry.bytes.data()),
                         static_cast<uInt>(entry.bytes.size()));
  return Bytes(entry.is_zip64 ? 45 : 20, 2) + Bytes(entry.flags, 2) + Bytes(entry.method, 2) +
         Bytes(0, 4) + Bytes(crc, 4) + Bytes(entry.is_zip64 ? 0xFFFFFFFF : entry.bytes.size(), 4) +
         Bytes(entry.is_zip64 ? 0xFFFFFFFF : size, 4) + Bytes(entry.name.size(), 2) +
         Bytes(extra_bytes, 2);
}

std::string Zip(const std::vector<ZipEntry>& entries, bool is_zip64 = false) {
  std::string zip;
  std::string directory;
  for (const ZipEntry& entry : entries) {
    const uint64_t size = entry.said_bytes != 0 ? entry.said_bytes : entry.bytes.size();
    const std::string extra =
        entry.is_zip64 ? Bytes(1, 2) + Bytes(16, 2) + Bytes(size, 8) + Bytes(entry.bytes.size(), 8)
                       : "";
    directory += "PK\x01\x02" + Bytes(0x0314, 2) + ZipHeader(entry, extra.size()) + Bytes(0, 6) +
                 Bytes(uint64_t{entry.mode} << 16, 4) + Bytes(zip.size(), 4) + entry.name + extra;
    zip += "PK\x03\x04" + ZipHeader(entry, extra.size()) + entry.name + extra + entry.bytes;
  }
  const uint64_t begin = zip.size();
  zip += directory;
  const uint64_t end = zip.size();
  const uint64_t count = entries.size();
  if (is_zip64) {
    zip += "PK\x06\x06" + Bytes(44, 8) + Bytes(45, 2) + Bytes(45, 2) + Bytes(0, 8) +
           Bytes(count, 8) + Bytes(count, 8) + Bytes(directory.size(), 8) + Bytes(begin, 8);
    zip += "PK\x06\x07" + Bytes(0, 4) + Bytes(end, 8) + Bytes(1, 4);
  }
  const uint64_t none = is_zip64 ? 0xFFFFFFFF : 0;
  zip += "PK\x05\x06" + Bytes(0, 4) + Bytes(none | count, 2) + Bytes(none | count, 2) +
         Bytes(none | directory.size(), 4) + Bytes(none | begin, 4) + Bytes(0, 2);
  return zip;
}

/// One 512-byte header of a tar, and its file's bytes in whole blocks.
std::string TarEntry(const std::string& name, const std::string& bytes, char type = '0') {
  std::string header(512, '\0');
  header.replace(0, std::min<size_t>(name.size(), 100), name, 0, 100);
  header.replace(100, 8, std::string("0004755\0", 8));
  header.replace(124, 12, fmt::format("{:011o}", bytes.size()) + '\0');
  header.replace(136, 12, std::string("00000000000\0", 12));
  header[156] = type;
  header.replace(257, 8, std::string("ustar\00000", 8));
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}

/// A line of a pax header: its length (with itself) before it.
std::string PaxRecord(const std::string& text) {
  size_t length = text.size() + 2;
  while (fmt::format("{} {}\n", length, text).size() != length) ++length;
  return fmt::format("{} {}\n", length, text);
}

std::string Tar(const std::string& entries) { return entries + std::string(1024, '\0'); }

std::string Gzip(const std::string& bytes, int level = 6) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

class HostileArchive : public testing::Test {
 protected:
  Files Unpack(const std::string& bytes, const ArchiveLimits& limits = {}) {
    std::ofstream(folder_ / "a", std::ios::binary) << bytes;
    return UnpackArchive(folder_ / "a", folder_ / "out", limits);
  }
  /// Refused in one line with the word, and only the archive is left.
  void ExpectRefused(const Files& files, const std::string& word,
                     ErrorKind kind = ErrorKind::kUser) {
    ASSERT_FALSE(files.ok()) << "taken, instead of: " << word;
    EXPECT_EQ(files.error().kind, kind) << files.error().message;
    EXPECT_NE(files.error().message.find(word), std::string::npos) << files.error().message;
    EXPECT_EQ(files.error().message.find('\n'), std::string::npos) << files.error().message;
    EXPECT_EQ(files.error().message.rfind(folder_ / "a", 0), 0u) << files.error().message;
    ExpectNothingLeft();
  }
  void ExpectNothingLeft() {
    EXPECT_EQ(*ListFolder(folder_.path()), std::vector<std::string>{"a"});
  }
  std::string Unpacked(const std::string& path) { return *ReadFile(folder_ / ("out/" + path)); }
  TempFolder folder_;
};

TEST_F(HostileArchive, TheArchivesWrittenHereAreTakenWhenNothingIsWrong) {
  for (const std::string& bytes :
       {Zip({{"m/a", "1"}, {"b", "22"}}), Zip({{"m/a", "1"}, {"b", "22"}}, true),
        Tar(TarEntry("m/a", "1") + TarEntry("b", "22")),
        Gzip(Tar(TarEntry("m/a", "1") + TarEntry("b", "22")))}) {
    const Files files = Unpack(bytes);
    ASSERT_TRUE(files.ok()) << files.error().message;
    EXPECT_EQ(*files, (std::vector<std::string>{"b", "m/a"}));
    EXPECT_EQ(Unpacked("m/a") + Unpacked("b"), "122");
  }
}

TEST_F(HostileArchive, EveryCutIsSeen) {
  const std::string tar = Tar(TarEntry("m/a", std::string(600, 'a')) + TarEntry("b", "22"));
  const std::string gzip = Gzip(tar);
  for (const std::string& whole :
       {Zip({{"m/a", "1"}, {"b", "22"}}), Zip({{"m/a", "1"}, {"b", "22"}}, true), gzip}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      SCOPED_TRACE(size);
      ExpectRefused(Unpack(whole.substr(0, size)), "");
      if (HasFailure()) return;
    }
  }
  // A tar is whole with the first block of zeros.
  for (size_t size = 0; size < tar.size() - 512; size += 128) {
    SCOPED_TRACE(size);
    ExpectRefused(Unpack(tar.substr(0, size)), "");
    if (HasFailure()) return;
  }
}

TEST_F(HostileArchive, NoFlippedBitGivesOtherBytes) {
  const std::string model = "the weights of a model";
  const std::string tar = Tar(TarEntry("a", model) + TarEntry("b", model));
  for (const std::string& whole : {Zip({{"a", model}, {"b", model}}), Gzip(tar), Gzip(tar, 0)}) {
    const bool is_zip = whole[0] == 'P';
    // Of the stored tar the zeros are left out: they are all alike.
    const size_t end = std::min<size_t>(whole.size(), 2200);
    size_t taken = 0;
    for (size_t bit = 0; bit < end * 8; bit += 13) {
      std::string bytes = whole;
      bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
      const Files files = Unpack(bytes);
      if (!files.ok()) {
        ExpectNothingLeft();
        continue;
      }
      ++taken;
      SCOPED_TRACE(bit);
      // A zip's names have no checksum.
      ASSERT_EQ(files->size(), 2u);
      if (!is_zip) {
        EXPECT_EQ(*files, (std::vector<std::string>{"a", "b"}));
      }
      for (const std::string& file : *files) ASSERT_EQ(Unpacked(file), model);
      ASSERT_TRUE(RemoveAll(folder_ / "out").ok());
    }
    // Dates, versions and gzip's header of no meaning; most bits mean something.
    EXPECT_LT(taken, end * 8 / 13 / 2);
  }
}

TEST_F(HostileArchive, AWrongChecksumOrSizeIsSeen) {
  std::string bytes = Zip({{"a", "some bytes"}});
  bytes[bytes.find("some bytes")] ^= 1;
  ExpectRefused(Unpack(bytes), "CRC");
  bytes = Gzip(Tar(TarEntry("a", "some bytes")), 0);
  bytes[bytes.find("some bytes")] ^= 1;
  ExpectRefused(Unpack(bytes), "incorrect data check");
  ExpectRefused(Unpack(Zip({{.name = "a", .bytes = "some bytes", .said_bytes = 3}})), "");
  ExpectRefused(Unpack(Zip({{.name = "a", .bytes = "some bytes", .said_bytes = 30}})), "");
}

TEST_F(HostileArchive, EntriesThatShareTheirBytesOrAreMissingAreSeen) {
  for (const bool is_zip64 : {false, true}) {
    const std::string whole = Zip({{"a", "1"}, {"b", "2"}, {"c", "3"}}, is_zip64);
    // The third entry's place is the second's, as in a bomb of overlapping files.
    std::string bytes = whole;
    const size_t second = bytes.find("PK\x01\x02", bytes.find("PK\x01\x02") + 1);
    bytes.replace(bytes.rfind("PK\x01\x02") + 42, 4, bytes.substr(second + 42, 4));
    ExpectRefused(Unpack(bytes), "2 of its 3");
    bytes = whole;
    if (is_zip64) {
      bytes[bytes.rfind("PK\x06\x06") + 24] = bytes[bytes.rfind("PK\x06\x06") + 32] = 4;
    } else {
      bytes[bytes.rfind("PK\x05\x06") + 8] = bytes[bytes.rfind("PK\x05\x06") + 10] = 4;
    }
    ExpectRefused(Unpack(bytes), "3 of its 4");
  }
}

TEST_F(HostileArchive, WhatIsNoArchiveIsTold) {
  ExpectRefused(Unpack("<html>not found</html>"), "no archive");
  ExpectRefused(Unpack(""), "no archive");
  ExpectRefused(Unpack(std::string(4096, '\0')), "");
  ExpectRefused(Unpack(Gzip("\x08\x07 an .onnx file's bytes")), "gunzip it");
  ExpectRefused(Unpack(Gzip("")), "gunzip it");
  ExpectRefused(Unpack(Gzip(Gzip(Tar(TarEntry("a", "1"))))), "gunzip it");
  ExpectRefused(Unpack(Zip({})), "");
  ExpectRefused(Unpack(Zip({{.name = "m/", .mode = S_IFDIR | 0755}})), "no file");
}

TEST_F(HostileArchive, APipeOrAFolderIsNoArchive) {
  ASSERT_EQ(mkfifo((folder_ / "a").c_str(), 0600), 0);
  ExpectRefused(UnpackArchive(folder_ / "a", folder_ / "out"), "regular file");
  ASSERT_TRUE(RemoveAll(folder_ / "a").ok());
  ASSERT_TRUE(MakeFolders(folder_ / "a").ok());
  ExpectRefused(UnpackArchive(folder_ / "a", folder_ / "out"), "regular file");
  ASSERT_TRUE(RemoveAll(folder_ / "a").ok());
  const Files files = UnpackArchive(folder_ / "a", folder_ / "out");
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().kind, ErrorKind::kUser);
}

TEST_F(HostileArchive, NamesInUtf8AreTakenInAnyLocale) {
  const std::string name = "modèle/日本/ünï.onnx";
  constexpr unsigned kUtf8Flag = 0x800;
  const std::string pax = PaxRecord("path=" + name);
  for (const std::string& bytes :
       {Zip({{.name = name, .bytes = "1", .flags = kUtf8Flag}}), Zip({{name, "1"}}),
        Tar(TarEntry(name, "1")), Tar(TarEntry("pax", pax, 'x') + TarEntry("short", "1"))}) {
    const Files files = Unpack(bytes);
    ASSERT_TRUE(files.ok()) << files.error().message;
    EXPECT_EQ(*files, std::vector<std::string>{name});
    EXPECT_EQ(Unpacked(name), "1");
  }
}

TEST_F(HostileArchive, NamesThatCannotBeUsedAreRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"mod\xe8le.onnx", "not UTF-8"},
      {"\xc0\xaf", "not UTF-8"},
      {"\xed\xa0\x80", "not UTF-8"},
      {"cut\xe2\x82", "not UTF-8"},
      {"a\x1b[2J", "control character"},
      {"a\x7f", "control character"},
      {"a\u202exnno.b", "control character"},
      {"../a", "leads out"},
      {"a/../../b", "leads out"},
      {"/etc/passwd", "absolute"},
      {".//etc/passwd", "absolute"},
      {"C:/a", "absolute"},
      {"..\\a", "backslash"},
      {"a/./b", "empty part"},
      {"a//b", "empty part"},
      {std::string(300, 'n'), "too long"},
  };
  for (const auto& [name, word] : cases) {
    SCOPED_TRACE(name);
    if (name.size() < 100) ExpectRefused(Unpack(Tar(TarEntry(name, "1"))), word);
    ExpectRefused(Unpack(Zip({{"good", "1"}, {.name = name, .bytes = "1"}})),
                  "nothing was unpacked");
    ExpectRefused(Unpack(Zip({{.name = name, .bytes = "1", .flags = 0x800}})), "");
  }
  ExpectRefused(Unpack(Zip({{"", "1"}})), "empty name");
  ExpectRefused(Unpack(Tar(TarEntry("", "1"))), "");
}

TEST_F(HostileArchive, NamesThatMeetInAnyScriptOrFolderAreRefused) {
  ExpectRefused(Unpack(Zip({{"é", "1"}, {"É", "2"}})), "twice");
  ExpectRefused(Unpack(Zip({{"я/a", "1"}, {"Я/b", "2"}})), "upper and lower case only");
  ExpectRefused(Unpack(Zip({{"A/x", "1"}, {"a/y", "2"}})), "upper and lower case only");
  ExpectRefused(Unpack(Zip({{"m/b", "1"}, {"M", "2"}})), "both a file and a folder");
  ExpectRefused(Unpack(Zip({{"M", "1"}, {"m/b", "2"}})), "which is a file");
  ExpectRefused(Unpack(Tar(TarEntry("m", "1") + TarEntry("m/", "", '5'))),
                "both a file and a folder");
  ExpectRefused(Unpack(Tar(TarEntry("./m", "1") + TarEntry("m", "2"))), "twice");
}

TEST_F(HostileArchive, WhatIsNoFileIsRefused) {
  for (const char type : {'1', '2', '3', '4', '6'}) {
    SCOPED_TRACE(type);
    ExpectRefused(Unpack(Tar(TarEntry("good", "1") + TarEntry("bad", "", type))), "'bad' is");
  }
  for (const unsigned mode : {S_IFLNK, S_IFCHR, S_IFBLK, S_IFSOCK}) {
    SCOPED_TRACE(mode);
    ExpectRefused(Unpack(Zip({{.name = "bad", .bytes = "/etc/passwd", .mode = mode | 0777}})),
                  "'bad' is");
  }
  // libarchive takes a pipe in a zip for a file, as some archivers write that for files.
  ASSERT_TRUE(Unpack(Zip({{.name = "a", .bytes = "1", .mode = S_IFIFO | 0644}})).ok());
  EXPECT_EQ(Unpacked("a"), "1");
}

TEST_F(HostileArchive, TheSetuidBitIsDropped) {
  for (const std::string& bytes :
       {Tar(TarEntry("a", "1")), Zip({{.name = "a", .bytes = "1", .mode = S_IFREG | 06777}})}) {
    ASSERT_TRUE(Unpack(bytes).ok());
    struct stat info {};
    ASSERT_EQ(stat((folder_ / "out/a").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07133, 0u);
  }
}

TEST_F(HostileArchive, BombsOfManyKindsAreRefused) {
  ArchiveLimits limits;
  limits.max_files = 20;
  std::string folders;
  for (int i = 0; i < 30; ++i) folders += TarEntry(fmt::format("f{}/", i), "", '5');
  ExpectRefused(Unpack(Tar(folders + TarEntry("a", "1")), limits), "20 folders");
  std::string deep = "a";
  for (int i = 0; i < 30; ++i) deep = "d/" + deep;
  ExpectRefused(Unpack(Tar(TarEntry(deep, "1")), limits), "20 folders");
  std::string again;
  for (int i = 0; i < 100; ++i) again += TarEntry("./", "", '5');
  ExpectRefused(Unpack(Tar(again + TarEntry("a", "1")), limits), "entries");

  ExpectRefused(Unpack(Zip(std::vector<ZipEntry>(300000, {std::string(20, 'n'), ""}))), "bomb");
  const std::string huge(size_t{40} << 20, 'p');
  ExpectRefused(Unpack(Gzip(Tar(TarEntry("long", huge, 'L') + TarEntry("a", "1")), 1)), "");
  // Zeros after the end of the tar.
  ExpectRefused(Unpack(Gzip(Tar(TarEntry("a", "1")) + std::string(size_t{128} << 20, '\0'), 1)),
                "bomb");
}

TEST_F(HostileArchive, SaidAndTrueSizesCountAgainstTheLimit) {
  ArchiveLimits limits;
  limits.max_bytes = 1000;
  ExpectRefused(Unpack(Zip({{.name = "a", .bytes = "1", .said_bytes = 2000}}), limits), "above");
  ExpectRefused(
      Unpack(Tar(TarEntry("a", std::string(600, 'a')) + TarEntry("b", std::string(401, 'b'))),
             limits),
      "above");
  EXPECT_TRUE(
      Unpack(Tar(TarEntry("a", std::string(600, 'a')) + TarEntry("b", std::string(400, 'b'))),
             limits)
          .ok());
}

TEST_F(HostileArchive, HolesCountAsBytesAndAreKept) {
  // GNU's sparse tar in pax form 0.1: 5 bytes, then a hole.
  const auto sparse = [](const std::string& name, uint64_t size) {
    const std::string pax = PaxRecord("GNU.sparse.numblocks=1") +
                            PaxRecord(fmt::format("GNU.sparse.size={}", size)) +
                            PaxRecord("GNU.sparse.map=0,5") + PaxRecord("GNU.sparse.name=" + name);
    return TarEntry("pax", pax, 'x') + TarEntry(name, "bytes");
  };
  const Files files = Unpack(Tar(sparse("a", 600)));
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_EQ(Unpacked("a"), "bytes" + std::string(595, '\0'));
  ASSERT_TRUE(RemoveAll(folder_ / "out").ok());
  ArchiveLimits limits;
  limits.max_bytes = 1000;
  ExpectRefused(Unpack(Tar(sparse("a", 600) + sparse("b", 600)), limits), "above");
  ExpectRefused(Unpack(Tar(sparse("a", uint64_t{50} << 30))), "bomb");
}

TEST_F(HostileArchive, EncryptedAndOddCompressionIsNamed) {
  ExpectRefused(Unpack(Zip({{.name = "a", .bytes = std::string(20, 'x'), .flags = 1}})),
                "encrypted");
  for (const unsigned method : {9u, 14u, 77u, 95u, 98u}) {
    SCOPED_TRACE(method);
    ExpectRefused(Unpack(Zip({{.name = "a", .bytes = std::string(40, 'x'), .method = method}})),
                  "compressed in a way");
  }
}

TEST_F(HostileArchive, SizesIn64BitsAreRead) {
  const Files files = Unpack(Zip({{.name = "a", .bytes = "1", .is_zip64 = true}}, true));
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_EQ(Unpacked("a"), "1");
}

TEST_F(HostileArchive, WhatMacOsAddsIsLeftOut) {
  const Files files = Unpack(Zip({{"m/a", "1"}, {"__MACOSX/m/._a", "junk"}, {"m/._a", "junk"}}));
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_EQ(*files, std::vector<std::string>{"m/a"});
  EXPECT_FALSE(FolderExists(folder_ / "out/__MACOSX"));
}

TEST_F(HostileArchive, AFullOrReadOnlyDiskIsTheMachinesFault) {
  ArchiveLimits limits;
  limits.max_bytes = UINT64_MAX;
  limits.max_ratio = 1e18;
  const std::string large =
      Zip({{.name = "a", .bytes = "1", .said_bytes = uint64_t{1} << 50, .is_zip64 = true}}, true);
  const Files no_room = Unpack(large, limits);
  ASSERT_FALSE(no_room.ok());
  EXPECT_EQ(no_room.error().kind, ErrorKind::kEnvironment) << no_room.error().message;
  EXPECT_NE(no_room.error().message.find("free"), std::string::npos) << no_room.error().message;
  ExpectNothingLeft();
  // Nobody, root included, makes a folder there.
  const Files read_only = UnpackArchive(folder_ / "a", "/proc/streamgauge_test");
  ASSERT_FALSE(read_only.ok());
  EXPECT_EQ(read_only.error().kind, ErrorKind::kEnvironment) << read_only.error().message;
}

TEST_F(HostileArchive, AFailedWriteLeavesNothing) {
  std::ofstream(folder_ / "a", std::ios::binary)
      << Tar(TarEntry("good", "1") + TarEntry("b", std::string(100000, 'b')));
  const auto unpack = [&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{50000, 50000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Files files = UnpackArchive(folder_ / "a", folder_ / "out");
    const bool left = FolderExists(folder_ / "out") || FolderExists(folder_ / "out.part");
    exit(!files.ok() && files.error().kind == ErrorKind::kEnvironment && !left ? 0 : 1);
  };
  EXPECT_EXIT(unpack(), testing::ExitedWithCode(0), "");
}

TEST_F(HostileArchive, CtrlCLeavesNothing) {
  std::ofstream(folder_ / "a", std::ios::binary) << Tar(TarEntry("good", "1"));
  const auto unpack = [&] {
    InstallInterruptHandler();
    raise(SIGINT);
    for (int i = 0; i < 1000 && !Interrupted(); ++i) usleep(1000);
    const Files files = UnpackArchive(folder_ / "a", folder_ / "out");
    const bool left = FolderExists(folder_ / "out") || FolderExists(folder_ / "out.part");
    exit(!files.ok() && files.error().kind == ErrorKind::kInterrupted && !left ? 0 : 1);
  };
  EXPECT_EXIT(unpack(), testing::ExitedWithCode(0), "");
}

TEST_F(HostileArchive, AnOldPartAndASlashAtTheEndDoNoHarm) {
  ASSERT_TRUE(MakeFolders(folder_ / "out.part/old").ok());
  ASSERT_TRUE(WriteFileAtomic(folder_ / "a", Tar(TarEntry("new", "1"))).ok());
  const Files files = UnpackArchive(folder_ / "a", folder_ / "out/");
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_EQ(*ListFolder(folder_ / "out"), std::vector<std::string>{"new"});
  EXPECT_EQ(*ListFolder(folder_.path()), (std::vector<std::string>{"a", "out"}));
}

}  // namespace
}  // namespace sg
