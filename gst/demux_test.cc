#include <vector>

#include "gst/element_test.h"

namespace sg {
namespace {

// An sgdemux fed with batches by harness 0, which also takes source 0; the others take theirs.
class DemuxTest : public ElementTest {
 protected:
  void Start(unsigned linked_sources) {
    harnesses_.push_back(gst_harness_new_with_padnames("sgdemux", "sink", "src_0"));
    GstElement* demux = harnesses_[0]->element;
    for (unsigned id = 1; id < linked_sources; ++id) {
      harnesses_.push_back(
          gst_harness_new_with_element(demux, nullptr, ("src_" + std::to_string(id)).c_str()));
    }
    for (GstHarness* harness : harnesses_) gst_harness_play(harness);
    gst_harness_set_src_caps_str(harnesses_[0],
                                 "application/x-sg-batch,width=64,height=48,batch-size=2");
  }
  void TearDown() override {
    for (size_t i = harnesses_.size(); i-- > 0;) gst_harness_teardown(harnesses_[i]);
  }
  void SupportStrides(unsigned id) {
    gst_harness_add_propose_allocation_meta(harnesses_[id], GST_VIDEO_META_API_TYPE, nullptr);
  }
  static GstBuffer* Frame(unsigned source_id, const std::string& caps, int padding = 0) {
    GstBuffer* frame = NewPicture(caps, 0, padding);
    AddFrameMeta(frame)->source_id = source_id;
    return frame;
  }
  static void Append(GstBuffer* batch, GstBuffer* frame, const std::string& caps_text) {
    GstCaps* caps = gst_caps_from_string(caps_text.c_str());
    AppendFrame(batch, frame, caps);
    gst_caps_unref(caps);
  }
  GstFlowReturn PushFrame(unsigned source_id, const std::string& caps, int padding = 0) {
    GstBuffer* batch = NewBatch();
    Append(batch, Frame(source_id, caps, padding), caps);
    return gst_harness_push(harnesses_[0], batch);
  }
  std::string NextCaps(unsigned id) {
    GstEvent* event = PullEvent(harnesses_[id], GST_EVENT_CAPS);
    if (event == nullptr) return "";
    GstCaps* caps = nullptr;
    gst_event_parse_caps(event, &caps);
    gchar* text = gst_caps_to_string(caps);
    const std::string result = text;
    g_free(text);
    gst_event_unref(event);
    return result;
  }
  bool HasEnded(unsigned id) {
    while (GstEvent* event = gst_harness_try_pull_event(harnesses_[id])) {
      const bool is_eos = GST_EVENT_TYPE(event) == GST_EVENT_EOS;
      gst_event_unref(event);
      if (is_eos) return true;
    }
    return false;
  }

