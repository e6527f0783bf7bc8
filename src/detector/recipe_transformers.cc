#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/files.h"
#include "detector/picture_recipe.h"

namespace sg {
namespace {

using Fit = PictureRecipe::Fit;
using Padding = PictureRecipe::Padding;

const std::vector<double> kImageNetMean = {0.485, 0.456, 0.406};
const std::vector<double> kImageNetStd = {0.229, 0.224, 0.225};
const std::vector<double> kClipMean = {0.48145466, 0.4578275, 0.40821073};
const std::vector<double> kClipStd = {0.26862954, 0.26130258, 0.27577711};

/// What a transformers processor class does where its file is silent.
struct ClassDefaults {
  const char* name;    ///< the class's name without FeatureExtractor, ImageProcessor…
  bool square = true;  ///< one number is a square; else it is the shortest edge
  PictureSize size;    ///< zeros: by its edges
  int shortest_edge = 0;
  int longest_edge = 0;
  bool normalize = true;
  bool pad = false;
  bool clip = false;             ///< CLIP's mean and std, else ImageNet's
  bool always_rescales = false;  ///< bytes become 0–1 whatever do_rescale says
};
constexpr ClassDefaults kClasses[] = {
    {.name = "RTDetr", .size = {640, 640}, .normalize = false},
    {.name = "RfDetr", .size = {512, 512}, .always_rescales = true},
    {.name = "Detr",
     .square = false,
     .size = {},
     .shortest_edge = 800,
     .longest_edge = 1333,
     .pad = true},
    {.name = "ConditionalDetr",
     .square = false,
     .size = {},
     .shortest_edge = 800,
     .longest_edge = 1333,
     .pad = true},
    {.name = "DeformableDetr",
     .square = false,
     .size = {},
     .shortest_edge = 800,
     .longest_edge = 1333,
     .pad = true},
    {.name = "Deta",
     .square = false,
     .size = {},
     .shortest_edge = 800,
     .longest_edge = 1333,
     .pad = true},
    {.name = "GroundingDino",
     .square = false,
     .size = {},
     .shortest_edge = 800,
     .longest_edge = 1333,
     .pad = true},
    {.name = "Yolos",
     .square = false,
     .size = {},
     .shortest_edge = 800,
     .longest_edge = 1333,
     .pad = true},
    {.name = "OwlViT", .size = {768, 768}, .clip = true},
    {.name = "Owlv2", .size = {960, 960}, .pad = true, .clip = true},
};

/// Architecture families whose processor is another family's.
constexpr std::array<std::array<const char*, 2>, 6> kProcessorOfFamily = {
    {{"RTDetrV2", "RTDetr"},
     {"DFine", "RTDetr"},
     {"TableTransformer", "Detr"},
     {"DabDetr", "ConditionalDetr"},
     {"LwDetr", "DeformableDetr"},
     {"Deim", "RTDetr"}}};

const ClassDefaults* FindClass(const std::string& name) {
  const auto* found = std::find_if(std::begin(kClasses), std::end(kClasses),
                                   [&](const ClassDefaults& one) { return name == one.name; });
  return found == std::end(kClasses) ? nullptr : found;
}

std::string WithoutSuffixes(std::string name) {
  for (bool again = true; again;) {
    again = false;
    for (const char* suffix : {"Fast", "Pil", "ImageProcessor", "FeatureExtractor", "Processor"}) {
      const std::string text(suffix);
      if (name.size() > text.size() && name.ends_with(text)) {
        name.resize(name.size() - text.size());
        again = true;
      }
    }
  }
  return name;
}

std::string TextOf(const Json& json, const char* key) {
  const auto value = json.find(key);
  return value != json.end() && value->is_string() ? value->get<std::string>() : "";
}

/// "RTDetrForObjectDetection" → "RTDetr", the processor class of that family.
std::string FamilyOf(const Json& config) {
  if (!config.is_object()) return "";
  const auto architectures = config.find("architectures");
  if (architectures == config.end() || !architectures->is_array() || architectures->empty() ||
      !architectures->front().is_string()) {
    return "";
  }
  std::string family = architectures->front().get<std::string>();
  if (const size_t at = family.find("For"); at != std::string::npos) family.resize(at);
  for (const auto& [architecture, processor] : kProcessorOfFamily) {
    if (family == architecture) return processor;
  }
  return family;
}

/// The preprocessor's JSON with its path, and typed looks into it.
struct Processor {
  Json json;
  std::string path;
  const ClassDefaults* defaults = nullptr;  ///< nullptr: a class that is not known

