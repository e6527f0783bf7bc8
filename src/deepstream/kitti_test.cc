#include "deepstream/kitti.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing.h"

namespace sg {
namespace {

constexpr char kZeros[] = " 0.0 0.0 0.0 0.0 0.0 0.0 0.0 ";

std::string Line(const std::string& label, const std::string& corners, const std::string& score) {
  return label + " 0.0 0 0.0 " + corners + kZeros + score;
}

TEST(Kitti, LabelsMayHoldSpaces) {
  const Result<KittiBox> box = ParseKittiLine(Line("traffic light", "1.5 2 30 40.25", "0.75"));
  ASSERT_TRUE(box.ok());
  EXPECT_EQ(box->label, "traffic light");
  EXPECT_EQ(box->left, 1.5);
  EXPECT_EQ(box->bottom, 40.25);
  EXPECT_EQ(box->score, 0.75);
}

TEST(Kitti, BrokenLinesAreRefused) {
  EXPECT_FALSE(ParseKittiLine("").ok());
  EXPECT_FALSE(ParseKittiLine("person 0.0 0 0.0 1 2 3 4 0.9").ok());
  EXPECT_FALSE(ParseKittiLine(Line("person", "1 2 3 4,5", "0.9")).ok());
}

class KittiFolder : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomic(folder_ / name, text).ok());
  }
  TempFolder folder_;
};

TEST_F(KittiFolder, FramesOfOneSourceAreReadInOrder) {
  Write("00_000_000010.txt", Line("person", "0 0 1 1", "0.5") + "\n");
  Write("00_000_000002.txt", "");
  Write("00_001_000002.txt", Line("car", "0 0 1 1", "0.5") + "\n");
  Write("notes.txt", "not a frame");
  const Result<KittiFrames> frames = ReadKittiFolder(folder_.path(), 0);
  ASSERT_TRUE(frames.ok());
  ASSERT_EQ(frames->by_frame.size(), 2u);
  EXPECT_EQ(frames->by_frame.begin()->first, 2u);
  EXPECT_EQ(frames->FramesWithBoxes(), 1u);
}

TEST_F(KittiFolder, ABrokenLineNamesFileAndLine) {
  Write("00_000_000000.txt", Line("person", "0 0 1 1", "0.5") + "\nperson 1 2\n");
  const Result<KittiFrames> frames = ReadKittiFolder(folder_.path(), 0);
  ASSERT_FALSE(frames.ok());
  EXPECT_NE(frames.error().message.find("00_000_000000.txt:2: "), std::string::npos);
}

KittiFrames WithBoxes(int frames, int with_boxes) {
  KittiFrames result;
  for (int i = 0; i < frames; ++i) {
    std::vector<KittiBox>& boxes = result.by_frame[static_cast<uint64_t>(i)];
    if (i < with_boxes) boxes.push_back({"person", 0, 0, 1, 1, 0.9});
  }
  return result;
}

TEST(KittiGate, NinetyOfAHundredPassAndEightyNineDoNot) {
  EXPECT_TRUE(CheckKittiGate(WithBoxes(100, 90)).ok());
  const Status status = CheckKittiGate(WithBoxes(100, 89));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::kGate);
  EXPECT_NE(status.error().message.find("only 89 of 100 frames"), std::string::npos);
}

TEST(KittiGate, NoFilesDoNotPass) { EXPECT_FALSE(CheckKittiGate({}).ok()); }

}  // namespace
}  // namespace sg
