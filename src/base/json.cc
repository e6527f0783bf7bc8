#include "base/json.h"

#include "base/files.h"

namespace sg {

Result<Json> ParseJson(const std::string& text, const std::string& where) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    std::string why = e.what();
    if (const size_t bracket = why.find("] "); bracket != std::string::npos)
      why.erase(0, bracket + 2);
    return UserError(where + ": not valid JSON: " + why);
  }
}

Result<Json> ReadJsonFile(const std::string& path) {
  SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseJson(text, path);
}

std::string ToJsonLine(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ToJsonText(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sg
