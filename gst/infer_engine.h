// What InferCore needs of an engine: requests that take pictures and give tensors. Tests put
// an engine of their own behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "detector/head.h"

namespace sg {

/// One inference. Used by one thread at a time, handed over with the usual happens-before.
class InferRequest {
 public:
  /// Waits for the end of a started inference.
  virtual ~InferRequest() = default;

  /// Image `slot` of the input: u8, rows of width × 3 channels. Zero until it is written.
  virtual uint8_t* Input(size_t slot) = 0;
  /// Starts the inference and returns.
  virtual Status Start() = 0;
  /// Waits for the end of what Start began; its failure is returned here.
  virtual Status Wait() = 0;
  /// Output `index` of image `slot`, valid from Wait to the next Start.
  virtual const void* Output(size_t index, size_t slot) = 0;
};

struct InferOutput {
  std::string name;
  std::vector<int> dims;  ///< without the batch axis
  TensorType type = TensorType::kFloat;
};

class InferEngine {
 public:
  virtual ~InferEngine() = default;

  virtual int input_width() const = 0;
  virtual int input_height() const = 0;
  virtual const std::vector<InferOutput>& outputs() const = 0;
  /// Batches that run as one request, ascending, 1 among them.
  virtual const std::vector<int>& batches() const = 0;
  /// Requests that run at the same time at that batch.
  virtual int streams(int batch) = 0;
  /// The request must not outlive the engine.
  virtual Result<std::unique_ptr<InferRequest>> NewRequest(int batch) = 0;
};

/// The preprocessing that a config asks for, to be compared with what is compiled into an engine.
struct InputScaling {
  double net_scale_factor = 1.0;
  std::vector<double> offsets;
};

/// The embedded engine. `onnx_file` empty or absent on this machine: the engine is not checked
/// against it. Errors name the file and the remedy.
Result<std::unique_ptr<InferEngine>> LoadOpenVinoInferEngine(const std::string& path,
                                                             const std::string& onnx_file,
                                                             const InputScaling& scaling);

}  // namespace sg
