#include "detector/task_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/files.h"

namespace sg {
namespace {

// docs/add_a_model_family.md says what a new row needs.

struct DetectionFamily {
  const char* architecture;  ///< transformers' class
  const char* model_type;    ///< config.json's, for configs that name no architecture
  bool takes_text;           ///< its classes are words, given with each picture
};

// Classes and model types of transformers: MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES and
// MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES (models/auto/modeling_auto.py, up to 5.x);
// RFDetr… is transformers.js' spelling. A class that is not here still passes by its suffix.
constexpr DetectionFamily kDetectionFamilies[] = {
    {"ConditionalDetrForObjectDetection", "conditional_detr", false},
    {"DFineForObjectDetection", "d_fine", false},
    {"DabDetrForObjectDetection", "dab-detr", false},
    {"DeformableDetrForObjectDetection", "deformable_detr", false},
    {"Deimv2ForObjectDetection", "deimv2", false},
    {"DetaForObjectDetection", "deta", false},
    {"DetrForObjectDetection", "detr", false},
    {"LwDetrForObjectDetection", "lw_detr", false},
    {"PPDocLayoutV2ForObjectDetection", "pp_doclayout_v2", false},
    {"PPDocLayoutV3ForObjectDetection", "pp_doclayout_v3", false},
    {"RTDetrForObjectDetection", "rt_detr", false},
    {"RTDetrV2ForObjectDetection", "rt_detr_v2", false},
    {"RfDetrForObjectDetection", "rf_detr", false},
    {"RFDetrForObjectDetection", "", false},
    {"TableTransformerForObjectDetection", "table-transformer", false},
    {"YolosForObjectDetection", "yolos", false},
    {"GroundingDinoForObjectDetection", "grounding-dino", true},
    {"MMGroundingDinoForObjectDetection", "mm-grounding-dino", true},
    {"OmDetTurboForObjectDetection", "omdet-turbo", true},
    {"OwlViTForObjectDetection", "owlvit", true},
    {"Owlv2ForObjectDetection", "owlv2", true},
};

struct DetectionSuffix {
  const char* suffix;
  bool takes_text;
};
constexpr DetectionSuffix kDetectionSuffixes[] = {
    {"ForZeroShotObjectDetection", true},
    {"ForObjectDetection", false},
    {"ForConditionalDetection", false},
};

struct OtherTask {
  const char* suffix;
  const char* words;
};

// Longer suffixes stand before those they end in.
constexpr OtherTask kOtherTasks[] = {
    {"ForZeroShotImageClassification", "image classification by text"},
    {"ForImageClassification", "image classification"},
    {"ForVideoClassification", "video classification"},
    {"ForAudioFrameClassification", "audio classification"},
    {"ForAudioClassification", "audio classification"},
    {"ForSequenceClassification", "text classification"},
    {"ForTokenClassification", "token classification (text)"},
    {"ForSemanticSegmentation", "semantic segmentation"},
    {"ForInstanceSegmentation", "instance segmentation"},
    {"ForPanopticSegmentation", "panoptic segmentation"},
    {"ForUniversalSegmentation", "universal segmentation"},
    {"ForImageSegmentation", "image segmentation"},
    {"ForSegmentation", "segmentation"},
    {"ForMaskGeneration", "mask generation"},
    {"ForImageMatting", "image matting"},
    {"ForDepthEstimation", "depth estimation"},
    {"ForPoseEstimation", "pose estimation"},
    {"ForKeypointDetection", "keypoint detection"},
    {"ForKeypointMatching", "keypoint matching"},
    {"ForImageSuperResolution", "image super-resolution"},
    {"ForMaskedImageModeling", "masked image modelling"},
    {"ForMaskedLM", "a masked language model"},
    {"ForCausalLM", "a language model"},
    {"LMHeadModel", "a language model"},
    {"ForConditionalGeneration", "text or speech generation"},
    {"ForVision2Seq", "image to text"},
    {"ForImageTextToText", "image to text"},
    {"ForVisualQuestionAnswering", "visual question answering"},
    {"ForQuestionAnswering", "question answering"},
    {"ForMultipleChoice", "a text model"},
    {"ForNextSentencePrediction", "a text model"},
    {"ForSpeechSeq2Seq", "speech recognition"},
    {"ForCTC", "speech recognition"},
    {"ForSpeechToText", "speech recognition"},
    {"ForTextToSpeech", "text to speech"},
    {"ForXVector", "speaker recognition"},
    {"ForPreTraining", "a model in pre-training, without a task"},
    {"Backbone", "a backbone without a detection head"},
    {"Model", "a model without a task's head"},
};

/// Ultralytics' names for its tasks, in an ONNX file's metadata.
constexpr OtherTask kUltralyticsTasks[] = {
    {"segment", "instance segmentation"},  {"classify", "image classification"},
    {"pose", "pose estimation"},           {"obb", "detection of rotated boxes"},
    {"semantic", "semantic segmentation"}, {"depth", "depth estimation"},
};

/// https://huggingface.co/tasks; what is not listed here is refused by its own name.
constexpr const char* kDetectionTags[] = {"object-detection", "zero-shot-object-detection"};

Error NotADetector(const std::string& where, const std::string& what, const std::string& words) {
  return UnsupportedError(
      fmt::format("{}: {} is {}, not object detection; only detectors can be imported, give one",
                  where, what, words));
}

Error NeedsText(const std::string& where, const std::string& what) {
  return UnsupportedError(
      fmt::format("{}: {} finds what a text names; say it with --prompt \"person . car\", which "
                  "freezes the text "
                  "into the graph (from SafeTensors), or give a detector with fixed classes",
                  where, what));
}

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

bool HasFile(const TaskEvidence& evidence, std::initializer_list<const char*> ends) {
  return std::any_of(evidence.files.begin(), evidence.files.end(), [&](const std::string& file) {
    return std::any_of(ends.begin(), ends.end(),
                       [&](const char* end) { return Lower(file).ends_with(end); });
  });
}

bool IsPickle(const std::string& path) {
  const std::string name = Lower(BaseName(path));
  if (name.starts_with("pytorch_model") && name.ends_with(".bin")) return true;
  constexpr const char* kEnds[] = {".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".pt.tar"};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](const char* end) { return name.ends_with(end); });
}

bool IsDetectionTag(const std::string& tag) {
  return std::find(std::begin(kDetectionTags), std::end(kDetectionTags), tag) !=
         std::end(kDetectionTags);
}

/// Whether the class is a detector, and if so whether it takes a text; nullopt: it is not one that
/// is known.
std::optional<bool> DetectorTakesText(const std::string& architecture) {
  for (const DetectionFamily& family : kDetectionFamilies) {
    if (architecture == family.architecture) return family.takes_text;
  }
  for (const DetectionSuffix& suffix : kDetectionSuffixes) {
    if (architecture.ends_with(suffix.suffix)) return suffix.takes_text;
  }
  return std::nullopt;
}

/// config.json's `architectures`.
std::vector<std::string> ClassesOf(const Json& config) {
  std::vector<std::string> names;
  const auto listed = config.find("architectures");
  if (listed == config.end() || !listed->is_array()) return names;
  for (const Json& name : *listed) {
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  return names;
}

/// The task that the class is for, in words: by the table, else "route finding" of
/// "SomeForRouteFinding". Empty where the name says none.
std::string TaskWords(const std::string& architecture) {
  for (const OtherTask& task : kOtherTasks) {
    if (architecture.ends_with(task.suffix)) return task.words;
  }
  const size_t at = architecture.rfind("For");
  if (at == std::string::npos || at == 0) return "";
  std::string words;
  for (const char c : architecture.substr(at + 3)) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !words.empty()) words += ' ';
    words += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return words;
}

Status CheckCode(const TaskEvidence& evidence) {
  if (evidence.config == nullptr || evidence.trust || HasFile(evidence, {".onnx"}))
    return OkStatus();
  const auto auto_map = evidence.config->find("auto_map");
  if (auto_map == evidence.config->end() || auto_map->empty()) return OkStatus();
  return UnsupportedError(fmt::format(
      "{}: needs Python code of its own (auto_map in config.json), which is not run; give an ONNX "
      "export of it, or let its code run with your rights by --trust",
      evidence.where));
}

Status CheckWeights(const TaskEvidence& evidence) {
  if (HasFile(evidence, {".onnx", ".safetensors", ".safetensors.index.json"})) return OkStatus();
  const auto pickle = std::find_if(evidence.files.begin(), evidence.files.end(), IsPickle);
  if (pickle == evidence.files.end()) return OkStatus();
  return UnsupportedError(fmt::format(
      "{}: has its weights as a Python pickle only ({}), and loading one runs whatever code is in "
      "it; give a version in SafeTensors (save_pretrained(…, safe_serialization=True)) or ONNX",
      evidence.where, *pickle));
}

Status CheckTag(const TaskEvidence& evidence, bool has_text) {
  const std::string& tag = evidence.pipeline_tag;
  if (tag.empty()) return OkStatus();
  if (!IsDetectionTag(tag)) return NotADetector(evidence.where, "the model", tag);
  const bool takes_text = tag == kDetectionTags[1];
  return takes_text && !has_text ? NeedsText(evidence.where, "a " + tag + " model") : Status();
}

}  // namespace

std::string ArchitectureOf(const Json& config) {
  const std::vector<std::string> names = ClassesOf(config);
  for (const std::string& name : names) {
    if (DetectorTakesText(name)) return name;
  }
  if (!names.empty()) return names.front();
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string() || type->get<std::string>().empty()) return "";
  for (const DetectionFamily& family : kDetectionFamilies) {
    if (*type == family.model_type) return family.architecture;
  }
  return "";
}

bool HasFrozenPrompt(const Json& config) {
  const auto prompt = config.find(kFrozenPromptKey);
  return prompt != config.end() && prompt->is_string();
}

Status CheckArchitecture(const std::string& architecture, const std::string& where, bool has_text) {
  if (const std::optional<bool> takes_text = DetectorTakesText(architecture)) {
    return *takes_text && !has_text ? NeedsText(where, architecture) : Status();
  }
  const std::string words = TaskWords(architecture);
  return words.empty() ? OkStatus() : NotADetector(where, architecture, words);
}

Status CheckOnnxTask(const std::map<std::string, std::string>& metadata, const std::string& where) {
  const auto task = metadata.find("task");
  if (task == metadata.end() || task->second.empty() || task->second == "detect" ||
      IsDetectionTag(task->second)) {
    return OkStatus();
  }
  std::string words = task->second;
  for (const OtherTask& other : kUltralyticsTasks) {
    if (task->second == other.suffix) words = other.words;
  }
  return NotADetector(where, fmt::format("the task \"{}\" of its ONNX metadata", task->second),
                      words);
}

Status CheckTask(const TaskEvidence& evidence) {
  const Json config = evidence.config == nullptr ? Json::object() : *evidence.config;
  const bool has_text = !evidence.prompt.empty() || HasFrozenPrompt(config);
  const std::string architecture = ArchitectureOf(config);
  // A model_type is a family, of which one class detects: the page may say that it is another.
  if (ClassesOf(config).empty()) SG_RETURN_IF_ERROR(CheckTag(evidence, has_text));
  if (!architecture.empty()) {
    SG_RETURN_IF_ERROR(CheckArchitecture(architecture, evidence.where, has_text));
    if (!DetectorTakesText(architecture) && !IsDetectionTag(evidence.pipeline_tag)) {
      return UnsupportedError(
          fmt::format("{}: {} is not an object detector that is known; its name should end in "
                      "ForObjectDetection, or its page say object-detection",
                      evidence.where, architecture));
    }
  } else if (evidence.pipeline_tag.empty() && !HasFile(evidence, {".onnx"})) {
    return UserError(fmt::format(
        "{}: nothing says what it does: no architecture in a config.json, no task on the hub, no "
        ".onnx; name a detector",
        evidence.where));
  }
  SG_RETURN_IF_ERROR(CheckCode(evidence));
  return CheckWeights(evidence);
}

}  // namespace sg