  Result<bool> Bool(const char* key, bool missing) const {
    const auto value = json.find(key);
    if (value == json.end() || value->is_null()) return missing;
    if (!value->is_boolean()) return Wrong(key, "true or false");
    return value->get<bool>();
  }
  Result<double> Number(const char* key, double missing) const {
    const auto value = json.find(key);
    if (value == json.end() || value->is_null()) return missing;
    if (!value->is_number()) return Wrong(key, "a number");
    return value->get<double>();
  }
  bool Has(const char* key) const {
    const auto value = json.find(key);
    return value != json.end() && !value->is_null();
  }
  /// Three numbers, or one for all channels.
  Result<std::vector<double>> Channels(const char* key, const std::vector<double>* missing) const {
    const char* expected = "a list of three numbers";
    const auto value = json.find(key);
    if (value == json.end() || value->is_null()) {
      if (missing == nullptr) return Wrong(key, expected);
      return *missing;
    }
    if (value->is_number()) return std::vector<double>(3, value->get<double>());
    if (!value->is_array() || (value->size() != 3 && value->size() != 1)) {
      return Wrong(key, expected);
    }
    std::vector<double> numbers;
    for (const Json& number : *value) {
      if (!number.is_number()) return Wrong(key, expected);
      numbers.push_back(number.get<double>());
    }
    if (numbers.size() == 1) numbers.resize(3, numbers[0]);
    return numbers;
  }
  Error Wrong(const char* key, const std::string& expected) const {
    return UserError(fmt::format("{}: {} must be {}", path, key, expected));
  }
};

Result<std::optional<Processor>> ReadProcessor(const std::string& folder) {
  Processor processor;
  processor.path = JoinPath(folder, "preprocessor_config.json");
  if (!FileExists(processor.path)) {
    processor.path = JoinPath(folder, "processor_config.json");
    if (!FileExists(processor.path)) return std::optional<Processor>();
  }
  SG_ASSIGN_OR_RETURN(processor.json, ReadJsonFile(processor.path));
  // A processor of several inputs keeps the picture's part under a key.
  for (const char* key : {"image_processor", "feature_extractor"}) {
    if (processor.json.is_object() && processor.json.contains(key) &&
        processor.json[key].is_object()) {
      processor.json = Json(processor.json[key]);
    }
  }
  if (!processor.json.is_object()) {
    return UserError(fmt::format("{}: is not a preprocessor's config", processor.path));
  }
  return std::optional(std::move(processor));
}

/// A whole number of pixels at `key` of `json`, 0 when it is not there.
Result<int> Pixels(const Processor& processor, const char* where, const Json& json,
                   const char* key) {
  const auto value = json.find(key);
  if (value == json.end() || value->is_null()) return 0;
  const bool is_whole =
      value->is_number_integer() ||
      (value->is_number_float() && value->get<double>() == std::floor(value->get<double>()));
  const double number = is_whole ? value->get<double>() : 0;
  if (number < 1 || number > 16384) {
    return processor.Wrong(
        where, fmt::format("sizes of 1 to 16384 pixels, {} is {}", key, ToJsonLine(*value)));
  }
  return static_cast<int>(number);
}

/// "crop_size" and "pad_size": an object, a list [height, width] or the side of a square.
Result<PictureSize> PlainSize(const Processor& processor, const char* key) {
  PictureSize size;
  const auto value = processor.json.find(key);
  if (value == processor.json.end() || value->is_null()) return size;
  Json object = *value;
  if (value->is_number()) object = {{"height", *value}, {"width", *value}};
  if (value->is_array() && value->size() == 2) {
    object = {{"height", value->at(0)}, {"width", value->at(1)}};
  }
  if (!object.is_object()) return processor.Wrong(key, "a height and a width");
  SG_ASSIGN_OR_RETURN(size.height, Pixels(processor, key, object, "height"));
  SG_ASSIGN_OR_RETURN(size.width, Pixels(processor, key, object, "width"));
  if (size.height == 0 || size.width == 0) {
    SG_ASSIGN_OR_RETURN(const int edge, Pixels(processor, key, object, "shortest_edge"));
    size = {edge, edge};
  }
  return size;
}

/// "size" of an object: which of its keys are there decides what it means.
Status FillSizeObject(const Processor& processor, const Json& size, PictureRecipe* recipe) {
  const auto pixels = [&](const char* key) { return Pixels(processor, "size", size, key); };
  SG_ASSIGN_OR_RETURN(const int height, pixels("height"));
  SG_ASSIGN_OR_RETURN(const int width, pixels("width"));
  SG_ASSIGN_OR_RETURN(const int max_height, pixels("max_height"));
  SG_ASSIGN_OR_RETURN(const int max_width, pixels("max_width"));
  SG_ASSIGN_OR_RETURN(recipe->shortest_edge, pixels("shortest_edge"));
  SG_ASSIGN_OR_RETURN(recipe->longest_edge, pixels("longest_edge"));
  if (height > 0 && width > 0) {
    recipe->fit = Fit::kStretch;
    recipe->size = {height, width};
    recipe->shortest_edge = recipe->longest_edge = 0;
    return OkStatus();
  }
  recipe->fit = Fit::kKeepRatio;
  if (max_height > 0 && max_width > 0) {
    recipe->size = {max_height, max_width};
    return OkStatus();
  }
  if (recipe->shortest_edge > 0 || recipe->longest_edge > 0) return OkStatus();
  return UnsupportedError(fmt::format(
      "{}: size is {}; known are height and width, shortest_edge and longest_edge, max_height and "
      "max_width",
      processor.path, ToJsonLine(size)));
}

Status FillSize(const Processor& processor, PictureRecipe* recipe) {
  const ClassDefaults* defaults = processor.defaults;
  const auto size = processor.json.find("size");
  if (!processor.Has("size")) {
    if (defaults == nullptr) {
      return UnsupportedError(fmt::format(
          "{}: size is missing, and what this processor's class takes then is not known",
          processor.path));
    }
    recipe->size = defaults->size;
    recipe->shortest_edge = defaults->shortest_edge;
    recipe->longest_edge = defaults->longest_edge;
    recipe->fit = defaults->size.height > 0 ? Fit::kStretch : Fit::kKeepRatio;
    return OkStatus();
  }
  if (size->is_object()) return FillSizeObject(processor, *size, recipe);
  if (size->is_array() && size->size() == 2) {
    return FillSizeObject(processor, {{"height", size->at(0)}, {"width", size->at(1)}}, recipe);
  }
  if (!size->is_number()) {
    return processor.Wrong("size", "a number, a height and a width, or edges");
  }
  // One number: a square, or with a max_size the shortest edge.
  const bool is_edge = processor.Has("max_size") || (defaults != nullptr && !defaults->square);
  if (!is_edge) return FillSizeObject(processor, {{"height", *size}, {"width", *size}}, recipe);
  Json edges = {{"shortest_edge", *size}};
  if (processor.Has("max_size")) edges["longest_edge"] = processor.json["max_size"];
  return FillSizeObject(processor, edges, recipe);
}

Status FillGeometry(const Processor& processor, PictureRecipe* recipe) {
  SG_ASSIGN_OR_RETURN(const bool do_resize, processor.Bool("do_resize", true));
  if (do_resize) {
    SG_RETURN_IF_ERROR(FillSize(processor, recipe));
  } else {
    recipe->fit = Fit::kNone;
  }
  SG_ASSIGN_OR_RETURN(const bool do_crop, processor.Bool("do_center_crop", false));
  if (do_crop) {
    SG_ASSIGN_OR_RETURN(recipe->crop, PlainSize(processor, "crop_size"));
    if (recipe->fit == Fit::kStretch && recipe->crop == recipe->size) recipe->crop = {};
    if (recipe->fit == Fit::kStretch && recipe->crop.height != 0) {
      return UnsupportedError(
          fmt::format("{}: scales pictures to {}x{} and cuts {}x{} from them, which nvinfer cannot "
                      "do",
                      processor.path, recipe->size.width, recipe->size.height, recipe->crop.width,
                      recipe->crop.height));
    }
  }
  const bool class_pads = processor.defaults != nullptr && processor.defaults->pad;
  SG_ASSIGN_OR_RETURN(bool do_pad, processor.Bool("do_pad", class_pads));
  // The old name of the same key.
  if (!processor.Has("do_pad") && processor.Has("pad_and_return_pixel_mask")) {
    SG_ASSIGN_OR_RETURN(do_pad, processor.Bool("pad_and_return_pixel_mask", class_pads));
  }
  if (!do_pad) return OkStatus();
  recipe->padding = Padding::kCorner;
  SG_ASSIGN_OR_RETURN(recipe->padded_size, PlainSize(processor, "pad_size"));
  if (processor.defaults != nullptr && std::string(processor.defaults->name) == "Owlv2") {
    // Padded to a square first, in grey, and scaled then: the same as a letterbox.
    recipe->fit = Fit::kKeepRatio;
    recipe->padding_value = 127.5;
  }
  return OkStatus();
}

Status FillValues(const Processor& processor, PictureRecipe* recipe) {
  SG_ASSIGN_OR_RETURN(const bool do_rescale, processor.Bool("do_rescale", true));
  SG_ASSIGN_OR_RETURN(recipe->rescale, processor.Number("rescale_factor", 1.0 / 255));
  const ClassDefaults* defaults = processor.defaults;
  if (!do_rescale) {
    recipe->rescale = defaults != nullptr && defaults->always_rescales ? 1.0 / 255 : 1;
  }
  if (!(recipe->rescale > 0) || !std::isfinite(recipe->rescale)) {
    return processor.Wrong("rescale_factor", "above 0");
  }
  SG_ASSIGN_OR_RETURN(const bool do_normalize,
                      processor.Bool("do_normalize", defaults == nullptr || defaults->normalize));
  if (do_normalize) {
    const bool clip = defaults != nullptr && defaults->clip;
    const std::vector<double>* mean = clip ? &kClipMean : &kImageNetMean;
    const std::vector<double>* std = clip ? &kClipStd : &kImageNetStd;
    SG_ASSIGN_OR_RETURN(recipe->mean,
                        processor.Channels("image_mean", defaults == nullptr ? nullptr : mean));
    SG_ASSIGN_OR_RETURN(recipe->std,
                        processor.Channels("image_std", defaults == nullptr ? nullptr : std));
    for (const double deviation : recipe->std) {
      if (!(deviation > 0)) return processor.Wrong("image_std", "three numbers above 0");
    }
  }
  SG_ASSIGN_OR_RETURN(recipe->bgr, processor.Bool("do_flip_channel_order", false));
  return OkStatus();
}

/// Pillow's code, or a name as newer files have it.
Status FillInterpolation(const Processor& processor, PictureRecipe* recipe) {
  constexpr const char* kPillow[] = {"nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"};
  for (const char* key : {"resample", "interpolation"}) {
    const auto value = processor.json.find(key);
    if (value == processor.json.end() || value->is_null()) continue;
    if (value->is_number()) {
      const double code = value->get<double>();
      const bool is_known = code >= 0 && code < 6 && code == std::floor(code);
      recipe->interpolation =
          is_known ? kPillow[static_cast<int>(code)] : fmt::format("resample={:g}", code);
      return OkStatus();
    }
    if (!value->is_string()) return processor.Wrong(key, "a number or a name");
    std::string name = value->get<std::string>();
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (const size_t dot = name.rfind('.'); dot != std::string::npos) name = name.substr(dot + 1);
    recipe->interpolation = name;
    return OkStatus();
  }
  return OkStatus();
}

void NoteLayout(const Processor& processor, const OnnxSummary& onnx, PictureRecipe* recipe) {
  const std::string layout = TextOf(processor.json, "data_format");
  if (layout.empty() || onnx.inputs.empty() || onnx.inputs.front().dims.size() != 4) return;
  const auto& dims = onnx.inputs.front().dims;
  const bool graph_is_last = dims[3].value == 3 && dims[1].value != 3;
  const bool says_last = layout.find("last") != std::string::npos;
  if (graph_is_last == says_last) return;
  recipe->notes.push_back(
      fmt::format("{} says data_format {}, the graph's input is {}: the graph "
                  "is believed",
                  recipe->source, layout, onnx.inputs.front().Text()));
}

Result<PictureRecipe> ReadRecipe(const Processor& processor, const OnnxSummary& onnx) {
  PictureRecipe recipe;
  recipe.source = BaseName(processor.path);
  recipe.path = processor.path;
  SG_RETURN_IF_ERROR(FillGeometry(processor, &recipe));
  SG_RETURN_IF_ERROR(FillValues(processor, &recipe));
  SG_RETURN_IF_ERROR(FillInterpolation(processor, &recipe));
  NoteLayout(processor, onnx, &recipe);
  return recipe;
}

}  // namespace

Result<std::optional<PictureRecipe>> TransformersRecipe(const PreprocessingSources& sources) {
  SG_ASSIGN_OR_RETURN(std::optional<Processor> processor,
                      ReadProcessor(sources.files.config_folder));
  if (!processor) return std::optional<PictureRecipe>();
  std::string name = TextOf(processor->json, "image_processor_type");
  if (name.empty()) name = TextOf(processor->json, "feature_extractor_type");
  processor->defaults = FindClass(WithoutSuffixes(name));
  if (processor->defaults == nullptr) processor->defaults = FindClass(FamilyOf(sources.config));
  SG_ASSIGN_OR_RETURN(PictureRecipe recipe, ReadRecipe(*processor, sources.onnx));
  return std::optional(std::move(recipe));
}

Result<std::optional<PictureRecipe>> ArchitectureRecipe(const PreprocessingSources& sources) {
  const ClassDefaults* defaults = FindClass(FamilyOf(sources.config));
  if (defaults == nullptr) return std::optional<PictureRecipe>();
  SG_ASSIGN_OR_RETURN(PictureRecipe recipe,
                      ReadRecipe({Json::object(), "", defaults}, sources.onnx));
  recipe.assumed = true;
  recipe.source = fmt::format("the defaults of {}ImageProcessor", defaults->name);
  return std::optional(std::move(recipe));
}

}  // namespace sg
