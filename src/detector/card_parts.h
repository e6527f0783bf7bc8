// The steps of BuildModelCard, each filling its part of the card.
#pragma once

#include <string>

#include "base/json.h"
#include "base/status.h"
#include "detector/card_builder.h"
#include "detector/picture_recipe.h"

namespace sg {

/// Architecture and task of config.json.
Status FillArchitecture(const Json& config, const std::string& config_path, ModelCard* card);

/// Where labels may be.
struct LabelSources {
  const Json& config;  ///< null when there is none
  const std::string& config_path;
  const OnnxSummary& onnx;
  const ModelFiles& files;
  const CardOverrides& overrides;
};

/// Labels of --labels, else of config.json (id2label, label2id, names), else of the ONNX's metadata
/// (names), else of files beside the model (FindLabels). transformers' placeholders (LABEL_0) give
/// way to real ones. Gaps are filled by the class number.
Status FillLabels(const LabelSources& sources, ModelCard* card);

/// The input's name, form and, where the graph fixes it, size.
Status FillInput(const OnnxSummary& onnx, ModelCard* card);

/// Preprocessing by the model's own files, else its family (FindPictureRecipe), and the input's
/// size where the graph leaves it free.
Status FillPreprocessing(const PreprocessingSources& sources, ModelCard* card);

struct HeadSources {
  const Json& config;
  const OnnxSummary& onnx;
  std::string wanted;  ///< --head
};
/// The head, or several between which real frames must decide (RecogniseHead). Labels, architecture
/// and input must be known.
Status FillHead(const HeadSources& sources, ModelCard* card);

/// The classes that are filtered out because `wanted` (labels or class numbers) leaves them out.
/// kUser for one that the model does not have.
Status FillClassFilter(const std::vector<std::string>& wanted, ModelCard* card);

/// Thresholds by the order: command line, the model's configs, its README.md, the defaults.
Status FillThresholds(const ModelFiles& files, const CardOverrides& overrides, ModelCard* card);

}  // namespace sg
