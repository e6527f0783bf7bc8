#include "gst/element_test.h"

namespace sg {
namespace {

class OsdTest : public ElementTest {
 protected:
  void Start(const std::string& properties) {
    harness_ = gst_harness_new_parse(("sgosd " + properties).c_str());
  }
  void TearDown() override { gst_harness_teardown(harness_); }

  // Draws one box over a picture of `caps`; nullptr when it did not come through.
  GstBuffer* Draw(const std::string& caps, int width, int height, int padding, bool with_box) {
    gst_harness_set_src_caps_str(harness_, caps.c_str());
    GstBuffer* frame = NewPicture(caps, 0, padding);
    AddFrameMeta(frame);
    if (with_box) {
      Detection box;
      box.label = "person";
      box.confidence = 0.9;
      box.right = width;
      box.bottom = height;
      AddDetection(frame, box, width, height);
    }
    if (gst_harness_push(harness_, frame) != GST_FLOW_OK) return nullptr;
    return gst_harness_try_pull(harness_);
  }
  static size_t ChangedBytes(GstBuffer* buffer) {
    GstMapInfo map;
    EXPECT_TRUE(gst_buffer_map(buffer, &map, GST_MAP_READ));
    size_t changed = 0;
    for (gsize i = 0; i < map.size; ++i) changed += map.data[i] != 0x80;
    gst_buffer_unmap(buffer, &map);
    return changed;
  }

  GstHarness* harness_ = nullptr;
};

TEST_F(OsdTest, DetectionsAreDrawnInEveryFormatSizeAndStrideAcrossCapsChanges) {
  Start("border-width=1");
  for (const char* format : {"I420", "NV12", "BGRx", "BGRA", "RGBA", "RGB"}) {
    for (const auto& [width, height] : {std::pair(1, 1), std::pair(33, 17), std::pair(64, 48)}) {
      for (const int padding : {0, 13}) {
        const std::string caps = VideoCaps(format, width, height);
        GstBuffer* frame = Draw(caps, width, height, padding, true);
        ASSERT_NE(frame, nullptr) << caps;
        EXPECT_GT(ChangedBytes(frame), 0u) << caps;
        EXPECT_EQ(ReadDetections(frame).size(), 1u);
        gst_buffer_unref(frame);
      }
    }
  }
}

TEST_F(OsdTest, TheBorderIsAsWideAsTheProperty) {
  Start("border-width=3 display-text=false");
  GstBuffer* frame = Draw(VideoCaps("BGRx", 64, 48), 64, 48, 0, true);
  ASSERT_NE(frame, nullptr);
  EXPECT_EQ(ChangedBytes(frame), 3u * (64 * 48 - 58 * 42));
  gst_buffer_unref(frame);
}

TEST_F(OsdTest, DrawingIsInPlaceOnASolelyOwnedFrame) {
  Start("");
  const std::string caps = VideoCaps("I420", 64, 48);
  gst_harness_set_src_caps_str(harness_, caps.c_str());
  GstBuffer* frame = NewPicture(caps, 0);
  Detection box;
  box.right = 20;
  box.bottom = 20;
  AddDetection(frame, box, 64, 48);
  GstMemory* memory = gst_buffer_peek_memory(frame, 0);
  ASSERT_EQ(gst_harness_push(harness_, frame), GST_FLOW_OK);
  GstBuffer* out = gst_harness_try_pull(harness_);
  EXPECT_EQ(gst_buffer_peek_memory(out, 0), memory);
  gst_buffer_unref(out);
}

TEST_F(OsdTest, AMemoryThatSomebodyElseReadsIsNotDrawnInto) {
  Start("");
  const std::string caps = VideoCaps("I420", 64, 48);
  gst_harness_set_src_caps_str(harness_, caps.c_str());
  GstBuffer* reference = NewPicture(caps, 0);
  GstBuffer* frame = gst_buffer_copy(reference);
  Detection box;
  box.right = 20;
  box.bottom = 20;
  AddDetection(frame, box, 64, 48);
  ASSERT_EQ(gst_harness_push(harness_, frame), GST_FLOW_OK);
  GstBuffer* out = gst_harness_try_pull(harness_);
  EXPECT_GT(ChangedBytes(out), 0u);
  EXPECT_EQ(ChangedBytes(reference), 0u);
  gst_buffer_unref(out);
  gst_buffer_unref(reference);
}

TEST_F(OsdTest, WithoutDetectionsOrWithEverythingOffNothingIsDrawn) {
  Start("display-text=false display-bbox=false");
  for (const bool with_box : {true, false}) {
    GstBuffer* frame = Draw(VideoCaps("NV12", 33, 17), 33, 17, 0, with_box);
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(ChangedBytes(frame), 0u);
    gst_buffer_unref(frame);
  }
}

TEST_F(OsdTest, ABufferWithoutBytesPassesUndrawnAndTheNextIsDrawn) {
  Start("");
  gst_harness_set_src_caps_str(harness_, VideoCaps("I420", 64, 48).c_str());
  GstBuffer* empty = gst_buffer_new();
  Detection box;
  box.right = 20;
  box.bottom = 20;
  AddDetection(empty, box, 64, 48);
  EXPECT_EQ(gst_harness_push(harness_, empty), GST_FLOW_OK);
  GstBuffer* passed = gst_harness_try_pull(harness_);
  ASSERT_NE(passed, nullptr);
  EXPECT_EQ(gst_buffer_get_size(passed), 0u);
  gst_buffer_unref(passed);
  GstBuffer* frame = Draw(VideoCaps("I420", 64, 48), 64, 48, 0, true);
  ASSERT_NE(frame, nullptr);
  EXPECT_GT(ChangedBytes(frame), 0u);
  gst_buffer_unref(frame);
}

TEST_F(OsdTest, FlushAndEndPass) {
  Start("");
  gst_harness_set_src_caps_str(harness_, VideoCaps("I420", 64, 48).c_str());
  gst_harness_push_event(harness_, gst_event_new_flush_start());
  gst_harness_push_event(harness_, gst_event_new_flush_stop(TRUE));
  gst_harness_push_event(harness_, gst_event_new_eos());
  GstEvent* eos = PullEvent(harness_, GST_EVENT_EOS);
  ASSERT_NE(eos, nullptr);
  gst_event_unref(eos);
}

}  // namespace
}  // namespace sg
