#include "pipeline/gst/batch_meta.h"

#include <gst/video/gstvideometa.h>
#include <gtest/gtest.h>

namespace sg {
namespace {

class BatchMetaTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { gst_init(nullptr, nullptr); }
};

GstBuffer* NewFrame(unsigned source_id, uint64_t number) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  GstSgFrameMeta* facts = AddFrameMeta(frame);
  facts->source_id = source_id;
  facts->frame_number = number;
  facts->mux_width = 1280;
  facts->mux_height = 720;
  return frame;
}

TEST_F(BatchMetaTest, ACopyOfABatchHoldsTheSameFrames) {
  GstCaps* caps = gst_caps_new_empty_simple("video/x-raw");
  GstBuffer* batch = NewBatch();
  GstBuffer* frame = NewFrame(3, 7);
  AppendFrame(batch, frame, caps);
  GstBuffer* copy = gst_buffer_copy(batch);
  gst_buffer_unref(batch);

  GstSgBatchMeta* meta = GetBatchMeta(copy);
  ASSERT_NE(meta, nullptr);
  ASSERT_EQ(meta->frames->size(), 1u);
  EXPECT_EQ((*meta->frames)[0].buffer, frame);
  EXPECT_EQ((*meta->frames)[0].caps, caps);
  EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(frame), 1);
  gst_buffer_unref(copy);
  EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(caps), 1);
  gst_caps_unref(caps);
}

TEST_F(BatchMetaTest, AFrameMadeWritableKeepsItsMemoryAndFacts) {
  GstCaps* caps = gst_caps_new_empty_simple("video/x-raw");
  GstBuffer* batch = NewBatch();
  GstBuffer* frame = NewFrame(3, 7);
  gst_buffer_ref(frame);
  AppendFrame(batch, frame, caps);

  GstBuffer* writable = MakeFrameWritable(batch, 0);
  EXPECT_NE(writable, frame);
  EXPECT_TRUE(gst_buffer_is_writable(writable));
  EXPECT_EQ(gst_buffer_peek_memory(writable, 0), gst_buffer_peek_memory(frame, 0));
  ASSERT_NE(GetFrameMeta(writable), nullptr);
  EXPECT_EQ(GetFrameMeta(writable)->source_id, 3u);
  EXPECT_EQ(GetFrameMeta(writable)->frame_number, 7u);
  EXPECT_EQ(MakeFrameWritable(batch, 0), writable);

  gst_buffer_unref(frame);
  gst_buffer_unref(batch);
  gst_caps_unref(caps);
}

TEST_F(BatchMetaTest, EachFrameOfABatchIsVisitedAndASingleBufferOnce) {
  GstCaps* caps = gst_caps_new_empty_simple("video/x-raw");
  GstBuffer* batch = NewBatch();
  for (unsigned i = 0; i < 3; ++i) AppendFrame(batch, NewFrame(i, 0), caps);
  std::vector<unsigned> sources;
  ForEachFrame(batch, [&](GstBuffer* frame, GstCaps* frame_caps, size_t index) {
    EXPECT_EQ(frame_caps, caps);
    EXPECT_EQ(index, sources.size());
    sources.push_back(GetFrameMeta(frame)->source_id);
  });
  EXPECT_EQ(sources, (std::vector<unsigned>{0, 1, 2}));
  gst_buffer_unref(batch);

  GstBuffer* single = NewFrame(5, 0);
  int calls = 0;
  ForEachFrame(single, [&](GstBuffer* frame, GstCaps* frame_caps, size_t) {
    ++calls;
    EXPECT_EQ(frame, single);
    EXPECT_EQ(frame_caps, nullptr);
  });
  EXPECT_EQ(calls, 1);
  gst_buffer_unref(single);
  gst_caps_unref(caps);
}

TEST_F(BatchMetaTest, ADetectionIsReadBackInBothSpaces) {
  GstBuffer* frame = NewFrame(0, 0);
  Detection put;
  put.label = "traffic light";
  put.label_id = 9;
  put.confidence = 0.75;
  put.left = 128.5;
  put.top = 72;
  put.right = 640;
  put.bottom = 360;
  AddDetection(frame, put, 640, 360);

  GstBuffer* copy = gst_buffer_copy(frame);
  gst_buffer_unref(frame);
  const std::vector<Detection> got = ReadDetections(copy);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].label, "traffic light");
  EXPECT_EQ(got[0].label_id, 9);
  EXPECT_EQ(got[0].confidence, 0.75);
  EXPECT_EQ(got[0].left, 128.5);
  EXPECT_EQ(got[0].bottom, 360);
  EXPECT_EQ(got[0].object_id, -1);
  EXPECT_EQ(got[0].x, 64);
  EXPECT_EQ(got[0].y, 36);
  EXPECT_EQ(got[0].w, 256);
  EXPECT_EQ(got[0].h, 144);
  gst_buffer_unref(copy);
}

TEST_F(BatchMetaTest, ABoxOutsideThePictureIsCutToItsEdge) {
  GstBuffer* frame = NewFrame(0, 0);
  Detection put;
  put.label = "a";
  put.left = -500;
  put.top = 700;
  put.right = -100;
  put.bottom = 5000;
  AddDetection(frame, put, 1, 1);
  const std::vector<Detection> got = ReadDetections(frame);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].x, 0);
  EXPECT_EQ(got[0].y, 0);
  EXPECT_EQ(got[0].w, 1);
  EXPECT_EQ(got[0].h, 1);
  EXPECT_EQ(got[0].left, -500);
  gst_buffer_unref(frame);
}

TEST_F(BatchMetaTest, ForeignRegionsAreNotDetections) {
  GstBuffer* frame = NewFrame(0, 0);
  gst_buffer_add_video_region_of_interest_meta(frame, "face", 0, 0, 4, 4);
  EXPECT_TRUE(ReadDetections(frame).empty());
  gst_buffer_unref(frame);
}

TEST_F(BatchMetaTest, ASourceEosEventNamesItsSource) {
  GstEvent* event = NewSourceEosEvent(4);
  EXPECT_TRUE(GST_EVENT_IS_SERIALIZED(event));
  unsigned source_id = 0;
  EXPECT_TRUE(ParseSourceEosEvent(event, &source_id));
  EXPECT_EQ(source_id, 4u);
  gst_event_unref(event);
  event = gst_event_new_eos();
  EXPECT_FALSE(ParseSourceEosEvent(event, &source_id));
  gst_event_unref(event);
}

}  // namespace
}  // namespace sg
