#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "detector/card_parts.h"

namespace sg {
namespace {

/// Above this the one scale that nvinfer has is not the recipe's.
constexpr double kScaleTolerance = 1e-9;

std::string SizeText(const PictureSize& size) {
  return fmt::format("{}x{}", size.width, size.height);
}

/// The graph's size, else what the recipe's pictures come to.
Status FillSize(const PictureRecipe& recipe, ModelCard* card) {
  PictureSize wanted = recipe.padded_size;
  if (wanted.height == 0) wanted = recipe.crop;
  if (wanted.height == 0 && recipe.fit != PictureRecipe::Fit::kNone) wanted = recipe.size;
  const PictureSize graph{card->input_height, card->input_width};
  const bool is_free = graph.height == 0 || graph.width == 0;
  if (is_free && (wanted.height == 0 || wanted.width == 0)) {
    return UserError(
        fmt::format("{}: gives no fixed size, and the ONNX leaves it free; export the model with a "
                    "fixed height and width",
                    recipe.Where()));
  }
  if (!is_free && (wanted.height == 0 || wanted.width == 0)) return OkStatus();
  const auto differs = [&](int height, int width) {
    return (graph.height != 0 && graph.height != height) ||
           (graph.width != 0 && graph.width != width);
  };
  if (differs(wanted.height, wanted.width)) {
    if (!recipe.size_is_ordered && !differs(wanted.width, wanted.height)) {
      std::swap(wanted.height, wanted.width);
    } else if (recipe.assumed || recipe.fit == PictureRecipe::Fit::kKeepRatio) {
      wanted = graph;  // the graph's size is the one that pictures are fitted into
    } else {
      return UserError(fmt::format(
          "{}: scales pictures to {}, the ONNX input is {}x{}; export the model again at that "
          "size, or correct the file",
          recipe.Where(), SizeText(wanted), card->input_width, card->input_height));
    }
  }
  if (wanted.height == 0 || wanted.width == 0) {
    return UserError(fmt::format(
        "{}: the ONNX leaves one side of its input free; export the model with a fixed height and "
        "width",
        recipe.Where()));
  }
  card->input_height = wanted.height;
  card->input_width = wanted.width;
  return OkStatus();
}

/// Scaled on both axes and padded then: nvinfer keeps the aspect ratio where it pads.
Status CheckStretch(const PictureRecipe& recipe) {
  const bool is_padded = recipe.fit == PictureRecipe::Fit::kStretch &&
                         recipe.padding != PictureRecipe::Padding::kNone &&
                         recipe.padded_size.height != 0 && recipe.size.height != 0 &&
                         !(recipe.padded_size == recipe.size);
  if (!is_padded) return OkStatus();
  return UnsupportedError(
      fmt::format("{}: pads pictures to {} after scaling, which nvinfer cannot do", recipe.Where(),
                  SizeText(recipe.padded_size)));
}

std::string RatioText(const PictureRecipe& recipe) {
  if (recipe.shortest_edge > 0 && recipe.longest_edge > 0) {
    return fmt::format("(shortest edge {}, longest {})", recipe.shortest_edge, recipe.longest_edge);
  }
  if (recipe.shortest_edge > 0) return fmt::format("(shortest edge {})", recipe.shortest_edge);
  if (recipe.longest_edge > 0) return fmt::format("(longest edge {})", recipe.longest_edge);
  return fmt::format("(within {})", SizeText(recipe.size));
}

/// The aspect ratio is kept: into the graph's fixed input that is a letterbox.
ResizeMode ModeOfKeptRatio(const PictureRecipe& recipe, ModelCard* card) {
  const bool centre = recipe.padding == PictureRecipe::Padding::kCentre || recipe.crop.height != 0;
  // Padded to this very size by its own preprocessor: nothing but the padding's colour can differ.
  const PictureSize graph{card->input_height, card->input_width};
  const bool same = recipe.padded_size == graph ||
                    (recipe.padding != PictureRecipe::Padding::kNone && recipe.size == graph);
  const bool says_sizes =
      recipe.shortest_edge > 0 || recipe.longest_edge > 0 || recipe.size.height > 0;
  if (recipe.crop.height != 0) {
    card->notes.push_back(fmt::format(
        "{} cuts {} from the picture's centre; nvinfer cuts nothing: the whole picture is fitted "
        "in with its aspect ratio, so objects are smaller than in training",
        recipe.source, SizeText(recipe.crop)));
  } else if (!same && says_sizes) {
    card->notes.push_back(fmt::format(
        "{} scales pictures with their aspect ratio {} to sizes of their own; the network's input "
        "is fixed at {}, so they are fitted into it and padded {}: objects keep their shape, not "
        "always their size, and padding is seen as black",
        recipe.source, RatioText(recipe), SizeText(graph),
        centre ? "on both sides" : "right and below"));
  }
  if ((same || !says_sizes) && recipe.padding_value != 0) {
    card->notes.push_back(
        fmt::format("{} pads with the value {:g}, nvinfer with 0: scores near the padding may "
                    "differ a little",
                    recipe.source, recipe.padding_value));
  }
  return centre ? ResizeMode::kLetterboxCentre : ResizeMode::kLetterboxCorner;
}

void FillResize(const PictureRecipe& recipe, ModelCard* card) {
  Preprocessing& out = card->preprocessing;
  switch (recipe.fit) {
    case PictureRecipe::Fit::kStretch:
      out.resize = ResizeMode::kStretch;
      break;
    case PictureRecipe::Fit::kKeepRatio:
      out.resize = ModeOfKeptRatio(recipe, card);
      break;
    case PictureRecipe::Fit::kNone:
      out.resize = ResizeMode::kStretch;
      if (recipe.padding != PictureRecipe::Padding::kNone || recipe.crop.height != 0) {
        out.resize = recipe.padding == PictureRecipe::Padding::kCorner
                         ? ResizeMode::kLetterboxCorner
                         : ResizeMode::kLetterboxCentre;
      }
      card->notes.push_back(fmt::format(
          "{} does not scale pictures; the network's input is fixed at {}x{}, so they are scaled "
          "to it",
          recipe.source, card->input_width, card->input_height));
      break;
  }
  if (recipe.interpolation != "bilinear") {
    card->notes.push_back(
        fmt::format("{} scales with {}, here it is bilinear: boxes may move a "
                    "little",
                    recipe.source, recipe.interpolation));
  }
}

/// (x · rescale − mean) ÷ std. One std for all channels is nvinfer's scale and offsets; others are
/// the graph's.
void FillNormalisation(const PictureRecipe& recipe, Preprocessing* out) {
  out->net_scale_factor = recipe.rescale;
  if (recipe.std.empty()) return;
  const auto [least, most] = std::minmax_element(recipe.std.begin(), recipe.std.end());
  const bool is_plain =
      std::all_of(recipe.mean.begin(), recipe.mean.end(), [](double mean) { return mean == 0; });
  if (*most - *least > kScaleTolerance * *most) {
    out->front.mean = recipe.mean;
    out->front.std = recipe.std;
    return;
  }
  out->net_scale_factor = recipe.rescale / recipe.std[0];
  if (is_plain) return;
  for (const double mean : recipe.mean) out->offsets.push_back(mean / recipe.rescale);
}

Status CheckNumbers(const PictureRecipe& recipe) {
  const auto is_finite = [](double x) { return std::isfinite(x); };
  if (!(recipe.rescale > 0) || !std::isfinite(recipe.rescale)) {
    return UserError(fmt::format("{}: the scale of pixels is {}, it must be above 0",
                                 recipe.Where(), recipe.rescale));
  }
  const bool fits =
      recipe.mean.size() == recipe.std.size() && (recipe.mean.empty() || recipe.mean.size() == 3);
  if (!fits || !std::all_of(recipe.mean.begin(), recipe.mean.end(), is_finite)) {
    return UserError(fmt::format("{}: mean and std must be three numbers each", recipe.Where()));
  }
  for (const double deviation : recipe.std) {
    if (!(deviation > 0) || !std::isfinite(deviation)) {
      return UserError(fmt::format("{}: std must be three numbers above 0", recipe.Where()));
    }
  }
  return OkStatus();
}

bool IsChannelsLast(const OnnxTensor& input) {
  const auto is_three = [&](size_t axis) { return input.dims[axis].value == 3; };
  return is_three(3) && !is_three(1);
}

}  // namespace

Status FillInput(const OnnxSummary& onnx, ModelCard* card) {
  if (onnx.inputs.size() != 1) {
    std::string inputs;
    for (const OnnxTensor& input : onnx.inputs) {
      inputs += (inputs.empty() ? "" : "; ") + input.Text();
    }
    return UnsupportedError(
        fmt::format("{}: has {} inputs ({}); only a single picture input is supported", onnx.path,
                    onnx.inputs.size(), inputs));
  }
  const OnnxTensor& input = onnx.inputs.front();
  const bool is_last = input.dims.size() == 4 && IsChannelsLast(input);
  const bool is_picture =
      input.dims.size() == 4 && (is_last || input.dims[1].value.value_or(3) == 3);
  const bool is_known_type =
      input.elem_type == "float32" || input.elem_type == "float16" || input.elem_type == "uint8";
  if (!is_picture || !is_known_type) {
    return UnsupportedError(
        fmt::format("{}: its input is {}; only pictures [N,3,H,W] or [N,H,W,3] of floats or uint8 "
                    "are supported",
                    onnx.path, input.Text()));
  }
  card->input_name = input.name;
  card->preprocessing.front.channels_last = is_last;
  card->preprocessing.front.bytes = input.elem_type == "uint8";
  card->input_height = static_cast<int>(input.dims[is_last ? 1 : 2].value.value_or(0));
  card->input_width = static_cast<int>(input.dims[is_last ? 2 : 3].value.value_or(0));
  return OkStatus();
}

Status ApplyPictureRecipe(const PictureRecipe& recipe, ModelCard* card) {
  SG_RETURN_IF_ERROR(CheckNumbers(recipe));
  SG_RETURN_IF_ERROR(CheckStretch(recipe));
  SG_RETURN_IF_ERROR(FillSize(recipe, card));
  FillResize(recipe, card);
  Preprocessing& out = card->preprocessing;
  out.source = recipe.source;
  out.bgr = recipe.bgr;
  if (out.front.bytes) {
    out.net_scale_factor = 1;
    card->notes.push_back(
        fmt::format("The graph takes bytes, so it gets pixels as they are: what {} says of scale, "
                    "mean and std is the graph's own affair",
                    recipe.source));
  } else {
    FillNormalisation(recipe, &out);
  }
  card->notes.insert(card->notes.end(), recipe.notes.begin(), recipe.notes.end());
  if (recipe.assumed) {
    card->notes.push_back(
        fmt::format("No file says how pictures are prepared: taken from {}; `import "
                    "--check-preprocessing` tries others on your frames",
                    recipe.source));
  }
  return OkStatus();
}

Result<PictureRecipe> FindPictureRecipe(const PreprocessingSources& sources) {
  const std::string& folder = sources.files.config_folder;
  SG_ASSIGN_OR_RETURN(std::optional<PictureRecipe> recipe, TransformersRecipe(sources));
  if (!recipe) {
    SG_ASSIGN_OR_RETURN(recipe, PaddleRecipe(folder));
  }
  if (!recipe) {
    SG_ASSIGN_OR_RETURN(recipe, MmdeployRecipe(folder));
  }
  if (!recipe) recipe = sources.nvinfer;
  if (!recipe) recipe = UltralyticsRecipe(sources.onnx);
  if (!recipe) {
    SG_ASSIGN_OR_RETURN(recipe, ArchitectureRecipe(sources));
  }
  if (!recipe) recipe = FamilyRecipe(sources);
  if (recipe) return *std::move(recipe);
  return UserError(fmt::format(
      "{}/preprocessor_config.json: is missing; it says what the model expects of a picture, put "
      "it (or infer_cfg.yml, inference.yml, pipeline.json) beside the model",
      folder));
}

Status FillPreprocessing(const PreprocessingSources& sources, ModelCard* card) {
  SG_ASSIGN_OR_RETURN(const PictureRecipe recipe, FindPictureRecipe(sources));
  return ApplyPictureRecipe(recipe, card);
}

}  // namespace sg
