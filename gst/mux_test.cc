#include <atomic>
#include <thread>
#include <vector>

#include "gst/element_test.h"

namespace sg {
namespace {

// An sgmux with `sources` sink pads, each fed by a harness; harness 0 also takes the batches.
class MuxTest : public ElementTest {
 protected:
  void Start(unsigned sources, const std::string& properties,
             const std::string& caps = VideoCaps("I420", 64, 48)) {
    GstElement* mux = gst_parse_launch(("sgmux " + properties).c_str(), nullptr);
    ASSERT_NE(mux, nullptr);
    bus_ = gst_bus_new();
    gst_element_set_bus(mux, bus_);
    for (unsigned id = 0; id < sources; ++id) {
      const std::string pad = "sink_" + std::to_string(id);
      harnesses_.push_back(
          gst_harness_new_with_element(mux, pad.c_str(), id == 0 ? "src" : nullptr));
      // Else the harness plays a source that waits for a clock.
      gst_harness_play(harnesses_.back());
    }
    for (GstHarness* harness : harnesses_) gst_harness_set_src_caps_str(harness, caps.c_str());
    gst_object_unref(mux);
  }
  void TearDown() override {
    for (size_t i = harnesses_.size(); i-- > 0;) gst_harness_teardown(harnesses_[i]);
    if (bus_ == nullptr) return;
    gst_bus_set_flushing(bus_, TRUE);  // its messages refer to the element
    gst_object_unref(bus_);
  }

  GstFlowReturn Push(unsigned id, GstBuffer* buffer) {
    return gst_harness_push(harnesses_[id], buffer);
  }
  GstFlowReturn Push(unsigned id, int number, const std::string& caps = VideoCaps("I420", 64, 48)) {
    return Push(id, NewPicture(caps, static_cast<GstClockTime>(number) * GST_SECOND / 30));
  }
  void PushEvent(unsigned id, GstEvent* event) {
    ASSERT_TRUE(gst_harness_push_event(harnesses_[id], event));
  }
  // The next batch as "source:number …"; "" when none comes in time.
  std::string NextBatch(GstClockTime patience = kPatience) {
    GstBuffer* batch = PullWithin(harnesses_[0], patience);
    if (batch == nullptr) return "";
    std::string text;
    ForEachFrame(batch, [&](GstBuffer* frame, GstCaps*, size_t) {
      const GstSgFrameMeta* facts = GetFrameMeta(frame);
      text += (text.empty() ? "" : " ") + std::to_string(facts->source_id) + ":" +
              std::to_string(facts->frame_number);
    });
    gst_buffer_unref(batch);
    return text;
  }
  std::string NextWarning(GstClockTime patience = kPatience) {
    GstMessage* message = gst_bus_timed_pop_filtered(bus_, patience, GST_MESSAGE_WARNING);
    if (message == nullptr) return "";
    GError* warning = nullptr;
    gst_message_parse_warning(message, &warning, nullptr);
    const std::string text = warning->message;
    g_error_free(warning);
    gst_message_unref(message);
    return text;
  }
  GstElement* mux() { return harnesses_[0]->element; }

