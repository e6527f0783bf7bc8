#include "pipeline/gst/frames.h"

#include "pipeline/gst/clip_test.h"
#include "pipeline/gst/probe.h"

namespace sg {
namespace {

class FrameExtraction : public ClipTest {};

TEST_F(FrameExtraction, SpreadsOverTheClip) {
  for (const std::string& clip : {JpegMp4(30), TheoraClip(30)}) {
    const std::string folder = folder_ / "frames";
    const Result<ExtractedFrames> frames = ExtractFramesHere(clip, folder, 3);
    ASSERT_TRUE(frames.ok()) << frames.error().message;
    EXPECT_EQ(frames->files,
              (std::vector<std::string>{folder + "/frame_0001.jpg", folder + "/frame_0002.jpg",
                                        folder + "/frame_0003.jpg"}));
    EXPECT_EQ(frames->note, "");
    const Result<VideoInfo> picture = ProbeVideoHere(frames->files[0]);
    ASSERT_FALSE(picture.ok());
    EXPECT_NE(picture.error().message.find("is a picture"), std::string::npos);
    // The ball of the test picture has moved on.
    EXPECT_NE(*Sha256File(frames->files[0]), *Sha256File(frames->files[1]));
    EXPECT_NE(*Sha256File(frames->files[1]), *Sha256File(frames->files[2]));
    EXPECT_EQ(ListFolder(folder)->size(), 3u);
  }
}

TEST_F(FrameExtraction, AShortClipGivesAllItHasAndSaysSo) {
  const Result<ExtractedFrames> frames = ExtractFramesHere(JpegMp4(4), folder_ / "f", 10);
  ASSERT_TRUE(frames.ok()) << frames.error().message;
  EXPECT_EQ(frames->files.size(), 4u);
  EXPECT_NE(frames->note.find("has only 4 frames; 10 were asked for"), std::string::npos)
      << frames->note;
}

TEST_F(FrameExtraction, SeeksInALongClip) {
  const std::string clip = MakeClip("long.mkv", 2000, "jpegenc ! matroskamux");
  const Result<ExtractedFrames> frames = ExtractFramesHere(clip, folder_ / "f", 2);
  ASSERT_TRUE(frames.ok()) << frames.error().message;
  EXPECT_EQ(frames->files.size(), 2u);
  EXPECT_NE(*Sha256File(frames->files[0]), *Sha256File(frames->files[1]));
}

TEST_F(FrameExtraction, RefusesWhatIsNoVideo) {
  EXPECT_EQ(ExtractFramesHere(folder_ / "none.mp4", folder_ / "f", 3).error().kind,
            ErrorKind::kUser);
  EXPECT_EQ(ExtractFramesHere(JpegMp4(3), folder_ / "f", 0).error().kind, ErrorKind::kUser);
  EXPECT_FALSE(FolderExists(folder_ / "f"));
}

}  // namespace
}  // namespace sg
