#include "detector/label_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/files.h"

namespace sg {
namespace {

constexpr const char* kListNames[] = {"labels.txt",   "classes.txt",  "label.txt",
                                      "class.txt",    "names.txt",    "class_names.txt",
                                      "labelmap.txt", "label_map.txt"};
/// A data set's description is never larger.
constexpr uint64_t kMaxYamlBytes = uint64_t{1} << 20;

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

/// The labels that the wanted files of the folder agree on; an empty map when they do not, or have
/// none.
Result<FoundLabels> OnlyLabelsAmong(const std::string& folder,
                                    const std::vector<std::string>& names,
                                    bool (*is_wanted)(const std::string&)) {
  FoundLabels only;
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    const Result<uint64_t> size = FileSize(path);
    if (!is_wanted(name) || !FileExists(path) || !size.ok() || *size > kMaxYamlBytes) continue;
    if (IsDataYamlName(name)) {
      SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
      SG_ASSIGN_OR_RETURN(const LabelMap map, LabelsOfYaml(text, path + ": names"));
      if (map.empty()) continue;  // about something else
    }
    SG_ASSIGN_OR_RETURN(FoundLabels found, ReadAnyLabels(path));
    if (!only.map.empty() && only.map != found.map) return FoundLabels();
    only = std::move(found);
  }
  return only;
}

}  // namespace

Result<std::vector<std::string>> ReadLabelFile(const std::string& path) {
  SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<std::string> labels;
  std::string_view rest = text;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
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

bool IsLabelListName(const std::string& file_name) {
  const std::string name = Lower(file_name);
  return name.ends_with(".names") ||
         std::find(std::begin(kListNames), std::end(kListNames), name) != std::end(kListNames);
}

bool IsDataYamlName(const std::string& file_name) {
  const std::string name = Lower(file_name);
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

Result<FoundLabels> ReadAnyLabels(const std::string& path) {
  FoundLabels found;
  found.source = BaseName(path);
  if (IsDataYamlName(path)) {
    SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    SG_ASSIGN_OR_RETURN(found.map, LabelsOfYaml(text, path + ": names"));
    if (!found.map.empty()) {
      found.source += " names";
      return found;
    }
    return UserError(fmt::format("{}: has no names:, a list or a map of class numbers", path));
  }
  SG_ASSIGN_OR_RETURN(const std::vector<std::string> labels, ReadLabelFile(path));
  for (const std::string& label : labels) {
    found.map.emplace(static_cast<int>(found.map.size()), label);
  }
  return found;
}

Result<FoundLabels> FindLabels(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (FileExists(JoinPath(folder, kListNames[0]))) {
      return ReadAnyLabels(JoinPath(folder, kListNames[0]));
    }
    SG_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
    for (const auto& is_wanted : {IsLabelListName, IsDataYamlName}) {
      SG_ASSIGN_OR_RETURN(FoundLabels found, OnlyLabelsAmong(folder, names, is_wanted));
      if (!found.map.empty()) return found;
    }
  }
  return FoundLabels();
}

std::string LabelFileText(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += label + "\n";
  return text;
}

}  // namespace sg
