// Step 7 of an import, its last part: how many streams at the target rate, each with a schedule of
// its own as a camera has, the machine carries. Beside the runs at full speed this is the figure
// that can be promised.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/import_context.h"
#include "cli/import_engine.h"

namespace sg {

/// A paced run of so many streams, batch MAX.
struct PacedTry {
  int streams = 0;
  std::string samples;  ///< relative to the model's folder
  std::string failure;  ///< the pipeline's, which then did not hold
};

struct Capacity {
  std::optional<int> streams;  ///< 0: not even one; nothing: not decided
  bool at_least = false;       ///< the search ended at what the runs at full speed allow
  std::string words;           ///< one sentence for the report
};

/// Searches from `first` streams to at most `most`; returns the tries, whose samples decide.
Result<std::vector<PacedTry>> SearchCapacity(const ImportContext& context, int batch, int first,
                                             int most);

/// What the tries say.
Result<Capacity> ReadCapacity(const ImportContext& context, const std::vector<PacedTry>& tries,
                              int first, int most);

}  // namespace sg
