#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "detector/picture_recipe.h"

namespace sg {
namespace {

using Fit = PictureRecipe::Fit;
using Padding = PictureRecipe::Padding;

constexpr double kYoloPadding = 114;

std::string LettersOf(const std::string& text) {
  std::string letters;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) letters += c;
  }
  return letters;
}

PictureRecipe Letterbox(Padding padding) {
  PictureRecipe recipe;
  recipe.fit = Fit::kKeepRatio;
  recipe.padding = padding;
  recipe.padding_value = kYoloPadding;
  return recipe;
}

PictureRecipe Stretch() { return {}; }

PictureRecipe ImageNetStretch() {
  PictureRecipe recipe;
  recipe.mean = {0.485, 0.456, 0.406};
  recipe.std = {0.229, 0.224, 0.225};
  return recipe;
}

/// YOLOX since 0.1.1: BGR pixels as they are.
PictureRecipe YoloxRecipe() {
  PictureRecipe recipe = Letterbox(Padding::kCorner);
  recipe.bgr = true;
  recipe.rescale = 1;
  return recipe;
}

/// NanoDet: BGR, the mean and std of its configs.
PictureRecipe NanodetRecipe() {
  PictureRecipe recipe;
  recipe.bgr = true;
  recipe.rescale = 1;
  recipe.mean = {103.53, 116.28, 123.675};
  recipe.std = {57.375, 57.12, 58.395};
  return recipe;
}

/// RTMDet: the same numbers on letterboxed pictures.
PictureRecipe RtmdetRecipe() {
  PictureRecipe recipe = NanodetRecipe();
  recipe.fit = Fit::kKeepRatio;
  recipe.padding = Padding::kCorner;
  recipe.padding_value = kYoloPadding;
  return recipe;
}

PictureRecipe CentreRecipe() { return Letterbox(Padding::kCentre); }

/// Families by letters of their architecture, model_type or file name; the first that fits.
struct Family {
  const char* letters;
  const char* name;
  PictureRecipe (*recipe)();
};
constexpr Family kFamilies[] = {
    {"rtdetr", "RT-DETR", Stretch},
    {"rfdetr", "RF-DETR", ImageNetStretch},
    {"dfine", "D-FINE", Stretch},
    {"deim", "DEIM", Stretch},
    {"yolox", "YOLOX", YoloxRecipe},
    {"nanodet", "NanoDet", NanodetRecipe},
    {"rtmdet", "RTMDet", RtmdetRecipe},
    {"ppyoloe", "PP-YOLOE", ImageNetStretch},
    {"picodet", "PicoDet", ImageNetStretch},
    {"yolo", "YOLO", CentreRecipe},
};

bool HasOutputs(const OnnxSummary& onnx, std::initializer_list<const char*> names) {
  return std::all_of(names.begin(), names.end(),
                     [&](const char* name) { return onnx.FindOutput(name) != nullptr; });
}

/// What config.json and the file's name say, in one word.
std::string HintOf(const PreprocessingSources& sources) {
  std::string hint;
  if (sources.config.is_object()) {
    const auto type = sources.config.find("model_type");
    if (type != sources.config.end() && type->is_string()) hint += type->get<std::string>();
    const auto names = sources.config.find("architectures");
    if (names != sources.config.end() && names->is_array() && !names->empty() &&
        names->front().is_string()) {
      hint += " " + names->front().get<std::string>();
    }
  }
  return LettersOf(hint);
}

/// The head's family in letters. Heads that several trainings share, each with its own pictures
/// (YOLOv3, v4 and NAS), say nothing.
std::string HeadHint(const std::string& family) {
  const std::string letters = LettersOf(family);
  for (const char* shared : {"yolov3", "yolov4", "yolonas", "yololevels", "yoloboxes"}) {
    if (letters.find(shared) == 0) return "";
  }
  return letters;
}

PictureRecipe Named(PictureRecipe recipe, const std::string& source) {
  recipe.assumed = true;
  recipe.source = source;
  return recipe;
}

}  // namespace

std::optional<PictureRecipe> UltralyticsRecipe(const OnnxSummary& onnx) {
  const auto text = [&](const char* key) {
    const auto found = onnx.metadata.find(key);
    return found == onnx.metadata.end() ? std::string() : found->second;
  };
  const bool is_ultralytics = LettersOf(text("author")) == "ultralytics" ||
                              LettersOf(text("description")).find("ultralytics") == 0;
  // YOLOv5's exporter writes these two and nothing else.
  const bool is_yolov5 = !text("stride").empty() && !text("names").empty();
  if (!is_ultralytics && !is_yolov5) return std::nullopt;
  // Its RT-DETR is trained on stretched pictures, everything else on letterboxed ones.
  const bool stretches = LettersOf(text("description")).find("rtdetr") != std::string::npos;
  PictureRecipe recipe = stretches ? Stretch() : Letterbox(Padding::kCentre);
  recipe.source = "the ONNX's metadata (Ultralytics)";
  int height = 0;
  int width = 0;
  if (std::sscanf(text("imgsz").c_str(), " [ %5d , %5d ]", &height, &width) == 2 && height > 0 &&
      width > 0) {
    recipe.size = recipe.padded_size = {height, width};
    if (stretches) recipe.padded_size = {};
  }
  return recipe;
}

std::optional<PictureRecipe> FamilyRecipe(const PreprocessingSources& sources) {
  const OnnxSummary& onnx = sources.onnx;
  if (HasOutputs(onnx, {"dets", "labels"}) && !onnx.inputs.empty() &&
      onnx.inputs.front().name == "input" && onnx.outputs.size() == 2 &&
      onnx.FindOutput("labels")->dims.size() == 3) {
    return Named(ImageNetStretch(), "the defaults of RF-DETR (by its outputs dets and labels)");
  }
  if (HasOutputs(onnx, {"labels", "boxes", "scores"}) && !onnx.inputs.empty() &&
      onnx.inputs.front().name == "images") {
    return Named(Stretch(), "the defaults of RT-DETR (by its outputs labels, boxes, scores)");
  }
  const std::string file = BaseName(sources.files.onnx);
  const std::pair<std::string, std::string> hints[] = {
      {HintOf(sources), "config.json"},
      {LettersOf(file), file},
      {HeadHint(sources.head_family), "its head " + sources.head_family}};
  for (const auto& [hint, where] : hints) {
    for (const Family& family : kFamilies) {
      if (hint.find(family.letters) == std::string::npos) continue;
      return Named(family.recipe(), fmt::format("the defaults of {} (by {})", family.name, where));
    }
  }
  return std::nullopt;
}

}  // namespace sg
