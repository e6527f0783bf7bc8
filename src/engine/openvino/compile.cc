#include "engine/openvino/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/processor.h"

namespace sg::openvino {
namespace {

std::string ShapeText(const ov::PartialShape& shape) {
  std::ostringstream text;
  text << shape;
  return text.str();
}

std::string NameOf(const ov::Output<const ov::Node>& port) {
  return port.get_names().empty() ? port.get_node()->get_friendly_name() : port.get_any_name();
}

Error FixedBatchError(const std::string& path, const std::string& input,
                      const ov::PartialShape& shape, int max_batch) {
  return UserError(fmt::format(
      "{}: input \"{}\" has shape {}, so the batch is fixed at {}, and {} asked for; make it "
      "dynamic "
      "with `streamgauge onnx rebatch`, or export the model again with a dynamic batch axis",
      path, input, ShapeText(shape), shape[0].get_length(),
      max_batch == 1 ? "batch 1 was" : fmt::format("batches 1 and {} were", max_batch)));
}

/// Checks that the only input is a float [N,3,H,W] with a batch that can become 1 and `max_batch`.
Status CheckInput(const std::string& path, const ov::Model& model, int max_batch) {
  if (model.inputs().size() != 1)
    return UserError(path + ": has " + std::to_string(model.inputs().size()) +
                     " inputs, and a detector that takes pictures has one");
  const auto input = model.input();
  const ov::PartialShape& shape = input.get_partial_shape();
  const std::string name = NameOf(input);
  if (shape.rank().is_dynamic() || shape.size() != 4 || !shape[1].compatible(3))
    return UserError(path + ": input \"" + name + "\" has shape " + ShapeText(shape) +
                     ", and a picture is [N,3,height,width]");
  if (shape[2].is_dynamic() || shape[3].is_dynamic())
    return UserError(path + ": input \"" + name + "\" has shape " + ShapeText(shape) +
                     "; export the model again with a fixed height and width");
  if (input.get_element_type() != ov::element::f32 && input.get_element_type() != ov::element::f16)
    return UnsupportedError(path + ": input \"" + name + "\" is " +
                            input.get_element_type().to_string() + ", supported are f32 and f16");
  if (shape[0].is_static() && (shape[0].get_length() != 1 || max_batch != 1))
    return FixedBatchError(path, name, shape, max_batch);
  return OkStatus();
}

bool StartsWith(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

/// What to tell of an ONNX file that OpenVINO's reader refuses.
Error ReadError(const std::string& path, const std::string& why) {
  if (StartsWith(why, "Model can't be parsed"))
    return UserError(path + ": the ONNX file is cut short or damaged; fetch or export it again");
  if (StartsWith(why, "Unable to read the model"))
    return UserError(path + ": is not an ONNX file, or is cut short; fetch or export it again");
  if (StartsWith(why, "No conversion rule found"))
    return UnsupportedError(path + ": OpenVINO cannot run it: " + why);
  return UserError(path + ": cannot be read as an ONNX model: " + why);
}

}  // namespace

std::string NodeNamed(const std::string& message) {
  const size_t start = message.find("While validating node '");
  if (start == std::string::npos) return "";
  const size_t name = message.find('\'', start) + 1;
  const size_t end = message.find('\'', name);
  const std::string node = message.substr(name, end - name);
  // "opset1::Reshape /decoder/Reshape_3 (…) -> (…)": operation and name say enough.
  const size_t space = node.find(' ');
  return space == std::string::npos ? node : node.substr(0, node.find(' ', space + 1));
}

std::string MeaningfulLine(const std::string& openvino_message) {
  static constexpr const char* kNoise[] = {"Exception from ",
                                           "Check '",
                                           "While validating",
                                           "FrontEnd API failed",
                                           "Model wasn't fully converted",
                                           "Summary:",
                                           "Shape inference input shapes"};
  std::istringstream lines(openvino_message);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find_first_not_of(" \t-");
    if (first == std::string::npos) continue;
    line.erase(0, first);
    if (std::any_of(std::begin(kNoise), std::end(kNoise),
                    [&](const char* noise) { return StartsWith(line, noise); }))
      continue;
    while (!line.empty() && (line.back() == ':' || line.back() == ' ' || line.back() == '.'))
      line.pop_back();
    return line;
  }
  return "OpenVINO gives no reason";
}

ov::AnyMap DeviceSettings(ov::element::Type precision) {
  ov::AnyMap settings = {
      ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT),
      ov::num_streams(UsableCores()),
      ov::inference_num_threads(UsableCores()),
  };
  if (precision != ov::element::dynamic) settings.insert(ov::hint::inference_precision(precision));
  return settings;
}