  std::vector<GstHarness*> harnesses_;
};

TEST_F(DemuxTest, EachFrameGoesToItsSourcesPadUncopiedAndSolelyOwned) {
  Start(2);
  GstBuffer* batch = NewBatch();
  GstMemory* memories[2];
  for (const unsigned id : {1u, 0u}) {
    GstBuffer* frame = Frame(id, VideoCaps("I420", 64, 48));
    memories[id] = gst_buffer_peek_memory(frame, 0);
    Append(batch, frame, VideoCaps("I420", 64, 48));
  }
  ASSERT_EQ(gst_harness_push(harnesses_[0], batch), GST_FLOW_OK);
  for (unsigned id = 0; id < 2; ++id) {
    GstBuffer* frame = gst_harness_try_pull(harnesses_[id]);
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(GetFrameMeta(frame)->source_id, id);
    EXPECT_EQ(gst_buffer_peek_memory(frame, 0), memories[id]);
    EXPECT_TRUE(gst_buffer_is_writable(frame));
    gst_buffer_unref(frame);
  }
}

TEST_F(DemuxTest, CapsAreSentAgainOnlyWhenTheSourcesOwnChange) {
  Start(2);
  const std::string small = VideoCaps("I420", 64, 48);
  const std::string odd = VideoCaps("NV12", 33, 17);
  PushFrame(0, small);
  PushFrame(1, odd);
  PushFrame(0, small);
  PushFrame(0, odd);
  EXPECT_NE(NextCaps(0).find("(int)64"), std::string::npos);
  EXPECT_NE(NextCaps(0).find("(int)33"), std::string::npos);
  EXPECT_NE(NextCaps(1).find("(int)33"), std::string::npos);
  EXPECT_EQ(gst_harness_buffers_received(harnesses_[0]), 3u);
  for (GstHarness* harness : harnesses_) {
    while (GstEvent* event = gst_harness_try_pull_event(harness)) {
      EXPECT_NE(GST_EVENT_TYPE(event), GST_EVENT_CAPS);
      gst_event_unref(event);
    }
  }
}

TEST_F(DemuxTest, OneSourcesEndReachesItsPadOnly) {
  Start(2);
  PushFrame(0, VideoCaps("I420", 64, 48));
  PushFrame(1, VideoCaps("I420", 64, 48));
  gst_harness_push_event(harnesses_[0], NewSourceEosEvent(0));
  EXPECT_TRUE(HasEnded(0));
  EXPECT_FALSE(HasEnded(1));
  EXPECT_EQ(PushFrame(1, VideoCaps("I420", 64, 48)), GST_FLOW_OK);
  gst_harness_push_event(harnesses_[0], gst_event_new_eos());
  EXPECT_FALSE(HasEnded(0));  // not a second time
  EXPECT_TRUE(HasEnded(1));
  EXPECT_EQ(gst_harness_buffers_received(harnesses_[1]), 2u);
}

TEST_F(DemuxTest, ASourceThatStartsAgainHasANewStream) {
  Start(1);
  PushFrame(0, VideoCaps("I420", 64, 48));
  gst_harness_push_event(harnesses_[0], NewSourceEosEvent(0));
  EXPECT_TRUE(HasEnded(0));
  EXPECT_EQ(PushFrame(0, VideoCaps("I420", 64, 48)), GST_FLOW_OK);
  GstEvent* start = PullEvent(harnesses_[0], GST_EVENT_STREAM_START);
  EXPECT_NE(start, nullptr);
  if (start != nullptr) gst_event_unref(start);
  EXPECT_EQ(gst_harness_buffers_received(harnesses_[0]), 2u);
}

TEST_F(DemuxTest, FramesOfASourceWithoutAPadAreDropped) {
  Start(1);
  EXPECT_EQ(PushFrame(5, VideoCaps("I420", 64, 48)), GST_FLOW_OK);
  EXPECT_EQ(PushFrame(0, VideoCaps("I420", 64, 48)), GST_FLOW_OK);
  EXPECT_EQ(gst_harness_buffers_received(harnesses_[0]), 1u);
}

TEST_F(DemuxTest, AnUnlinkedPadDoesNotStopTheOthers) {
  Start(1);
  GstPad* unlinked = gst_element_request_pad_simple(harnesses_[0]->element, "src_1");
  ASSERT_NE(unlinked, nullptr);
  PushFrame(0, VideoCaps("I420", 64, 48));
  EXPECT_EQ(PushFrame(1, VideoCaps("I420", 64, 48)), GST_FLOW_OK);
  EXPECT_EQ(PushFrame(0, VideoCaps("I420", 64, 48)), GST_FLOW_OK);
  EXPECT_EQ(gst_harness_buffers_received(harnesses_[0]), 2u);
  gst_element_release_request_pad(harnesses_[0]->element, unlinked);
  gst_object_unref(unlinked);
  EXPECT_EQ(PushFrame(1, VideoCaps("I420", 64, 48)), GST_FLOW_OK);
}

TEST_F(DemuxTest, AFlushPassesAndTheStreamStartsAfresh) {
  Start(1);
  PushFrame(0, VideoCaps("I420", 64, 48));
  NextCaps(0);
  gst_harness_push_event(harnesses_[0], gst_event_new_flush_start());
  gst_harness_push_event(harnesses_[0], gst_event_new_flush_stop(TRUE));
  GstEvent* stop = PullEvent(harnesses_[0], GST_EVENT_FLUSH_STOP);
  ASSERT_NE(stop, nullptr);
  gst_event_unref(stop);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harnesses_[0], gst_event_new_segment(&segment));
  EXPECT_EQ(PushFrame(0, VideoCaps("I420", 64, 48)), GST_FLOW_OK);
  EXPECT_NE(NextCaps(0), "");
}

// Rows padded by 5 bytes, of a picture that is odd in both directions.
TEST_F(DemuxTest, PaddedRowsArePackedForThoseWhoDoNotKnowOfThem) {
  Start(1);
  for (const char* format : {"I420", "NV12", "BGRx"}) {
    const std::string caps_text = VideoCaps(format, 33, 17);
    GstCaps* caps = gst_caps_from_string(caps_text.c_str());
    GstVideoInfo info;
    ASSERT_TRUE(gst_video_info_from_caps(&info, caps));
    gst_caps_unref(caps);
    ASSERT_EQ(PushFrame(0, caps_text, 5), GST_FLOW_OK);
    GstBuffer* frame = gst_harness_try_pull(harnesses_[0]);
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(gst_buffer_get_size(frame), GST_VIDEO_INFO_SIZE(&info));
    EXPECT_EQ(gst_buffer_get_video_meta(frame), nullptr);
    ASSERT_NE(GetFrameMeta(frame), nullptr);
    GstVideoFrame mapped;
    ASSERT_TRUE(gst_video_frame_map(&mapped, &info, frame, GST_MAP_READ));
    EXPECT_EQ(static_cast<uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&mapped, 0))[16], 0x80);
    gst_video_frame_unmap(&mapped);
    gst_buffer_unref(frame);
  }
}

