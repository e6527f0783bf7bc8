#include "hub/hf_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/testing.h"

namespace sg {
namespace {

const char kCommit[] = "0123456789abcdef0123456789abcdef01234567";
const char kEtag[] = "89abcdef0123456789abcdef0123456789abcdef";

/// Sets variables for one test.
class Variables {
 public:
  explicit Variables(std::initializer_list<std::pair<const char*, std::string>> values) {
    for (const char* name :
         {"HF_ENDPOINT", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME",
          "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE",
          "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_IMPLICIT_TOKEN"}) {
      unsetenv(name);
    }
    for (const auto& [name, value] : values) {
      setenv(name, value.c_str(), 1);
      names_.push_back(name);
    }
  }
  ~Variables() {
    for (const char* name : names_) unsetenv(name);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::vector<const char*> names_;
};

TEST(HfEnvironment, CacheFolderFollowsTheVariablesInHuggingFacesOrder) {
  const std::string home = std::getenv("HOME");
  EXPECT_EQ((Variables({}), ReadHfEnvironment().cache_folder), home + "/.cache/huggingface/hub");
  {
    const Variables set({{"XDG_CACHE_HOME", "/x"}});
    EXPECT_EQ(ReadHfEnvironment().cache_folder, "/x/huggingface/hub");
  }
  {
    const Variables set({{"XDG_CACHE_HOME", "/x"}, {"HF_HOME", "/h"}});
    EXPECT_EQ(ReadHfEnvironment().cache_folder, "/h/hub");
  }
  {
    const Variables set({{"HF_HOME", "/h"}, {"HF_HUB_CACHE", "~/c"}});
    EXPECT_EQ(ReadHfEnvironment().cache_folder, home + "/c");
  }
}

TEST(HfEnvironment, TheTokenOfTheEnvironmentWinsOverTheLoginFile) {
  const TempFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "token", "hf_file\n").ok());
  {
    const Variables set({{"HF_HOME", folder.path()}});
    EXPECT_EQ(ReadHfEnvironment().token, "hf_file");
  }
  {
    const Variables set({{"HF_HOME", folder.path()}, {"HF_TOKEN", " hf_env "}});
    EXPECT_EQ(ReadHfEnvironment().token, "hf_env");
  }
  {
    const Variables set({{"HF_HOME", folder.path()}, {"HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"}});
    EXPECT_EQ(ReadHfEnvironment().token, "");
  }
}

TEST(HfEnvironment, OfflineAndEndpoint) {
  const Variables set({{"HF_HUB_OFFLINE", "yes"}, {"HF_ENDPOINT", "http://127.0.0.1:1//"}});
  EXPECT_TRUE(ReadHfEnvironment().offline);
  EXPECT_EQ(ReadHfEnvironment().endpoint, "http://127.0.0.1:1");
}

class Cache : public testing::Test {
 protected:
  TempFolder folder_;
  HfCache cache_{folder_.path(), "org", "name"};

  void PutBlob(const std::string& bytes) {
    ASSERT_TRUE(MakeFolders(ParentFolder(cache_.BlobPath(kEtag))).ok());
    ASSERT_TRUE(WriteFileAtomic(cache_.BlobPath(kEtag), bytes).ok());
  }
};

TEST_F(Cache, AFileIsARelativeLinkToItsBlob) {
  PutBlob("bytes");
  ASSERT_TRUE(cache_.LinkFile(kCommit, "onnx/model.onnx", kEtag).ok());
  const std::string link = cache_.SnapshotFolder(kCommit) + "/onnx/model.onnx";
  EXPECT_EQ(std::filesystem::read_symlink(link).string(), std::string("../../../blobs/") + kEtag);
  EXPECT_EQ(*ReadFile(link), "bytes");
  EXPECT_TRUE(cache_.Has(kCommit, "onnx/model.onnx"));
  const auto files = cache_.FilesOf(kCommit);
  ASSERT_TRUE(files.ok());
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ(files->front().path, "onnx/model.onnx");
  EXPECT_EQ(files->front().size_bytes, 5u);
  EXPECT_EQ(files->front().git_sha1, kEtag);
}

TEST_F(Cache, ALinkThatLeadsNowhereIsNotAFileAndIsReplaced) {
  PutBlob("bytes");
  ASSERT_TRUE(cache_.LinkFile(kCommit, "a", kEtag).ok());
  ASSERT_TRUE(RemoveAll(cache_.BlobPath(kEtag)).ok());
  EXPECT_FALSE(cache_.Has(kCommit, "a"));
  EXPECT_EQ(cache_.FilesOf(kCommit)->size(), 0u);
  PutBlob("again");
  ASSERT_TRUE(cache_.LinkFile(kCommit, "a", kEtag).ok());
  EXPECT_TRUE(cache_.Has(kCommit, "a"));
}

TEST_F(Cache, RevisionsRememberTheirCommit) {
  EXPECT_EQ(cache_.CommitOf("main"), std::nullopt);
  ASSERT_TRUE(cache_.RememberCommit("main", kCommit).ok());
  ASSERT_TRUE(cache_.RememberCommit("refs/pr/1", kCommit).ok());
  EXPECT_EQ(cache_.CommitOf("main"), kCommit);
  EXPECT_EQ(cache_.CommitOf("refs/pr/1"), kCommit);
  EXPECT_EQ(cache_.CommitOf(kCommit), kCommit);
}

TEST_F(Cache, ASnapshotThatIsNotThereHasNoFiles) {
  const auto files = cache_.FilesOf(kCommit);
  ASSERT_TRUE(files.ok());
  EXPECT_TRUE(files->empty());
}

}  // namespace
}  // namespace sg
