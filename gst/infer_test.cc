#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/testing.h"
#include "gst/element_test.h"
#include "gst/infer_test_engine.h"

namespace sg {
namespace {

/// The drawn scene as a frame of any format, with rows `padding` bytes longer than they need be.
GstBuffer* NewScene(const std::string& caps_text, int seed, GstClockTime pts, int padding = 0) {
  GstBuffer* buffer = NewPicture(caps_text, pts, padding, 128);
  GstCaps* caps = gst_caps_from_string(caps_text.c_str());
  GstVideoInfo info;
  gst_video_info_from_caps(&info, caps);
  gst_caps_unref(caps);
  GstVideoFrame frame;
  EXPECT_TRUE(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
  const int width = GST_VIDEO_FRAME_WIDTH(&frame);
  const int height = GST_VIDEO_FRAME_HEIGHT(&frame);
  const bool yuv = GST_VIDEO_INFO_IS_YUV(&info);
  const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, 0);
  auto* plane = static_cast<uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int level = DrawnScene::Level(seed, (x + 0.5) / width, (y + 0.5) / height);
      const int value = yuv ? 16 + static_cast<int>(std::lround(level * 219.0 / 255)) : level;
      std::memset(plane + y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x * step, value, step);
    }
  }
  gst_video_frame_unmap(&frame);
  return buffer;
}

/// Takes the frame.
void AddFrame(GstBuffer* batch, GstBuffer* frame, const std::string& caps_text, unsigned source,
              uint64_t number) {
  GstSgFrameMeta* facts = AddFrameMeta(frame);
  facts->source_id = source;
  facts->frame_number = number;
  facts->mux_width = 1280;
  facts->mux_height = 720;
  GstCaps* caps = gst_caps_from_string(caps_text.c_str());
  AppendFrame(batch, frame, caps);
  gst_caps_unref(caps);
}

GstBuffer* NewBatchOf(GstBuffer* frame, const std::string& caps_text, uint64_t number = 0) {
  GstBuffer* batch = NewBatch();
  GST_BUFFER_PTS(batch) = GST_BUFFER_PTS(frame);
  AddFrame(batch, frame, caps_text, 0, number);
  return batch;
}

struct FrameSeen {
  uint64_t number = 0;
  bool inferred = false;
  std::vector<Detection> detections;
};

class InferTest : public ElementTest {
 protected:
  void Start(const std::string& properties = "", const std::string& more_config = "") {
    const std::string config = WriteTestConfig(folder_.path(), TestEngine(), more_config);
    element_ = gst_parse_launch(("sginfer config-file-path=" + config + " " + properties).c_str(),
                                nullptr);
    ASSERT_NE(element_, nullptr);
    bus_ = gst_bus_new();
    gst_element_set_bus(element_, bus_);
    harness_ = gst_harness_new_with_element(element_, "sink", "src");
    gst_harness_play(harness_);
    GstCaps* caps = NewBatchCaps(1280, 720, 4, 30, 1);
    gst_harness_set_src_caps(harness_, caps);
  }
  void TearDown() override {
    if (harness_ != nullptr) gst_harness_teardown(harness_);
    if (element_ != nullptr) gst_object_unref(element_);
    if (bus_ != nullptr) gst_object_unref(bus_);
  }

  GstFlowReturn Push(GstBuffer* batch) { return gst_harness_push(harness_, batch); }
  GstFlowReturn PushScene(uint64_t number, const std::string& caps = VideoCaps("I420", 320, 240)) {
    return Push(
        NewBatchOf(NewScene(caps, static_cast<int>(number), number * GST_MSECOND), caps, number));
  }

  /// The frames of the next batch.
  std::vector<FrameSeen> Pull() {
    std::vector<FrameSeen> seen;
    GstBuffer* batch = PullWithin(harness_, kPatience);
    EXPECT_NE(batch, nullptr) << "no batch came";
    if (batch == nullptr) return seen;
    ForEachFrame(batch, [&](GstBuffer* frame, GstCaps*, size_t) {
      const GstSgFrameMeta* facts = GetFrameMeta(frame);
      seen.push_back({facts->frame_number, facts->inferred != FALSE, ReadDetections(frame)});
    });
    gst_buffer_unref(batch);
    return seen;
  }

