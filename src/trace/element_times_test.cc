// Traces written by hand, whose times are known.
#include "trace/element_times.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <thread>

#include "base/files.h"
#include "base/testing.h"
#include "trace/call_walk.h"
#include "trace/duration_histogram.h"
#include "trace/frame_paths.h"
#include "trace/queue_levels.h"
#include "trace/trace_reader.h"
#include "trace/trace_views.h"
#include "trace/trace_writer.h"

namespace sg::trace {
namespace {

constexpr uint64_t kUs = 1000;

/// source ! queue ! filter ! sink, in a file of its own.
class Scene {
 public:
  enum Element : uint32_t { kSource = 1, kQueue, kFilter, kSink };
  enum Pad : uint32_t { kSourceOut = 10, kQueueIn, kQueueOut, kFilterIn, kFilterOut, kSinkIn };

  explicit Scene(uint64_t queue_flags = kElementStores) {
    TraceOptions options;
    options.path = folder_ / "a.sgtrace";
    options.max_bytes = 1 << 24;
    options.cpu_sample_period = 16;
    writer_ = *std::move(TraceWriter::Create(options));
    // Ahead of when the threads are made, since a thread's times do not go back.
    start_ = MonotonicNs() + 20'000'000'000;
    ThreadTrace main = writer_->NewThread();
    const auto element = [&](uint32_t id, uint64_t flags, std::string name) {
      main.WriteText(RecordType::kElementDef, id, flags, start_,
                     "p/" + name + '\0' + name + '\0' + "Test");
    };
    element(kSource, kElementIsSource, "source");
    element(kQueue, queue_flags, "queue");
    element(kFilter, 0, "filter");
    element(kSink, kElementIsSink, "sink");
    const auto pad = [&](uint32_t id, uint32_t owner, uint32_t flags) {
      main.WriteText(RecordType::kPadDef, id, uint64_t{owner} << 32 | flags, start_, "pad");
    };
    pad(kSourceOut, kSource, kPadIsSource);
    pad(kQueueIn, kQueue, 0);
    pad(kQueueOut, kQueue, kPadIsSource);
    pad(kFilterIn, kFilter, 0);
    pad(kFilterOut, kFilter, kPadIsSource);
    pad(kSinkIn, kSink, 0);
    for (const auto& [from, to] : {std::pair(kSourceOut, kQueueIn), std::pair(kQueueOut, kFilterIn),
                                   std::pair(kFilterOut, kSinkIn)})
      main.Write(RecordType::kLink, from, start_, std::array<uint64_t, 1>{to});
  }

  uint64_t At(uint64_t us) const { return start_ + us * kUs; }

  void OnThread(const std::function<void(ThreadTrace*)>& fn) {
    std::thread([&] {
      ThreadTrace trace = writer_->NewThread();
      fn(&trace);
    }).join();
  }

  void Push(ThreadTrace* thread, uint32_t pad, uint64_t us, uint64_t pts = kNoPts) const {
    thread->Write(RecordType::kPushBegin, pad, At(us), std::array<uint64_t, 2>{pts, 100 << 16 | 1});
  }
  void End(ThreadTrace* thread, uint64_t us) const {
    thread->Write(RecordType::kPushEnd, kFlowOffset, At(us));
  }
  /// The CPU clock at the record before, in us.
  void Cpu(ThreadTrace* thread, uint64_t us) const {
    thread->Write(RecordType::kCpu, 0, 0, std::array<uint64_t, 1>{us * kUs});
  }

  TraceFile Read() {
    writer_.reset();
    Result<TraceFile> trace = TraceFile::Open(folder_ / "a.sgtrace");
    EXPECT_TRUE(trace.ok());
    trace->cpu_clock_cost_ns = 0;
    return *std::move(trace);
  }

