#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "detector/card_evidence.h"
#include "detector/card_parts.h"

namespace sg {
namespace {

// Families whose scores are sigmoids of "logits", one for each class, and whose own
// post-processing takes the best (query, class) pairs.
constexpr const char* kSigmoidDetrFamilies[] = {"RTDetr", "RTDetrV2", "DeformableDetr", "DFine",
                                                "RfDetr"};
constexpr const char* kDetectionSuffix = "ForObjectDetection";

bool IsSigmoidDetr(const std::string& architecture) {
  if (!architecture.ends_with(kDetectionSuffix)) return false;
  const std::string family =
      architecture.substr(0, architecture.size() - std::string(kDetectionSuffix).size());
  return std::find(std::begin(kSigmoidDetrFamilies), std::end(kSigmoidDetrFamilies), family) !=
         std::end(kSigmoidDetrFamilies);
}

std::string OutputsText(const OnnxSummary& onnx) {
  std::string text;
  for (const OnnxTensor& output : onnx.outputs) text += (text.empty() ? "" : "; ") + output.Text();
  return text;
}

bool IsFloat(const OnnxTensor& tensor) {
  return tensor.elem_type == "float32" || tensor.elem_type == "float16";
}

/// One of `names` with the shape [N, queries, last axis].
const OnnxTensor* FindRows(const OnnxSummary& onnx, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const OnnxTensor* output = onnx.FindOutput(name);
    if (output != nullptr && output->dims.size() == 3 && IsFloat(*output)) return output;
  }
  return nullptr;
}

/// The two axes' common number, or `fallback` where the graph leaves both free.
Result<int> CommonNumber(const OnnxDim& a, const OnnxDim& b, int64_t fallback,
                         const OnnxSummary& onnx) {
  if (a.value && b.value && *a.value != *b.value) {
    return UserError(fmt::format("{}: its outputs disagree on the number of queries: {}", onnx.path,
                                 OutputsText(onnx)));
  }
  const int64_t number = a.value ? *a.value : b.value ? *b.value : fallback;
  if (number <= 0 || number > 1000000) {
    return UserError(fmt::format(
        "{}: the number of queries is neither in its outputs ({}) nor in config.json's num_queries",
        onnx.path, OutputsText(onnx)));
  }
  return static_cast<int>(number);
}

int64_t WholeNumber(const Json& json, const char* key) {
  const auto value = json.find(key);
  return value != json.end() && value->is_number_integer() ? value->get<int64_t>() : 0;
}

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

}  // namespace

Status FillHead(const OnnxSummary& onnx, const Json& config, ModelCard* card) {
  const OnnxTensor* scores = FindRows(onnx, {"logits", "pred_logits"});
  const OnnxTensor* boxes = FindRows(onnx, {"pred_boxes"});
  const bool fits = scores != nullptr && boxes != nullptr && boxes->dims[2].value.value_or(4) == 4;
  if (!IsSigmoidDetr(card->architecture) || !fits) {
    return UnsupportedError(fmt::format(
        "{}: no decoder is known for {} with the outputs {}; supported are RT-DETR, Deformable "
        "DETR, D-FINE and RF-DETR with logits [N,queries,classes] and pred_boxes [N,queries,4]",
        onnx.path, card->architecture, OutputsText(onnx)));
  }
  card->head = HeadKind::kDetrSigmoid;
  card->scores_output = scores->name;
  card->boxes_output = boxes->name;
  SG_ASSIGN_OR_RETURN(card->num_queries, CommonNumber(scores->dims[1], boxes->dims[1],
                                                      WholeNumber(config, "num_queries"), onnx));
  const auto labels = static_cast<int64_t>(card->labels.size());
  const int64_t classes = scores->dims[2].value.value_or(labels);
  if (classes != labels) {
    return UserError(fmt::format(
        "{} gives {} labels, the model's {} has {} classes; correct it, or give all labels with "
        "--labels FILE",
        card->labels_source, labels, scores->name, classes));
  }
  card->num_classes = static_cast<int>(classes);
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
