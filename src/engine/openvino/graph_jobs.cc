#include "engine/openvino/graph_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <openvino/op/constant.hpp>
#include <openvino/openvino.hpp>

#include "base/cgroup.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/processor.h"
#include "engine/openvino/compile.h"
#include "engine/openvino/test_pictures.h"
#include "onnx/output_compare.h"

namespace sg::openvino {
namespace {

using Emit = std::function<void(const Json&)>;

/// A graph that does not accept a shape, or cannot run at it: an outcome, not a failure of the job.
struct Refusal {
  std::string node;
  std::string why;
};

Refusal RefusalOf(const std::exception& e) {
  return {NodeNamed(e.what()), MeaningfulLine(e.what())};
}

ov::Core& TheCore() {
  static ov::Core core;
  return core;
}

Result<std::shared_ptr<ov::Model>> ReadGraph(const std::string& path) {
  try {
    return TheCore().read_model(path);
  } catch (const std::exception& e) {
    return UnsupportedError(path + ": OpenVINO cannot read it: " + MeaningfulLine(e.what()));
  }
}

ov::Output<ov::Node> FindInput(ov::Model& model, const std::string& name) {
  for (const auto& input : model.inputs()) {
    if (input.get_names().count(name) != 0) return input;
  }
  return {};
}

Result<std::map<ov::Output<ov::Node>, ov::PartialShape>> ShapesOf(ov::Model& model,
                                                                  const std::string& path,
                                                                  const Json& inputs) {
  std::map<ov::Output<ov::Node>, ov::PartialShape> shapes;
  for (const auto& [name, shape] : inputs.items()) {
    const auto input = FindInput(model, name);
    if (input.get_node() == nullptr) return UserError(path + ": has no input '" + name + "'");
    const auto dims = shape.get<std::vector<int64_t>>();
    shapes[input] = ov::PartialShape(std::vector<ov::Dimension>(dims.begin(), dims.end()));
  }
  return shapes;
}

Json ShapeJson(const ov::PartialShape& shape) {
  Json dims = Json::array();
  for (const auto& dim : shape) dims.push_back(dim.is_static() ? dim.get_length() : -1);
  return dims;
}

/// Memory that a run may take without harm to others.
uint64_t FreeMemoryBytes() {
  uint64_t free = UINT64_MAX;
  if (const auto text = ReadFile("/proc/meminfo"); text.ok()) {
    const size_t at = text->find("MemAvailable:");
    if (at != std::string::npos) free = std::strtoull(text->c_str() + at + 13, nullptr, 10) * 1024;
  }
  const CgroupLimits limits = ReadCgroupLimits();
  if (limits.memory_bytes) {
    const uint64_t used = limits.memory_used_bytes.value_or(0);
    free = std::min(free, *limits.memory_bytes > used ? *limits.memory_bytes - used : 0);
  }
  return free;
}

/// A graph that runs, in f32, at one batch after another.
class Runner {
 public:
  Runner(std::string path, std::shared_ptr<ov::Model> model, std::string input, const Json& request)
      : path_(std::move(path)),
        model_(std::move(model)),
        input_(std::move(input)),
        picture_(request.at("picture").get<std::vector<int64_t>>()) {}

  static Result<Runner> Read(const Json& graph, const Json& request) {
    const auto path = graph.at("path").get<std::string>();
    SG_ASSIGN_OR_RETURN(auto model, ReadGraph(path));
    Runner runner(path, std::move(model), graph.at("input").get<std::string>(), request);
    SG_RETURN_IF_ERROR(runner.ReadFeed(graph, request));
    const Json constants = graph.value("constants", Json::object());
    for (const auto& [name, constant] : constants.items()) {
      runner.constants_[name] = {constant.at("shape").get<std::vector<int64_t>>(),
                                 constant.at("values").get<std::vector<double>>()};
    }
    return runner;
  }

