// Reads samples.jsonl (docs/formats.md, "Samples file"): what a run left behind, raw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/samples_writer.h"
#include "base/status.h"

namespace sg {

struct RunRecord {
  std::vector<std::string> streams;  ///< the sources' names; the index is the stream
  std::string launch;                ///< secrets masked
  std::string launch_sha256;
  std::string tap;
  bool loop = false;
  double warmup_s = 0;
  double measure_s = 0;
  double pace_fps = 0;         ///< each source's own rate; 0: as fast as the pipeline takes them
  double images_per_line = 1;  ///< what a frame's line stands for: the batch in a run of the engine
  double cores = 0;            ///< that the process may use; 0: not recorded
  std::vector<std::string> clock_paced_sinks;  ///< elements with sync=true
  std::string ended_by;                        ///< empty: the run did not come to its end (killed)
  bool cut = false;                            ///< the last line was incomplete and is left out
  std::vector<FrameSample> frames;             ///< in order of arrival
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
