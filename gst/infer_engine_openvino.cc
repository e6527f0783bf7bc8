#include <fmt/format.h>

#include <exception>
#include <openvino/openvino.hpp>
#include <optional>
#include <utility>

#include "base/files.h"
#include "engine/openvino/engine_file.h"
#include "gst/infer_engine.h"

namespace sg {
namespace {

/// Runs `call`; what OpenVINO throws becomes an Error that names it.
template <typename Call>
Status Guard(const char* name, const Call& call) {
  try {
    call();
    return OkStatus();
  } catch (const std::exception& e) {
    return InternalError(fmt::format("OpenVINO's {}: {}", name, e.what()));
  } catch (...) {
    return InternalError(fmt::format("OpenVINO's {}: an unknown exception", name));
  }
}

std::optional<TensorType> TypeOf(const ov::element::Type& type) {
  if (type == ov::element::f32) return TensorType::kFloat;
  if (type == ov::element::f16) return TensorType::kHalf;
  if (type == ov::element::i32) return TensorType::kInt32;
  if (type == ov::element::i64) return TensorType::kInt64;
  return std::nullopt;
}

class OpenVinoRequest : public InferRequest {
 public:
  static Result<std::unique_ptr<InferRequest>> Make(ov::CompiledModel& compiled, size_t outputs) {
    auto request = std::make_unique<OpenVinoRequest>();
    SG_RETURN_IF_ERROR(Guard("create_infer_request", [&] {
      request->request_ = compiled.create_infer_request();
      ov::Tensor input = request->request_.get_input_tensor();
      request->input_ = static_cast<uint8_t*>(input.data());
      request->image_bytes_ = input.get_byte_size() / input.get_shape()[0];
      std::fill_n(request->input_, input.get_byte_size(), uint8_t{0});
    }));
    request->outputs_.resize(outputs);
    return std::unique_ptr<InferRequest>(std::move(request));
  }

  ~OpenVinoRequest() override { (void)OpenVinoRequest::Wait().ok(); }

  uint8_t* Input(size_t slot) override { return input_ + slot * image_bytes_; }

  Status Start() override {
    Status started = Guard("start_async", [this] { request_.start_async(); });
    running_ = started.ok();
    return started;
  }

  Status Wait() override {
    if (!std::exchange(running_, false)) return OkStatus();
    return Guard("inference", [this] {
      request_.wait();
      for (size_t i = 0; i < outputs_.size(); ++i) {
        const ov::Tensor tensor = request_.get_output_tensor(i);
        outputs_[i] = {static_cast<const uint8_t*>(tensor.data()),
                       tensor.get_byte_size() / tensor.get_shape()[0]};
      }
    });
  }

  const void* Output(size_t index, size_t slot) override {
    return outputs_[index].first + slot * outputs_[index].second;
  }

 private:
  ov::InferRequest request_;
  uint8_t* input_ = nullptr;
  size_t image_bytes_ = 0;
  std::vector<std::pair<const uint8_t*, size_t>> outputs_;  ///< data, bytes of one image
  bool running_ = false;
};

class OpenVinoInferEngine : public InferEngine {
 public:
  OpenVinoInferEngine(std::unique_ptr<openvino::LoadedEngine> engine,
                      std::vector<InferOutput> outputs)
      : engine_(std::move(engine)), outputs_(std::move(outputs)) {}

  int input_width() const override { return engine_->input_width(); }
  int input_height() const override { return engine_->input_height(); }
  const std::vector<InferOutput>& outputs() const override { return outputs_; }
  const std::vector<int>& batches() const override { return engine_->batches(); }
  int streams(int batch) override {
    int streams = 1;
    (void)Guard("get_property", [&] { streams = engine_->optimal_requests(batch); }).ok();
    return streams;
  }
  Result<std::unique_ptr<InferRequest>> NewRequest(int batch) override {
    return OpenVinoRequest::Make(engine_->compiled(batch), outputs_.size());
  }

 private:
  std::unique_ptr<openvino::LoadedEngine> engine_;
  std::vector<InferOutput> outputs_;
};

}  // namespace

Result<std::unique_ptr<InferEngine>> LoadOpenVinoInferEngine(const std::string& path,
                                                             const std::string& onnx_file,
                                                             const InputScaling& scaling) {
  std::string onnx_sha256;
  if (!onnx_file.empty() && FileExists(onnx_file)) {
    SG_ASSIGN_OR_RETURN(onnx_sha256, Sha256File(onnx_file));
  }
  SG_ASSIGN_OR_RETURN(auto engine, openvino::LoadedEngine::Load(path, onnx_sha256));
  const EngineArtifact& artifact = engine->artifact();
  if (artifact.net_scale_factor != scaling.net_scale_factor ||
      artifact.offsets != scaling.offsets) {
    return UserError(fmt::format(
        "{}: built for net-scale-factor {} and offsets [{}], the config says {} and [{}]; build "
        "it again with `streamgauge engine build`",
        path, artifact.net_scale_factor, fmt::join(artifact.offsets, ";"), scaling.net_scale_factor,
        fmt::join(scaling.offsets, ";")));
  }
  std::vector<InferOutput> outputs;
  for (const openvino::OutputSpec& output : engine->outputs()) {
    const std::optional<TensorType> type = TypeOf(output.type);
    if (!type) {
      return UnsupportedError(
          fmt::format("{}: output {} is {}, parsers read float32, float16, int32 and int64", path,
                      output.name, output.type.get_type_name()));
    }
    outputs.push_back({output.name, {output.shape.begin(), output.shape.end()}, *type});
  }
  return std::unique_ptr<InferEngine>(
      std::make_unique<OpenVinoInferEngine>(std::move(engine), std::move(outputs)));
}

}  // namespace sg