  std::vector<GstHarness*> harnesses_;
  GstBus* bus_ = nullptr;
};

TEST_F(MuxTest, AFramesMemoryGoesThroughUncopiedWithItsFacts) {
  Start(2, "batch-size=2 width=1280 height=720");
  GstBuffer* pictures[2];
  GstMemory* memories[2];
  for (unsigned id = 0; id < 2; ++id) {
    pictures[id] = NewPicture(VideoCaps("I420", 64, 48), 40 * GST_MSECOND * id);
    memories[id] = gst_buffer_peek_memory(pictures[id], 0);
    gst_buffer_ref(pictures[id]);  // as a decoder that refers to its last picture
    ASSERT_EQ(Push(id, pictures[id]), GST_FLOW_OK);
  }
  GstBuffer* batch = PullWithin(harnesses_[0], kPatience);
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(gst_buffer_get_size(batch), 0u);
  EXPECT_EQ(GST_BUFFER_PTS(batch), 0u);
  GstSgBatchMeta* meta = GetBatchMeta(batch);
  ASSERT_NE(meta, nullptr);
  ASSERT_EQ(meta->frames->size(), 2u);
  for (unsigned id = 0; id < 2; ++id) {
    GstBuffer* frame = (*meta->frames)[id].buffer;
    EXPECT_EQ(gst_buffer_peek_memory(frame, 0), memories[id]);
    const GstSgFrameMeta* facts = GetFrameMeta(frame);
    EXPECT_EQ(facts->source_id, id);
    EXPECT_EQ(facts->mux_width, 1280u);
    EXPECT_EQ(facts->mux_height, 720u);
    EXPECT_FALSE(facts->inferred);
    EXPECT_LE(facts->capture_ns, MonotonicNs());
    EXPECT_GT(facts->capture_ns, 0u);
    EXPECT_EQ(GetFrameMeta(pictures[id]), nullptr);  // the decoder's own buffer is untouched
    gst_buffer_unref(pictures[id]);
  }
  gst_buffer_unref(batch);
}

TEST_F(MuxTest, FramesKeepTheirOrderAndNumbers) {
  Start(2, "batch-size=2");
  for (int i = 0; i < 3; ++i) {
    Push(1, i);
    Push(0, i);
  }
  EXPECT_EQ(NextBatch(), "0:0 1:0");
  EXPECT_EQ(NextBatch(), "0:1 1:1");
  EXPECT_EQ(NextBatch(), "0:2 1:2");
}

TEST_F(MuxTest, WithoutATimeoutEverySourceIsWaitedFor) {
  Start(2, "batch-size=2 batched-push-timeout=-1");
  Push(0, 0);
  EXPECT_EQ(NextBatch(150 * GST_MSECOND), "");
  Push(1, 0);
  EXPECT_EQ(NextBatch(), "0:0 1:0");
}

TEST_F(MuxTest, AfterTheTimeoutAnIncompleteBatchGoes) {
  Start(2, "batch-size=2 batched-push-timeout=33333");
  const uint64_t start_ns = MonotonicNs();
  Push(0, 0);
  EXPECT_EQ(NextBatch(), "0:0");
  EXPECT_GE(MonotonicNs() - start_ns, 33'000'000u);
}

TEST_F(MuxTest, TheFirstSourceGivesTheCoordinateSpaceAndTheBatchCapsStay) {
  Start(1, "");
  Push(0, 0);
  GstBuffer* batch = PullWithin(harnesses_[0], kPatience);
  ASSERT_NE(batch, nullptr);
  gst_buffer_unref(batch);
  const std::string other = VideoCaps("NV12", 33, 17, 25);
  gst_harness_set_src_caps_str(harnesses_[0], other.c_str());
  ASSERT_EQ(Push(0, 1, other), GST_FLOW_OK);
  batch = PullWithin(harnesses_[0], kPatience);
  ASSERT_NE(batch, nullptr);
  const BatchFrame& frame = (*GetBatchMeta(batch)->frames)[0];
  GstVideoInfo info;
  ASSERT_TRUE(gst_video_info_from_caps(&info, frame.caps));
  EXPECT_EQ(GST_VIDEO_INFO_FORMAT(&info), GST_VIDEO_FORMAT_NV12);
  EXPECT_EQ(GST_VIDEO_INFO_WIDTH(&info), 33);
  EXPECT_EQ(GetFrameMeta(frame.buffer)->mux_width, 64u);
  EXPECT_EQ(GetFrameMeta(frame.buffer)->mux_height, 48u);
  gst_buffer_unref(batch);

  GstEvent* caps_event = PullEvent(harnesses_[0], GST_EVENT_CAPS);
  ASSERT_NE(caps_event, nullptr);
  GstCaps* caps = nullptr;
  gst_event_parse_caps(caps_event, &caps);
  GstCaps* expected = NewBatchCaps(64, 48, 1, 30, 1);
  EXPECT_TRUE(gst_caps_is_equal(caps, expected));
  gst_caps_unref(expected);
  gst_event_unref(caps_event);
  while (GstEvent* event = gst_harness_try_pull_event(harnesses_[0])) {
    EXPECT_NE(GST_EVENT_TYPE(event), GST_EVENT_CAPS);
    gst_event_unref(event);
  }
}

TEST_F(MuxTest, OneSourcesEndIsToldInOrderAndTheOtherGoesOn) {
  Start(2, "batch-size=2");
  Push(0, 0);
  PushEvent(0, gst_event_new_eos());
  Push(1, 0);
  EXPECT_EQ(NextBatch(), "0:0 1:0");
  GstEvent* event = PullEvent(harnesses_[0], GST_EVENT_CUSTOM_DOWNSTREAM);
  ASSERT_NE(event, nullptr);
  unsigned source_id = 99;
  EXPECT_TRUE(ParseSourceEosEvent(event, &source_id));
  EXPECT_EQ(source_id, 0u);
  gst_event_unref(event);
  Push(1, 1);
  EXPECT_EQ(NextBatch(), "1:1");
  PushEvent(1, gst_event_new_eos());
  event = PullEvent(harnesses_[0], GST_EVENT_EOS);
  EXPECT_NE(event, nullptr);
  if (event != nullptr) gst_event_unref(event);
}

TEST_F(MuxTest, ASourceThatEndsWithoutAFrameDoesNotHoldUpTheOther) {
  Start(2, "batch-size=2");
  PushEvent(1, gst_event_new_eos());
  Push(0, 0);
  EXPECT_EQ(NextBatch(), "0:0");
}

TEST_F(MuxTest, AStalledSourceIsWarnedOfLeftOutAndTakenBack) {
  Start(2, "batch-size=2");
  Push(0, 0);
  EXPECT_EQ(NextBatch(), "0:0");
  EXPECT_NE(NextWarning().find("source 1"), std::string::npos);
  Push(0, 1);
  EXPECT_EQ(NextBatch(GST_SECOND), "0:1");
  Push(1, 0);
  EXPECT_EQ(NextBatch(100 * GST_MSECOND), "");
  Push(0, 2);
  EXPECT_EQ(NextBatch(), "0:2 1:0");
  EXPECT_EQ(NextWarning(0), "");
}

// Pushes frames to one source until it is refused.
class Pusher {
 public:
  Pusher(GstHarness* harness, int frames)
      : thread_([this, harness, frames] {
          for (int i = 0; i < frames && flow_ == GST_FLOW_OK; ++i) {
            flow_ = gst_harness_push(harness,
                                     NewPicture(VideoCaps("I420", 64, 48),
                                                static_cast<GstClockTime>(i) * GST_SECOND / 30));
            ++pushed_;
          }
        }) {}
  ~Pusher() { Join(); }
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  // Waits until the queue is full: no call returned for a while.
  void WaitUntilBlocked() {
    int before = -1;
    while (pushed_ != before || before == 0) {
      before = pushed_;
      g_usleep(50'000);
    }
  }
  int pushed() const { return pushed_; }
  GstFlowReturn flow() const { return flow_; }

 private:
  std::atomic<int> pushed_ = 0;
  std::atomic<GstFlowReturn> flow_ = GST_FLOW_OK;
  std::thread thread_;
};

TEST_F(MuxTest, AFlushFreesABlockedSourceAndDropsItsFrames) {
  Start(2, "batch-size=2");
  Pusher pusher(harnesses_[0], 100);
  pusher.WaitUntilBlocked();
  EXPECT_LE(pusher.pushed(), 8);
  PushEvent(0, gst_event_new_flush_start());
  pusher.Join();
  EXPECT_EQ(pusher.flow(), GST_FLOW_FLUSHING);
  PushEvent(0, gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  PushEvent(0, gst_event_new_segment(&segment));
  Push(1, 0);
  EXPECT_EQ(NextBatch(100 * GST_MSECOND), "");  // nothing of before the flush is left
  ASSERT_EQ(Push(0, 0), GST_FLOW_OK);
  GstBuffer* batch = PullWithin(harnesses_[0], kPatience);
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(GetBatchMeta(batch)->frames->size(), 2u);
  gst_buffer_unref(batch);
}

TEST_F(MuxTest, AFlushAfterTheEndStartsTheSourceAgain) {
  Start(2, "batch-size=2");
  Push(0, 0);
  PushEvent(0, gst_event_new_eos());
  PushEvent(0, gst_event_new_flush_start());
  PushEvent(0, gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  PushEvent(0, gst_event_new_segment(&segment));
  ASSERT_EQ(Push(0, 1), GST_FLOW_OK);
  Push(1, 0);
  EXPECT_EQ(NextBatch(), "0:1 1:0");
}

// What follows refuses frames until it is told otherwise, as a stage that has seen enough.
TEST_F(MuxTest, AfterWhatFollowsEndedSourcesGetItsAnswerAndAFlushStartsAgain) {
  Start(1, "");
  GstPad* src = gst_element_get_static_pad(mux(), "src");
  const gulong probe = gst_pad_add_probe(
      src, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo* info, gpointer) {
        gst_buffer_unref(GST_PAD_PROBE_INFO_BUFFER(info));
        info->data = nullptr;
        GST_PAD_PROBE_INFO_FLOW_RETURN(info) = GST_FLOW_EOS;
        return GST_PAD_PROBE_HANDLED;
      },
      nullptr, nullptr);
  GstFlowReturn flow = GST_FLOW_OK;
  for (int i = 0; i < 1000 && flow == GST_FLOW_OK; ++i) {
    flow = Push(0, i);
    g_usleep(1000);
  }
  EXPECT_EQ(flow, GST_FLOW_EOS);
  GstEvent* eos = PullEvent(harnesses_[0], GST_EVENT_EOS);
  ASSERT_NE(eos, nullptr);
  gst_event_unref(eos);
  gst_pad_remove_probe(src, probe);
  gst_object_unref(src);

  PushEvent(0, gst_event_new_flush_start());
  PushEvent(0, gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  PushEvent(0, gst_event_new_segment(&segment));
  ASSERT_EQ(Push(0, 0), GST_FLOW_OK);
  EXPECT_NE(NextBatch(), "");
}

TEST_F(MuxTest, APadIsReleasedWhileItsSourceIsBlocked) {
  Start(2, "batch-size=2");
  Push(1, 0);
  EXPECT_EQ(NextBatch(50 * GST_MSECOND), "");
  GstPad* pad = gst_element_request_pad_simple(mux(), "sink_7");
  ASSERT_NE(pad, nullptr);
  GstPad* feed = gst_pad_new("feed", GST_PAD_SRC);
  gst_pad_set_active(feed, TRUE);
  ASSERT_EQ(gst_pad_link(feed, pad), GST_PAD_LINK_OK);
  gst_pad_push_event(feed, gst_event_new_stream_start("feed"));
  GstCaps* caps = gst_caps_from_string(VideoCaps("I420", 64, 48).c_str());
  gst_pad_push_event(feed, gst_event_new_caps(caps));
  gst_caps_unref(caps);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_push_event(feed, gst_event_new_segment(&segment));
  std::atomic<int> pushed = 0;
  GstFlowReturn flow = GST_FLOW_OK;
  std::thread source([&] {
    while (flow == GST_FLOW_OK) {
      flow = gst_pad_push(feed, NewPicture(VideoCaps("I420", 64, 48), 0));
      ++pushed;
    }
  });
  while (pushed < 4) g_usleep(1000);
  gst_element_release_request_pad(mux(), pad);
  source.join();
  EXPECT_TRUE(flow == GST_FLOW_FLUSHING || flow == GST_FLOW_NOT_LINKED) << flow;
  gst_object_unref(pad);
  gst_pad_set_active(feed, FALSE);
  gst_object_unref(feed);
  Push(0, 0);
  EXPECT_NE(NextBatch(), "");
}

TEST_F(MuxTest, StoppingFreesABlockedSource) {
  Start(2, "batch-size=2");
  Pusher pusher(harnesses_[0], 100);
  pusher.WaitUntilBlocked();
  gst_element_set_state(mux(), GST_STATE_NULL);
  pusher.Join();
  EXPECT_EQ(pusher.flow(), GST_FLOW_FLUSHING);
}

TEST_F(MuxTest, UnusableFramesAreDroppedCountedAndWarnedOf) {
  Start(1, "");
  for (int i = 0; i < 10; ++i) ASSERT_EQ(Push(0, gst_buffer_new()), GST_FLOW_OK);
  EXPECT_NE(NextWarning().find("1 frame(s)"), std::string::npos);
  const std::string tenth = NextWarning();
  EXPECT_NE(tenth.find("10 frame(s)"), std::string::npos) << tenth;
  ASSERT_EQ(Push(0, gst_buffer_new_allocate(nullptr, 64 * 48 - 1, nullptr)), GST_FLOW_OK);
  Push(0, 0);
  EXPECT_EQ(NextBatch(), "0:0");
  EXPECT_EQ(NextWarning(0), "");
}

TEST_F(MuxTest, EveryFormatAndSizeGoesThrough) {
  Start(1, "");
  int number = 0;
  for (const char* format : {"I420", "NV12", "BGRx", "BGRA", "RGBA", "RGB"}) {
    for (const auto& [width, height] : {std::pair(1, 1), std::pair(33, 17), std::pair(64, 48)}) {
      const std::string caps = VideoCaps(format, width, height);
      gst_harness_set_src_caps_str(harnesses_[0], caps.c_str());
      for (const int padding : {0, 13}) {
        ASSERT_EQ(Push(0, NewPicture(caps, 0, padding)), GST_FLOW_OK);
        EXPECT_EQ(NextBatch(), "0:" + std::to_string(number++)) << caps;
      }
    }
  }
  EXPECT_EQ(NextWarning(0), "");
}

TEST_F(MuxTest, ALiveMuxReportsItsTimeoutAsLatency) {
  Start(1, "live-source=true batched-push-timeout=40000");
  GstQuery* query = gst_query_new_latency();
  GstPad* src = gst_element_get_static_pad(mux(), "src");
  ASSERT_TRUE(gst_pad_query(src, query));
  gboolean live = FALSE;
  GstClockTime min = 0;
  GstClockTime max = 0;
  gst_query_parse_latency(query, &live, &min, &max);
  EXPECT_TRUE(live);
  EXPECT_EQ(min, 40 * GST_MSECOND);
  EXPECT_GE(max, min);
  gst_query_unref(query);
  gst_object_unref(src);
}

TEST_F(MuxTest, SyncedInputsShareABatchOnlyAtTheSameTime) {
  Start(2, "batch-size=2 sync-inputs=true");
  Push(0, 0);
  Push(0, 1);
  Push(1, 1);
  EXPECT_EQ(NextBatch(), "0:0");
  EXPECT_EQ(NextBatch(), "0:1 1:0");
}

TEST_F(MuxTest, ItRunsAgainAfterAStop) {
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(RunToEnd("sgmux name=m batch-size=3 batched-push-timeout=33333 ! fakesink "
                       "videotestsrc num-buffers=7 ! m. videotestsrc num-buffers=3 ! m."),
              "");
  }
}

}  // namespace
}  // namespace sg
