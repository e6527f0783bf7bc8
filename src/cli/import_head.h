// Between steps 3 and 4: where several heads fit a model's outputs, its own outputs for the clip's
// pictures decide.
#pragma once

#include "cli/import_context.h"

namespace sg {

/// Does nothing when the head is known. Otherwise runs the graph in f32 on pictures of the clip and
/// on their mirror images, and takes the head that makes sense of them (detector/head_trial.h).
/// kGate when none does clearly; the message lists them for --head.
Status SettleHead(const ImportContext& context, AcquiredModel* model);

}  // namespace sg
