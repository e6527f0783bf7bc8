// import --check-preprocessing: the card's preprocessing against others, on the user's own frames.
#pragma once

#include "base/status.h"
#include "cli/import_context.h"
#include "cli/import_model.h"

namespace sg {

/// Frames from the start of the clip that each candidate is tried on.
inline constexpr int kCheckFrames = 24;

/// Runs the model with every candidate (detector/preprocessing_score.h) through the pipeline,
/// prints the table and the margin. `context` has the clip and a folder of its own. kGate when
/// another candidate is clearly better than the card's, or none finds anything.
Status CheckPreprocessing(ImportContext* context, const CheckedModel& checked,
                          const AcquiredModel& model);

}  // namespace sg