  /// The text of the next message of this type, or "" when none came.
  std::string Message(GstMessageType type, GstClockTime patience = kPatience) {
    GstMessage* message = gst_bus_timed_pop_filtered(bus_, patience, type);
    if (message == nullptr) return "";
    GError* error = nullptr;
    if (type == GST_MESSAGE_WARNING) {
      gst_message_parse_warning(message, &error, nullptr);
    } else {
      gst_message_parse_error(message, &error, nullptr);
    }
    const std::string text = error->message;
    g_error_free(error);
    gst_message_unref(message);
    return text;
  }

  uint64_t Stat(const char* name) {
    GstStructure* stats = nullptr;
    g_object_get(element_, "stats", &stats, nullptr);
    guint64 value = 0;
    EXPECT_TRUE(gst_structure_get_uint64(stats, name, &value)) << name;
    gst_structure_free(stats);
    return value;
  }

  TempFolder folder_;
  GstElement* element_ = nullptr;
  GstBus* bus_ = nullptr;
  GstHarness* harness_ = nullptr;
};

TEST_F(InferTest, AttachesLabelledBoxesInTheMuxSpaceAndKeepsOrder) {
  Start();
  constexpr uint64_t kFrames = 12;
  for (uint64_t number = 0; number < kFrames; ++number) {
    ASSERT_EQ(PushScene(number), GST_FLOW_OK);
  }
  for (uint64_t number = 0; number < kFrames; ++number) {
    const auto frames = Pull();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].number, number);
    EXPECT_TRUE(frames[0].inferred);
    ASSERT_FALSE(frames[0].detections.empty()) << number;
    for (const Detection& detection : frames[0].detections) {
      EXPECT_EQ(detection.label, "person");
      EXPECT_GE(detection.left, 0);
      EXPECT_LE(detection.right, 1279);
      EXPECT_LE(detection.bottom, 719);
      EXPECT_GE(detection.confidence, 0.05);
    }
  }
  EXPECT_EQ(Stat("frames"), kFrames);
  EXPECT_EQ(Stat("inferences"), kFrames);
  EXPECT_EQ(Stat("requests-in-flight"), 0U);
  EXPECT_GT(Stat("preprocess-ns"), 0U);
}

TEST_F(InferTest, EosComesAfterEveryFrameInFlight) {
  Start();
  for (uint64_t number = 0; number < 6; ++number) ASSERT_EQ(PushScene(number), GST_FLOW_OK);
  ASSERT_TRUE(gst_harness_push_event(harness_, gst_event_new_eos()));
  GstEvent* eos = PullEvent(harness_, GST_EVENT_EOS);
  ASSERT_NE(eos, nullptr);
  gst_event_unref(eos);
  EXPECT_EQ(gst_harness_buffers_in_queue(harness_), 6U);
}

TEST_F(InferTest, ASourcesEndKeepsItsPlaceBetweenTheFrames) {
  Start();
  std::vector<std::string> order;
  gst_pad_add_probe(
      harness_->sinkpad,
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM),
      [](GstPad*, GstPadProbeInfo* info, gpointer data) {
        auto* list = static_cast<std::vector<std::string>*>(data);
        unsigned source = 0;
        if ((info->type & GST_PAD_PROBE_TYPE_BUFFER) != 0) {
          list->push_back("frame");
        } else if (ParseSourceEosEvent(GST_PAD_PROBE_INFO_EVENT(info), &source)) {
          list->push_back("end of " + std::to_string(source));
        }
        return GST_PAD_PROBE_OK;
      },
      &order, nullptr);
  ASSERT_EQ(PushScene(0), GST_FLOW_OK);
  ASSERT_EQ(PushScene(1), GST_FLOW_OK);
  ASSERT_TRUE(gst_harness_push_event(harness_, NewSourceEosEvent(3)));
  ASSERT_EQ(PushScene(2), GST_FLOW_OK);
  ASSERT_TRUE(gst_harness_push_event(harness_, gst_event_new_eos()));
  GstEvent* eos = PullEvent(harness_, GST_EVENT_EOS);
  ASSERT_NE(eos, nullptr);
  gst_event_unref(eos);
  EXPECT_EQ(order, std::vector<std::string>({"frame", "frame", "end of 3", "frame"}));
}

