// What the command line asks streamgauge-worker about a video or a pipeline, and what comes back.
// docs/formats.md, "Worker protocol", has the same as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace sg {

/// A video's facts, found by looking into it (job "probe"). They are those of the first video
/// track.
struct VideoInfo {
  std::string path;
  std::string container;       ///< "Quicktime", "Matroska", …; empty: an elementary stream
  std::string container_mime;  ///< "video/quicktime", …
  std::string codec;           ///< "H.264 (High Profile)", …
  std::string codec_mime;      ///< "video/x-h264", …
  int width = 0;
  int height = 0;
  double fps = 0;             ///< frames ÷ duration; 0: unknown
  bool variable_fps = false;  ///< frames are known to last differently long
  double duration_s = 0;      ///< 0: unknown
  int rotation_degrees = 0;   ///< clockwise, as the file asks players to turn the picture
  int bit_depth = 0;          ///< of luma; 0: the codec's header does not say
  std::string chroma;         ///< "4:2:0", "4:2:2", …; empty: the codec's header does not say
  int audio_tracks = 0;
  int video_tracks = 0;
  Json ToJson() const;
  static Result<VideoInfo> FromJson(const Json& json);
};

/// kUser for a file that is missing, empty, truncated, not a video, or without a video track;
/// the message says which. Ends within 20 s.
Result<VideoInfo> ProbeVideo(const std::string& path);

/// Sources as cameras: each frame has a time at which it is due, whether or not the pipeline is
/// ready for it.
struct PaceOptions {
  double fps = 0;        ///< of every source; 0: as fast as the pipeline takes them
  double jitter_ms = 0;  ///< a frame is due up to so much before or after its place in the schedule
  uint64_t seed = 1;     ///< of the jitter
};

struct RunJob {
  /// gst-launch syntax; sources' decoders end in pads of the element named "mux", else of the only
  /// sgmux.
  std::string launch;
  /// Name of the element where frames are counted, as they reach it; empty: the only sink.
  std::string tap;
  std::string trace_path;    ///< sgtrace records there (docs/formats.md, "Trace file"); empty: no
  std::string samples_path;  ///< samples.jsonl is written here as the frames come; empty: nowhere
  int streams = 1;           ///< 0: as many as the mux has sources, else 1
  std::vector<std::string>
      sources;              ///< what to call each stream in messages and in the samples file
  bool loop = false;        ///< sources start again at their end; the run ends by `measure_s`
  double warmup_s = 0;      ///< from the first frame at the tap
  double measure_s = 0;     ///< after the warm-up; 0: until the end of the streams
  uint64_t max_frames = 0;  ///< per stream, after which the stream ends; 0: no limit
  PaceOptions pace;
  double stall_s = 20;  ///< no frame at the tap for so long is an error
  /// Gives streams without a name in `sources` one.
  void NameStreams();
  Json ToJson() const;
  static Result<RunJob> FromJson(const Json& json);
};

struct RunOutcome {
  std::vector<uint64_t> frames;       ///< per stream, at the tap
  double wall_s = 0;                  ///< from the first frame at the tap to the end
  std::string ended_by;               ///< "eos", "duration", "frames", "interrupt"
  std::vector<std::string> warnings;  ///< one line each
  Json ToJson() const;
  static Result<RunOutcome> FromJson(const Json& json);
};

/// Runs the job in streamgauge-worker. An error of the pipeline is one line with the element's
/// name. `on_second(elapsed_s, frames at the tap so far)` is called about once a second.
Result<RunOutcome> RunPipeline(const RunJob& job,
                               const std::function<void(double, uint64_t)>& on_second);

/// The same, ended early (with ended_by "interrupt") once `on_second` gives false.
Result<RunOutcome> RunPipelineWhile(const RunJob& job,
                                    const std::function<bool(double, uint64_t)>& on_second);

struct ExtractedFrames {
  std::vector<std::string> files;  ///< paths, in the order of time
  std::string note;                ///< why there are fewer than asked for; else empty
};

/// Pulls `count` frames, spread over the clip, out of a video into folder/frame_%04d.jpg (from
/// 0001). A clip with fewer frames gives what it has. kUser as ProbeVideo.
Result<ExtractedFrames> ExtractFrames(const std::string& video, const std::string& folder,
                                      int count);

}  // namespace sg