  /// The graph compiled at a batch. nullopt with `refusal` when it does not accept that.
  std::optional<ov::CompiledModel> Compile(int64_t batch, Refusal* refusal) const {
    try {
      const auto model = model_->clone();
      std::map<ov::Output<ov::Node>, ov::PartialShape> shapes;
      shapes[FindInput(*model, input_)] = WithBatch(batch, InputShape());
      for (const auto& [name, constant] : constants_)
        shapes[FindInput(*model, name)] = WithBatch(batch, constant.shape);
      model->reshape(shapes);
      return TheCore().compile_model(model, "CPU", DeviceSettings(ov::element::f32));
    } catch (const std::exception& e) {
      *refusal = RefusalOf(e);
      return std::nullopt;
    }
  }

  /// Pictures [first, first + batch), again from the first one at the end. False with `refusal`.
  bool Run(ov::CompiledModel& compiled, const TestPictures& pictures, Slots slots,
           std::vector<PictureOutputs>* outputs, Refusal* refusal) const {
    try {
      auto request = compiled.create_infer_request();
      for (const auto& input : compiled.inputs()) {
        ov::Tensor tensor(input.get_element_type(), input.get_shape());
        if (input.get_names().count(input_) != 0)
          pictures.Fill(slots, feed_, &tensor);
        else
          FillConstant(input, &tensor);
        request.set_tensor(input, tensor);
      }
      request.infer();
      std::vector<OutputValues> whole;
      for (const auto& output : compiled.outputs())
        whole.push_back(ValuesOf(output, request.get_tensor(output)));
      *outputs = SplitByPicture(whole, slots.count);
      return true;
    } catch (const std::exception& e) {
      *refusal = RefusalOf(e);
      return false;
    }
  }

  /// Bytes that one more picture takes at most: every value of the graph, none reused.
  uint64_t BytesPerPicture() const {
    try {
      const auto model = model_->clone();
      std::map<ov::Output<ov::Node>, ov::PartialShape> shapes;
      shapes[FindInput(*model, input_)] = WithBatch(1, InputShape());
      model->reshape(shapes);
      uint64_t bytes = 0;
      for (const auto& node : model->get_ordered_ops()) {
        if (ov::is_type<ov::op::v0::Constant>(node)) continue;
        for (const auto& output : node->outputs()) {
          if (output.get_partial_shape().is_static())
            bytes += ov::shape_size(output.get_shape()) * sizeof(float);
        }
      }
      return bytes;
    } catch (const std::exception&) {
      return 0;  // the run itself will tell
    }
  }

  const std::string& path() const { return path_; }
  const std::vector<int64_t>& picture() const { return picture_; }
  Status CheckInputs() const {
    if (FindInput(*model_, input_).get_node() == nullptr)
      return UserError(path_ + ": has no input '" + input_ + "'");
    for (const auto& input : std::as_const(*model_).inputs()) {
      const std::string name = input.get_names().empty() ? "?" : input.get_any_name();
      if (input.get_names().count(input_) == 0 && constants_.count(name) == 0)
        return UserError(path_ + ": nothing is known to feed its input '" + name + "' with");
    }
    return OkStatus();
  }

 private:
  struct Constant {
    std::vector<int64_t> shape;
    std::vector<double> values;
  };

  Status ReadFeed(const Json& graph, const Json& request) {
    if (request.contains("net_scale_factor"))
      feed_.net_scale_factor = request["net_scale_factor"].get<double>();
    if (!graph.contains("front")) return OkStatus();
    const Json& front = graph["front"];
    feed_.mean = front.value("mean", std::vector<double>());
    feed_.std = front.value("std", std::vector<double>());
    feed_.channels_last = front.value("channels_last", false);
    const auto channels = static_cast<size_t>(picture_.empty() ? 0 : picture_[0]);
    if (feed_.mean.size() == feed_.std.size() &&
        (feed_.mean.empty() || feed_.mean.size() == channels))
      return OkStatus();
    return UserError(path_ + ": mean and std must be one number a channel");
  }

  /// Of one picture, as the graph takes it.
  std::vector<int64_t> InputShape() const {
    if (!feed_.channels_last) return picture_;
    return {picture_[1], picture_[2], picture_[0]};
  }