Result<Network> Network::Read(ov::Core& core, const EngineRequest& request) {
  Network network;
  network.path_ = request.onnx_path;
  network.precision_ = request.precision;
  try {
    network.model_ = core.read_model(request.onnx_path);
  } catch (const std::exception& e) {
    return ReadError(request.onnx_path, MeaningfulLine(e.what()));
  }
  SG_RETURN_IF_ERROR(CheckInput(request.onnx_path, *network.model_, request.max_batch));
  const auto input = std::as_const(*network.model_).input();
  const ov::PartialShape& shape = input.get_partial_shape();
  network.input_ = {
      NameOf(input),
      input.get_element_type().to_string(),
      {3, static_cast<size_t>(shape[2].get_length()), static_cast<size_t>(shape[3].get_length())}};
  SG_RETURN_IF_ERROR(network.AddPreprocessing(request));
  SG_ASSIGN_OR_RETURN(const std::shared_ptr<ov::Model> single, network.AtBatch(1));
  for (const auto& output : std::as_const(*single).outputs()) {
    const ov::Shape whole = output.get_shape();
    network.outputs_.push_back({NameOf(output), output.get_element_type().to_string(),
                                std::vector<size_t>(whole.begin() + 1, whole.end())});
  }
  return network;
}

Status Network::AddPreprocessing(const EngineRequest& request) {
  if (!request.offsets.empty() && request.offsets.size() != 3)
    return UserError("offsets: " + std::to_string(request.offsets.size()) +
                     " values, and a picture has 3 channels");
  if (!(request.net_scale_factor > 0))
    return UserError(fmt::format("net-scale-factor: {} is not above 0", request.net_scale_factor));
  try {
    ov::preprocess::PrePostProcessor steps(model_);
    steps.input().tensor().set_element_type(ov::element::u8).set_layout("NHWC");
    steps.input().model().set_layout("NCHW");
    auto& convert = steps.input().preprocess();
    convert.convert_element_type(ov::element::f32);
    if (!request.offsets.empty()) convert.mean({request.offsets.begin(), request.offsets.end()});
    if (request.net_scale_factor != 1.0)
      convert.scale(static_cast<float>(1.0 / request.net_scale_factor));
    model_ = steps.build();
  } catch (const std::exception& e) {
    return UserError(path_ + ": the input cannot be given pictures: " + MeaningfulLine(e.what()));
  }
  return OkStatus();
}

Result<std::shared_ptr<ov::Model>> Network::AtBatch(int batch) const {
  const std::string at_batch = " at batch " + std::to_string(batch);
  auto model = model_->clone();
  try {
    model->reshape(ov::PartialShape{batch, static_cast<int64_t>(input_.shape[1]),
                                    static_cast<int64_t>(input_.shape[2]), 3});
  } catch (const std::exception& e) {
    const std::string node = NodeNamed(e.what());
    return UserError(path_ + ": " + (node.empty() ? "the graph" : "node " + node) +
                     " does not work" + at_batch + " (" + MeaningfulLine(e.what()) +
                     "); export the model again with a dynamic batch axis");
  }
  for (const auto& output : std::as_const(*model).outputs()) {
    const ov::PartialShape& shape = output.get_partial_shape();
    if (shape.is_dynamic())
      return UnsupportedError(path_ + ": output \"" + NameOf(output) + "\" has shape " +
                              ShapeText(shape) + at_batch +
                              "; outputs of a fixed size are supported");
    if (shape.size() == 0 || shape[0].get_length() != batch)
      return UserError(path_ + ": output \"" + NameOf(output) + "\" has shape " + ShapeText(shape) +
                       at_batch +
                       ", so a batch is fixed inside the graph; export the model again "
                       "with a dynamic batch axis");
  }
  return model;
}

Result<ov::CompiledModel> Network::Compile(ov::Core& core, int batch) const {
  SG_ASSIGN_OR_RETURN(const std::shared_ptr<ov::Model> model, AtBatch(batch));
  try {
    return core.compile_model(
        model, "CPU",
        DeviceSettings(precision_ == Precision::kFp32 ? ov::element::f32 : ov::element::dynamic));
  } catch (const std::exception& e) {
    return UserError(path_ + ": OpenVINO cannot compile it: " + MeaningfulLine(e.what()));
  }
}

std::string PrecisionUsed(const ov::CompiledModel& compiled) {
  static const std::string kHeavy[] = {"Convolution",   "FullyConnected",
                                       "MatMul",        "GroupConvolution",
                                       "Deconvolution", "ScaledDotProductAttention"};
  std::map<std::string, int> count;
  for (const auto& node : compiled.get_runtime_model()->get_ordered_ops()) {
    const auto& info = node->get_rt_info();
    const auto type = info.find("layerType");
    const auto precision = info.find("runtimePrecision");
    if (type == info.end() || precision == info.end()) continue;
    if (std::find(std::begin(kHeavy), std::end(kHeavy), type->second.as<std::string>()) !=
        std::end(kHeavy))
      ++count[precision->second.as<std::string>()];
  }
  const auto most = std::max_element(count.begin(), count.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  if (most == count.end()) return compiled.get_property(ov::hint::inference_precision).to_string();
  return most->first;
}

}  // namespace sg::openvino
