#include "detector/label_file.h"

#include <fmt/format.h>

#include <string_view>

#include "base/files.h"

namespace sg {

Result<std::vector<std::string>> ReadLabelFile(const std::string& path) {
  SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<std::string> labels;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    labels.emplace_back(line.substr(0, line.find(';')));
  }
  if (labels.empty()) {
    return UserError(fmt::format("{}: holds no labels; write one a line, in class order", path));
  }
  return labels;
}

std::string LabelFileText(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += label + "\n";
  return text;
}

}  // namespace sg
