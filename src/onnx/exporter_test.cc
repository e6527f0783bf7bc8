#include "onnx/exporter.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/files.h"

namespace sg {
namespace {

class NetworkSizeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "sizeXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { static_cast<void>(RemoveAll(folder_)); }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomic(JoinPath(folder_, name), text).ok());
  }
  std::string Chosen(const std::string& image_size = "") {
    const auto size = ChooseNetworkSize(folder_, image_size);
    if (!size.ok()) return size.error().message;
    return std::to_string(size->width) + "x" + std::to_string(size->height) + " " + size->source;
  }

  std::string folder_;
};

TEST_F(NetworkSizeTest, IsTheOneThatTheUserSays) {
  Write("preprocessor_config.json", R"({"size": {"height": 640, "width": 640}})");
  EXPECT_EQ(Chosen("320"), "320x320 --image-size");
  EXPECT_EQ(Chosen("1280x736"), "1280x736 --image-size");
}

TEST_F(NetworkSizeTest, OfTheUserMustBeANumberOrTwo) {
  for (const char* wrong : {"0", "x", "640x", "x640", "640x640x3", "-1", "64 0", "1e3", "99999"})
    EXPECT_NE(Chosen(wrong).find("--image-size is one number"), std::string::npos) << wrong;
}

TEST_F(NetworkSizeTest, IsReadFromEverySpelling) {
  Write("preprocessor_config.json", R"({"size": {"height": 480, "width": 640}})");
  EXPECT_EQ(Chosen(), "640x480 preprocessor_config.json size");
  Write("preprocessor_config.json", R"({"size": {"shortest_edge": 800, "longest_edge": 1333}})");
  EXPECT_EQ(Chosen(), "1333x800 preprocessor_config.json size");
  Write("preprocessor_config.json", R"({"size": {"max_height": 512, "max_width": 768}})");
  EXPECT_EQ(Chosen(), "768x512 preprocessor_config.json size");
  Write("preprocessor_config.json", R"({"size": 416})");
  EXPECT_EQ(Chosen(), "416x416 preprocessor_config.json size");
  Write("preprocessor_config.json",
        R"({"size": {"shortest_edge": 800}, "pad_size": {"height": 960, "width": 1024}})");
  EXPECT_EQ(Chosen(), "1024x960 preprocessor_config.json pad_size");
}

TEST_F(NetworkSizeTest, OfANestedProcessorIsFound) {
  Write("processor_config.json", R"({"image_processor": {"size": {"height": 960, "width": 960}}})");
  EXPECT_EQ(Chosen(), "960x960 processor_config.json image_processor/size");
}

TEST_F(NetworkSizeTest, OfTheConfigIsTakenWhereNoProcessorSaysOne) {
  Write("preprocessor_config.json", R"({"do_resize": true})");
  Write("config.json", R"({"image_size": [512, 864]})");
  EXPECT_EQ(Chosen(), "864x512 config.json image_size");
}

TEST_F(NetworkSizeTest, ThatNothingSaysIsAskedFor) {
  Write("config.json", R"({"image_size": null})");
  EXPECT_NE(Chosen().find("say it with --image-size"), std::string::npos);
}

}  // namespace
}  // namespace sg