TEST_F(InferTest, FormatsStridesAndSizesGiveTheSameBoxes) {
  Start();
  std::vector<Detection> first;
  uint64_t number = 0;
  for (const char* format : {"I420", "NV12", "BGRx", "BGRA", "RGBA", "RGB"}) {
    for (const int padding : {0, 13}) {
      const std::string caps = VideoCaps(format, 321, 241) + ",colorimetry=" +
                               (format[0] == 'I' || format[0] == 'N' ? "bt601" : "sRGB");
      ASSERT_EQ(Push(NewBatchOf(NewScene(caps, 3, number * GST_MSECOND, padding), caps, number)),
                GST_FLOW_OK);
      const auto frames = Pull();
      ASSERT_EQ(frames.size(), 1U);
      EXPECT_EQ(frames[0].number, number++);
      ASSERT_FALSE(frames[0].detections.empty()) << format << " +" << padding;
      if (first.empty()) first = frames[0].detections;
      const Detection& best = frames[0].detections[0];
      EXPECT_NEAR(best.left, first[0].left, 4) << format << " +" << padding;
      EXPECT_NEAR(best.bottom, first[0].bottom, 4) << format << " +" << padding;
      EXPECT_NEAR(best.confidence, first[0].confidence, 0.06) << format << " +" << padding;
    }
  }
}

TEST_F(InferTest, CapsMayChangeInMidStream) {
  Start();
  uint64_t number = 0;
  for (const auto& [width, height] :
       {std::pair{320, 240}, {1, 1}, {2, 3}, {641, 479}, {320, 240}}) {
    GstCaps* caps = NewBatchCaps(1280, 720 + static_cast<int>(number), 4, 30, 1);
    ASSERT_TRUE(gst_harness_push_event(harness_, gst_event_new_caps(caps)));
    gst_caps_unref(caps);
    ASSERT_EQ(PushScene(number++, VideoCaps("I420", width, height)), GST_FLOW_OK);
  }
  for (uint64_t i = 0; i < number; ++i) {
    const auto frames = Pull();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].number, i);
    EXPECT_TRUE(frames[0].inferred) << i;
  }
  GstCaps* last = gst_pad_get_current_caps(harness_->sinkpad);
  int height = 0;
  gst_structure_get_int(gst_caps_get_structure(last, 0), "height", &height);
  gst_caps_unref(last);
  EXPECT_EQ(height, 724) << "the caps event went the same way as the frames";
}

TEST_F(InferTest, FramesThatCannotBeReadPassWithoutBoxesAndOneWarning) {
  Start();
  const std::string usable = VideoCaps("I420", 320, 240);
  GstBuffer* batch = NewBatch();
  AddFrame(batch, gst_buffer_new(), usable, 0, 0);
  AddFrame(batch, NewScene(usable, 1, 0), usable, 1, 1);
  AddFrame(batch, NewPicture(VideoCaps("GRAY8", 320, 240), 0), VideoCaps("GRAY8", 320, 240), 2, 2);
  AddFrame(batch, gst_buffer_new_allocate(nullptr, 10, nullptr), usable, 3, 3);
  ASSERT_EQ(Push(batch), GST_FLOW_OK);
  const auto frames = Pull();
  ASSERT_EQ(frames.size(), 4U);
  for (const FrameSeen& frame : frames) {
    EXPECT_EQ(frame.inferred, frame.number == 1) << frame.number;
    EXPECT_EQ(frame.detections.empty(), frame.number != 1) << frame.number;
  }
  EXPECT_EQ(Stat("unusable-frames"), 3U);
  EXPECT_NE(Message(GST_MESSAGE_WARNING).find("buffer is empty"), std::string::npos);
  EXPECT_EQ(Message(GST_MESSAGE_WARNING, 0), "") << "told once";
}

TEST_F(InferTest, AnEmptyBatchPasses) {
  Start();
  ASSERT_EQ(Push(NewBatch()), GST_FLOW_OK);
  EXPECT_TRUE(Pull().empty());
}

