#include "hub/safetensors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

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

TEST(SafeTensors, EveryDtypeHasItsSize) {
  // Bits of one element, from huggingface/safetensors' Dtype.
  for (const auto& [dtype, bits] : std::map<std::string, int>{
           {"BOOL", 8},        {"U8", 8},          {"I8", 8},      {"F8_E5M2", 8}, {"F8_E4M3", 8},
           {"F8_E8M0", 8},     {"F8_E4M3FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},
           {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6},     {"F6_E3M2", 6}, {"F4", 4},      {"BF16", 16},
           {"I32", 32},        {"U32", 32},        {"F32", 32},    {"C64", 64},    {"F64", 64},
           {"I64", 64},        {"U64", 64}}) {
    const size_t bytes = static_cast<size_t>(4 * bits / 8);
    const auto json = [&](size_t end) {
      return "{" + Tensor("a", dtype, "[2,2]", "[0," + std::to_string(end) + "]") + "}";
    };
    EXPECT_TRUE(Parse(File(json(bytes), bytes)).ok()) << dtype;
    EXPECT_NE(Fault(json(bytes + 1), bytes + 1), "") << dtype;
  }
  for (const char* dtype : {"f32", "F32 ", "", "FLOAT"}) {
    EXPECT_NE(Fault("{" + Tensor("a", dtype, "[1]", "[0,4]") + "}", 4).find("unknown dtype"),
              std::string::npos);
  }
}

TEST(SafeTensors, AFaultIsOneShortLineWhateverTheNames) {
  const std::string name = "\\n\\u001b[31m" + std::string(100000, 'x');
  const std::string good = Tensor(name, "U8", "[1]", "[0,1]");
  for (const std::string& json :
       {good + "," + good, Tensor(name, "U8", "[2]", "[0,1]"), Tensor(name, "U8", "[1]", "[1,2]"),
        Tensor("a", name, "[1]", "[0,1]"), Tensor(name, "U8", "[1]", "[0]"),
        Tensor(name, "U8", "7", "[0,1]"), "\"" + name + "\":null", "\"" + name + "\":{}",
        "\"a\":{\"" + name + "\":1}"}) {
    const std::string fault = Fault("{" + json + "}", 1);
    EXPECT_LT(fault.size(), 600u) << json.substr(0, 40);
    EXPECT_EQ(fault.find_first_of("\n\x1b"), std::string::npos) << fault;
  }
}

TEST(SafeTensors, MetadataMayBeMissingAndIsBounded) {
  const auto none = Parse(File("{\"__metadata__\":null}", 0));
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_TRUE(none->metadata.empty());
  std::string much = "{\"__metadata__\":{\"0\":\"\"";
  for (int i = 1; i <= 10000; ++i) much += ",\"" + std::to_string(i) + "\":\"\"";
  EXPECT_NE(Fault(much + "}}", 0).find("10000"), std::string::npos);
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
        "{\"weight_map\":{\"x\":\"../m.safetensors\"}}", "{\"weight_map\":{\"x\":\"m.bin\"}}",
        "{\"weight_map\":{\"x\":\"a\\nm.safetensors\"}}",
        "{\"weight_map\":{\"x\":\"a\\\\m.safetensors\"}}"}) {
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
