#include "gst/mux_core.h"

#include <gtest/gtest.h>

#include <string>

namespace sg {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1'000 * kMs;
using Kind = MuxStep::Kind;

struct TestFrame : MuxFrame {
  int number = 0;
};

// A former with sources 0 … n-1, and frames named "source:number".
class BatchFormerTest : public testing::Test {
 protected:
  void Start(unsigned sources, const MuxSettings& settings) {
    former_.Configure(settings);
    for (unsigned id = 0; id < sources; ++id) former_.AddSource(id);
  }
  void Push(unsigned source_id, int number, uint64_t now_ns = 0,
            std::optional<uint64_t> running_time_ns = std::nullopt) {
    auto frame = std::make_unique<TestFrame>();
    frame->source_id = source_id;
    frame->number = number;
    frame->running_time_ns = running_time_ns;
    former_.Push(std::move(frame), now_ns);
  }
  // The next batch's frames; "" when the next step is not a batch.
  std::string NextBatch(uint64_t now_ns = 0) {
    const MuxStep step = former_.Next(now_ns);
    std::string text;
    if (step.kind != Kind::kPushBatch) return text;
    for (const auto& frame : step.frames) {
      text += (text.empty() ? "" : " ") + std::to_string(frame->source_id) + ":" +
              std::to_string(static_cast<const TestFrame*>(frame.get())->number);
    }
    return text;
  }
  Kind NextKind(uint64_t now_ns = 0) { return former_.Next(now_ns).kind; }