TEST_F(InferTest, IntervalSkipsBatchesInBetween) {
  Start("interval=2");
  for (uint64_t number = 0; number < 7; ++number) ASSERT_EQ(PushScene(number), GST_FLOW_OK);
  for (uint64_t number = 0; number < 7; ++number) {
    const auto frames = Pull();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].number, number);
    EXPECT_EQ(frames[0].inferred, number % 3 == 0);
    EXPECT_EQ(frames[0].detections.empty(), number % 3 != 0);
  }
  EXPECT_EQ(Stat("frames"), 7U);
  EXPECT_EQ(Stat("inferences"), 3U);
}

TEST_F(InferTest, FilteredClassesGetNoBoxes) {
  Start("filter-out-class-ids=0");
  ASSERT_EQ(PushScene(1), GST_FLOW_OK);
  const auto frames = Pull();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_TRUE(frames[0].inferred);
  EXPECT_TRUE(frames[0].detections.empty());
}

TEST_F(InferTest, PixelsAreSharedNotCopiedAndNotWritten) {
  Start();
  const std::string caps = VideoCaps("I420", 320, 240);
  GstBuffer* original = NewScene(caps, 2, 0);
  GstMemory* memory = gst_buffer_peek_memory(original, 0);
  // Someone else holds the frame too, as a decoder does its reference pictures.
  GstBuffer* held = gst_buffer_ref(original);
  GstBuffer* batch = NewBatch();
  AddFrame(batch, gst_buffer_make_writable(original), caps, 0, 0);
  ASSERT_EQ(Push(batch), GST_FLOW_OK);
  GstBuffer* out = PullWithin(harness_, kPatience);
  ASSERT_NE(out, nullptr);
  ForEachFrame(out, [&](GstBuffer* frame, GstCaps*, size_t) {
    EXPECT_EQ(gst_buffer_peek_memory(frame, 0), memory);
    EXPECT_FALSE(ReadDetections(frame).empty());
  });
  EXPECT_TRUE(ReadDetections(held).empty()) << "the other holder's buffer was changed";
  gst_buffer_unref(out);
  gst_buffer_unref(held);
}

TEST_F(InferTest, FlushDropsWhatIsInFlightAndTheStreamGoesOn) {
  Start();
  for (int round = 0; round < 3; ++round) {
    for (uint64_t number = 0; number < 4; ++number) ASSERT_EQ(PushScene(number), GST_FLOW_OK);
    ASSERT_TRUE(gst_harness_push_event(harness_, gst_event_new_flush_start()));
    EXPECT_EQ(PushScene(90), GST_FLOW_FLUSHING);
    ASSERT_TRUE(gst_harness_push_event(harness_, gst_event_new_flush_stop(TRUE)));
    while (GstBuffer* buffer = gst_harness_try_pull(harness_)) gst_buffer_unref(buffer);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    ASSERT_TRUE(gst_harness_push_event(harness_, gst_event_new_segment(&segment)));
    ASSERT_EQ(PushScene(100), GST_FLOW_OK);
    const auto frames = Pull();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].number, 100U);
    EXPECT_FALSE(frames[0].detections.empty());
  }
  EXPECT_EQ(Stat("requests-in-flight"), 0U);
}

TEST_F(InferTest, CapsThatWereOnTheirWayOutliveAFlush) {
  Start();
  for (uint64_t number = 0; number < 4; ++number) ASSERT_EQ(PushScene(number), GST_FLOW_OK);
  GstCaps* caps = NewBatchCaps(640, 333, 4, 30, 1);
  ASSERT_TRUE(gst_harness_push_event(harness_, gst_event_new_caps(caps)));
  gst_caps_unref(caps);
  ASSERT_TRUE(gst_harness_push_event(harness_, gst_event_new_flush_start()));
  ASSERT_TRUE(gst_harness_push_event(harness_, gst_event_new_flush_stop(TRUE)));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  ASSERT_TRUE(gst_harness_push_event(harness_, gst_event_new_segment(&segment)));
  ASSERT_EQ(PushScene(5), GST_FLOW_OK);
  for (auto frames = Pull(); !frames.empty() && frames[0].number != 5;) frames = Pull();
  GstCaps* last = gst_pad_get_current_caps(harness_->sinkpad);
  int height = 0;
  gst_structure_get_int(gst_caps_get_structure(last, 0), "height", &height);
  gst_caps_unref(last);
  EXPECT_EQ(height, 333);
}

