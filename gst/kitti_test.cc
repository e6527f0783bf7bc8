#include "base/files.h"
#include "base/testing.h"
#include "gst/element_test.h"

namespace sg {
namespace {

class KittiTest : public ElementTest {
 protected:
  void Start(const std::string& properties) {
    harness_ = gst_harness_new_parse(("sgkitti output-dir=" + folder_ + " " + properties).c_str());
  }
  void TearDown() override { gst_harness_teardown(harness_); }
  void SetCaps(const std::string& caps) { gst_harness_set_src_caps_str(harness_, caps.c_str()); }

  static GstBuffer* Frame(unsigned source_id, uint64_t number, const std::string& caps) {
    GstBuffer* frame = NewPicture(caps, 0);
    GstSgFrameMeta* facts = AddFrameMeta(frame);
    facts->source_id = source_id;
    facts->frame_number = number;
    facts->mux_width = 1280;
    facts->mux_height = 720;
    return frame;
  }
  std::string File(const std::string& name) {
    const Result<std::string> bytes = ReadFile(JoinPath(folder_, name));
    return bytes.ok() ? *bytes : "missing";
  }
  size_t Files() { return ListFolder(folder_)->size(); }

  const TempFolder temporary_;
  const std::string& folder_ = temporary_.path();
  GstHarness* harness_ = nullptr;
};

Detection Person(double left) {
  Detection detection;
  detection.label = "person";
  detection.confidence = 0.5;
  detection.left = left;
  detection.top = 2;
  detection.right = 300;
  detection.bottom = 400;
  return detection;
}

const char kBatchCaps[] = "application/x-sg-batch,width=1280,height=720,batch-size=2";

TEST_F(KittiTest, EveryFrameOfABatchHasAFileInTheMuxSpace) {
  Start("app-index=3");
  SetCaps(kBatchCaps);
  const std::string caps_text = VideoCaps("I420", 64, 48);
  GstCaps* caps = gst_caps_from_string(caps_text.c_str());
  GstBuffer* batch = NewBatch();
  GstBuffer* frame = Frame(0, 12, caps_text);
  AddDetection(frame, Person(1.25), 64, 48);
  AppendFrame(batch, frame, caps);
  AppendFrame(batch, Frame(1, 4, caps_text), caps);
  gst_caps_unref(caps);
  ASSERT_EQ(gst_harness_push(harness_, batch), GST_FLOW_OK);
  GstBuffer* out = gst_harness_try_pull(harness_);
  EXPECT_EQ(out, batch);
  gst_buffer_unref(out);
  EXPECT_EQ(File("03_000_000012.txt"),
            "person 0.0 0 0.0 1.250000 2.000000 300.000000 400.000000 "
            "0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.500000\n");
  EXPECT_EQ(File("03_001_000004.txt"), "");
  EXPECT_EQ(Files(), 2u);
}

TEST_F(KittiTest, SingleFramesOfEverySizeAndFormatHaveAFile) {
  Start("");
  uint64_t number = 0;
  for (const char* format : {"I420", "NV12", "BGRx"}) {
    for (const int size : {1, 33}) {
      const std::string caps = VideoCaps(format, size, size);
      SetCaps(caps);
      ASSERT_EQ(gst_harness_push(harness_, Frame(0, number++, caps)), GST_FLOW_OK);
    }
  }
  EXPECT_EQ(Files(), 6u);
}

TEST_F(KittiTest, OnlyTheFirstFramesAreWrittenWhenANumberIsGiven) {
  Start("num-frames=2");
  const std::string caps = VideoCaps("I420", 64, 48);
  SetCaps(caps);
  for (uint64_t number = 0; number < 4; ++number) {
    ASSERT_EQ(gst_harness_push(harness_, Frame(0, number, caps)), GST_FLOW_OK);
  }
  EXPECT_EQ(File("00_000_000001.txt"), "");
  EXPECT_EQ(Files(), 2u);
}

TEST_F(KittiTest, BuffersWithoutFactsPassUnwritten) {
  Start("");
  SetCaps(VideoCaps("I420", 64, 48));
  EXPECT_EQ(gst_harness_push(harness_, gst_buffer_new()), GST_FLOW_OK);
  EXPECT_EQ(gst_harness_push(harness_, NewPicture(VideoCaps("I420", 64, 48), 0)), GST_FLOW_OK);
  EXPECT_EQ(Files(), 0u);
}

TEST_F(KittiTest, FlushAndEndPass) {
  Start("");
  const std::string caps = VideoCaps("I420", 64, 48);
  SetCaps(caps);
  gst_harness_push_event(harness_, gst_event_new_flush_start());
  gst_harness_push_event(harness_, gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness_, gst_event_new_segment(&segment));
  EXPECT_EQ(gst_harness_push(harness_, Frame(0, 0, caps)), GST_FLOW_OK);
  gst_harness_push_event(harness_, NewSourceEosEvent(0));
  gst_harness_push_event(harness_, gst_event_new_eos());
  GstEvent* source_eos = PullEvent(harness_, GST_EVENT_CUSTOM_DOWNSTREAM);
  ASSERT_NE(source_eos, nullptr);
  gst_event_unref(source_eos);
  GstEvent* eos = PullEvent(harness_, GST_EVENT_EOS);
  ASSERT_NE(eos, nullptr);
  gst_event_unref(eos);
  EXPECT_EQ(Files(), 1u);
}

TEST_F(KittiTest, AFileThatCannotBeWrittenIsAnErrorThatNamesIt) {
  Start("");
  GstElement* kitti = gst_harness_find_element(harness_, "sgkitti");
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(kitti, bus);
  g_object_set(kitti, "output-dir", (folder_ + "/gone").c_str(), nullptr);
  const std::string caps = VideoCaps("I420", 64, 48);
  SetCaps(caps);
  EXPECT_EQ(gst_harness_push(harness_, Frame(0, 0, caps)), GST_FLOW_ERROR);
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  ASSERT_NE(message, nullptr);
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  EXPECT_TRUE(g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE));
  EXPECT_NE(std::string(error->message).find("/gone/00_000_000000.txt"), std::string::npos);
  g_error_free(error);
  gst_message_unref(message);
  gst_element_set_bus(kitti, nullptr);
  gst_object_unref(bus);
  gst_object_unref(kitti);
}

}  // namespace
}  // namespace sg
