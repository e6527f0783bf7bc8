#include "pipeline/launch.h"

#include <gtest/gtest.h>

namespace sg {
namespace {

VideoInfo H264(const std::string& path) {
  VideoInfo video;
  video.path = path;
  video.container_mime = "video/quicktime";
  video.codec_mime = "video/x-h264";
  video.bit_depth = 8;
  video.chroma = "4:2:0";
  return video;
}

LaunchPlan OneStream() {
  LaunchPlan plan;
  plan.sources = {H264("/clips/a.mp4")};
  plan.infer_config_path = "/m/config.txt";
  return plan;
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Launch, CountsFramesAtATap) {
  EXPECT_EQ(LaunchString(OneStream()),
            "sgmux name=mux batch-size=1 width=1280 height=720 batched-push-timeout=-1 ! "
            "sginfer config-file-path=/m/config.txt batch-size=1 ! fakesink name=tap sync=false "
            "filesrc location=/clips/a.mp4 ! qtdemux name=demux0 demux0.video_0 ! h264parse ! "
            "avdec_h264 max-threads=1 ! mux.sink_0");
}

TEST(Launch, LeavesTheInferenceOutWithoutAConfig) {
  LaunchPlan plan = OneStream();
  plan.infer_config_path = "";
  EXPECT_FALSE(Has(LaunchString(plan), "sginfer"));
}

TEST(Launch, EachStreamHasItsOwnBranch) {
  LaunchPlan plan = OneStream();
  plan.sources.push_back(H264("/clips/b.mp4"));
  const std::string launch = LaunchString(plan);
  EXPECT_TRUE(Has(launch, "location=/clips/b.mp4 ! qtdemux name=demux1 demux1.video_0 "));
  EXPECT_TRUE(Has(launch, "mux.sink_1"));
}

TEST(Launch, WritesKittiBesideTheTap) {
  LaunchPlan plan = OneStream();
  plan.end = LaunchEnd::kKitti;
  plan.output = "/out dir";
  EXPECT_TRUE(
      Has(LaunchString(plan), "! sgkitti output-dir=\"/out dir\" ! fakesink name=tap sync=false "));
}

TEST(Launch, WritesAVideoWithBoxes) {
  LaunchPlan plan = OneStream();
  plan.end = LaunchEnd::kVideo;
  plan.output = "/out/a.ogv";
  EXPECT_TRUE(Has(LaunchString(plan),
                  "sgdemux name=demux demux.src_0 ! sgosd name=tap ! videoconvert ! theoraenc "
                  "quality=48 ! oggmux ! filesink location=/out/a.ogv sync=false"));
}

TEST(Launch, ConvertsPicturesThatTheMuxDoesNotTake) {
  LaunchPlan plan = OneStream();
  plan.sources[0].bit_depth = 10;
  EXPECT_TRUE(Has(LaunchString(plan), "avdec_h264 max-threads=1 ! videoconvert ! mux.sink_0"));
  plan.sources[0].bit_depth = 8;
  plan.sources[0].chroma = "4:2:2";
  EXPECT_TRUE(Has(LaunchString(plan), "avdec_h264 max-threads=1 ! videoconvert ! mux.sink_0"));
}

TEST(Launch, LeavesAnUnknownContainerOrCodecToDecodebin) {
  LaunchPlan plan = OneStream();
  plan.sources[0].codec_mime = "video/x-dirac";
  EXPECT_TRUE(Has(LaunchString(plan), "! decodebin name=decode0 decode0. ! video/x-raw ! "));
  plan.sources[0] = H264("/clips/a.h264");
  plan.sources[0].container_mime = "";
  EXPECT_TRUE(Has(LaunchString(plan), "decodebin"));
}

TEST(Launch, TellsMpeg4FromMpeg2) {
  LaunchPlan plan = OneStream();
  plan.sources[0].codec_mime = "video/mpeg";
  plan.sources[0].codec = "MPEG-4 Video (Simple Profile)";
  EXPECT_TRUE(Has(LaunchString(plan), "mpeg4videoparse ! avdec_mpeg4"));
  plan.sources[0].codec = "MPEG-2 Video";
  EXPECT_TRUE(Has(LaunchString(plan), "decodebin"));
}

TEST(Launch, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(LaunchProperty("location", "-v.mp4"), "location=-v.mp4");
  EXPECT_EQ(LaunchProperty("location", "$(id).mp4"), "location=\"$(id).mp4\"");
  EXPECT_EQ(LaunchProperty("location", "a b!c"), "location=\"a b!c\"");
  EXPECT_EQ(LaunchProperty("location", ""), "location=\"\"");
  EXPECT_EQ(LaunchProperty("location", "a\"b"), R"(location=\"a\\042b\")");
}

TEST(Launch, ShellLineIsOneCommandToPaste) {
  LaunchPlan plan = OneStream();
  plan.sources[0].path = "/clips/it's $(id).mp4";
  const std::string line = LaunchShellLine(plan, "/opt/sg lib");
  EXPECT_EQ(line.rfind("GST_PLUGIN_PATH='/opt/sg lib' gst-launch-1.0 sgmux name=mux ", 0), 0u)
      << line;
  EXPECT_TRUE(Has(line, R"('location="/clips/it'\''s $(id).mp4"')")) << line;
  EXPECT_TRUE(Has(line, " '!' "));
}

}  // namespace
}  // namespace sg