 private:
  TempFolder folder_;
  std::unique_ptr<TraceWriter> writer_;
  uint64_t start_ = 0;
};

std::map<std::string, ElementTime> ByName(const ElementTimes& times) {
  std::map<std::string, ElementTime> elements;
  for (const ElementTime& element : times.elements) elements[element.element.name] = element;
  return elements;
}

TEST(ElementTimes, ExclusiveTimeIsWithoutWhatIsCalled) {
  Scene scene;
  scene.OnThread([&](ThreadTrace* thread) {
    for (uint64_t i = 0; i < 3; ++i) {
      const uint64_t at = i * 100;
      scene.Push(thread, Scene::kQueueOut, at);        // the queue's own loop
      scene.Push(thread, Scene::kFilterOut, at + 30);  // the filter had it for 30
      scene.End(thread, at + 50);                      // the sink for 20
      scene.End(thread, at + 60);                      // the filter for 10 more
    }
  });
  const auto elements = ByName(MeasureElements(scene.Read()));
  EXPECT_EQ(elements.at("filter").call_ns, 3 * 40 * kUs);
  EXPECT_EQ(elements.at("filter").inclusive_ns, 3 * 60 * kUs);
  EXPECT_EQ(elements.at("sink").call_ns, 3 * 20 * kUs);
  // Between pushes, twice.
  EXPECT_EQ(elements.at("queue").loop_ns, 2 * 40 * kUs);
  EXPECT_EQ(elements.at("filter").calls, 3u);
  EXPECT_EQ(elements.at("filter").bytes_in, 300u);
  EXPECT_NEAR(static_cast<double>(elements.at("sink").p50_ns), 20 * kUs, 0.02 * 20 * kUs);
}

TEST(ElementTimes, WorkIsWhatTheClockOfTheThreadSays) {
  Scene scene;
  scene.OnThread([&](ThreadTrace* thread) {
    uint64_t cpu = 1000;
    for (uint64_t i = 0; i < 320; ++i) {
      const uint64_t at = i * 100;
      const bool sampled = i < kAlwaysSampledCalls || i % 16 == 0;
      const bool gap = i > 0 && (i - 1 < kAlwaysSampledCalls || (i - 1) % 16 == 0);
      scene.Push(thread, Scene::kSourceOut, at);
      if (sampled || gap) scene.Cpu(thread, cpu);
      cpu += 10;  // of 40 in the queue
      scene.End(thread, at + 40);
      if (sampled) scene.Cpu(thread, cpu);
      cpu += 50;  // of 60 in the source's loop
    }
  });
  const auto elements = ByName(MeasureElements(scene.Read()));
  EXPECT_NEAR(elements.at("queue").call_work_ns, 320 * 10 * kUs, 1 * kUs);
  EXPECT_NEAR(elements.at("source").loop_work_ns, 319 * 50 * kUs, 1 * kUs);
  EXPECT_NEAR(elements.at("source").wait_ns(), 319 * 10 * kUs, 1 * kUs);
}

TEST(ElementTimes, AQueueWaitsForOthersAndAFilterForItself) {
  Scene scene;
  scene.OnThread([&](ThreadTrace* thread) {
    for (uint64_t i = 0; i < 10; ++i) {
      scene.Push(thread, Scene::kSourceOut, i * 100);
      scene.End(thread, i * 100 + 95);  // full
    }
  });
  scene.OnThread([&](ThreadTrace* thread) {
    for (uint64_t i = 0; i < 10; ++i) {
      scene.Push(thread, Scene::kQueueOut, i * 100);
      scene.End(thread, i * 100 + 90);
    }
  });
  const ElementTimes times = MeasureElements(scene.Read());
  ASSERT_FALSE(times.elements.empty());
  EXPECT_EQ(times.elements[0].element.name, "filter");
  const auto elements = ByName(times);
  EXPECT_TRUE(elements.at("queue").is_decoupled);
  EXPECT_FALSE(elements.at("filter").is_decoupled);
  EXPECT_EQ(elements.at("queue").held_ns(), 0);
}

TEST(ElementTimes, WhatWasLostDoesNotShiftWhatFollows) {
  Scene scene;
  scene.OnThread([&](ThreadTrace* thread) {
    scene.Push(thread, Scene::kQueueOut, 0);  // its end is lost
    thread->Write(RecordType::kLost, 5, scene.At(500));
    scene.End(thread, 600);  // of a begin that was lost
    scene.Push(thread, Scene::kQueueOut, 1000);
    scene.End(thread, 1010);
  });
  const auto elements = ByName(MeasureElements(scene.Read()));
  EXPECT_EQ(elements.at("filter").calls, 1u);
  EXPECT_EQ(elements.at("filter").call_ns, 10 * kUs);
}

TEST(FramePaths, AQueueKeepsAFrameAcrossThreads) {
  Scene scene;
  scene.OnThread([&](ThreadTrace* thread) {
    for (uint64_t i = 0; i < 4; ++i) {
      scene.Push(thread, Scene::kSourceOut, i * 1000, i * 33);
      scene.End(thread, i * 1000 + 1);
    }
  });
  scene.OnThread([&](ThreadTrace* thread) {
    for (uint64_t i = 0; i < 4; ++i) {
      scene.Push(thread, Scene::kQueueOut, i * 1000 + 200, i * 33);
      scene.Push(thread, Scene::kFilterOut, i * 1000 + 300, i * 33);
      scene.End(thread, i * 1000 + 310);
      scene.End(thread, i * 1000 + 320);
    }
  });
  const TraceFile trace = scene.Read();
  const std::vector<SinkLatency> sinks = FollowFrames(trace);
  ASSERT_EQ(sinks.size(), 1u);
  EXPECT_EQ(sinks[0].frames, 4u);
  EXPECT_NEAR(sinks[0].p50_ms, 0.3, 1e-6);
  ASSERT_EQ(sinks[0].stays.size(), 2u);
  EXPECT_EQ(sinks[0].stays[0].element, Scene::kQueue);
  EXPECT_NEAR(sinks[0].stays[0].mean_ms, 0.2, 1e-6);
  EXPECT_NEAR(sinks[0].stays[1].mean_ms, 0.1, 1e-6);
}

TEST(QueueLevels, ALeakyQueueDroppedWhatNeitherLeftNorStayed) {
  Scene scene(kElementStores | kElementLeaks);
  scene.OnThread([&](ThreadTrace* thread) {
    for (uint64_t i = 0; i < 10; ++i) {
      scene.Push(thread, Scene::kSourceOut, i);
      scene.End(thread, i);
    }
    thread->Write(RecordType::kLevel, Scene::kQueue, scene.At(20),
                  std::array<uint64_t, 3>{2, 200, 0});
  });
  scene.OnThread([&](ThreadTrace* thread) {
    for (uint64_t i = 0; i < 5; ++i) {
      scene.Push(thread, Scene::kQueueOut, i);
      scene.End(thread, i);
    }
  });
  const std::vector<QueueLevels> levels = MeasureLevels(scene.Read());
  ASSERT_EQ(levels.size(), 1u);
  EXPECT_EQ(levels[0].dropped, 3u);
  EXPECT_EQ(levels[0].last_buffers, 2u);
}

TEST(TraceViews, StacksAddUpToTheTimeOfTheThread) {
  Scene scene;
  scene.OnThread([&](ThreadTrace* thread) {
    scene.Push(thread, Scene::kQueueOut, 0);
    scene.Push(thread, Scene::kFilterOut, 30);
    scene.End(thread, 50);
    scene.End(thread, 60);
  });
  const std::string stacks = FoldedStacks(scene.Read());
  EXPECT_NE(stacks.find(";queue;filter 40000\n"), std::string::npos) << stacks;
  EXPECT_NE(stacks.find(";queue;filter;sink 20000\n"), std::string::npos) << stacks;
}

TEST(DurationHistogram, PercentilesAreWithinTheirBucket) {
  DurationHistogram histogram;
  EXPECT_EQ(histogram.Percentile(0.5), 0u);
  for (uint64_t i = 1; i <= 1000; ++i) histogram.Add(i * 1000);
  EXPECT_NEAR(static_cast<double>(histogram.Percentile(0.5)), 500e3, 0.017 * 500e3);
  EXPECT_NEAR(static_cast<double>(histogram.Percentile(0.99)), 990e3, 0.017 * 990e3);
  histogram.Add(UINT64_MAX);
  EXPECT_GT(histogram.Percentile(1), UINT64_MAX / 2);
}

}  // namespace
}  // namespace sg::trace
