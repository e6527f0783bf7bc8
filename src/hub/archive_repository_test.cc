#include "hub/archive_repository.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <map>

#include "base/files.h"
#include "base/testing.h"

namespace sg {
namespace {

class ArchiveRepository : public testing::Test {
 protected:
  /// A tar of `files` (path → bytes), opened.
  Result<std::unique_ptr<Repository>> Open(const std::map<std::string, std::string>& files) {
    archive* writer = archive_write_new();
    archive_write_set_format_ustar(writer);
    archive_write_open_filename(writer, (folder_ / "model.tar").c_str());
    for (const auto& [path, bytes] : files) {
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, path.c_str());
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_entry_set_size(entry, static_cast<la_int64_t>(bytes.size()));
      archive_write_header(writer, entry);
      archive_write_data(writer, bytes.data(), bytes.size());
      archive_entry_free(entry);
    }
    archive_write_free(writer);
    ModelSnapshot snapshot;
    snapshot.id = "an id";
    return OpenArchiveRepository(snapshot, folder_ / "model.tar", folder_ / "out");
  }
  std::vector<std::string> PathsOf(const Repository& repository) {
    std::vector<std::string> paths;
    for (const RepositoryFile& file : repository.files()) paths.push_back(file.path);
    return paths;
  }
  TempFolder folder_;
};

using Paths = std::vector<std::string>;

TEST_F(ArchiveRepository, TheOneTopFolderIsTheRoot) {
  const auto repository = Open({{"top/net.onnx", "abc"}, {"top/onnx/x", "y"}});
  ASSERT_TRUE(repository.ok()) << repository.error().message;
  EXPECT_EQ((*repository)->snapshot().folder, folder_ / "out/top");
  EXPECT_EQ((*repository)->snapshot().id, "an id");
  EXPECT_EQ(PathsOf(**repository), (Paths{"net.onnx", "onnx/x"}));
  EXPECT_EQ((*repository)->files()[0].size_bytes, 3u);
  EXPECT_TRUE((*repository)->Fetch({"net.onnx", "onnx/x"}).ok());
  EXPECT_FALSE((*repository)->Fetch({"top/net.onnx"}).ok());
}

TEST_F(ArchiveRepository, SeveralTopsAndLooseFilesStayWhereTheyAre) {
  const auto several = Open({{"a/net.onnx", "1"}, {"ab/labels.txt", "2"}});
  ASSERT_TRUE(several.ok()) << several.error().message;
  EXPECT_EQ((*several)->snapshot().folder, folder_ / "out");
  EXPECT_EQ(PathsOf(**several), (Paths{"a/net.onnx", "ab/labels.txt"}));
  const auto loose = Open({{"a", "1"}});
  ASSERT_TRUE(loose.ok()) << loose.error().message;
  EXPECT_EQ(PathsOf(**loose), Paths{"a"});
}

TEST_F(ArchiveRepository, HiddenAndDeepFilesAreListed) {
  const auto repository =
      Open({{".cache/net.onnx", "1"}, {"1/2/3/4/5/6/7/8/9/10/11/net.onnx", "2"}});
  ASSERT_TRUE(repository.ok()) << repository.error().message;
  EXPECT_EQ(PathsOf(**repository), (Paths{".cache/net.onnx", "1/2/3/4/5/6/7/8/9/10/11/net.onnx"}));
}

TEST_F(ArchiveRepository, ABadArchiveIsNone) {
  const auto repository = Open({{"a/../../b", "1"}});
  ASSERT_FALSE(repository.ok());
  EXPECT_EQ(repository.error().kind, ErrorKind::kUser);
}

}  // namespace
}  // namespace sg