  static ov::PartialShape WithBatch(int64_t batch, const std::vector<int64_t>& shape) {
    std::vector<ov::Dimension> dims = {batch};
    dims.insert(dims.end(), shape.begin(), shape.end());
    return dims;
  }

  void FillConstant(const ov::Output<const ov::Node>& input, ov::Tensor* tensor) const {
    const Constant& constant = constants_.at(input.get_any_name());
    const size_t size = tensor->get_size();
    for (size_t i = 0; i < size; ++i)
      StoreNumber(constant.values[i % constant.values.size()], i, tensor);
  }

  static OutputValues ValuesOf(const ov::Output<const ov::Node>& port, const ov::Tensor& tensor) {
    OutputValues output;
    output.name =
        port.get_names().empty() ? port.get_node()->get_friendly_name() : port.get_any_name();
    // An output may have several names; the first in order is the same for both graphs.
    if (!port.get_names().empty())
      output.name = *std::min_element(port.get_names().begin(), port.get_names().end());
    for (const size_t dim : tensor.get_shape()) output.shape.push_back(static_cast<int64_t>(dim));
    output.values = NumbersOf(tensor);
    return output;
  }

  std::string path_;
  std::shared_ptr<ov::Model> model_;
  std::string input_;
  std::vector<int64_t> picture_;  ///< [C,H,W]
  PictureFeed feed_;
  std::map<std::string, Constant> constants_;
};

struct Comparison {
  const Runner& candidate;
  const TestPictures& pictures;
  const std::vector<PictureOutputs>& expected;  ///< of every picture
  double tolerance;
};

Json RefusedBatch(int64_t batch, const Refusal& refusal) {
  return {{"batch", batch}, {"ok", false}, {"node", refusal.node}, {"why", refusal.why}};
}

/// Every picture through the reference graph.
Result<std::vector<PictureOutputs>> ReferenceOutputs(const Runner& reference,
                                                     const TestPictures& pictures, int64_t batch) {
  Refusal refusal;
  const auto failed = [&] {
    return UnsupportedError(fmt::format("{}: {}does not run at batch {}: {}", reference.path(),
                                        refusal.node.empty() ? "" : "node " + refusal.node + " ",
                                        batch, refusal.why));
  };
  auto compiled = reference.Compile(batch, &refusal);
  if (!compiled) return failed();
  std::vector<PictureOutputs> outputs;
  for (int64_t first = 0; first < pictures.count(); first += batch) {
    std::vector<PictureOutputs> part;
    if (!reference.Run(*compiled, pictures, {first, batch}, &part, &refusal)) return failed();
    if (Interrupted()) return InterruptedError();
    for (auto& picture : part) outputs.push_back(std::move(picture));
  }
  return outputs;
}

/// Outputs that another program recorded: f32, one output after the other, [pictures, …] each.
Result<std::vector<PictureOutputs>> RecordedOutputs(const Json& recorded) {
  const auto path = recorded.at("path").get<std::string>();
  SG_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  std::vector<OutputValues> whole;
  int64_t pictures = 0;
  size_t at = 0;
  for (const Json& output : recorded.at("outputs")) {
    OutputValues values;
    values.name = output.at("name").get<std::string>();
    values.shape = output.at("shape").get<std::vector<int64_t>>();
    size_t count = 1;
    for (const int64_t dim : values.shape) count *= static_cast<size_t>(dim);
    if (values.shape.empty() || count > (bytes.size() - at) / sizeof(float))
      return UserError(path + ": holds fewer numbers than its outputs need");
    std::vector<float> floats(count);
    std::memcpy(floats.data(), bytes.data() + at, count * sizeof(float));
    at += count * sizeof(float);
    values.values.assign(floats.begin(), floats.end());
    pictures = values.shape[0];
    whole.push_back(std::move(values));
  }
  return SplitByPicture(whole, pictures);
}

/// What the candidate is compared with: the reference graph's outputs, or recorded ones.
Result<std::vector<PictureOutputs>> ExpectedOutputs(const Json& request,
                                                    const TestPictures& pictures) {
  const Json& reference = request.at("reference");
  if (reference.contains("recorded")) return RecordedOutputs(reference.at("recorded"));
  SG_ASSIGN_OR_RETURN(const Runner runner, Runner::Read(reference, request));
  SG_RETURN_IF_ERROR(runner.CheckInputs());
  return ReferenceOutputs(runner, pictures, reference.at("batch").get<int64_t>());
}

/// One run of the candidate against the expected outputs.
Json CompareAtBatch(const Comparison& comparison, int64_t batch) {
  Refusal refusal;
  auto compiled = comparison.candidate.Compile(batch, &refusal);
  std::vector<PictureOutputs> outputs;
  // Other pictures than the last batch had in its slots; each batch starts somewhere else.
  const int64_t count = comparison.pictures.count();
  const int64_t first = batch >= count ? 0 : (batch - 1) % count;
  if (!compiled ||
      !comparison.candidate.Run(*compiled, comparison.pictures, {first, batch}, &outputs, &refusal))
    return RefusedBatch(batch, refusal);
  OutputDifference worst;
  int64_t worst_picture = 0;
  int64_t moved_rows = 0;
  for (size_t slot = 0; slot < outputs.size(); ++slot) {
    const auto picture = static_cast<size_t>((first + static_cast<int64_t>(slot)) % count);
    const OutputDifference difference =
        CompareOutputs(comparison.expected[picture], outputs[slot], comparison.tolerance);
    moved_rows += difference.moved_rows;
    const bool worse =
        worst.equal == difference.equal ? difference.relative > worst.relative : worst.equal;
    if (!worse) continue;
    worst = difference;
    worst_picture = static_cast<int64_t>(slot);
  }
  Json json = {{"batch", batch}, {"ok", worst.equal}, {"output", worst.output}};
  // JSON has no infinity: a difference that is none is left out.
  if (std::isfinite(worst.max_difference)) json["max_difference"] = worst.max_difference;
  if (std::isfinite(worst.relative)) json["relative"] = worst.relative;
  json["moved_rows"] = moved_rows;
  json["slot"] = worst_picture;
  if (!worst.why.empty()) json["why"] = worst.why;
  return json;
}

/// Whether the outputs tell the pictures apart; if not, equal outputs prove nothing.
bool AreDifferent(const std::vector<PictureOutputs>& outputs, double tolerance) {
  for (size_t i = 1; i < outputs.size(); ++i) {
    if (!CompareOutputs(outputs[0], outputs[i], tolerance).equal) return true;
  }
  return outputs.size() < 2;
}

}  // namespace

Result<Json> OnnxShapesJob(const Json& request, const Emit&) {
  try {
    const auto path = request.at("path").get<std::string>();
    SG_ASSIGN_OR_RETURN(const auto model, ReadGraph(path));
    SG_ASSIGN_OR_RETURN(const auto shapes, ShapesOf(*model, path, request.at("inputs")));
    Json result = {{"ok", true}, {"shapes", Json::object()}};
    try {
      model->reshape(shapes);
    } catch (const std::exception& e) {
      const Refusal refusal = RefusalOf(e);
      return Json{{"ok", false}, {"node", refusal.node}, {"why", refusal.why}};
    }
    for (const auto& node : model->get_ordered_ops()) {
      for (const auto& output : node->outputs()) {
        if (output.get_partial_shape().rank().is_dynamic()) continue;
        for (const auto& name : output.get_names())
          result["shapes"][name] = ShapeJson(output.get_partial_shape());
      }
    }
    return result;
  } catch (const Json::exception& e) {
    return UserError(std::string("onnx-shapes request: ") + e.what());
  }
}

Result<Json> OnnxCompareJob(const Json& request, const Emit& emit) {
  try {
    SG_ASSIGN_OR_RETURN(const Runner candidate, Runner::Read(request.at("candidate"), request));
    SG_RETURN_IF_ERROR(candidate.CheckInputs());
    const Json& reference = request.at("reference");
    auto batches = request.at("candidate").at("batches").get<std::vector<int64_t>>();
    const auto reference_batch = reference.value("batch", int64_t{1});

    // Half of what is free: compiled weights come on top.
    const uint64_t most =
        FreeMemoryBytes() / 2 / std::max<uint64_t>(1, candidate.BytesPerPicture());
    const size_t asked = batches.size();
    std::erase_if(batches, [&](int64_t batch) {
      return batch > std::max<int64_t>(1, static_cast<int64_t>(std::min<uint64_t>(most, 1U << 20)));
    });

    int64_t count = std::max<int64_t>(2, reference_batch);
    for (const int64_t batch : batches) count = std::max(count, batch);
    SG_ASSIGN_OR_RETURN(const TestPictures pictures,
                        TestPictures::Make(candidate.picture(), count,
                                           request.value("pictures_path", std::string())));
    SG_ASSIGN_OR_RETURN(const auto expected, ExpectedOutputs(request, pictures));
    if (static_cast<int64_t>(expected.size()) < pictures.count())
      return UserError("the reference's outputs are of fewer pictures than there are");
    const Comparison comparison{candidate, pictures, expected,
                                request.at("tolerance").get<double>()};
    Json result = {{"pictures", pictures.count()},
                   {"different", AreDifferent(expected, comparison.tolerance)},
                   {"limited_by_memory", batches.size() < asked},
                   {"batches", Json::array()}};
    for (const int64_t batch : batches) {
      if (Interrupted()) return InterruptedError();
      if (emit)
        emit({{"event", "progress"},
              {"fraction",
               static_cast<double>(result["batches"].size()) / static_cast<double>(batches.size())},
              {"note", fmt::format("batch {}", batch)}});
      result["batches"].push_back(CompareAtBatch(comparison, batch));
    }
    return result;
  } catch (const Json::exception& e) {
    return UserError(std::string("onnx-compare request: ") + e.what());
  }
}

Result<Json> OnnxRunJob(const Json& request, const Emit& emit) {
  try {
    SG_ASSIGN_OR_RETURN(const Runner runner, Runner::Read(request, request));
    SG_RETURN_IF_ERROR(runner.CheckInputs());
    SG_ASSIGN_OR_RETURN(
        const TestPictures pictures,
        TestPictures::Make(runner.picture(), 1, request.at("pictures_path").get<std::string>()));
    Refusal refusal;
    auto compiled = runner.Compile(1, &refusal);
    std::string floats;
    Json outputs = Json::array();
    for (int64_t i = 0; i < pictures.count(); ++i) {
      if (Interrupted()) return InterruptedError();
      std::vector<PictureOutputs> picture;
      if (!compiled || !runner.Run(*compiled, pictures, {i, 1}, &picture, &refusal))
        return UnsupportedError(fmt::format("{}: {}does not run: {}", runner.path(),
                                            refusal.node.empty() ? "" : refusal.node + " ",
                                            refusal.why));
      Json shapes = Json::array();
      for (const OutputValues& output : picture.at(0)) {
        shapes.push_back({{"name", output.name}, {"shape", output.shape}});
        for (const double number : output.values) {
          const auto value = static_cast<float>(number);
          floats.append(reinterpret_cast<const char*>(&value), sizeof value);
        }
      }
      if (i > 0 && shapes != outputs)
        return UnsupportedError(runner.path() + ": its outputs' shapes depend on the picture");
      outputs = std::move(shapes);
      if (emit)
        emit({{"event", "progress"},
              {"fraction", static_cast<double>(i + 1) / static_cast<double>(pictures.count())}});
    }
    SG_RETURN_IF_ERROR(WriteFileAtomic(request.at("to").get<std::string>(), floats));
    return Json{{"pictures", pictures.count()}, {"outputs", outputs}};
  } catch (const Json::exception& e) {
    return UserError(std::string("onnx-run request: ") + e.what());
  }
}

}  // namespace sg::openvino
