// The steps of BuildModelCard, each filling its part of the card.
#pragma once

#include <string>

#include "base/json.h"
#include "base/status.h"
#include "detector/card_builder.h"

namespace sg {

/// Architecture and task of config.json.
Status FillArchitecture(const Json& config, const std::string& config_path, ModelCard* card);

/// Where labels may be.
struct LabelSources {
  const Json& config;
  const std::string& config_path;
  const OnnxSummary& onnx;
  const ModelFiles& files;
  const CardOverrides& overrides;
};

/// Labels of --labels, else of config.json (id2label, label2id, names), else of the ONNX's metadata
/// (names), else of files beside the model (FindLabels). transformers' placeholders (LABEL_0) give
/// way to real ones. Gaps are filled by the class number.
Status FillLabels(const LabelSources& sources, ModelCard* card);

/// The input's name and, where the graph fixes them, its size.
Status FillInput(const OnnxSummary& onnx, ModelCard* card);

/// Preprocessing of preprocessor_config.json (or of processor_config.json's image_processor), and
/// the input's size where the graph leaves it free.
Status FillPreprocessing(const ModelFiles& files, ModelCard* card);

/// The head, by architecture and outputs; then the number of classes against the labels.
Status FillHead(const OnnxSummary& onnx, const Json& config, ModelCard* card);

/// Thresholds by the order: command line, the model's configs, its README.md, the defaults.
Status FillThresholds(const ModelFiles& files, const CardOverrides& overrides, ModelCard* card);

}  // namespace sg
