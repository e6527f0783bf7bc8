// Reads what nsys leaves behind: SQLite exports and the CSV of `nsys stats`, of old versions and
// new ones. Tables and columns are looked up, never assumed; totals are those of nsys stats.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "trace/time_tables.h"

namespace sg::trace {

/// kUser: not an SQLite file, damaged, or not nsys's. A table that is absent or empty is in
/// ProfileTables::absent with its reason, as far as the file tells.
Result<ProfileTables> ReadNsysSqlite(const std::string& path);

/// The output of `nsys stats --format csv`, one report or several in a row, with whatever it says
/// in between. kUser when no report is in it.
Result<ProfileTables> ParseNsysStats(std::string_view text, const std::string& where);

bool IsSqliteFile(std::string_view first_bytes);

}  // namespace sg::trace
