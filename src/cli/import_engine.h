// Steps 4 and 5 of an import: the engine, and what it does alone.
#pragma once

#include <string>
#include <vector>

#include "cli/import_context.h"

namespace sg {

struct BuiltEngine {
  EngineArtifact artifact;
  std::string batch_proof;  ///< what running the graph proved, a line
  double seconds = 0;
  bool reused = false;
};

/// Step 4. The graph is run at several batches first, and refused when it does not keep them. MAX
/// is the smallest power of two that holds the streams which a quick timing at batch 1 promises at
/// the target rate.
Result<BuiltEngine> BuildEngine(ImportContext* context, const AcquiredModel& model);

/// An engine on the way to the last MAX.
struct PeakTry {
  int max_batch = 0;
  double images_per_s = 0;
  int peak_streams = 0;
};

struct TimedEngine {
  EngineArtifact
      artifact;  ///< the last one: another MAX than before when peak streams asked for it
  EngineTiming batch_1;
  EngineTiming batch_max;
  int peak_streams = 0;        ///< floor(images/s at MAX ÷ target fps)
  std::vector<PeakTry> tries;  ///< engines that peak streams outgrew
  double seconds = 0;
  bool reused = false;
};

/// Step 5. Times the engine at batch 1 and MAX; while peak streams exceed MAX, MAX is doubled.
Result<TimedEngine> TimeEngine(ImportContext* context, const AcquiredModel& model,
                               const BuiltEngine& built);

/// floor(images_per_s ÷ target_fps), never below 0.
int PeakStreams(double images_per_s, double target_fps);

/// The smallest power of two ≥ value, at least 1.
int PowerOfTwoAtLeast(int value);

}  // namespace sg
