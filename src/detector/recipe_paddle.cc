#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/files.h"
#include "detector/picture_recipe.h"

namespace sg {
namespace {

using Fit = PictureRecipe::Fit;
using Padding = PictureRecipe::Padding;

constexpr const char* kFiles[] = {"infer_cfg.yml",  "inference.yml",  "preprocess.yaml",
                                  "preprocess.yml", "infer_cfg.yaml", "inference.yaml"};

/// One step of the list: {type: Resize, …} or {ResizeImage: {…}}.
struct Step {
  std::string type;
  YAML::Node values;
};

Step StepOf(const YAML::Node& node) {
  if (!node.IsMap()) return {};
  if (const YAML::Node type = node["type"]; type && type.IsScalar()) return {type.Scalar(), node};
  if (node.size() != 1 || !node.begin()->first.IsScalar()) return {};
  return {node.begin()->first.Scalar(), node.begin()->second};
}

YAML::Node StepsOf(const YAML::Node& root) {
  for (const char* key : {"Preprocess", "PreProcess", "preprocess", "transform_ops"}) {
    const YAML::Node found = root[key];
    if (!found) continue;
    if (found.IsSequence()) return found;
    if (found.IsMap()) return StepsOf(found);
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

PictureSize SizeOf(const YAML::Node& node) {
  if (!node) return {};
  if (node.IsScalar()) return {node.as<int>(), node.as<int>()};
  if (node.IsSequence() && node.size() == 1) return {node[0].as<int>(), node[0].as<int>()};
  if (node.IsSequence() && node.size() == 2) return {node[0].as<int>(), node[1].as<int>()};
  return {};
}

/// OpenCV's codes.
std::string Interpolation(int code) {
  constexpr const char* kNames[] = {"nearest", "bilinear", "bicubic", "area", "lanczos"};
  return code >= 0 && code < 5 ? kNames[code] : fmt::format("interp={}", code);
}

void AddResize(const YAML::Node& values, PictureRecipe* recipe) {
  recipe->size = SizeOf(values["target_size"] ? values["target_size"] : values["size"]);
  recipe->fit =
      values["keep_ratio"] && values["keep_ratio"].as<bool>() ? Fit::kKeepRatio : Fit::kStretch;
  if (values["interp"] && values["interp"].IsScalar()) {
    // Cubic and area are how its own tools shrink; the difference from bilinear is noted.
    recipe->interpolation = Interpolation(values["interp"].as<int>());
  }
}

void AddNormalisation(const YAML::Node& values, PictureRecipe* recipe) {
  const bool is_scale = !values["is_scale"] || values["is_scale"].as<bool>();
  recipe->rescale = is_scale ? 1.0 / 255 : 1;
  const YAML::Node kind = values["norm_type"];
  if (kind && kind.IsScalar() && kind.Scalar() == "none") return;
  if (values["mean"]) recipe->mean = values["mean"].as<std::vector<double>>();
  if (values["std"]) recipe->std = values["std"].as<std::vector<double>>();
}

Status AddStep(const Step& step, const std::string& path, PictureRecipe* recipe) {
  const std::string& type = step.type;
  if (type == "Resize" || type == "ResizeImage") {
    AddResize(step.values, recipe);
  } else if (type == "LetterBoxResize") {
    AddResize(step.values, recipe);
    recipe->fit = Fit::kKeepRatio;
    recipe->padding = Padding::kCentre;
    recipe->padded_size = recipe->size;
    recipe->padding_value = 127.5;
  } else if (type == "NormalizeImage") {
    AddNormalisation(step.values, recipe);
  } else if (type == "Pad") {
    recipe->padding = Padding::kCorner;
    recipe->padded_size =
        SizeOf(step.values["size"] ? step.values["size"] : step.values["target_size"]);
    const YAML::Node fill = step.values["fill_value"];
    if (fill && fill.IsSequence() && fill.size() > 0) recipe->padding_value = fill[0].as<double>();
  } else if (type == "PadStride" || type == "PadBatch") {
    recipe->padding = Padding::kCorner;
  } else if (type == "Decode" || type == "DecodeImage") {
    const YAML::Node rgb = step.values["to_rgb"];
    recipe->bgr = rgb && rgb.IsScalar() && !rgb.as<bool>();
  } else if (type != "Permute" && type != "ToCHWImage" && type != "KeepKeys") {
    return UnsupportedError(
        fmt::format("{}: its preprocessing has the step '{}', and what that does is not known",
                    path, type.empty() ? "?" : type));
  }
  return OkStatus();
}

}  // namespace

Result<std::optional<PictureRecipe>> PaddleRecipe(const std::string& folder) {
  for (const char* file : kFiles) {
    const std::string path = JoinPath(folder, file);
    if (!FileExists(path)) continue;
    SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    try {
      const YAML::Node root = YAML::Load(text);
      if (!root.IsMap()) continue;
      const YAML::Node steps = StepsOf(root);
      if (!steps || !steps.IsSequence()) continue;
      PictureRecipe recipe;
      recipe.source = file;
      recipe.path = path;
      recipe.fit = Fit::kNone;
      recipe.rescale = 1;
      for (const YAML::Node& node : steps) {
        SG_RETURN_IF_ERROR(AddStep(StepOf(node), path, &recipe));
      }
      return std::optional(std::move(recipe));
    } catch (const YAML::Exception& e) {
      return UserError(
          fmt::format("{}:{}: its preprocessing cannot be read: {}", path, e.mark.line + 1, e.msg));
    }
  }
  return std::optional<PictureRecipe>();
}

}  // namespace sg
