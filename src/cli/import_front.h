// The graph's front: what a model wants of a picture and nvinfer cannot give, put into the graph
// and proven equal by running.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/command.h"
#include "cli/import_context.h"
#include "cli/onnx_proof.h"

namespace sg {

/// A graph with a front differs from the original by at most this × the output's largest magnitude.
inline constexpr double kFrontTolerance = 1e-4;

struct FrontRequest {
  std::string from;
  std::string to;
  InputFront front;
  double net_scale_factor = 1;  ///< what pixels are multiplied with before the front
  Progress::Mode progress = Progress::Mode::kOff;
};

struct ProvenFront {
  std::string done;  ///< in words
  ProofRun run;
};

/// Writes `to` (external weights beside it): the graph of `from` with the front, in its first
/// convolution's weights where they hold it, else in nodes. Proven by running the original on
/// pictures prepared in double precision. kGate when it is not equal, or nothing is proven.
Result<ProvenFront> MakeFront(const FrontRequest& request);

/// Gives the model the front that its card asks for, if any: its ONNX becomes the rewritten one,
/// and a note says so.
Status FitInput(const Console& console, AcquiredModel* model);

}  // namespace sg
