// Step 8 of an import: everything the steps found becomes a Report.
#pragma once

#include "cli/import_benchmark.h"
#include "cli/import_context.h"
#include "cli/import_engine.h"
#include "cli/import_validation.h"

namespace sg {

struct ImportResults {
  const AcquiredModel& model;
  const BuiltEngine& built;
  const TimedEngine& timed;
  const ValidatedModel& valid;
  const Benchmark& benchmark;
};

/// Step 8. Writes the report and says the answer in plain words.
Status WriteImportReport(ImportContext* context, const ImportResults& results);

}  // namespace sg
