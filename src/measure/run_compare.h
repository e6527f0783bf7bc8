// Two run folders against each other. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "measure/compare.h"
#include "measure/run_folder.h"

namespace sg {

struct ComparedFigure {
  std::string name;  ///< "images/s at batch 4", "unpaced fps"
  double a = 0;
  double b = 0;
  Comparison comparison;
};

struct RunComparison {
  std::vector<ComparedFigure> figures;
  std::vector<std::string> differences;  ///< of inputs, options, machine and program
  Json ToJson() const;
};

/// B against A. kUser when the two are of different kinds or have no figure in common.
Result<RunComparison> CompareRuns(const LoadedRun& a, const LoadedRun& b);

}  // namespace sg
