#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "detector/card_parts.h"

namespace sg {
namespace {

/// preprocessor_config.json with its path, and typed looks into it.
struct Processor {
  Json json;
  std::string path;

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
  /// Three numbers, one for each channel.
  Result<std::vector<double>> Channels(const char* key) const {
    const auto value = json.find(key);
    std::vector<double> numbers;
    if (value == json.end() || !value->is_array() || value->size() != 3) {
      return Wrong(key, "a list of three numbers");
    }
    for (const Json& number : *value) {
      if (!number.is_number()) return Wrong(key, "a list of three numbers");
      numbers.push_back(number.get<double>());
    }
    return numbers;
  }
  Error Wrong(const char* key, const std::string& expected) const {
    return UserError(fmt::format("{}: {} must be {}", path, key, expected));
  }
};

Result<Processor> ReadProcessor(const std::string& folder) {
  Processor processor;
  processor.path = JoinPath(folder, "preprocessor_config.json");
  if (FileExists(processor.path)) {
    SG_ASSIGN_OR_RETURN(processor.json, ReadJsonFile(processor.path));
  } else {
    const std::string newer = JoinPath(folder, "processor_config.json");
    if (!FileExists(newer)) {
      return UserError(fmt::format(
          "{}: is missing; it says what the model expects of a picture, put it beside the model",
          processor.path));
    }
    processor.path = newer;
    SG_ASSIGN_OR_RETURN(processor.json, ReadJsonFile(newer));
    if (processor.json.is_object() && processor.json.contains("image_processor")) {
      processor.json = Json(processor.json["image_processor"]);
    }
  }
  if (!processor.json.is_object()) {
    return UserError(fmt::format("{}: is not a preprocessor's config", processor.path));
  }
  return processor;
}

/// Height and width of "size" or "pad_size", 0 where the object does not give both.
struct Size {
  int height = 0;
  int width = 0;
};

Size SizeOf(const Json& json, const char* key) {
  Size size;
  const auto value = json.find(key);
  if (value == json.end() || !value->is_object()) return size;
  const auto height = value->find("height");
  const auto width = value->find("width");
  if (height == value->end() || width == value->end()) return size;
  if (!height->is_number_integer() || !width->is_number_integer()) return size;
  const auto in_range = [](int64_t number) { return number > 0 && number <= 16384; };
  if (!in_range(height->get<int64_t>()) || !in_range(width->get<int64_t>())) return size;
  return {height->get<int>(), width->get<int>()};
}

Status FillSize(const Processor& processor, ModelCard* card) {
  SG_ASSIGN_OR_RETURN(const bool do_resize, processor.Bool("do_resize", true));
  const Size size = SizeOf(processor.json, "size");
  if (do_resize && size.height == 0) {
    return UnsupportedError(fmt::format(
        "{}: size is {}; only a fixed height and width is supported", processor.path,
        processor.json.contains("size") ? ToJsonLine(processor.json["size"]) : "missing"));
  }
  if (do_resize) {
    const bool differs = (card->input_height != 0 && card->input_height != size.height) ||
                         (card->input_width != 0 && card->input_width != size.width);
    if (differs) {
      return UserError(fmt::format(
          "{}: scales pictures to {}x{}, the ONNX input is {}x{}; export the model again at that "
          "size, or correct the file",
          processor.path, size.width, size.height, card->input_width, card->input_height));
    }
    card->input_height = size.height;
    card->input_width = size.width;
  }
  if (card->input_height == 0 || card->input_width == 0) {
    return UserError(fmt::format(
        "{}: gives no size, and the ONNX leaves it free; export the model with a fixed height and "
        "width",
        processor.path));
  }
  SG_ASSIGN_OR_RETURN(const bool do_pad, processor.Bool("do_pad", false));
  const Size padded = SizeOf(processor.json, "pad_size");
  // Without a pad_size, padding fills up to the batch's largest picture: all have one size here.
  if (do_pad && padded.height != 0 &&
      (padded.height != card->input_height || padded.width != card->input_width)) {
    return UnsupportedError(
        fmt::format("{}: pads pictures to {}x{} after scaling, which nvinfer cannot do",
                    processor.path, padded.width, padded.height));
  }
  return OkStatus();
}

/// (x · rescale − mean) ÷ std as scale · (x − offset), which nvinfer has one scale for.
Status FillNormalisation(const Processor& processor, double rescale, Preprocessing* out) {
  SG_ASSIGN_OR_RETURN(const std::vector<double> mean, processor.Channels("image_mean"));
  SG_ASSIGN_OR_RETURN(const std::vector<double> std, processor.Channels("image_std"));
  double mean_std = 0;
  for (const double deviation : std) {
    if (!(deviation > 0)) return processor.Wrong("image_std", "three numbers above 0");
    mean_std += deviation / 3;
  }
  double max_error = 0;
  for (size_t channel = 0; channel < 3; ++channel) {
    for (const double pixel : {0.0, 255.0}) {
      const double centred = pixel * rescale - mean[channel];
      max_error = std::max(max_error, std::fabs(centred / std[channel] - centred / mean_std));
    }
  }
  if (max_error > 1e-6) {
    return UnsupportedError(fmt::format(
        "{}: image_std differs between the channels ({:g}, {:g}, {:g}); nvinfer has one scale for "
        "all, which would be wrong by up to {:.3f}",
        processor.path, std[0], std[1], std[2], max_error));
  }
  out->net_scale_factor = rescale / std[0];
  for (const double channel_mean : mean) out->offsets.push_back(channel_mean / rescale);
  if (std::all_of(out->offsets.begin(), out->offsets.end(), [](double x) { return x == 0; })) {
    out->offsets.clear();
  }
  return OkStatus();
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
  const bool is_picture = input.dims.size() == 4 && input.dims[1].value.value_or(3) == 3;
  if (!is_picture || (input.elem_type != "float32" && input.elem_type != "float16")) {
    return UnsupportedError(
        fmt::format("{}: its input is {}; only pictures [N,3,H,W] of floats are supported",
                    onnx.path, input.Text()));
  }
  card->input_name = input.name;
  card->input_height = static_cast<int>(input.dims[2].value.value_or(0));
  card->input_width = static_cast<int>(input.dims[3].value.value_or(0));
  return OkStatus();
}

Status FillPreprocessing(const ModelFiles& files, ModelCard* card) {
  SG_ASSIGN_OR_RETURN(const Processor processor, ReadProcessor(files.config_folder));
  SG_RETURN_IF_ERROR(FillSize(processor, card));
  Preprocessing& out = card->preprocessing;
  out.source = BaseName(processor.path);
  out.resize = ResizeMode::kStretch;
  SG_ASSIGN_OR_RETURN(out.bgr, processor.Bool("do_flip_channel_order", false));

  SG_ASSIGN_OR_RETURN(const bool do_rescale, processor.Bool("do_rescale", true));
  SG_ASSIGN_OR_RETURN(double rescale, processor.Number("rescale_factor", 1.0 / 255));
  if (!do_rescale) rescale = 1;
  if (!(rescale > 0) || !std::isfinite(rescale)) {
    return processor.Wrong("rescale_factor", "above 0");
  }
  out.net_scale_factor = rescale;
  SG_ASSIGN_OR_RETURN(const bool do_normalize, processor.Bool("do_normalize", true));
  if (do_normalize) SG_RETURN_IF_ERROR(FillNormalisation(processor, rescale, &out));

  SG_ASSIGN_OR_RETURN(const double resample, processor.Number("resample", 2));
  if (resample != 2) {
    card->notes.push_back(fmt::format(
        "{} scales with resample={:g}, here it is bilinear (2): boxes may move a little",
        out.source, resample));
  }
  return OkStatus();
}

}  // namespace sg
