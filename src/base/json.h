// The one JSON type of the project. Keys keep the order they were written in, so that files and
// reports are the same bytes every time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"

namespace sg {

using Json = nlohmann::ordered_json;

/// Parses `text`; a kUser error names `where` (a path or URL) and the byte where parsing stopped.
Result<Json> ParseJson(const std::string& text, const std::string& where);

/// Reads and parses a JSON file.
Result<Json> ReadJsonFile(const std::string& path);

/// Compact JSON in one line; invalid UTF-8 is replaced, not thrown at the caller.
std::string ToJsonLine(const Json& value);

/// The JSON that people open: two-space indent and a final newline.
std::string ToJsonText(const Json& value);

}  // namespace sg
