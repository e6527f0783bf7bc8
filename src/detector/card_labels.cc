#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/files.h"
#include "detector/card_parts.h"
#include "detector/label_file.h"
#include "detector/task_gate.h"

namespace sg {
namespace {

constexpr int kMaxClasses = 100000;

using LabelMap = std::map<int, std::string>;

Error WrongMap(const std::string& path, const char* key, const std::string& why) {
  return UserError(fmt::format("{}: {} is not a label map: {}", path, key, why));
}

Result<LabelMap> FromId2Label(const Json& map, const std::string& path) {
  LabelMap labels;
  for (const auto& [id_text, label] : map.items()) {
    int id = -1;
    const auto [end, error] = std::from_chars(id_text.data(), id_text.data() + id_text.size(), id);
    if (error != std::errc() || end != id_text.data() + id_text.size() || id < 0 ||
        id >= kMaxClasses) {
      return WrongMap(path, "id2label", fmt::format("'{}' is not a class number", id_text));
    }
    if (!label.is_string()) {
      return WrongMap(path, "id2label", fmt::format("class {} has no text", id));
    }
    labels[id] = label.get<std::string>();
  }
  return labels;
}

Result<LabelMap> FromLabel2Id(const Json& map, const std::string& path) {
  LabelMap labels;
  for (const auto& [label, id] : map.items()) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() >= kMaxClasses) {
      return WrongMap(path, "label2id", fmt::format("'{}' has no class number", label));
    }
    labels.emplace(id.get<int>(), label);
  }
  return labels;
}

Result<LabelMap> FromNames(const Json& names, const std::string& path) {
  if (names.is_object()) return FromId2Label(names, path);
  LabelMap labels;
  for (const Json& name : names) {
    if (!name.is_string()) return WrongMap(path, "names", "an entry is not a text");
    labels.emplace(static_cast<int>(labels.size()), name.get<std::string>());
  }
  return labels;
}

/// A label that a line of labels.txt can hold: nvinfer ends it at ';' and skips empty lines.
std::string AsLabelLine(const std::string& label, int class_id) {
  std::string line;
  for (const char c : label) line += c == ';' ? ',' : c == '\n' || c == '\r' ? ' ' : c;
  return line.empty() ? fmt::format("class {}", class_id) : line;
}

void TakeLabels(const LabelMap& map, const std::string& source, ModelCard* card) {
  card->labels_source = source;
  const int count = map.empty() ? 0 : map.rbegin()->first + 1;
  int missing = 0;
  for (int id = 0; id < count; ++id) {
    const auto label = map.find(id);
    const std::string text = label == map.end() ? "" : label->second;
    if (label == map.end()) ++missing;
    card->labels.push_back(AsLabelLine(text, id));
    if (label != map.end() && card->labels.back() != text) {
      card->notes.push_back(fmt::format(
          "the label of class {} is written '{}': a label file has no ';' and no empty line", id,
          card->labels.back()));
    }
  }
  if (missing > 0) {
    card->notes.push_back(
        fmt::format("{} of {} class numbers have no label in {}; they are named "
                    "by their number",
                    missing, count, source));
  }
}

/// labels.txt, classes.txt or the one .names file beside the model; empty when there is none. Two
/// .names files are no answer.
Result<std::string> FindLabelFile(const ModelFiles& files) {
  const std::string onnx_folder = AbsolutePath(ParentFolder(files.onnx));
  for (const std::string& folder : {onnx_folder, files.config_folder}) {
    for (const char* name : {"labels.txt", "classes.txt"}) {
      if (const std::string path = JoinPath(folder, name); FileExists(path)) return path;
    }
    SG_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
    std::string found;
    int count = 0;
    for (const std::string& name : names) {
      if (!name.ends_with(".names")) continue;
      found = JoinPath(folder, name);
      ++count;
    }
    if (count == 1) return found;
  }
  return std::string();
}

}  // namespace

Status FillArchitecture(const Json& config, const std::string& config_path, ModelCard* card) {
  card->architecture = ArchitectureOf(config);
  if (card->architecture.empty()) {
    return UserError(fmt::format(
        "{}: names no architecture, so the model's task is unknown; add \"architectures\" as "
        "transformers writes it",
        config_path));
  }
  return CheckArchitecture(card->architecture, config_path, HasFrozenPrompt(config));
}

Status FillLabels(const LabelSources& sources, ModelCard* card) {
  const CardOverrides& overrides = sources.overrides;
  if (!overrides.labels_file.empty()) {
    SG_ASSIGN_OR_RETURN(card->labels, ReadLabelFile(overrides.labels_file));
    card->labels_source = "--labels " + overrides.labels_file;
    return OkStatus();
  }
  using Reader = Result<LabelMap> (*)(const Json&, const std::string&);
  constexpr std::pair<const char*, Reader> kReaders[] = {
      {"id2label", FromId2Label}, {"label2id", FromLabel2Id}, {"names", FromNames}};
  for (const auto& [key, reader] : kReaders) {
    const auto map = sources.config.find(key);
    if (map == sources.config.end() || !(map->is_object() || map->is_array()) || map->empty()) {
      continue;
    }
    SG_ASSIGN_OR_RETURN(const LabelMap labels, reader(*map, sources.config_path));
    TakeLabels(labels, std::string("config.json ") + key, card);
    return OkStatus();
  }
  if (const auto names = sources.onnx.metadata.find("names");
      names != sources.onnx.metadata.end()) {
    SG_ASSIGN_OR_RETURN(const LabelMap labels,
                        ParseLabelMap(names->second, sources.onnx.path + " metadata names"));
    TakeLabels(labels, "the ONNX's metadata names", card);
    return OkStatus();
  }
  SG_ASSIGN_OR_RETURN(const std::string path, FindLabelFile(sources.files));
  if (path.empty() && sources.config.is_null()) {
    return UserError(fmt::format(
        "{}: is missing, the ONNX has no names in its metadata, and there is no labels.txt beside "
        "the model; give the labels with --labels FILE, one a line",
        sources.config_path));
  }
  if (path.empty()) {
    return UserError(fmt::format(
        "{}: has no id2label, label2id or names, and there is no labels.txt beside the model; give "
        "the labels with --labels FILE, one a line",
        sources.config_path));
  }
  SG_ASSIGN_OR_RETURN(card->labels, ReadLabelFile(path));
  card->labels_source = BaseName(path);
  return OkStatus();
}

}  // namespace sg