TEST_F(DemuxTest, PaddedRowsStayForThoseWhoKnowOfThem) {
  Start(1);
  SupportStrides(0);
  const std::string caps = VideoCaps("I420", 33, 17);
  GstBuffer* batch = NewBatch();
  GstBuffer* frame = Frame(0, caps, 5);
  GstMemory* memory = gst_buffer_peek_memory(frame, 0);
  Append(batch, frame, caps);
  ASSERT_EQ(gst_harness_push(harnesses_[0], batch), GST_FLOW_OK);
  frame = gst_harness_try_pull(harnesses_[0]);
  ASSERT_NE(frame, nullptr);
  EXPECT_EQ(gst_buffer_peek_memory(frame, 0), memory);
  gst_buffer_unref(frame);
}

TEST_F(DemuxTest, AFrameWithoutBytesAndAnOnePixelFrameGoThrough) {
  Start(1);
  GstBuffer* batch = NewBatch();
  GstBuffer* empty = gst_buffer_new();
  AddFrameMeta(empty)->source_id = 0;
  Append(batch, empty, VideoCaps("I420", 1, 1));
  Append(batch, Frame(0, VideoCaps("I420", 1, 1), 3), VideoCaps("I420", 1, 1));
  EXPECT_EQ(gst_harness_push(harnesses_[0], batch), GST_FLOW_OK);
  EXPECT_EQ(gst_harness_buffers_received(harnesses_[0]), 2u);
}

TEST_F(DemuxTest, CapsThatNobodyTakesAreAnErrorThatNamesThem) {
  const std::string error = RunToEnd(
      "videotestsrc num-buffers=2 ! video/x-raw,format=RGB ! m.sink_0 sgmux name=m ! "
      "sgdemux name=d d.src_0 ! capsfilter caps=video/x-raw,format=I420 ! fakesink");
  EXPECT_NE(error.find("src_0"), std::string::npos) << error;
  EXPECT_NE(error.find("RGB"), std::string::npos) << error;
}

TEST_F(DemuxTest, ABufferThatIsNotABatchIsAnError) {
  Start(1);
  EXPECT_EQ(gst_harness_push(harnesses_[0], gst_buffer_new()), GST_FLOW_ERROR);
}

}  // namespace
}  // namespace sg