TEST_F(InferTest, FlushWakesAThreadThatWaitsInChain) {
  Start();
  std::atomic<bool> pushing = true;
  std::thread pusher([&] {
    uint64_t number = 0;
    while (PushScene(number++) == GST_FLOW_OK) {
    }
    pushing = false;
  });
  g_usleep(100'000);
  ASSERT_TRUE(gst_harness_push_event(harness_, gst_event_new_flush_start()));
  pusher.join();
  EXPECT_FALSE(pushing);
}

TEST_F(InferTest, StoppingWhileBusyEndsInTimeAndStartsAgain) {
  Start();
  for (int round = 0; round < 3; ++round) {
    std::thread pusher([&] {
      uint64_t number = 0;
      while (PushScene(number++) == GST_FLOW_OK) {
      }
    });
    g_usleep(80'000);
    EXPECT_EQ(gst_element_set_state(element_, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
    pusher.join();
    gst_element_set_state(element_, GST_STATE_PLAYING);
    while (GstBuffer* buffer = gst_harness_try_pull(harness_)) gst_buffer_unref(buffer);
  }
}

TEST_F(InferTest, DownstreamsReturnReachesAThreadThatWaitsForARequest) {
  Start();
  std::atomic<bool> hold = true;
  gst_pad_set_chain_function_full(
      harness_->sinkpad,
      [](GstPad* pad, GstObject*, GstBuffer* buffer) {
        gst_buffer_unref(buffer);
        while (*static_cast<std::atomic<bool>*>(pad->chaindata)) g_usleep(1000);
        return GST_FLOW_EOS;
      },
      &hold, nullptr);
  std::atomic<GstFlowReturn> flow = GST_FLOW_OK;
  std::thread pusher([&] {
    uint64_t number = 0;
    while (flow == GST_FLOW_OK) flow = PushScene(number++);
  });
  // The first batch is held downstream; the pusher goes on until no request is free.
  uint64_t submitted = 0;
  do {
    submitted = Stat("frames");
    g_usleep(200'000);
  } while (submitted < 2 || Stat("frames") != submitted);
  EXPECT_EQ(flow, GST_FLOW_OK);
  EXPECT_GE(Stat("requests-in-flight"), 2U);
  hold = false;
  pusher.join();
  EXPECT_EQ(flow, GST_FLOW_EOS);
}

TEST_F(InferTest, ABufferThatIsNoBatchIsAnErrorThatSaysSo) {
  Start();
  EXPECT_EQ(Push(NewPicture(VideoCaps("I420", 64, 48), 0)), GST_FLOW_ERROR);
  EXPECT_NE(Message(GST_MESSAGE_ERROR).find("put sgmux before sginfer"), std::string::npos);
}

class InferSetUpTest : public ElementTest {
 protected:
  /// How a pipeline with this sginfer ends.
  static std::string Run(const std::string& properties) {
    return RunToEnd(
        "videotestsrc num-buffers=5 ! video/x-raw,format=I420,width=64,height=48 ! "
        "m.sink_0 sgmux name=m ! sginfer " +
        properties + " ! fakesink");
  }
  TempFolder folder_;
};

TEST_F(InferSetUpTest, AWholePipelineRuns) {
  EXPECT_EQ(Run("config-file-path=" + WriteTestConfig(folder_.path(), TestEngine())), "");
}

TEST_F(InferSetUpTest, WhatIsWrongIsToldInOneLineAndThePipelineEnds) {
  const std::string engine = folder_ / "none_dynamic_b4.engine";
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  };
  expect(Run(""), "config-file-path is not set");
  expect(Run("config-file-path=/nowhere/config.txt"), "/nowhere/config.txt");
  const std::string config = WriteTestConfig(folder_.path(), engine);
  expect(Run("config-file-path=" + config), folder_ / "none_dynamic_b4.blob");
  expect(Run("config-file-path=" + config), "streamgauge engine build");
  ASSERT_TRUE(WriteFileAtomic(folder_ / "none_dynamic_b4.blob", "not an engine").ok());
  expect(Run("config-file-path=" + config), "damaged");
  expect(Run("filter-out-class-ids=x config-file-path=" + config), "filter-out-class-ids=x");
  expect(Run("model-engine-file=/nowhere/e.blob config-file-path=" + config), "/nowhere/e.blob");
}

}  // namespace
}  // namespace sg
