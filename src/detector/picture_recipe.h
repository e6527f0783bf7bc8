// How a model's own preprocessor turns a picture into the network's input, whoever wrote it down,
// and what nvinfer can do of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "detector/model_card.h"
#include "detector/model_files.h"
#include "onnx/onnx_file.h"

namespace sg {

/// Height and width in pixels; zeros: not said.
struct PictureSize {
  int height = 0;
  int width = 0;
  bool operator==(const PictureSize&) const = default;
};

/// One preprocessor, in its own order: resize, crop, pad, rescale, normalise.
struct PictureRecipe {
  enum class Fit {
    kNone,       ///< not resized
    kStretch,    ///< to `size`, both axes on their own
    kKeepRatio,  ///< aspect ratio kept: into `size`, or to `shortest_edge` within `longest_edge`
  };
  enum class Padding { kNone, kCorner, kCentre };

  std::string source;    ///< the file's name, or the family whose defaults these are
  std::string path;      ///< of the file, for errors; empty: there is none
  bool assumed = false;  ///< no file of the model says it
  Fit fit = Fit::kStretch;
  PictureSize size;
  bool size_is_ordered = true;  ///< false: the file does not tell height from width
  int shortest_edge = 0;
  int longest_edge = 0;
  PictureSize crop;  ///< cut from the centre after the resize
  Padding padding = Padding::kNone;
  PictureSize padded_size;   ///< zeros: as the batch needs
  double padding_value = 0;  ///< of pixels, 0–255
  bool bgr = false;
  double rescale = 1.0 / 255;
  std::vector<double> mean;  ///< of rescaled values, in the network's channel order; empty: none
  std::vector<double> std;
  std::string interpolation = "bilinear";
  std::vector<std::string> notes;

  /// Where a fault of it is.
  const std::string& Where() const { return path.empty() ? source : path; }
};

/// What the recipes are read from.
struct PreprocessingSources {
  const ModelFiles& files;
  const OnnxSummary& onnx;
  const Json& config;  ///< config.json; null where there is none
  /// Of an nvinfer config beside the model.
  std::optional<PictureRecipe> nvinfer = {};
  std::string head_family = {};  ///< Head::family; empty while it is not known
};

/// The recipe of the first of: preprocessor_config.json or processor_config.json (transformers);
/// infer_cfg.yml, inference.yml or preprocess.yaml (PaddleDetection); pipeline.json (mmdeploy); an
/// nvinfer config; the ONNX's metadata (Ultralytics); the defaults of the architecture's
/// transformers class; those of the family, known by its inputs and outputs, the file's name or the head.
/// kUser names the file and key that is wrong, or what was looked for in vain; kUnsupported what
/// the reader does not know.
Result<PictureRecipe> FindPictureRecipe(const PreprocessingSources& sources);

/// The same of one format each; nullopt when the folder has no such file, or says nothing of it.
Result<std::optional<PictureRecipe>> TransformersRecipe(const PreprocessingSources& sources);
Result<std::optional<PictureRecipe>> PaddleRecipe(const std::string& folder);
Result<std::optional<PictureRecipe>> MmdeployRecipe(const std::string& folder);
Result<std::optional<PictureRecipe>> ArchitectureRecipe(const PreprocessingSources& sources);
std::optional<PictureRecipe> UltralyticsRecipe(const OnnxSummary& onnx);
std::optional<PictureRecipe> FamilyRecipe(const PreprocessingSources& sources);

/// Fills the card's preprocessing and, where the graph leaves it free, the input's size; card's
/// input must be filled. What nvinfer does differently from the recipe becomes a note. kUser when
/// the recipe's size is not the graph's, kUnsupported for what nvinfer cannot do.
Status ApplyPictureRecipe(const PictureRecipe& recipe, ModelCard* card);

}  // namespace sg
