#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "detector/picture_recipe.h"

namespace sg {
namespace {

using Fit = PictureRecipe::Fit;
using Padding = PictureRecipe::Padding;

/// The transforms of the task "Transform" of pipeline.json; null without one.
Json TransformsOf(const Json& root) {
  const Json* tasks = &root;
  for (const char* key : {"pipeline", "tasks"}) {
    if (!tasks->is_object() || !tasks->contains(key)) return nullptr;
    tasks = &tasks->at(key);
  }
  if (!tasks->is_array()) return nullptr;
  for (const Json& task : *tasks) {
    if (task.is_object() && task.value("module", Json()) == "Transform" &&
        task.contains("transforms") && task["transforms"].is_array()) {
      return task["transforms"];
    }
  }
  return nullptr;
}

/// A size as mmdeploy writes it: one number, or [width, height].
PictureSize SizeOf(const Json& value) {
  if (value.is_number_integer()) return {value.get<int>(), value.get<int>()};
  if (value.is_array() && value.size() == 2) return {value[1].get<int>(), value[0].get<int>()};
  return {};
}

double PadValueOf(const Json& transform) {
  Json value = transform.value("pad_val", Json(0));
  if (value.is_object()) value = value.value("img", Json(0));
  if (value.is_array() && !value.empty()) value = Json(value[0]);
  return value.is_number() ? value.get<double>() : 0;
}

void AddResize(const Json& transform, PictureRecipe* recipe) {
  for (const char* key : {"size", "scale", "img_scale"}) {
    if (transform.contains(key)) recipe->size = SizeOf(transform[key]);
  }
  recipe->size_is_ordered = recipe->size.height == recipe->size.width;
  recipe->fit = transform.value("keep_ratio", false) ? Fit::kKeepRatio : Fit::kStretch;
  recipe->interpolation = transform.value("interpolation", "bilinear");
}

void AddPad(const Json& transform, PictureRecipe* recipe) {
  if (recipe->padding == Padding::kNone) recipe->padding = Padding::kCorner;
  recipe->padding_value = PadValueOf(transform);
  if (transform.contains("size")) recipe->padded_size = SizeOf(transform["size"]);
}

Status AddTransform(const Json& transform, const std::string& path, PictureRecipe* recipe) {
  static constexpr const char* kWithoutEffect[] = {
      "LoadImageFromFile", "LoadImage", "DefaultFormatBundle", "ImageToTensor", "Collect",
      "PackDetInputs",     "ToTensor",  "LoadAnnotations"};
  const std::string type = transform.value("type", "?");
  if (type == "Resize" || type == "YOLOv5KeepRatioResize") {
    AddResize(transform, recipe);
    if (type != "Resize") recipe->fit = Fit::kKeepRatio;
  } else if (type == "LetterResize") {
    AddResize(transform, recipe);
    recipe->fit = Fit::kKeepRatio;
    recipe->padding = Padding::kCentre;
    recipe->padded_size = recipe->size;
    recipe->padding_value = PadValueOf(transform);
  } else if (type == "Pad") {
    AddPad(transform, recipe);
  } else if (type == "Normalize") {
    recipe->mean = transform.value("mean", std::vector<double>());
    recipe->std = transform.value("std", std::vector<double>());
    recipe->bgr = !transform.value("to_rgb", true);
  } else if (type == "CenterCrop") {
    recipe->crop = SizeOf(transform.value("crop_size", Json()));
  } else if (std::find(std::begin(kWithoutEffect), std::end(kWithoutEffect), type) ==
             std::end(kWithoutEffect)) {
    return UnsupportedError(fmt::format(
        "{}: its preprocessing has the step '{}', and what that does is not known", path, type));
  }
  return OkStatus();
}

}  // namespace

Result<std::optional<PictureRecipe>> MmdeployRecipe(const std::string& folder) {
  const std::string path = JoinPath(folder, "pipeline.json");
  if (!FileExists(path)) return std::optional<PictureRecipe>();
  SG_ASSIGN_OR_RETURN(const Json root, ReadJsonFile(path));
  const Json transforms = TransformsOf(root);
  if (transforms.is_null()) return std::optional<PictureRecipe>();
  PictureRecipe recipe;
  recipe.source = "pipeline.json";
  recipe.path = path;
  recipe.fit = Fit::kNone;
  recipe.rescale = 1;
  recipe.bgr = true;  // pictures are loaded as BGR, and Normalize says when they are turned
  try {
    for (const Json& transform : transforms) {
      SG_RETURN_IF_ERROR(AddTransform(transform, path, &recipe));
    }
  } catch (const Json::exception& e) {
    return UserError(fmt::format("{}: its preprocessing cannot be read: {}", path, e.what()));
  }
  return std::optional(std::move(recipe));
}

}  // namespace sg
