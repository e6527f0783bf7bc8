// What a run folder's samples say, written: result.json, result.csv, report.md with its charts, and
// the table on the terminal. A function of run.json and the samples: the same bytes every time.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/command.h"
#include "measure/run_folder.h"

namespace sg {

/// Derives and writes all of them, and prints the table; with `json` result.json goes to stdout.
Status WriteResults(const std::string& folder, const Console& console, bool json);

/// result.json as a value. kUser when the samples are not enough for any figure.
Result<Json> ResultJson(const LoadedRun& loaded);

/// The verdict, then one line for each rule and the samples that it looked at.
Result<std::vector<std::string>> ExplainRun(const std::string& folder);

}  // namespace sg
