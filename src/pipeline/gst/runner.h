// Runs one RunJob inside this process.
#pragma once

#include <functional>

#include "base/json.h"
#include "base/status.h"
#include "pipeline/run_job.h"

namespace sg {

/// Gives the outcome of RunPipeline (pipeline/run_job.h). `emit` gets a "second" event about once a
/// second, on the calling thread. Ctrl-C (base/interrupt.h) ends the run early with its outcome.
/// A pipeline that does not stop within 3 s is left behind, with a warning in the outcome; the
/// process should then exit without waiting for other threads.
Result<RunOutcome> RunPipelineHere(const RunJob& job, const std::function<void(const Json&)>& emit);

}  // namespace sg
