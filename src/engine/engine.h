// An engine is a model compiled for this machine. The interface has one implementation per runtime;
// nothing above this folder asks which one it talks to.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace sg {

/// Progress of a long step: fraction 0–1 and a few words.
using ProgressFn = std::function<void(double fraction, const std::string& note)>;

/// "fp32": exact f32. "fp16": the fastest half type of the device, named in precision_used.
enum class Precision { kFp32, kFp16 };
const char* PrecisionName(Precision precision);
Result<Precision> PrecisionFromName(const std::string& name);

struct EngineRequest {
  std::string onnx_path;
  std::vector<std::string> external_data_paths;  ///< weights kept beside the ONNX file, if any
  std::string engines_folder;                    ///< models/NAME/benchmarks/engines
  std::string model_file_stem;                   ///< of "{stem}_dynamic_b{MAX}"
  int max_batch = 1;
  Precision precision = Precision::kFp16;
  /// Pixel (0–255) to network value, compiled into the engine: y = net_scale_factor * (x -
  /// offsets[c]), offsets in the network's channel order; empty: none.
  double net_scale_factor = 1.0;
  std::vector<double> offsets;
  Json ToJson() const;
  static Result<EngineRequest> FromJson(const Json& json);
};

/// One input or output of the network.
struct EngineTensor {
  std::string name;
  std::string type;           ///< of the network's own tensor: "f32", "i64", …
  std::vector<size_t> shape;  ///< without the batch axis
};

/// A built engine file and its sidecar ({file}.json), which holds the same values.
struct EngineArtifact {
  std::string path;
  std::string onnx_sha256;           ///< of the ONNX file alone
  std::string external_data_sha256;  ///< over the weights beside it; empty when there are none
  std::string device;                ///< "CPU"
  std::string device_name;           ///< as the runtime names it
  /// Of the machine that built it: Processor::FeatureKey(), or "compute 9.0" of a GPU.
  std::string cpu_features;
  std::string runtime;  ///< "OpenVINO", "TensorRT"
  std::string runtime_version;
  std::string precision_asked;  ///< "fp32" or "fp16"
  std::string precision_used;   ///< "f32", "bf16", "f16"
  int max_batch = 1;
  double net_scale_factor = 1.0;
  std::vector<double> offsets;
  EngineTensor input;  ///< shape 3,H,W
  std::vector<EngineTensor> outputs;
  uint64_t size_bytes = 0;
  std::string sha256;          ///< of the engine file
  double build_s = 0;          ///< reading, compiling and exporting, when it was built
  double load_s = 0;           ///< from the file to ready, measured after the build
  bool reused = false;         ///< it was there already and is whole
  std::string rebuild_reason;  ///< why an existing file was not used; empty when there was none
  Json ToJson() const;
  static Result<EngineArtifact> FromJson(const Json& json);
};

/// Inference alone, inputs ready in memory.
struct EngineTiming {
  int batch = 1;
  double seconds = 0;          ///< measured, after warm-up
  uint64_t inferences = 0;     ///< completed in that time
  double throughput_qps = 0;   ///< inferences ÷ seconds
  double images_per_s = 0;     ///< throughput_qps × batch
  double latency_mean_ms = 0;  ///< one inference, start to completion, requests in flight as given
  double latency_p99_ms = 0;
  int requests_in_flight = 0;
  double cpu_ms_per_image = 0;  ///< process CPU time ÷ images
  std::string log_path;
  Json ToJson() const;
  static Result<EngineTiming> FromJson(const Json& json);
};

/// A timing of which every inference is kept, the warm-up's too.
struct SampledTiming {
  int batch = 1;
  int requests_in_flight = 0;  ///< 0: as many as keep the device busy
  double seconds = 0;
  std::string samples_path;  ///< docs/formats.md, "Samples file"
};

class Engine {
 public:
  virtual ~Engine() = default;

  /// "OpenVINO" or "TensorRT": what reports and section titles say.
  virtual std::string Name() const = 0;

  /// Builds {stem}_dynamic_b{MAX} unless a whole, matching one is there. A stale or damaged file is
  /// rebuilt, with the reason in the artifact. Nothing appears under the final name before it is
  /// whole.
  virtual Result<EngineArtifact> Build(const EngineRequest& request,
                                       const ProgressFn& progress) = 0;

  /// Runs `batch` images at a time for `seconds` after `warmup_s`, and writes the log to
  /// `log_path`.
  virtual Result<EngineTiming> Time(const EngineArtifact& artifact, int batch, double warmup_s,
                                    double seconds, const std::string& log_path,
                                    const ProgressFn& progress) = 0;

  /// Runs for `seconds` and writes the samples file, as the inferences end. The figures returned
  /// count the whole time; src/measure has the better ones.
  virtual Result<EngineTiming> Sample(const EngineArtifact& artifact, const SampledTiming& timing,
                                      const ProgressFn& progress) = 0;
};

/// The embedded engine: OpenVINO in streamgauge-worker.
std::unique_ptr<Engine> MakeOpenVinoEngine();

/// TensorRT through trtexec (tensorrt/tensorrt_engine.h says how).
struct TensorRtTools;
std::unique_ptr<Engine> MakeTensorRtEngine(const TensorRtTools& tools);

/// {engines_folder}/{stem}_dynamic_b{MAX}.blob: where the embedded engine keeps what it built.
std::string OpenVinoEnginePath(const EngineRequest& request);

/// Over names and contents; empty for no files.
Result<std::string> HashOfAll(const std::vector<std::string>& paths);

/// Why a file that says `have` of itself is not the one that is wanted; empty when it is. Only what
/// is known before a build is looked at.
std::string ArtifactMismatch(const EngineArtifact& have, const EngineArtifact& wanted);

/// Reads an engine file's sidecar ({path}.json). kUser when it is missing or is not one.
Result<EngineArtifact> ReadSidecar(const std::string& engine_path);

}  // namespace sg
