// Are two results of a network the same for one picture? Detectors choose queries by score, so rows
// whose scores nearly tie may change places: rows are compared as a set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

/// One output of a network, as doubles whatever its type was.
struct OutputValues {
  std::string name;
  std::vector<int64_t> shape;  ///< of one picture: without the batch
  std::vector<double> values;
  bool whole = false;  ///< it has no axis for the pictures: the same for all of them
};

/// All outputs for one picture.
using PictureOutputs = std::vector<OutputValues>;

/// The outputs of a run of `batch` pictures, taken apart. An output whose first axis is not the
/// batch is given whole to every picture (and is then equal only if it does not depend on them).
std::vector<PictureOutputs> SplitByPicture(const std::vector<OutputValues>& outputs, int64_t batch);

struct OutputDifference {
  bool equal = true;
  std::string output;         ///< the worst one
  double max_difference = 0;  ///< of that output, in its own unit
  double relative = 0;        ///< that ÷ the output's largest magnitude; what the tolerance is for
  int64_t moved_rows = 0;     ///< found at another place
  std::string why;  ///< empty, or what is different besides numbers: a missing output, a shape
};

/// Compares by name. Outputs of [rows] or [rows, columns] with as many rows belong together: row i
/// of all of them is one detection. A row equals another when every value differs by at most
/// `tolerance` × the largest magnitude of its output.
OutputDifference CompareOutputs(const PictureOutputs& reference, const PictureOutputs& candidate,
                                double tolerance);

}  // namespace sg
