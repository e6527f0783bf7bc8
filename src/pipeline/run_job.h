// One measured run of one pipeline, as the command line asks streamgauge-worker for it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace sg {

/// A video's facts, found by looking into it (job "probe").
struct VideoInfo {
  std::string path;
  std::string container;  ///< "Quicktime", …
  std::string codec;      ///< "H.264 (High Profile)", …
  std::string codec_mime; ///< "video/x-h264", …
  int width = 0;
  int height = 0;
  double fps = 0;         ///< frames ÷ duration; 0: unknown
  bool variable_fps = false;
  double duration_s = 0;  ///< 0: unknown
  int rotation_degrees = 0;
  int audio_tracks = 0;
  int video_tracks = 0;
  Json ToJson() const;
  static Result<VideoInfo> FromJson(const Json& json);
};

/// kUser for a file that is missing, empty, truncated, not a video, or without a video track;
/// the message says which. Ends within 20 s.
Result<VideoInfo> ProbeVideo(const std::string& path);

struct RunJob {
  std::string launch;        ///< gst-launch syntax; sources' decoders end in pads of the element named "mux"
  std::string tap;           ///< name of the sink element where frames are counted
  std::string samples_path;  ///< samples.jsonl is written here as the frames come
  int streams = 1;
  bool loop = false;         ///< sources start again at their end; the run ends by `measure_s`
  double warmup_s = 0;
  double measure_s = 0;      ///< 0: until the end of the streams
  uint64_t max_frames = 0;   ///< per stream; 0: no limit
  double stall_s = 20;       ///< no frame at the tap for so long is an error
  Json ToJson() const;
  static Result<RunJob> FromJson(const Json& json);
};

struct RunOutcome {
  std::vector<uint64_t> frames;       ///< per stream, at the tap
  double wall_s = 0;
  std::string ended_by;               ///< "eos", "duration", "frames", "interrupt"
  std::vector<std::string> warnings;  ///< one line each
  static Result<RunOutcome> FromJson(const Json& json);
};

/// Runs the job in streamgauge-worker. An error of the pipeline is one line with the element's name.
/// `on_second(elapsed_s, frames at the tap so far)` is called about once a second.
Result<RunOutcome> RunPipeline(const RunJob& job,
                               const std::function<void(double, uint64_t)>& on_second);

/// Pulls `count` frames, spread over the clip, out of a video into folder/frame_%04d.jpg (from 0001).
Result<std::vector<std::string>> ExtractFrames(const std::string& video, const std::string& folder,
                                               int count);

}  // namespace sg
