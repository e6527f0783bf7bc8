#include "pipeline/gst/runner.h"

#include <map>

#include "measure/samples.h"
#include "measure/statistics.h"
#include "pipeline/gst/clip_test.h"
#include "pipeline/gst/probe.h"

namespace sg {
namespace {

class Runner : public ClipTest {
 protected:
  /// A job that runs `paths` to the tap without inference.
  RunJob Job(const std::vector<std::string>& paths) {
    LaunchPlan plan;
    plan.batch_size = static_cast<int>(paths.size());
    plan.width = 160;
    plan.height = 120;
    for (const std::string& path : paths) {
      const Result<VideoInfo> video = ProbeVideoHere(path);
      EXPECT_TRUE(video.ok()) << video.error().message;
      plan.sources.push_back(*video);
    }
    RunJob job;
    job.launch = LaunchString(plan);
    job.tap = "tap";
    job.streams = plan.batch_size;
    job.sources = paths;
    job.samples_path = folder_ / "samples.jsonl";
    job.stall_s = 10;
    return job;
  }
  static RunOutcome Outcome(const RunJob& job) {
    const Result<RunOutcome> outcome = RunPipelineHere(job, [](const Json&) {});
    EXPECT_TRUE(outcome.ok()) << outcome.error().message << "\n" << job.launch;
    return outcome.ok() ? *outcome : RunOutcome();
  }
  static Error Failure(const RunJob& job) {
    const Result<RunOutcome> outcome = RunPipelineHere(job, [](const Json&) {});
    EXPECT_FALSE(outcome.ok());
    return outcome.ok() ? Error() : outcome.error();
  }
};

using Frames = std::vector<uint64_t>;

TEST_F(Runner, CountsEveryFrameOfEveryContainer) {
  for (const std::string& path :
       {JpegMp4(25), TheoraClip(25), MakeClip("a.mkv", 25, "jpegenc ! matroskamux"),
        MakeClip("a.webm", 25, "vp8enc deadline=1 ! webmmux"),
        MakeClip("a9.webm", 25, "vp9enc deadline=1 cpu-used=8 ! webmmux"),
        MakeClip("a.avi", 25, "jpegenc ! avimux"), MakeClip("raw.avi", 25, "avimux"),
        MakeClip("b.mp4", 25, "jpegenc ! qtmux faststart=true"),
        MakeClip("422.mp4", 25, "videoconvert ! video/x-raw,format=Y42B ! jpegenc ! qtmux")}) {
    const RunOutcome outcome = Outcome(Job({path}));
    EXPECT_EQ(outcome.frames, Frames{25}) << path;
    EXPECT_EQ(outcome.ended_by, "eos");
  }
}

TEST_F(Runner, CountsEveryFrameOfMpeg4AndAv1) {
  for (const std::string& path :
       {MakeClip("4.mp4", 25, "avenc_mpeg4 ! qtmux"),
        MakeClip("1.mkv", 10, "av1enc cpu-used=8 ! av1parse ! matroskamux")}) {
    const RunJob job = Job({path});
    EXPECT_EQ(job.launch.find("decodebin"), std::string::npos) << job.launch;
    EXPECT_EQ(Outcome(job).frames, Frames{path.find("4.mp4") != std::string::npos ? 25u : 10u});
  }
}

TEST_F(Runner, LoopsH264WithoutLosingAFrame) {
  const std::string clip = SG_SOURCE_DIR "/build/clips/vtest.mp4";
  if (!FileExists(clip)) GTEST_SKIP() << clip << " was not fetched (scripts/setup.sh)";
  RunJob job = Job({clip});
  EXPECT_NE(job.launch.find("avdec_h264"), std::string::npos);
  const RunOutcome once = Outcome(job);
  job.loop = true;
  job.max_frames = 2 * once.frames[0] + 1;
  EXPECT_EQ(Outcome(job).frames, Frames{job.max_frames});
}

/// Runs the job paced for some seconds and reads its samples.
RunRecord Paced(RunJob job, double fps, double seconds) {
  job.loop = true;
  job.measure_s = seconds;
  job.pace.fps = fps;
  const Result<RunOutcome> outcome = RunPipelineHere(job, [](const Json&) {});
  EXPECT_TRUE(outcome.ok()) << outcome.error().message;
  const Result<RunRecord> record = ReadSamples(job.samples_path);
  EXPECT_TRUE(record.ok());
  return record.ok() ? *record : RunRecord();
}

double MedianLatencyMs(const RunRecord& record, int stream) {
  std::vector<double> latencies_ms;
  for (const FrameSample& frame : record.frames)
    if (frame.stream == stream)
      latencies_ms.push_back(static_cast<double>(frame.arrival_ns - frame.capture_ns) / 1e6);
  return Median(latencies_ms);
}

TEST_F(Runner, PacesEachStreamOnItsOwnScheduleOverItsLoops) {
  const std::string clip = JpegMp4(12);
  RunJob job = Job({clip, clip});
  job.launch.replace(job.launch.find("batched-push-timeout=-1"), 23, "batched-push-timeout=5000");
  const RunRecord record = Paced(job, 20, 3);
  EXPECT_EQ(record.pace_fps, 20);
  std::map<int, std::vector<int64_t>> due;
  for (const FrameSample& frame : record.frames) {
    EXPECT_EQ(frame.frame, due[frame.stream].size());  // none lost, none twice
    due[frame.stream].push_back(frame.capture_ns);
    EXPECT_GE(frame.arrival_ns, frame.capture_ns);
  }
  for (const int stream : {0, 1}) {
    ASSERT_GE(due[stream].size(), 55u);
    ASSERT_LE(due[stream].size(), 62u);
    for (size_t i = 1; i < due[stream].size(); ++i)
      EXPECT_NEAR(static_cast<double>(due[stream][i] - due[stream][i - 1]), 50e6, 10) << i;
    EXPECT_LT(MedianLatencyMs(record, stream), 40);
  }
  const int64_t phase_ns = due[1][0] - due[0][0];
  EXPECT_NEAR(static_cast<double>(phase_ns), 0.618 * 50e6, 1e5);
}

TEST_F(Runner, AFilesReorderingIsNoLatency) {
  const std::string clip = SG_SOURCE_DIR "/build/clips/vtest.mp4";
  if (!FileExists(clip)) GTEST_SKIP() << clip << " was not fetched (scripts/setup.sh)";
  // At 10 fps one frame of reordering would be 100 ms.
  EXPECT_LT(MedianLatencyMs(Paced(Job({clip}), 10, 4), 0), 60);
}

TEST_F(Runner, PacesWhatDecodebinDecodes) {
  const std::string clip = JpegMp4(30);
  RunJob job = Job({clip});
  job.launch =
      "sgmux name=m batch-size=1 width=160 height=120 ! fakesink sync=false "
      "filesrc location=" +
      clip + " ! decodebin ! video/x-raw ! m.sink_0";
  job.tap.clear();
  job.streams = 0;
  const RunRecord record = Paced(job, 20, 2);
  EXPECT_GE(record.frames.size(), 36u);
  EXPECT_LE(record.frames.size(), 42u);
  EXPECT_EQ(record.tap.rfind("fakesink", 0), 0u);
}

TEST_F(Runner, FindsItsWayInAPipelineOfSomebodyElse) {
  RunJob job;
  job.streams = 0;
  job.samples_path = folder_ / "samples.jsonl";
  job.launch = TestPicture(20) + "fakesink name=end sync=true";
  EXPECT_EQ(Outcome(job).frames, Frames{20});
  const Result<RunRecord> record = ReadSamples(job.samples_path);
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->clock_paced_sinks, std::vector<std::string>{"end"});
  job.launch =
      TestPicture(20) + "tee name=t t. ! queue ! fakesink name=a t. ! queue ! fakesink name=b";
  EXPECT_NE(Failure(job).message.find("2 sinks (a, b)"), std::string::npos);
  job.launch = TestPicture(20) + "identity";
  EXPECT_NE(Failure(job).message.find("no sink"), std::string::npos);
  job.launch = TestPicture(20) + "fakesink";
  job.pace.fps = 10;
  job.measure_s = 1;
  EXPECT_NE(Failure(job).message.find("no sgmux"), std::string::npos);
}

TEST_F(Runner, WritesKittiAndVideo) {
  const std::string path = JpegMp4(12);
  LaunchPlan plan;
  plan.sources = {*ProbeVideoHere(path)};
  RunJob job = Job({path});
  plan.end = LaunchEnd::kKitti;
  plan.output = folder_ / "kitti out";
  ASSERT_TRUE(MakeFolders(plan.output).ok());
  job.launch = LaunchString(plan);
  EXPECT_EQ(Outcome(job).frames, Frames{12});
  EXPECT_EQ(ListFolder(plan.output)->size(), 12u);

  plan.end = LaunchEnd::kVideo;
  plan.output = folder_ / "boxes.ogv";
  job.launch = LaunchString(plan);
  job.max_frames = 7;
  EXPECT_EQ(Outcome(job).frames, Frames{7});
  EXPECT_EQ(Outcome(Job({plan.output})).frames, Frames{7});
}

TEST_F(Runner, TakesTheVideoOfAFileWithAudioFirst) {
  const std::string path = folder_ / "audio_first.mkv";
  RunToEnd("matroskamux name=m" + Into(path) +
           " audiotestsrc num-buffers=100 ! audio/x-raw,rate=44100 ! audioconvert ! vorbisenc ! "
           "m.audio_0 " +
           TestPicture(20) + "jpegenc ! m.video_0");
  EXPECT_EQ(Outcome(Job({path})).frames, Frames{20});
}

TEST_F(Runner, RecordsEachFrameOnceAndInOrder) {
  const std::string path = JpegMp4(30);
  const RunOutcome outcome = Outcome(Job({path, path}));
  EXPECT_EQ(outcome.frames, (Frames{30, 30}));
  const Result<RunRecord> record = ReadSamples(folder_ / "samples.jsonl");
  ASSERT_TRUE(record.ok()) << record.error().message;
  EXPECT_EQ(record->streams, (std::vector<std::string>{path, path}));
  EXPECT_EQ(record->ended_by, "eos");
  EXPECT_GE(record->seconds.size(), 2u);
  std::map<int, uint64_t> next;
  for (const FrameSample& frame : record->frames) {
    EXPECT_EQ(frame.frame, next[frame.stream]++);
    EXPECT_GE(frame.capture_ns, 0);
    EXPECT_GE(frame.arrival_ns, frame.capture_ns);
  }
  EXPECT_EQ(next[0], 30u);
  EXPECT_EQ(next[1], 30u);
}

TEST_F(Runner, LoopsWithoutLosingOrRepeatingAFrame) {
  for (const std::string& path :
       {JpegMp4(10), TheoraClip(10), MakeClip("a.mkv", 10, "jpegenc ! matroskamux"),
        MakeClip("a.avi", 10, "jpegenc ! avimux")}) {
    RunJob job = Job({path, path});
    job.loop = true;
    job.max_frames = 30;
    // The pictures themselves, one after the other, to be compared with three times the clip.
    const std::string once_path = folder_ / "once.yuv";
    const std::string looped_path = folder_ / "looped.yuv";
    RunToEnd("filesrc " + LaunchProperty("location", path) +
             " ! decodebin ! videoconvert ! video/x-raw,format=I420 ! filesink " +
             LaunchProperty("location", once_path));
    const size_t tap = job.launch.find("fakesink name=tap sync=false");
    job.launch.replace(
        tap, std::string("fakesink name=tap sync=false").size(),
        "sgdemux name=d d.src_0 ! videoconvert ! video/x-raw,format=I420 ! filesink " +
            LaunchProperty("location", looped_path) + " d.src_1 ! fakesink sync=false async=false");
    job.tap = "d";
    const RunOutcome outcome = Outcome(job);
    EXPECT_EQ(outcome.frames, (Frames{30, 30})) << path;
    EXPECT_EQ(outcome.ended_by, "frames");
    const Result<std::string> once = ReadFile(once_path);
    const Result<std::string> looped = ReadFile(looped_path);
    ASSERT_TRUE(once.ok() && looped.ok());
    EXPECT_EQ(once->size(), size_t{10} * 160 * 120 * 3 / 2);
    EXPECT_TRUE(*looped == *once + *once + *once) << path;
  }
}

TEST_F(Runner, LoopsUntilTheTimeIsUp) {
  RunJob job = Job({JpegMp4(10)});
  job.loop = true;
  job.warmup_s = 0.2;
  job.measure_s = 0.8;
  const RunOutcome outcome = Outcome(job);
  EXPECT_EQ(outcome.ended_by, "duration");
  EXPECT_GE(outcome.wall_s, 1.0);
  EXPECT_LT(outcome.wall_s, 3.0);
  EXPECT_GT(outcome.frames[0], 10u);
}

TEST_F(Runner, ASourceThatCannotBeSoughtInIsNamed) {
  const std::string path = JpegMp4(10);
  RunJob job = Job({path});
  // fakesrc does not seek.
  job.launch =
      "sgmux name=mux batch-size=1 width=160 height=120 ! fakesink name=tap sync=false fakesrc "
      "num-buffers=5 sizetype=fixed sizemax=28800 filltype=nothing ! "
      "video/x-raw,format=I420,width=160,height=120,framerate=10/1 ! mux.sink_0";
  job.loop = true;
  job.measure_s = 5;
  const Error error = Failure(job);
  EXPECT_EQ(error.kind, ErrorKind::kUser);
  EXPECT_EQ(error.message.rfind(path + ": cannot be started again at its end", 0), 0u)
      << error.message;
}

TEST_F(Runner, EndsAtTheFrameLimitExactly) {
  RunJob job = Job({JpegMp4(30), MakeClip("short.avi", 5, "jpegenc ! avimux")});
  job.max_frames = 12;
  const RunOutcome outcome = Outcome(job);
  EXPECT_EQ(outcome.frames, (Frames{12, 5}));
  EXPECT_EQ(outcome.ended_by, "frames");
}

TEST_F(Runner, ACutOffVideoEndsInTime) {
  const Result<std::string> whole =
      ReadFile(MakeClip("front.mp4", 40, "jpegenc ! qtmux faststart=true"));
  RunJob job = Job({folder_ / "front.mp4"});
  ASSERT_TRUE(
      WriteFileAtomic(folder_ / "front.mp4", whole->substr(0, whole->size() * 6 / 10)).ok());
  job.stall_s = 3;
  const Result<RunOutcome> outcome = RunPipelineHere(job, [](const Json&) {});
  // GStreamer plays what is there, or says that it is damaged; either is an end.
  if (outcome.ok()) {
    EXPECT_LT(outcome->frames[0], 40u);
  } else {
    EXPECT_EQ(outcome.error().kind, ErrorKind::kUser) << outcome.error().message;
  }
}

TEST_F(Runner, AMissingFileIsTheUsersError) {
  RunJob job = Job({JpegMp4(3)});
  ASSERT_TRUE(RemoveAll(folder_ / "clip.mp4").ok());
  const Error error = Failure(job);
  EXPECT_EQ(error.kind, ErrorKind::kUser);
  EXPECT_NE(error.message.find("filesrc"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("clip.mp4"), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find('\n'), std::string::npos);
}

TEST_F(Runner, AStalledSourceIsNamed) {
  RunJob job = Job({JpegMp4(3)});
  job.launch =
      "sgmux name=mux batch-size=1 width=160 height=120 ! fakesink name=tap sync=false appsrc ! "
      "video/x-raw,format=I420,width=160,height=120,framerate=10/1 ! mux.sink_0";
  job.sources = {"rtsp://me:secret@camera/1"};
  job.stall_s = 0.5;
  const Error error = Failure(job);
  EXPECT_EQ(error.kind, ErrorKind::kUser);
  EXPECT_EQ(error.message, "rtsp://***@camera/1: stalled: no frame for 0.5 s after 0 frames");
}

TEST_F(Runner, AStalledSourceDoesNotEndTheOthers) {
  RunJob job = Job({JpegMp4(3)});
  const std::string caps = "video/x-raw,format=I420,width=160,height=120,framerate=50/1";
  job.launch =
      "sgmux name=mux batch-size=2 width=160 height=120 batched-push-timeout=40000 "
      "live-source=true "
      "! fakesink name=tap sync=false videotestsrc is-live=true num-buffers=150 ! " +
      caps + " ! mux.sink_0 appsrc ! " + caps + " ! mux.sink_1";
  job.streams = 2;
  job.sources = {"a", "b"};
  job.stall_s = 1;
  job.measure_s = 2.5;
  const RunOutcome outcome = Outcome(job);
  EXPECT_GT(outcome.frames[0], 40u);
  EXPECT_EQ(outcome.frames[1], 0u);
  EXPECT_EQ(
      outcome.warnings,
      (std::vector<std::string>{"b: stalled: no frame for 1 s after 0 frames, while others went on",
                                "b: gave no frame"}));
}

TEST_F(Runner, AStuckElementBehindTheMuxIsNotBlamedOnASource) {
  RunJob job = Job({JpegMp4(50)});
  const size_t tap = job.launch.find("fakesink name=tap");
  job.launch.insert(tap, "identity sleep-time=60000000 ! ");
  job.stall_s = 0.5;
  const Error error = Failure(job);
  EXPECT_EQ(error.kind, ErrorKind::kEnvironment) << error.message;
  EXPECT_NE(error.message.find("stuck between"), std::string::npos) << error.message;
}

TEST_F(Runner, ATapThatIsNotThereIsNamed) {
  RunJob job = Job({JpegMp4(3)});
  job.tap = "nothing";
  EXPECT_NE(Failure(job).message.find("no element named \"nothing\""), std::string::npos);
}

TEST_F(Runner, SamplesThatCannotBeWrittenAreFoundBeforeTheRun) {
  RunJob job = Job({JpegMp4(3)});
  job.samples_path = folder_ / "none/samples.jsonl";
  EXPECT_EQ(Failure(job).kind, ErrorKind::kEnvironment);
}

TEST_F(Runner, TellsAboutEachSecond) {
  RunJob job = Job({JpegMp4(10)});
  job.loop = true;
  job.measure_s = 1.5;
  std::vector<Json> events;
  ASSERT_TRUE(RunPipelineHere(job, [&](const Json& event) { events.push_back(event); }).ok());
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(events.back().value("event", ""), "second");
  EXPECT_GT(events.back().value("frames", 0), 10);
  EXPECT_GE(events.back().value("elapsed_s", 0.0), 1.4);
}

}  // namespace
}  // namespace sg
