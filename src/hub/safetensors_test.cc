#include "hub/safetensors.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/testing.h"

namespace sg {
namespace {

std::string File(const std::string& json, size_t data_bytes, uint64_t length = 0) {
  std::string bytes;
  if (length == 0) length = json.size();
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xFF);
  return bytes + json + std::string(data_bytes, 'w');
}

Result<SafeTensorsHeader> Parse(const std::string& bytes) {
  return ParseSafeTensorsHeader(bytes, bytes.size(), "x.safetensors");
}

std::string Fault(const std::string& json, size_t data_bytes, uint64_t length = 0) {
  const auto header = Parse(File(json, data_bytes, length));
  EXPECT_FALSE(header.ok()) << json;
  return header.ok() ? "" : header.error().message;
}

std::string Tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

TEST(SafeTensors, TensorsComeInTheOrderOfTheirBytes) {
  const auto header =
      Parse(File("{\"__metadata__\":{\"format\":\"pt\"}," + Tensor("b", "F16", "[2,3]", "[4,16]") +
                     "," + Tensor("a", "F32", "[]", "[0,4]") + "}   ",
                 16));
  ASSERT_TRUE(header.ok()) << header.error().message;
  ASSERT_EQ(header->tensors.size(), 2u);
  EXPECT_EQ(header->tensors[0].name, "a");
  EXPECT_EQ(header->tensors[1].shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(header->metadata.at("format"), "pt");
  EXPECT_EQ(header->data_bytes, 16u);
}

TEST(SafeTensors, EmptyTensorsAndSmallTypesCount) {
  EXPECT_TRUE(Parse(File("{}", 0)).ok());
  EXPECT_TRUE(Parse(File("{" + Tensor("e", "F32", "[0,7]", "[0,0]") + "}", 0)).ok());
  EXPECT_TRUE(Parse(File("{" + Tensor("q", "F4", "[6]", "[0,3]") + "}", 3)).ok());
  EXPECT_NE(Fault("{" + Tensor("q", "F4", "[5]", "[0,3]") + "}", 3), "");
}

TEST(SafeTensors, TheRealModelIsRead) {
  const auto header = ReadSafeTensorsHeader(std::string(SG_SOURCE_DIR) +
                                            "/assets/pedestrian-rtdetr/model.safetensors");
  ASSERT_TRUE(header.ok()) << header.error().message;
  EXPECT_GT(header->tensors.size(), 100u);
}

TEST(SafeTensors, LengthsThatLieAreRefused) {
  EXPECT_NE(Fault("{}", 0, 3).find("claims 3 bytes, the file has 2"), std::string::npos);
  EXPECT_NE(Fault("{}", 0, uint64_t{1} << 63).find("at most"), std::string::npos);
  EXPECT_NE(Fault("{}", 0, 100000001).find("at most"), std::string::npos);
  for (const size_t size : {0, 1, 7, 8}) {
    EXPECT_FALSE(Parse(File("{}", 0).substr(0, size)).ok()) << size;
  }
}

TEST(SafeTensors, OffsetsThatDoNotTileTheDataAreRefused) {
  const auto two = [](const char* first, const char* second) {
    return "{" + Tensor("a", "U8", "[4]", first) + "," + Tensor("b", "U8", "[4]", second) + "}";
  };
  EXPECT_TRUE(Parse(File(two("[0,4]", "[4,8]"), 8)).ok());
  EXPECT_NE(Fault(two("[0,4]", "[3,7]"), 8).find("do not follow"), std::string::npos);
  EXPECT_NE(Fault(two("[0,4]", "[5,9]"), 9).find("do not follow"), std::string::npos);
  EXPECT_NE(Fault(two("[0,4]", "[4,8]"), 7).find("the file has 7"), std::string::npos);
  EXPECT_NE(Fault(two("[0,4]", "[4,8]"), 9).find("the file has 9"), std::string::npos);
  EXPECT_NE(Fault("{" + Tensor("a", "U8", "[4]", "[4,0]") + "}", 4), "");
}

TEST(SafeTensors, ShapesMustGiveTheBytes) {
  EXPECT_NE(Fault("{" + Tensor("a", "F32", "[2]", "[0,4]") + "}", 4), "");
  EXPECT_NE(Fault("{" + Tensor("a", "F99", "[4]", "[0,4]") + "}", 4), "");
  EXPECT_NE(Fault("{" + Tensor("a", "F32", "[4294967296,4294967296,4]", "[0,0]") + "}", 0), "");
  EXPECT_NE(Fault("{" + Tensor("a", "U8", "[-4]", "[0,4]") + "}", 4), "");
  EXPECT_NE(Fault("{" + Tensor("a", "U8", "[4.0]", "[0,4]") + "}", 4), "");
  EXPECT_NE(Fault("{" + Tensor("a", "U8", "[4]", "[0,4,8]") + "}", 4), "");
}

TEST(SafeTensors, DuplicateKeysAreRefused) {
  const std::string a = Tensor("a", "U8", "[1]", "[0,1]");
  EXPECT_NE(Fault("{" + a + "," + a + "}", 1).find("'a' twice"), std::string::npos);
  EXPECT_NE(
      Fault("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1)
          .find("'dtype' twice"),
      std::string::npos);
}

TEST(SafeTensors, OtherJsonIsRefused) {
  for (const char* json :
       {"[]", "7", "{", "{\"a\":1}", "{\"a\":[]}", "{\"a\":{}}", "{\"a\":{\"dtype\":\"U8\"}}",
        "{\"a\":{\"dtype\":{}}}", "{\"__metadata__\":{\"a\":1}}", "{\"a\":{\"shape\":[[1]]}}",
        "{}{}", " {}", "{\"a\":null}", "{\"\xff\":{}}", "{\"a\":{\"dtype\":[1]}}"}) {
    EXPECT_NE(Fault(json, 0), "") << json;
  }
  EXPECT_NE(Fault(std::string(200000, '['), 0), "");
}

TEST(SafeTensors, ShardsAreNamedByTheIndex) {
  const TempFolder folder;
  const auto shards = [&](const std::string& text) {
    EXPECT_TRUE(WriteFileAtomic(folder / "i.json", text).ok());
    return ReadSafeTensorsIndex(folder / "i.json");
  };
  EXPECT_EQ(*shards("{\"weight_map\":{\"x\":\"m-2.safetensors\",\"y\":\"m-1.safetensors\"}}"),
            (std::vector<std::string>{"m-1.safetensors", "m-2.safetensors"}));
  for (const char* text :
       {"{}", "[]", "{\"weight_map\":{}}", "{\"weight_map\":{\"x\":1}}",
        "{\"weight_map\":{\"x\":\"../m.safetensors\"}}", "{\"weight_map\":{\"x\":\"m.bin\"}}"}) {
    EXPECT_FALSE(shards(text).ok()) << text;
  }
}

// Inputs that the fuzzer keeps, and what it once found: none may crash or hang.
TEST(SafeTensors, TheFuzzersCorpusIsReadOrRefused) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(SG_SOURCE_DIR) +
                                                               "/fuzz/corpus/safetensors")) {
    const std::string bytes = *ReadFile(entry.path().string());
    (void)Parse(bytes).ok();
    ++files;
  }
  EXPECT_GT(files, 5u);
}

}  // namespace
}  // namespace sg
