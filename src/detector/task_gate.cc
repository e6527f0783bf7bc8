#include "detector/task_gate.h"

#include <fmt/format.h>

#include <algorithm>

namespace sg {
namespace {

// docs/add_a_model_family.md says what a new row needs.

/// transformers' detectors whose names end in none of the suffixes below.
constexpr const char* kDetectors[] = {"TableTransformerModel", "DFineModel"};

constexpr const char* kDetectionSuffixes[] = {"ForObjectDetection", "ForConditionalDetection",
                                              "ForZeroShotObjectDetection"};

/// Detectors that read a prompt: their classes are words, given with each picture.
constexpr const char* kTextDetectors[] = {
    "GroundingDino", "MMGroundingDino", "OwlViT", "Owlv2", "OmDetTurbo", "ZeroShotObjectDetection"};

struct Task {
  const char* name;  ///< an architecture's suffix, or the hub's pipeline_tag
  const char* words;
};

constexpr Task kOtherArchitectures[] = {
    {"ForImageClassification", "image classification"},
    {"ForVideoClassification", "video classification"},
    {"ForAudioClassification", "audio classification"},
    {"ForSequenceClassification", "text classification"},
    {"ForSemanticSegmentation", "semantic segmentation"},
    {"ForInstanceSegmentation", "instance segmentation"},
    {"ForPanopticSegmentation", "panoptic segmentation"},
    {"ForUniversalSegmentation", "segmentation"},
    {"ForImageSegmentation", "image segmentation"},
    {"ForSegmentation", "segmentation"},
    {"ForPoseEstimation", "pose estimation"},
    {"ForKeypointDetection", "keypoint detection"},
    {"ForKeypointMatching", "keypoint matching"},
    {"ForDepthEstimation", "depth estimation"},
    {"ForMaskedImageModeling", "masked image modelling"},
    {"ForMaskGeneration", "mask generation"},
    {"ForMaskedLM", "a masked language model"},
    {"ForTokenClassification", "token classification"},
    {"ForQuestionAnswering", "question answering"},
    {"ForCausalLM", "a language model"},
    {"LMHeadModel", "a language model"},
    {"ForConditionalGeneration", "text generation"},
    {"ForImageTextToText", "image to text"},
    {"ForSpeechSeq2Seq", "speech recognition"},
    {"ForCTC", "speech recognition"},
    {"ForTextToSpeech", "speech synthesis"},
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

bool HasFile(const TaskEvidence& evidence, std::initializer_list<const char*> ends) {
  return std::any_of(evidence.files.begin(), evidence.files.end(), [&](const std::string& file) {
    return std::any_of(ends.begin(), ends.end(),
                       [&](const char* end) { return file.ends_with(end); });
  });
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
  if (!HasFile(evidence, {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"})) return OkStatus();
  return UnsupportedError(fmt::format(
      "{}: its weights are Python pickles only (.bin, .pt), and loading one runs whatever code is "
      "in it; give a version in SafeTensors or ONNX",
      evidence.where));
}

Status CheckTag(const TaskEvidence& evidence) {
  const std::string& tag = evidence.pipeline_tag;
  if (tag.empty()) return OkStatus();
  if (tag == kDetectionTags[1] && evidence.prompt.empty())
    return NeedsText(evidence.where, "a " + tag + " model");
  if (tag == kDetectionTags[1]) return OkStatus();
  if (tag == kDetectionTags[0]) return OkStatus();
  return NotADetector(evidence.where, "the model", tag);
}

}  // namespace

std::string ArchitectureOf(const Json& config) {
  const auto architectures = config.find("architectures");
  if (architectures == config.end() || !architectures->is_array() || architectures->empty() ||
      !architectures->front().is_string()) {
    return "";
  }
  return architectures->front().get<std::string>();
}

bool HasFrozenPrompt(const Json& config) {
  const auto prompt = config.find(kFrozenPromptKey);
  return prompt != config.end() && prompt->is_string();
}

Status CheckArchitecture(const std::string& architecture, const std::string& where, bool has_text) {
  for (const char* name : kTextDetectors) {
    if (architecture.find(name) == std::string::npos) continue;
    return has_text ? OkStatus() : NeedsText(where, architecture);
  }
  for (const char* suffix : kDetectionSuffixes) {
    if (architecture.ends_with(suffix)) return OkStatus();
  }
  for (const char* name : kDetectors) {
    if (architecture == name) return OkStatus();
  }
  for (const Task& task : kOtherArchitectures) {
    if (architecture.ends_with(task.name)) return NotADetector(where, architecture, task.words);
  }
  return UnsupportedError(fmt::format(
      "{}: {} is not an object detector that is known; its name should end in ForObjectDetection",
      where, architecture));
}

Status CheckTask(const TaskEvidence& evidence) {
  const std::string architecture =
      evidence.config == nullptr ? "" : ArchitectureOf(*evidence.config);
  if (!architecture.empty()) {
    const bool has_text = !evidence.prompt.empty() || HasFrozenPrompt(*evidence.config);
    SG_RETURN_IF_ERROR(CheckArchitecture(architecture, evidence.where, has_text));
  } else {
    SG_RETURN_IF_ERROR(CheckTag(evidence));
    if (evidence.pipeline_tag.empty() && !HasFile(evidence, {".onnx"})) {
      return UserError(fmt::format(
          "{}: nothing says what it does: no architecture in a config.json, no task on the hub, no "
          ".onnx; name a detector",
          evidence.where));
    }
  }
  SG_RETURN_IF_ERROR(CheckCode(evidence));
  return CheckWeights(evidence);
}

}  // namespace sg
