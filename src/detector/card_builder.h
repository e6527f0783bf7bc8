// Makes the ModelCard of a local model from its own files: what it detects, what it expects of a
// picture, and how its outputs become boxes. Each fact keeps the name of the file it came from.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "detector/model_card.h"
#include "detector/model_files.h"
#include "detector/picture_recipe.h"
#include "onnx/onnx_file.h"

namespace sg {

/// What the user said on the command line; it wins over every file.
struct CardOverrides {
  std::string name;                       ///< --name; must match [A-Za-z0-9._-]+
  std::string labels_file;                ///< --labels
  std::optional<double> score_threshold;  ///< --score-threshold
  std::optional<double> nms_iou;          ///< --nms-iou
  std::string head;                       ///< --head: a family's name
  std::vector<std::string> classes;       ///< --classes: labels or numbers; empty: all
  /// Not the user's word but an nvinfer config's beside the model (deepstream/nvinfer_recipe.h): it
  /// holds where no preprocessor's file is there.
  std::optional<PictureRecipe> nvinfer_recipe;
};

/// Makes `head` the card's, with the topk that it wants.
void TakeHead(const Head& head, ModelCard* card);

/// kUser names the file that is missing or wrong; kUnsupported says in plain words what the model
/// is (another task, another head, preprocessing that nvinfer cannot express).
Result<ModelCard> BuildModelCard(const ModelFiles& files, const OnnxSummary& onnx,
                                 const CardOverrides& overrides);

/// kUser unless `name` can be the name of models/NAME.
Status CheckModelName(const std::string& name);

}  // namespace sg
