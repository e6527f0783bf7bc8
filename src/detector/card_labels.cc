#include <fmt/format.h>

#include <string>

#include "base/files.h"
#include "detector/card_parts.h"
#include "detector/label_file.h"
#include "detector/task_gate.h"

namespace sg {
namespace {

/// A label that a line of labels.txt can hold: nvinfer ends it at ';' and skips empty lines.
std::string AsLabelLine(const std::string& label, int class_id) {
  std::string line;
  for (const char c : label) line += c == ';' ? ',' : c == '\n' || c == '\r' ? ' ' : c;
  const bool is_blank = line.find_first_not_of(" \t") == std::string::npos;
  return is_blank ? fmt::format("class {}", class_id) : line;
}

void TakeLabels(const FoundLabels& found, ModelCard* card) {
  const LabelMap& map = found.map;
  const std::string& source = found.source;
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

/// Of config.json; an empty map when it has none under the key.
Result<FoundLabels> LabelsOfConfig(const LabelSources& sources, const char* key) {
  FoundLabels found;
  const auto map = sources.config.find(key);
  if (map == sources.config.end() || !(map->is_object() || map->is_array())) return found;
  const std::string what = fmt::format("{}: {}", sources.config_path, key);
  if (FileExists(sources.config_path)) {
    SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(sources.config_path));
    SG_RETURN_IF_ERROR(CheckNoRepeatedMember(text, key, what));
  }
  const bool by_label = std::string(key) == "label2id" && map->is_object();
  SG_ASSIGN_OR_RETURN(found.map, by_label ? IdsByLabel(*map, what) : LabelsById(*map, what));
  found.source = std::string("config.json ") + key;
  return found;
}

Result<FoundLabels> LabelsOfMetadata(const OnnxSummary& onnx) {
  FoundLabels found;
  for (const char* key : {"names", "id2label", "character", "labels", "classes"}) {
    const auto text = onnx.metadata.find(key);
    if (text == onnx.metadata.end() || text->second.empty()) continue;
    const std::string what = fmt::format("{}: the ONNX metadata's {}", onnx.path, key);
    SG_ASSIGN_OR_RETURN(found.map, LabelsOfText(text->second, what));
    found.source = fmt::format("the ONNX's metadata {}", key);
    if (!found.map.empty()) break;
  }
  return found;
}

/// The first labels in order that are real ones, else the first placeholders.
class Search {
 public:
  /// True when the search is over.
  bool Take(const FoundLabels& labels) {
    if (labels.map.empty()) return false;
    const bool placeholders = ArePlaceholders(labels.map);
    if (found_.map.empty() || !placeholders) {
      replaced_ = found_.source;
      found_ = labels;
    }
    return !placeholders;
  }
  const FoundLabels& found() const { return found_; }
  /// Where placeholders were that real labels stand for now; empty: nowhere.
  const std::string& replaced() const { return replaced_; }

 private:
  FoundLabels found_;
  std::string replaced_;
};

Status LookEverywhere(const LabelSources& sources, Search* search) {
  for (const char* key : {"id2label", "label2id", "names"}) {
    SG_ASSIGN_OR_RETURN(const FoundLabels found, LabelsOfConfig(sources, key));
    if (search->Take(found)) return OkStatus();
  }
  SG_ASSIGN_OR_RETURN(const FoundLabels in_onnx, LabelsOfMetadata(sources.onnx));
  if (search->Take(in_onnx)) return OkStatus();
  const ModelFiles& files = sources.files;
  SG_ASSIGN_OR_RETURN(const FoundLabels beside, FindLabels({AbsolutePath(ParentFolder(files.onnx)),
                                                            AbsolutePath(files.config_folder)}));
  search->Take(beside);
  return OkStatus();
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
  if (const std::string& path = sources.overrides.labels_file; !path.empty()) {
    SG_ASSIGN_OR_RETURN(const FoundLabels labels, ReadAnyLabels(path));
    TakeLabels({labels.map, "--labels " + path}, card);
    return OkStatus();
  }
  Search search;
  SG_RETURN_IF_ERROR(LookEverywhere(sources, &search));
  if (search.found().map.empty()) {
    const std::string lacks =
        sources.config.is_null() ? "is missing" : "has no id2label, label2id or names";
    return UserError(
        fmt::format("{}: {}, the ONNX has no names in its metadata, and there is no labels.txt, "
                    "one names file or "
                    "data.yaml beside the model; give the labels with --labels FILE, one a line",
                    sources.config_path, lacks));
  }
  TakeLabels(search.found(), card);
  if (!search.replaced().empty()) {
    card->notes.push_back(
        fmt::format("{} has only placeholders (LABEL_0 …), the labels are those of {}",
                    search.replaced(), card->labels_source));
  } else if (ArePlaceholders(search.found().map)) {
    card->notes.push_back(fmt::format(
        "the labels of {} are placeholders (LABEL_0 …): its author named no classes; give them "
        "with --labels FILE",
        card->labels_source));
  }
  return OkStatus();
}

}  // namespace sg
