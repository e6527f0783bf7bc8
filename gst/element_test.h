// What the element tests share: the plugin from the build folder, pictures, patience with a limit.
#pragma once

#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "pipeline/gst/batch_meta.h"

namespace sg {

/// The longest that a test waits for something that must come.
inline constexpr GstClockTime kPatience = 8 * GST_SECOND;

/// Starts GStreamer with the plugin of this build and a registry file of its own. The plugin is
/// loaded here and not found on a path: GStreamer's scanner is a program without our sanitizers.
class ElementTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    g_setenv("GST_REGISTRY", SG_REGISTRY_FILE, TRUE);
    gst_init(nullptr, nullptr);
    GError* error = nullptr;
    GstPlugin* plugin = gst_plugin_load_file(SG_PLUGIN_FOLDER "/libgststreamgauge.so", &error);
    ASSERT_NE(plugin, nullptr) << error->message;
    gst_object_unref(plugin);
  }
};

inline std::string VideoCaps(const std::string& format, int width, int height, int fps = 30) {
  return "video/x-raw,format=" + format + ",width=" + std::to_string(width) +
         ",height=" + std::to_string(height) + ",framerate=" + std::to_string(fps) + "/1";
}

/// A picture of `caps` whose rows are `row_padding` bytes longer than they need to be (told by a
/// GstVideoMeta), all bytes `value`.
inline GstBuffer* NewPicture(const std::string& caps_text, GstClockTime pts, int row_padding = 0,
                             uint8_t value = 0x80) {
  GstCaps* caps = gst_caps_from_string(caps_text.c_str());
  GstVideoInfo info;
  EXPECT_TRUE(gst_video_info_from_caps(&info, caps)) << caps_text;
  gst_caps_unref(caps);
  gsize offsets[GST_VIDEO_MAX_PLANES] = {};
  gint strides[GST_VIDEO_MAX_PLANES] = {};
  gsize size = 0;
  for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES(&info); ++plane) {
    strides[plane] = GST_VIDEO_INFO_PLANE_STRIDE(&info, plane) + row_padding;
    offsets[plane] = size;
    size += static_cast<gsize>(strides[plane]) *
            static_cast<gsize>(GST_VIDEO_INFO_COMP_HEIGHT(&info, plane));
  }
  GstBuffer* buffer = nullptr;
  if (row_padding == 0) {
    buffer = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
  } else {
    buffer = gst_buffer_new_allocate(nullptr, size, nullptr);
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                   static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)),
                                   static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info)),
                                   GST_VIDEO_INFO_N_PLANES(&info), offsets, strides);
  }
  gst_buffer_memset(buffer, 0, value, gst_buffer_get_size(buffer));
  GST_BUFFER_PTS(buffer) = pts;
  return buffer;
}

/// The next buffer at the harness's sink, or nullptr after `patience`.
inline GstBuffer* PullWithin(GstHarness* harness, GstClockTime patience) {
  const gint64 deadline_us = g_get_monotonic_time() + static_cast<gint64>(patience / 1000);
  do {
    if (GstBuffer* buffer = gst_harness_try_pull(harness)) return buffer;
    g_usleep(500);
  } while (g_get_monotonic_time() < deadline_us);
  return nullptr;
}

/// The next event of this type at the harness's sink (others are dropped), or nullptr.
inline GstEvent* PullEvent(GstHarness* harness, GstEventType type) {
  const gint64 deadline_us = g_get_monotonic_time() + static_cast<gint64>(kPatience / 1000);
  do {
    while (GstEvent* event = gst_harness_try_pull_event(harness)) {
      if (GST_EVENT_TYPE(event) == type) return event;
      gst_event_unref(event);
    }
    g_usleep(500);
  } while (g_get_monotonic_time() < deadline_us);
  return nullptr;
}

/// Runs a launch string to its end; "" or what went wrong.
inline std::string RunToEnd(const std::string& launch) {
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(launch.c_str(), &error);
  if (error != nullptr) {
    const std::string text = error->message;
    g_error_free(error);
    if (pipeline != nullptr) gst_object_unref(pipeline);
    return text;
  }
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, kPatience,
      static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING));
  std::string text;
  if (message == nullptr) {
    text = "no end within the time";
  } else if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_EOS) {
    GError* failure = nullptr;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error(message, &failure, nullptr);
    } else {
      gst_message_parse_warning(message, &failure, nullptr);
    }
    text = failure->message;
    g_error_free(failure);
  }
  if (message != nullptr) gst_message_unref(message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  return text;
}

}  // namespace sg
