#include "deepstream/nvinfer_recipe.h"

#include <algorithm>

#include "base/files.h"
#include "deepstream/nvinfer_config.h"

namespace sg {
namespace {

bool MayBeConfig(const std::string& name) {
  const bool is_text = name.ends_with(".txt") || name.ends_with(".yml") || name.ends_with(".yaml");
  return is_text && (name.find("infer") != std::string::npos || name.starts_with("pgie"));
}

PictureRecipe RecipeOf(const NvinferConfig& config) {
  PictureRecipe recipe;
  recipe.fit =
      config.maintain_aspect_ratio ? PictureRecipe::Fit::kKeepRatio : PictureRecipe::Fit::kStretch;
  if (config.maintain_aspect_ratio) {
    recipe.padding = config.symmetric_padding ? PictureRecipe::Padding::kCentre
                                              : PictureRecipe::Padding::kCorner;
  }
  recipe.bgr = config.model_color_format == 1;
  recipe.rescale = config.net_scale_factor;
  if (!config.offsets.empty()) {
    recipe.rescale = 1;
    recipe.mean = config.offsets;
    recipe.mean.resize(3, config.offsets.back());
    recipe.std.assign(3, 1 / config.net_scale_factor);
  }
  return recipe;
}

}  // namespace

Result<std::optional<PictureRecipe>> NvinferRecipe(const std::string& folder) {
  SG_ASSIGN_OR_RETURN(std::vector<std::string> names, ListFolder(folder));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    if (!MayBeConfig(name) || !FileExists(path)) continue;
    const Result<NvinferConfig> config = ReadNvinferConfig(path);
    if (!config.ok() || !(config->net_scale_factor > 0)) continue;  // one of another program
    PictureRecipe recipe = RecipeOf(*config);
    recipe.source = name;
    recipe.path = path;
    return std::optional(std::move(recipe));
  }
  return std::optional<PictureRecipe>();
}

}  // namespace sg