  BatchFormer former_;
};

TEST_F(BatchFormerTest, ABatchWaitsForEverySourceAndIsOrderedBySource) {
  Start(3, {.batch_size = 3});
  Push(2, 0);
  Push(0, 0);
  EXPECT_EQ(NextKind(), Kind::kWait);
  Push(1, 0);
  EXPECT_EQ(NextBatch(), "0:0 1:0 2:0");
}

TEST_F(BatchFormerTest, ASourceGivesItsShareAndNoMore) {
  Start(2, {.batch_size = 4});
  for (int i = 0; i < 4; ++i) Push(0, i);
  EXPECT_EQ(NextKind(), Kind::kWait);
  Push(1, 0);
  Push(1, 1);
  EXPECT_EQ(NextBatch(), "0:0 0:1 1:0 1:1");
}

TEST_F(BatchFormerTest, OneSourceFillsAWholeBatch) {
  Start(1, {.batch_size = 3});
  Push(0, 0);
  Push(0, 1);
  EXPECT_EQ(NextKind(), Kind::kWait);
  Push(0, 2);
  EXPECT_EQ(NextBatch(), "0:0 0:1 0:2");
}

TEST_F(BatchFormerTest, WithMoreSourcesThanSlotsTheRoundGoesOn) {
  Start(4, {.batch_size = 2});
  for (unsigned id = 0; id < 4; ++id) {
    Push(id, 0);
    Push(id, 1);
  }
  EXPECT_EQ(NextBatch(), "0:0 1:0");
  EXPECT_EQ(NextBatch(), "2:0 3:0");
  EXPECT_EQ(NextBatch(), "0:1 1:1");
}

TEST_F(BatchFormerTest, TheTimeoutStartsWhenTheFirstFrameIsTaken) {
  Start(2, {.batch_size = 2, .push_timeout_ns = 33 * kMs});
  EXPECT_FALSE(former_.Next(1000 * kMs).wake_at_ns.has_value());
  Push(0, 0, 1000 * kMs);
  const MuxStep wait = former_.Next(1010 * kMs);
  EXPECT_EQ(wait.kind, Kind::kWait);
  EXPECT_EQ(wait.wake_at_ns, 1043 * kMs);
  EXPECT_EQ(NextBatch(1042 * kMs), "");
  EXPECT_EQ(NextBatch(1043 * kMs), "0:0");
}

TEST_F(BatchFormerTest, ATimeoutOfZeroSendsWhatIsThere) {
  Start(2, {.batch_size = 2, .push_timeout_ns = 0});
  Push(1, 0);
  EXPECT_EQ(NextBatch(), "1:0");
}

TEST_F(BatchFormerTest, AnEndComesAfterTheSourcesLastFrameAndTheOthersGoOn) {
  Start(2, {.batch_size = 2});
  Push(0, 0);
  former_.EndSource(0);
  EXPECT_EQ(NextKind(), Kind::kWait);  // its last frame is in a batch that waits for source 1
  Push(1, 0);
  EXPECT_EQ(NextBatch(), "0:0 1:0");
  const MuxStep ended = former_.Next(0);
  EXPECT_EQ(ended.kind, Kind::kSourceEnded);
  EXPECT_EQ(ended.source_id, 0u);
  Push(1, 1);
  EXPECT_EQ(NextBatch(), "1:1");
  former_.EndSource(1);
  EXPECT_EQ(NextKind(), Kind::kSourceEnded);
  EXPECT_EQ(NextKind(), Kind::kAllEnded);
  EXPECT_EQ(NextKind(), Kind::kWait);
}

TEST_F(BatchFormerTest, AnIncompleteLastBatchGoesOut) {
  Start(1, {.batch_size = 4});
  Push(0, 0);
  former_.EndSource(0);
  EXPECT_EQ(NextBatch(), "0:0");
  EXPECT_EQ(NextKind(), Kind::kSourceEnded);
  EXPECT_EQ(NextKind(), Kind::kAllEnded);
}

TEST_F(BatchFormerTest, AStalledSourceIsLeftOutOnceAndTakenBack) {
  Start(2, {.batch_size = 2});
  Push(0, 0, 10 * kSecond);
  EXPECT_EQ(former_.Next(10 * kSecond).wake_at_ns, 15 * kSecond);
  EXPECT_EQ(NextKind(15 * kSecond - 1), Kind::kWait);
  const MuxStep stalled = former_.Next(15 * kSecond);
  EXPECT_EQ(stalled.kind, Kind::kSourceStalled);
  EXPECT_EQ(stalled.source_id, 1u);
  EXPECT_EQ(NextBatch(15 * kSecond), "0:0");
  Push(0, 1, 16 * kSecond);
  EXPECT_EQ(NextBatch(16 * kSecond), "0:1");
  Push(1, 0, 17 * kSecond);
  EXPECT_EQ(NextKind(17 * kSecond), Kind::kWait);  // it counts again: source 0 is waited for
  Push(0, 2, 17 * kSecond);
  EXPECT_EQ(NextBatch(17 * kSecond), "0:2 1:0");
}

TEST_F(BatchFormerTest, ASourceIsNotStalledWhileNobodyWaitsForIt) {
  Start(2, {.batch_size = 2});
  EXPECT_EQ(NextKind(100 * kSecond), Kind::kWait);
  Push(0, 0, 200 * kSecond);
  EXPECT_EQ(NextKind(201 * kSecond), Kind::kWait);
  former_.RestartWaits(300 * kSecond);
  EXPECT_EQ(NextKind(304 * kSecond), Kind::kWait);
  EXPECT_EQ(NextKind(305 * kSecond), Kind::kSourceStalled);
}

TEST_F(BatchFormerTest, AFlushDropsTheSourcesFramesAlsoFromTheStartedBatch) {
  Start(2, {.batch_size = 2});
  Push(0, 0);
  Push(0, 1);
  EXPECT_EQ(NextKind(), Kind::kWait);
  former_.EndSource(0);
  former_.FlushSource(0);
  Push(1, 0);
  EXPECT_EQ(NextKind(), Kind::kWait);  // source 0 has not ended: it is waited for
  Push(0, 2);
  EXPECT_EQ(NextBatch(), "0:2 1:0");
}

TEST_F(BatchFormerTest, ARemovedSourceEndsAndIsNotWaitedFor) {
  Start(2, {.batch_size = 2});
  Push(0, 0);
  former_.RemoveSource(1);
  EXPECT_EQ(NextKind(), Kind::kSourceEnded);
  Push(0, 1);
  EXPECT_EQ(NextBatch(), "0:0 0:1");  // the share of one source is the whole batch
}

TEST_F(BatchFormerTest, RoomIsBoundedPerSource) {
  Start(2, {.batch_size = 2, .queue_frames = 2});
  Push(0, 0);
  Push(0, 1);
  EXPECT_FALSE(former_.HasRoom(0));
  EXPECT_TRUE(former_.HasRoom(1));
  EXPECT_FALSE(former_.HasRoom(9));
  EXPECT_EQ(NextKind(), Kind::kWait);  // one is taken into the batch
  EXPECT_TRUE(former_.HasRoom(0));
}

TEST_F(BatchFormerTest, SyncedBatchesHoldOnlyFramesOfOneTime) {
  Start(2, {.batch_size = 2, .sync_inputs = true});
  former_.SetFrameDuration(0, 40 * kMs);
  former_.SetFrameDuration(1, 100 * kMs);
  Push(0, 0, 0, 0);
  EXPECT_EQ(NextKind(), Kind::kWait);
  Push(1, 0, 0, 20 * kMs);
  EXPECT_EQ(NextBatch(), "0:0 1:0");  // half a frame of the fastest is still in
  Push(0, 1, 0, 40 * kMs);
  Push(1, 1, 0, 120 * kMs);
  EXPECT_EQ(NextBatch(), "0:1");
  EXPECT_EQ(NextKind(), Kind::kWait);
  Push(0, 2, 0, 141 * kMs);
  EXPECT_EQ(NextBatch(), "1:1");
}

TEST_F(BatchFormerTest, SyncedBatchesGoOnTimeoutWithoutTheLateSource) {
  Start(2, {.batch_size = 2, .push_timeout_ns = 10 * kMs, .sync_inputs = true});
  Push(0, 0, 0, 0);
  EXPECT_EQ(former_.Next(0).wake_at_ns, 10 * kMs);
  EXPECT_EQ(NextBatch(10 * kMs), "0:0");
}

}  // namespace
}  // namespace sg
