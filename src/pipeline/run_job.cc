#include "pipeline/run_job.h"

#include "base/worker_client.h"

namespace sg {
namespace {

/// The longest that looking into a video may take, process start included.
constexpr double kProbeDeadlineS = 20;
/// Pulling frames seeks and decodes; a stuck decoder must still end.
constexpr double kFramesDeadlineS = 300;

/// Runs `read` on the JSON; a value of the wrong type is a kInternal error, since both ends are
/// ours.
template <typename T, typename Read>
Result<T> FromJsonObject(const Json& json, const char* what, const Read& read) {
  if (!json.is_object()) return InternalError(std::string(what) + ": not a JSON object");
  try {
    return read(json);
  } catch (const Json::exception& e) {
    return InternalError(std::string(what) + ": " + e.what());
  }
}

}  // namespace

Json VideoInfo::ToJson() const {
  return {{"path", path},
          {"container", container},
          {"container_mime", container_mime},
          {"codec", codec},
          {"codec_mime", codec_mime},
          {"width", width},
          {"height", height},
          {"fps", fps},
          {"variable_fps", variable_fps},
          {"duration_s", duration_s},
          {"rotation_degrees", rotation_degrees},
          {"bit_depth", bit_depth},
          {"chroma", chroma},
          {"audio_tracks", audio_tracks},
          {"video_tracks", video_tracks}};
}

Result<VideoInfo> VideoInfo::FromJson(const Json& json) {
  return FromJsonObject<VideoInfo>(json, "video facts", [](const Json& j) {
    VideoInfo info;
    info.path = j.at("path");
    info.container = j.at("container");
    info.container_mime = j.value("container_mime", "");
    info.codec = j.at("codec");
    info.codec_mime = j.at("codec_mime");
    info.width = j.at("width");
    info.height = j.at("height");
    info.fps = j.at("fps");
    info.variable_fps = j.at("variable_fps");
    info.duration_s = j.at("duration_s");
    info.rotation_degrees = j.at("rotation_degrees");
    info.bit_depth = j.value("bit_depth", 0);
    info.chroma = j.value("chroma", "");
    info.audio_tracks = j.at("audio_tracks");
    info.video_tracks = j.at("video_tracks");
    return info;
  });
}

Result<VideoInfo> ProbeVideo(const std::string& path) {
  WorkerCall call;
  call.job = "probe";
  call.request = {{"path", path}};
  call.deadline_s = kProbeDeadlineS;
  SG_ASSIGN_OR_RETURN(const Json result, CallWorker(call));
  return VideoInfo::FromJson(result.value("video", Json()));
}

Json RunJob::ToJson() const {
  return {{"launch", launch},
          {"tap", tap},
          {"trace_path", trace_path},
          {"samples_path", samples_path},
          {"streams", streams},
          {"sources", sources},
          {"loop", loop},
          {"warmup_s", warmup_s},
          {"measure_s", measure_s},
          {"max_frames", max_frames},
          {"pace_fps", pace.fps},
          {"jitter_ms", pace.jitter_ms},
          {"seed", pace.seed},
          {"stall_s", stall_s}};
}

Result<RunJob> RunJob::FromJson(const Json& json) {
  SG_ASSIGN_OR_RETURN(RunJob job, FromJsonObject<RunJob>(json, "run job", [](const Json& j) {
                        RunJob read;
                        read.launch = j.at("launch");
                        read.tap = j.at("tap");
                        read.trace_path = j.value("trace_path", "");
                        read.samples_path = j.value("samples_path", "");
                        read.streams = j.value("streams", 1);
                        read.sources = j.value("sources", std::vector<std::string>());
                        read.loop = j.value("loop", false);
                        read.warmup_s = j.value("warmup_s", 0.0);
                        read.measure_s = j.value("measure_s", 0.0);
                        read.max_frames = j.value("max_frames", uint64_t{0});
                        read.pace.fps = j.value("pace_fps", 0.0);
                        read.pace.jitter_ms = j.value("jitter_ms", 0.0);
                        read.pace.seed = j.value("seed", uint64_t{1});
                        read.stall_s = j.value("stall_s", 20.0);
                        return read;
                      }));
  if (job.streams < 0) return InternalError("run job: streams is below 0");
  if (job.loop && job.measure_s <= 0 && job.max_frames == 0)
    return InternalError("run job: loop without measure_s or max_frames would never end");
  job.NameStreams();
  return job;
}

void RunJob::NameStreams() {
  for (int i = static_cast<int>(sources.size()); i < streams; ++i)
    sources.push_back("stream " + std::to_string(i));
}

Json RunOutcome::ToJson() const {
  return {{"frames", frames}, {"wall_s", wall_s}, {"ended_by", ended_by}, {"warnings", warnings}};
}

Result<RunOutcome> RunOutcome::FromJson(const Json& json) {
  return FromJsonObject<RunOutcome>(json, "run outcome", [](const Json& j) {
    RunOutcome outcome;
    outcome.frames = j.at("frames").get<std::vector<uint64_t>>();
    outcome.wall_s = j.at("wall_s");
    outcome.ended_by = j.at("ended_by");
    outcome.warnings = j.at("warnings").get<std::vector<std::string>>();
    return outcome;
  });
}

Result<RunOutcome> RunPipeline(const RunJob& job,
                               const std::function<void(double, uint64_t)>& on_second) {
  return RunPipelineWhile(job, [&](double elapsed_s, uint64_t frames) {
    if (on_second) on_second(elapsed_s, frames);
    return true;
  });
}

Result<RunOutcome> RunPipelineWhile(const RunJob& job,
                                    const std::function<bool(double, uint64_t)>& on_second) {
  bool stop = false;
  WorkerCall call;
  call.job = "run";
  call.request = job.ToJson();
  call.on_event = [&](const Json& event) {
    if (event.value("event", "") == "second" && !stop)
      stop = !on_second(event.value("elapsed_s", 0.0), event.value("frames", uint64_t{0}));
  };
  call.stop_now = [&stop] { return stop; };
  SG_ASSIGN_OR_RETURN(const Json result, CallWorker(call));
  return RunOutcome::FromJson(result);
}

Result<ExtractedFrames> ExtractFrames(const std::string& video, const std::string& folder,
                                      int count) {
  WorkerCall call;
  call.job = "frames";
  call.request = {{"path", video}, {"folder", folder}, {"count", count}};
  call.deadline_s = kFramesDeadlineS;
  SG_ASSIGN_OR_RETURN(const Json result, CallWorker(call));
  return FromJsonObject<ExtractedFrames>(result, "extracted frames", [](const Json& j) {
    ExtractedFrames frames;
    frames.files = j.at("files").get<std::vector<std::string>>();
    frames.note = j.at("note");
    return frames;
  });
}

}  // namespace sg
