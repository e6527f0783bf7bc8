// What the tests of probing and running share: GStreamer with the plugin of this build, and tiny
// clips made with encoders of GStreamer's base and good plugins.
#pragma once

#include <gst/gst.h>
#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "base/testing.h"
#include "pipeline/gst/gst_error.h"
#include "pipeline/launch.h"

namespace sg {

/// The longest that making a clip may take.
inline constexpr GstClockTime kClipPatience = 20 * GST_SECOND;

class ClipTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    g_setenv("GST_PLUGIN_PATH", SG_PLUGIN_FOLDER, TRUE);
    g_setenv("GST_REGISTRY", SG_REGISTRY_FILE, TRUE);
    gst_init(nullptr, nullptr);
  }

  /// Runs `launch` to its end.
  static void RunToEnd(const std::string& launch) {
    Result<GstOwned<GstElement>> pipeline = ParsePipeline(launch);
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().message;
    gst_element_set_state(pipeline->get(), GST_STATE_PLAYING);
    const GstOwned<GstBus> bus(gst_element_get_bus(pipeline->get()));
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus.get(), kClipPatience, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    gst_element_set_state(pipeline->get(), GST_STATE_NULL);
    ASSERT_NE(message, nullptr) << launch << ": no end within the time";
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
      ADD_FAILURE() << ErrorFromMessage(message).message;
    gst_message_unref(message);
  }

  static std::string TestPicture(int frames) {
    return "videotestsrc num-buffers=" + std::to_string(frames) +
           " pattern=ball ! video/x-raw,format=I420,width=160,height=120,framerate=10/1 ! ";
  }
  static std::string Into(const std::string& path) {
    return " ! filesink " + LaunchProperty("location", path);
  }

  /// A clip of `frames` pictures at 10 fps, 160×120, encoded and muxed as said; its path.
  std::string MakeClip(const std::string& name, int frames, const std::string& encoder_and_muxer) {
    const std::string path = folder_ / name;
    RunToEnd(TestPicture(frames) + encoder_and_muxer + Into(path));
    return path;
  }
  std::string TheoraClip(int frames) { return MakeClip("clip.ogv", frames, "theoraenc ! oggmux"); }
  std::string JpegMp4(int frames) { return MakeClip("clip.mp4", frames, "jpegenc ! qtmux"); }

  const TempFolder folder_;
};

}  // namespace sg
