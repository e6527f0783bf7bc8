#include "gst/kitti_core.h"

#include <gtest/gtest.h>

#include <clocale>

#include "base/files.h"
#include "base/testing.h"

namespace sg {
namespace {

TEST(KittiCore, FileNamesArePaddedAsDeepstreamAppPadsThem) {
  EXPECT_EQ(KittiFileName(0, 1, 23), "00_001_000023.txt");
  EXPECT_EQ(KittiFileName(12, 1234, 12345678), "12_1234_12345678.txt");
}

TEST(KittiCore, ALineHasSixteenFields) {
  EXPECT_EQ(KittiText({{"person", 1, 2.5, 100.125, 200.0000004, 0.9}}),
            "person 0.0 0 0.0 1.000000 2.500000 100.125000 200.000000 "
            "0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.900000\n");
}

TEST(KittiCore, NoBoxesGiveAnEmptyText) { EXPECT_EQ(KittiText({}), ""); }

TEST(KittiCore, LabelsKeepSpacesButNotLineBreaks) {
  const std::string text = KittiText({{"traffic light", 0, 0, 1, 1, 1}, {"a\nb", 0, 0, 1, 1, 1}});
  EXPECT_EQ(text.rfind("traffic light 0.0 ", 0), 0u);
  EXPECT_NE(text.find("\na b 0.0 "), std::string::npos);
}

TEST(KittiCore, NumbersHaveADotInEveryLocale) {
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) GTEST_SKIP() << "no locale de_DE.UTF-8";
  const std::string text = KittiText({{"person", 1.5, 0, 0, 0, 0}});
  std::setlocale(LC_ALL, "C");
  EXPECT_NE(text.find(" 1.500000 "), std::string::npos);
}

TEST(KittiCore, AFileIsWrittenAndReplaced) {
  const TempFolder temporary;
  const std::string& folder = temporary.path();
  ASSERT_TRUE(WriteKittiFile(folder, "a.txt", "long first text").ok());
  ASSERT_TRUE(WriteKittiFile(folder, "a.txt", "").ok());
  EXPECT_EQ(*ReadFile(JoinPath(folder, "a.txt")), "");
}

TEST(KittiCore, AFileThatCannotBeWrittenIsNamed) {
  const Status status = WriteKittiFile("/nowhere/at/all", "a.txt", "x");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::kEnvironment);
  EXPECT_NE(status.error().message.find("/nowhere/at/all/a.txt"), std::string::npos);
}

}  // namespace
}  // namespace sg
