#include "engine/openvino/container.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"

namespace sg::openvino {
namespace {

class EngineContainer : public testing::Test {
 protected:
  EngineContainer() {
    artifact_.onnx_sha256 = "abc";
    artifact_.max_batch = 4;
    artifact_.input = {"x", "f32", {3, 8, 8}};
    artifact_.outputs = {{"boxes", "f32", {48, 4}}};
    bytes_ = EngineFileBytes(artifact_, {{1, std::string(5000, 'a')}, {4, std::string(9000, 'b')}});
  }
  ~EngineContainer() override { (void)RemoveAll(path_).ok(); }

  /// What Open says of these bytes; empty when it accepts them.
  std::string Complaint(const std::string& bytes) {
    EXPECT_TRUE(WriteFileAtomic(path_, bytes).ok());
    auto file = MappedEngineFile::Open(path_);
    return file.ok() ? "" : file.error().message;
  }

  const std::string path_ = testing::TempDir() + "/container." + std::to_string(getpid()) + ".blob";
  EngineArtifact artifact_;
  std::string bytes_;
};

TEST_F(EngineContainer, GivesBackWhatWasPutIn) {
  ASSERT_EQ(Complaint(bytes_), "");
  auto file = MappedEngineFile::Open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->artifact().onnx_sha256, "abc");
  EXPECT_EQ(file->artifact().path, path_);
  EXPECT_EQ(file->artifact().size_bytes, bytes_.size());
  EXPECT_EQ(file->artifact().outputs.at(0).shape, (std::vector<size_t>{48, 4}));
  ASSERT_EQ(file->parts().size(), 2U);
  EXPECT_EQ(std::string(file->parts()[0].data, file->parts()[0].size_bytes),
            std::string(5000, 'a'));
  EXPECT_EQ(std::string(file->parts()[1].data, file->parts()[1].size_bytes),
            std::string(9000, 'b'));
  EXPECT_EQ(file->parts()[1].batch, 4);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file->parts()[1].data) % 4096, 0U);
}

TEST_F(EngineContainer, AFlippedByteIsFoundInEachPlace) {
  const struct {
    size_t at;
    const char* complaint;
  } kPlaces[] = {
      {0, "does not start as an engine file"},
      {8, "format is version"},
      {13, "header"},  // the header's size
      {20, "its header does not have the hash recorded"},
      {100, "its header does not have the hash recorded"},
      {bytes_.find("aaaa"), "the model at batch 1 does not have the hash recorded"},
      {bytes_.size() - 1, "the model at batch 4 does not have the hash recorded"},
  };
  for (const auto& place : kPlaces) {
    std::string damaged = bytes_;
    damaged[place.at] = static_cast<char>(damaged[place.at] ^ 0x10);
    EXPECT_NE(Complaint(damaged).find(place.complaint), std::string::npos)
        << place.at << ": " << Complaint(damaged);
  }
}

TEST_F(EngineContainer, EveryTruncationIsFound) {
  for (size_t size = 0; size < bytes_.size(); size += 97)
    EXPECT_NE(Complaint(bytes_.substr(0, size)), "") << size;
  EXPECT_NE(Complaint(bytes_.substr(0, bytes_.size() - 1)), "");
}

TEST_F(EngineContainer, ZerosOfTheRightSizeAreFound) {
  EXPECT_EQ(Complaint(std::string(bytes_.size(), '\0')), "it does not start as an engine file");
}

TEST_F(EngineContainer, BytesBehindTheLastPartAreFound) {
  EXPECT_EQ(Complaint(bytes_ + "x"), "it has 1 bytes too many");
}

TEST_F(EngineContainer, AFolderOrNothingIsNotAnEngineFile) {
  EXPECT_FALSE(MappedEngineFile::Open(testing::TempDir()).ok());
  EXPECT_FALSE(MappedEngineFile::Open(path_ + ".absent").ok());
}

}  // namespace
}  // namespace sg::openvino
