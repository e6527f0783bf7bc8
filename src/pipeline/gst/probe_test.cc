#include "pipeline/gst/probe.h"

#include "pipeline/gst/clip_test.h"

namespace sg {
namespace {

class Probe : public ClipTest {
 protected:
  static VideoInfo Facts(const std::string& path) {
    const Result<VideoInfo> video = ProbeVideoHere(path);
    EXPECT_TRUE(video.ok()) << video.error().message;
    return video.ok() ? *video : VideoInfo();
  }
  /// What is said of the file, behind its name.
  static std::string Complaint(const std::string& path) {
    const Result<VideoInfo> video = ProbeVideoHere(path);
    if (video.ok()) return "";
    EXPECT_EQ(video.error().kind, ErrorKind::kUser) << video.error().message;
    EXPECT_EQ(video.error().message.find('\n'), std::string::npos);
    EXPECT_EQ(video.error().message.rfind(path + ": ", 0), 0u) << video.error().message;
    return video.error().message.substr(path.size() + 2);
  }
  /// The first `fraction` of a file.
  std::string Cut(const std::string& path, double fraction) {
    const Result<std::string> whole = ReadFile(path);
    EXPECT_TRUE(whole.ok());
    const std::string cut_path = folder_ / "cut.mp4";
    const auto bytes = static_cast<size_t>(fraction * static_cast<double>(whole->size()));
    EXPECT_TRUE(WriteFileAtomic(cut_path, whole->substr(0, bytes)).ok());
    return cut_path;
  }
};

TEST_F(Probe, ReadsTheFactsOfAClip) {
  const VideoInfo video = Facts(JpegMp4(25));
  EXPECT_EQ(video.container_mime, "video/quicktime");
  EXPECT_EQ(video.codec_mime, "image/jpeg");
  EXPECT_EQ(video.width, 160);
  EXPECT_EQ(video.height, 120);
  EXPECT_DOUBLE_EQ(video.fps, 10);
  EXPECT_NEAR(video.duration_s, 2.5, 0.001);
  EXPECT_EQ(video.video_tracks, 1);
  EXPECT_EQ(video.audio_tracks, 0);
}

TEST_F(Probe, ReadsEachContainerThatTheLaunchStringsKnow) {
  EXPECT_EQ(Facts(TheoraClip(10)).container_mime, "video/ogg");
  EXPECT_EQ(Facts(MakeClip("a.mkv", 10, "jpegenc ! matroskamux")).container_mime,
            "video/x-matroska");
  EXPECT_EQ(Facts(MakeClip("a.webm", 10, "vp8enc deadline=1 ! webmmux")).container_mime,
            "video/webm");
  EXPECT_EQ(Facts(MakeClip("a.avi", 10, "jpegenc ! avimux")).container_mime, "video/x-msvideo");
}

TEST_F(Probe, FindsTheVideoBehindAudio) {
  const std::string path = folder_ / "audio_first.mkv";
  RunToEnd("matroskamux name=m" + Into(path) +
           " audiotestsrc num-buffers=50 ! audio/x-raw,rate=44100 ! audioconvert ! vorbisenc ! "
           "m.audio_0 " +
           TestPicture(10) + "jpegenc ! m.video_0");
  const VideoInfo video = Facts(path);
  EXPECT_EQ(video.audio_tracks, 1);
  EXPECT_EQ(video.video_tracks, 1);
  EXPECT_EQ(video.codec_mime, "image/jpeg");
}

TEST_F(Probe, ReadsTheRotation) {
  const std::string path = JpegMp4(10);
  std::string bytes = *ReadFile(path);
  // The matrix of the track header turns by 90° clockwise: a = 0, b = 1, c = -1, d = 0 in 16.16
  // (ISO/IEC 14496-12, section 8.3.2).
  const size_t matrix = bytes.find("tkhd") + 44;
  ASSERT_LT(matrix + 20, bytes.size());
  bytes.replace(matrix, 20, std::string("\0\0\0\0\0\1\0\0\0\0\0\0\xff\xff\0\0\0\0\0\0", 20));
  ASSERT_TRUE(WriteFileAtomic(path, bytes).ok());
  EXPECT_EQ(Facts(path).rotation_degrees, 90);
}

TEST_F(Probe, ACutOffMp4WithItsIndexAtTheFrontIsNamed) {
  const std::string path = MakeClip("front.mp4", 25, "jpegenc ! qtmux faststart=true");
  EXPECT_EQ(Facts(path).width, 160);
  const Result<uint64_t> size = FileSize(path);
  const std::string complaint = Complaint(Cut(path, 0.6));
  EXPECT_EQ(complaint.rfind("is cut off: ", 0), 0u) << complaint;
  EXPECT_NE(complaint.find(" of " + std::to_string(*size) + " bytes"), std::string::npos)
      << complaint;
}

TEST_F(Probe, ACutOffMp4WithItsIndexAtTheEndIsNamed) {
  const std::string complaint = Complaint(Cut(JpegMp4(25), 0.6));
  EXPECT_EQ(complaint.rfind("is cut off: ", 0), 0u) << complaint;
}

TEST_F(Probe, AudioAloneIsNoVideo) {
  const std::string path = folder_ / "a.wav";
  RunToEnd("audiotestsrc num-buffers=10 ! wavenc" + Into(path));
  EXPECT_EQ(Complaint(path), "has no video track, only audio");
}

TEST_F(Probe, APictureIsNoVideo) {
  EXPECT_EQ(Complaint(MakeClip("a.jpg", 1, "jpegenc")), "is a picture, not a video");
}

TEST_F(Probe, AWebPageIsNoVideo) {
  const std::string path = folder_ / "page.mp4";
  ASSERT_TRUE(WriteFileAtomic(path, "<!DOCTYPE html>\n<html><body>404</body></html>\n").ok());
  EXPECT_EQ(Complaint(path).rfind("is a web page, not a video", 0), 0u);
}

TEST_F(Probe, NoiseIsNoVideo) {
  const std::string path = folder_ / "noise.mp4";
  std::string noise;
  for (unsigned i = 0, x = 12345; i < 100000; ++i, x = x * 1664525u + 1013904223u)
    noise += static_cast<char>(x >> 24);
  ASSERT_TRUE(WriteFileAtomic(path, noise).ok());
  EXPECT_NE(Complaint(path), "");
}

TEST_F(Probe, AnEmptyOrMissingFileIsNamed) {
  const std::string path = folder_ / "empty.mp4";
  ASSERT_TRUE(WriteFileAtomic(path, "").ok());
  EXPECT_EQ(Complaint(path), "is empty (0 bytes)");
  EXPECT_EQ(Complaint(folder_ / "none.mp4"), "no such file");
}

}  // namespace
}  // namespace sg
