// The command line's side of streamgauge-worker: one job, one process. The worker reads one JSON
// request on stdin and writes JSON lines on stdout (docs/formats.md, "Worker protocol").
#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace sg {

struct WorkerCall {
  std::string job;  ///< "probe", "engine-build", "engine-time", "run", "frames"
  Json request;
  double deadline_s = 0;  ///< 0: none
  /// Called with each {"event": …} line that is not the result or the error.
  std::function<void(const Json&)> on_event;
  /// True ends the job early, as Ctrl-C does, and its result still comes. Empty: never.
  std::function<bool()> stop_now;
  /// What the worker and the libraries in it wrote to stderr, line by line.
  std::function<void(const std::string&)> on_log_line;
};

/// The worker's result object. Its error event comes back as that Error; a worker that crashed is
/// kInternal with the end of its log; Ctrl-C is kInterrupted unless the worker still gave a result
/// (which then says `"interrupted": true`).
Result<Json> CallWorker(const WorkerCall& call);

}  // namespace sg
