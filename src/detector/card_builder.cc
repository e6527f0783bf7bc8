#include "detector/card_builder.h"

#include <fmt/format.h>

#include "base/files.h"
#include "detector/card_parts.h"
#include "detector/task_gate.h"

namespace sg {
namespace {

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

/// The name that the files suggest: the folder's, or the .onnx file's when that says more.
std::string SuggestedName(const ModelFiles& files) {
  const std::string file = BaseName(files.onnx);
  const std::string stem = file.substr(0, file.size() - std::string(".onnx").size());
  const bool says_nothing = stem == "model" || stem.starts_with("model_");
  if (FolderExists(files.source) || says_nothing) {
    return BaseName(AbsolutePath(files.config_folder));
  }
  return stem;
}

void FillName(const ModelFiles& files, ModelCard* card) {
  const std::string suggested = SuggestedName(files);
  card->name = suggested;
  for (char& c : card->name) {
    if (!IsNameCharacter(c)) c = '-';
  }
  if (!CheckModelName(card->name).ok()) card->name = "model";
  if (card->name != suggested) {
    card->notes.push_back(
        fmt::format("'{}' cannot be a model's name, it is called {}", suggested, card->name));
  }
}

/// Empty while several fit.
std::string HeadFamily(const ModelCard& card) {
  return card.head_candidates.size() > 1 ? "" : card.head.family;
}

}  // namespace

Status CheckModelName(const std::string& name) {
  bool good = !name.empty() && name != "." && name != "..";
  for (const char c : name) good = good && IsNameCharacter(c);
  if (good) return OkStatus();
  return UserError(fmt::format(
      "'{}' cannot be a model's name: letters, digits, '.', '_' and '-' are allowed", name));
}

Result<ModelCard> BuildModelCard(const ModelFiles& files, const OnnxSummary& onnx,
                                 const CardOverrides& overrides) {
  ModelCard card;
  if (overrides.name.empty()) {
    FillName(files, &card);
  } else {
    SG_RETURN_IF_ERROR(CheckModelName(overrides.name));
    card.name = overrides.name;
  }
  SG_RETURN_IF_ERROR(CheckOperatorDomains(onnx));
  SG_RETURN_IF_ERROR(CheckOnnxTask(onnx.metadata, onnx.path));

  const std::string config_path = JoinPath(files.config_folder, "config.json");
  Json config;  // null: exports of Ultralytics and others have none
  if (FileExists(config_path)) {
    SG_ASSIGN_OR_RETURN(config, ReadJsonFile(config_path));
    if (!config.is_object()) {
      return UserError(fmt::format("{}: is not a model's config (no JSON object)", config_path));
    }
    SG_RETURN_IF_ERROR(FillArchitecture(config, config_path, &card));
  }
  SG_RETURN_IF_ERROR(FillLabels({config, config_path, onnx, files, overrides}, &card));
  SG_RETURN_IF_ERROR(FillInput(onnx, &card));
  SG_RETURN_IF_ERROR(FillHead({config, onnx, overrides.head}, &card));
  SG_RETURN_IF_ERROR(
      FillPreprocessing({files, onnx, config, overrides.nvinfer_recipe, HeadFamily(card)}, &card));
  SG_RETURN_IF_ERROR(FillClassFilter(overrides.classes, &card));
  SG_RETURN_IF_ERROR(FillThresholds(files, overrides, &card));
  return card;
}

}  // namespace sg
