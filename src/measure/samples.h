// Reads samples.jsonl (docs/formats.md, "Samples file"): what a run left behind, raw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

/// One frame as it arrived at the tap. Times are nanoseconds since the run's start.
struct FrameSample {
  int stream = 0;
  uint64_t frame = 0;       ///< number in its stream, from 0
  int64_t capture_ns = -1;  ///< when it left its decoder; -1: the pipeline does not carry it
  int64_t arrival_ns = 0;   ///< when it reached the tap
  int boxes = 0;
};

/// The process, about once a second.
struct SecondSample {
  int64_t time_ns = 0;  ///< since the run's start
  double cpu_s = 0;     ///< user + system time of the whole process so far
  uint64_t rss_bytes = 0;
};

struct RunRecord {
  std::vector<std::string> streams;  ///< the sources' names; the index is the stream
  std::string launch;                ///< secrets masked
  std::string launch_sha256;
  std::string tap;
  bool loop = false;
  double warmup_s = 0;
  double measure_s = 0;
  std::string ended_by;             ///< empty: the run did not come to its end (killed)
  bool cut = false;                 ///< the last line was incomplete and is left out
  std::vector<FrameSample> frames;  ///< in order of arrival
  std::vector<SecondSample> seconds;

  /// Arrival of the first frame, in seconds since the run's start; 0 without frames.
  double FirstArrival() const;
  /// Arrival of the last frame.
  double LastArrival() const;
};

/// kUser with file:line for anything malformed but a cut last line.
Result<RunRecord> ReadSamples(const std::string& path);

/// The same from text; `where` names it in errors.
Result<RunRecord> ParseSamples(const std::string& text, const std::string& where);

}  // namespace sg
