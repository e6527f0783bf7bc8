#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/files.h"
#include "detector/card_evidence.h"
#include "detector/card_parts.h"
#include "detector/heads/output_shapes.h"
#include "onnx/graph_file.h"

namespace sg {
namespace {

Status CheckFraction(double value, const char* what) {
  if (value >= 0 && value <= 1) return OkStatus();
  return UserError(fmt::format("{} is {:g}, it must be from 0 to 1", what, value));
}

/// A threshold that the model's own configs give, with the file it is in.
struct ConfigThreshold {
  double value = 0;
  std::string source;
};

Result<std::optional<ConfigThreshold>> ThresholdOfConfigs(const std::string& folder) {
  for (const char* file : {"preprocessor_config.json", "generation_config.json"}) {
    const std::string path = JoinPath(folder, file);
    if (!FileExists(path)) continue;
    SG_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
    if (!json.is_object()) continue;
    for (const char* key : {"threshold", "score_threshold"}) {
      const auto value = json.find(key);
      if (value == json.end() || !value->is_number()) continue;
      SG_RETURN_IF_ERROR(
          CheckFraction(value->get<double>(), fmt::format("{} {}", path, key).c_str()));
      return std::optional(ConfigThreshold{value->get<double>(), fmt::format("{} {}", file, key)});
    }
  }
  return std::optional<ConfigThreshold>();
}

/// A head of queries whose number nothing says cannot be decoded at all.
Status CheckQueries(const HeadQuestion& question) {
  const OnnxTensor* scores = nullptr;
  for (const char* name : {"logits", "pred_logits"}) {
    if (scores == nullptr) scores = question.onnx.FindOutput(name);
  }
  const OnnxTensor* boxes = question.onnx.FindOutput("pred_boxes");
  if (scores == nullptr || boxes == nullptr || scores->dims.size() != 3 ||
      boxes->dims.size() != 3) {
    return OkStatus();
  }
  const auto a = scores->dims[1].value;
  const auto b = boxes->dims[1].value;
  if (a && b && *a != *b) {
    return UserError(fmt::format("{}: its outputs disagree on the number of queries: {}; {}",
                                 question.onnx.path, scores->Text(), boxes->Text()));
  }
  const auto configured = question.config.find("num_queries");
  const bool is_configured = configured != question.config.end() && configured->is_number_integer();
  const int64_t number = a ? *a : b ? *b : is_configured ? configured->get<int64_t>() : 0;
  if (number > 0 && number <= 1000000) return OkStatus();
  return UserError(fmt::format(
      "{}: the number of queries is neither in its outputs ({}; {}) nor in config.json's "
      "num_queries",
      question.onnx.path, scores->Text(), boxes->Text()));
}

}  // namespace

Status FillHead(const HeadSources& sources, ModelCard* card) {
  HeadQuestion question{sources.onnx,
                        {},
                        sources.config,
                        card->architecture,
                        static_cast<int>(card->labels.size()),
                        card->input_width,
                        card->input_height};
  if (const Result<GraphFile> graph = GraphFile::Open(sources.onnx.path); graph.ok())
    question.traces = TraceOutputs(*graph);
  SG_RETURN_IF_ERROR(CheckQueries(question));
  Result<std::vector<HeadCandidate>> candidates = RecogniseHead(question, sources.wanted);
  if (!candidates.ok()) {
    Error error = candidates.error();
    if (error.kind == ErrorKind::kUser && error.message.starts_with("there are"))
      error.message = fmt::format("{}: {}; correct it, or give all labels with --labels FILE",
                                  card->labels_source, error.message);
    return error;
  }
  card->head_candidates = *std::move(candidates);
  TakeHead(card->head_candidates.front().head, card);
  return OkStatus();
}

void TakeHead(const Head& head, ModelCard* card) {
  card->head = head;
  card->topk = ModelCard().topk;
  const std::vector<int>& rows = head.outputs.front().dims;
  if (!head.IsDense() && !rows.empty()) card->topk = std::max(card->topk, rows[0]);
}

Status FillClassFilter(const std::vector<std::string>& wanted, ModelCard* card) {
  if (wanted.empty()) return OkStatus();
  std::vector<bool> kept(card->labels.size());
  for (const std::string& name : wanted) {
    bool found = false;
    for (size_t id = 0; id < kept.size(); ++id) {
      if (card->labels[id] != name && std::to_string(id) != name) continue;
      kept[id] = found = true;
    }
    if (!found) {
      return UserError(fmt::format("--classes {}: the model has no such class; it has: {}", name,
                                   fmt::join(card->labels, ", ")));
    }
  }
  for (size_t id = 0; id < kept.size(); ++id) {
    if (!kept[id]) card->filtered_classes.push_back(static_cast<int>(id));
  }
  return OkStatus();
}

Status FillThresholds(const ModelFiles& files, const CardOverrides& overrides, ModelCard* card) {
  CardEvidence evidence;
  const std::string readme = JoinPath(files.config_folder, "README.md");
  if (FileExists(readme)) {
    SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(readme));
    evidence = ReadCardEvidence(text);
  }
  card->licence = evidence.licence.empty() ? "unknown" : evidence.licence;

  SG_ASSIGN_OR_RETURN(const auto of_configs, ThresholdOfConfigs(files.config_folder));
  if (overrides.score_threshold) {
    card->score_threshold = *overrides.score_threshold;
    card->score_threshold_source = "--score-threshold";
  } else if (of_configs) {
    card->score_threshold = of_configs->value;
    card->score_threshold_source = of_configs->source;
  } else if (evidence.score_threshold) {
    card->score_threshold = *evidence.score_threshold;
    card->score_threshold_source = fmt::format("README.md: \"{}\"", evidence.score_text);
  } else {
    card->score_threshold_source = "default";
  }

  if (overrides.nms_iou) {
    card->nms_iou_threshold = *overrides.nms_iou;
    card->nms_iou_source = "--nms-iou";
  } else if (evidence.nms_iou) {
    card->nms_iou_threshold = *evidence.nms_iou;
    card->nms_iou_source = fmt::format("README.md: \"{}\"", evidence.nms_text);
  } else {
    card->nms_iou_source = "default";
  }
  SG_RETURN_IF_ERROR(CheckFraction(card->score_threshold, "--score-threshold"));
  return CheckFraction(card->nms_iou_threshold, "--nms-iou");
}

}  // namespace sg
