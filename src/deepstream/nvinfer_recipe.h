// Preprocessing by the nvinfer config that a model brings along, as NGC's do.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "detector/picture_recipe.h"

namespace sg {

/// The recipe of the first config in the folder, by name, that nvinfer could load; nullopt without
/// one. Its infer-dims are not taken: the graph has them.
Result<std::optional<PictureRecipe>> NvinferRecipe(const std::string& folder);

}  // namespace sg
