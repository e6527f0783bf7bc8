// From an ONNX file to compiled models of fixed batch.
#pragma once

#include <memory>
#include <openvino/openvino.hpp>
#include <string>

#include "base/status.h"
#include "engine/engine.h"

namespace sg::openvino {

/// OpenVINO's exception text, which goes over many lines and names its own source files, as the one
/// line that says what is wrong.
std::string MeaningfulLine(const std::string& openvino_message);

/// The node an OpenVINO validation message complains about, "opset1::Reshape /decoder/Reshape_3";
/// empty when it names none.
std::string NodeNamed(const std::string& openvino_message);

/// The settings every engine is compiled and loaded with: throughput, one stream a usable core.
/// `precision` undefined: the fastest half type the device has.
ov::AnyMap DeviceSettings(ov::element::Type precision);

/// An ONNX network that takes u8 NHWC pictures: scale and offsets are part of it.
class Network {
 public:
  /// kUser when the file is not a whole ONNX model, its input is not [N,3,H,W], or its batch is
  /// fixed and another one is asked for.
  static Result<Network> Read(ov::Core& core, const EngineRequest& request);

  const EngineTensor& input() const { return input_; }
  const std::vector<EngineTensor>& outputs() const { return outputs_; }

  /// The network at a fixed batch, compiled. kUser, naming the node or output, when the graph does
  /// not follow the batch.
  Result<ov::CompiledModel> Compile(ov::Core& core, int batch) const;

 private:
  Status AddPreprocessing(const EngineRequest& request);
  Result<std::shared_ptr<ov::Model>> AtBatch(int batch) const;

  std::string path_;
  std::shared_ptr<ov::Model> model_;
  EngineTensor input_;
  std::vector<EngineTensor> outputs_;
  Precision precision_ = Precision::kFp16;
};

/// The type most of the network's heavy operations really run in, as the device's own graph tells.
std::string PrecisionUsed(const ov::CompiledModel& compiled);

}  // namespace sg::openvino
