#include "engine/tensorrt/tensorrt_engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/files.h"
#include "base/subprocess.h"
#include "deepstream/symptoms.h"
#include "onnx/onnx_file.h"

namespace sg {
namespace {

using Clock = std::chrono::steady_clock;

/// What a ForeignNode that TensorRT cannot run is tried with once more.
constexpr int kLowerOptimization = 2;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A folder beside the engines that goes with the call.
class Staging {
 public:
  explicit Staging(const std::string& engines_folder)
      : path_(JoinPath(engines_folder, fmt::format(".trtexec.{}", getpid()))) {}
  ~Staging() { (void)RemoveAll(path_).ok(); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<std::vector<TrtInput>> InputsOf(const OnnxSummary& onnx) {
  std::vector<TrtInput> inputs;
  for (const OnnxTensor& tensor : onnx.inputs) {
    if (tensor.dims.empty())
      return UnsupportedError(
          fmt::format("{}: input {} has no batch axis", onnx.path, tensor.Text()));
    TrtInput input{tensor.name, {}, !tensor.dims.front().value.has_value()};
    for (size_t i = 1; i < tensor.dims.size(); ++i) {
      if (!tensor.dims[i].value)
        return UnsupportedError(
            fmt::format("{}: input {}: its axis {} is free; only the batch may be", onnx.path,
                        tensor.Text(), i));
      input.dims.push_back(static_cast<int>(*tensor.dims[i].value));
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

EngineTensor TensorOf(const OnnxTensor& tensor) {
  EngineTensor out{tensor.name, tensor.elem_type, {}};
  for (size_t i = 1; i < tensor.dims.size(); ++i)
    out.shape.push_back(
        static_cast<size_t>(std::max<int64_t>(0, tensor.dims[i].value.value_or(0))));
  return out;
}

/// What trtexec left behind.
struct TrtRun {
  SubprocessExit exit;
  TrtLog log;
  std::string text;
  bool silent = false;  ///< it was ended because it said nothing for too long
};

class TensorRtEngine : public Engine {
 public:
  explicit TensorRtEngine(TensorRtTools tools) : tools_(std::move(tools)) {}

  std::string Name() const override { return "TensorRT"; }

  Result<EngineArtifact> Build(const EngineRequest& request, const ProgressFn& progress) override {
    SG_ASSIGN_OR_RETURN(const OnnxSummary onnx, ReadOnnxFile(request.onnx_path));
    SG_ASSIGN_OR_RETURN(EngineArtifact wanted, Wanted(request, onnx));
    std::string reason;
    if (FileExists(wanted.path)) {
      SG_ASSIGN_OR_RETURN(const std::optional<EngineArtifact> have, Reuse(wanted, &reason));
      if (have) return *have;
    }
    SG_RETURN_IF_ERROR(MakeFolders(request.engines_folder));
    const Staging staging(request.engines_folder);
    SG_RETURN_IF_ERROR(MakeFolders(staging.path()));
    const std::string staged = JoinPath(staging.path(), BaseName(wanted.path));
    const Clock::time_point start = Clock::now();
    SG_RETURN_IF_ERROR(BuildInto(request, onnx, staged, progress));
    wanted.build_s = SecondsSince(start);
    wanted.rebuild_reason = reason;
    SG_ASSIGN_OR_RETURN(wanted.size_bytes, FileSize(staged));
    SG_ASSIGN_OR_RETURN(wanted.sha256, Sha256File(staged));
    // The sidecar last: an engine without one is built again.
    (void)RemoveAll(wanted.path + ".json").ok();
    SG_RETURN_IF_ERROR(RenameFile(staged, wanted.path));
    SG_RETURN_IF_ERROR(WriteFileAtomic(wanted.path + ".json", ToJsonText(wanted.ToJson())));
    return wanted;
  }

  Result<EngineTiming> Time(const EngineArtifact& artifact, int batch, double warmup_s,
                            double seconds, const std::string& log_path,
                            const ProgressFn& progress) override {
    TrtTiming timing;
    timing.trtexec = tools_.trtexec;
    SG_ASSIGN_OR_RETURN(timing.engine, Path(artifact.path));
    timing.batch = batch;
    timing.warmup_s = warmup_s;
    timing.seconds = seconds;
    TrtInput input{artifact.input.name, {}, artifact.max_batch > 1};
    for (const size_t dim : artifact.input.shape) input.dims.push_back(static_cast<int>(dim));
    timing.inputs = {input};
    progress(0, fmt::format("batch {}", batch));
    SG_ASSIGN_OR_RETURN(const TrtRun run, Run(TrtTimingArgv(timing), log_path, progress));
    if (!run.exit.interrupted && Passed(run) && run.log.throughput_qps && run.log.gpu_mean_ms)
      return TimingOf(run.log, batch, seconds, log_path);
    return Failure(run, fmt::format("timing batch {}", batch), log_path);
  }

  Result<EngineTiming> Sample(const EngineArtifact&, const SampledTiming&,
                              const ProgressFn&) override {
    return UnsupportedError(
        "bench measures the embedded engine; `streamgauge engine time` times a TensorRT engine");
  }

 private:
  static EngineTiming TimingOf(const TrtLog& log, int batch, double seconds,
                               const std::string& log_path) {
    EngineTiming timing;
    timing.batch = batch;
    timing.seconds = seconds;
    timing.throughput_qps = *log.throughput_qps;
    timing.inferences = static_cast<uint64_t>(std::llround(*log.throughput_qps * seconds));
    timing.images_per_s = *log.throughput_qps * batch;
    timing.latency_mean_ms = *log.gpu_mean_ms;
    timing.latency_p99_ms = log.gpu_p99_ms.value_or(0);
    timing.requests_in_flight = 1;
    timing.log_path = log_path;
    return timing;
  }

  Result<EngineArtifact> Wanted(const EngineRequest& request, const OnnxSummary& onnx) const {
    EngineArtifact wanted;
    wanted.path = TensorRtEnginePath(request);
    wanted.onnx_sha256 = onnx.sha256;
    SG_ASSIGN_OR_RETURN(wanted.external_data_sha256, HashOfAll(request.external_data_paths));
    wanted.device = "GPU";
    wanted.device_name = tools_.gpu.name;
    wanted.cpu_features = "compute " + tools_.gpu.compute_capability;
    wanted.runtime = "TensorRT";
    wanted.runtime_version = tools_.version.Text();
    wanted.precision_asked = PrecisionName(request.precision);
    wanted.precision_used = request.precision == Precision::kFp32 ? "f32" : "f16";
    wanted.max_batch = request.max_batch;
    // nvinfer applies them in front of the engine.
    wanted.net_scale_factor = request.net_scale_factor;
    wanted.offsets = request.offsets;
    if (onnx.inputs.empty()) return UserError(onnx.path + ": has no input");
    wanted.input = TensorOf(onnx.inputs.front());
    for (const OnnxTensor& output : onnx.outputs) wanted.outputs.push_back(TensorOf(output));
    return wanted;
  }

  /// nullopt, with `reason`, when the file that is there is not the wanted one.
  static Result<std::optional<EngineArtifact>> Reuse(const EngineArtifact& wanted,
                                                     std::string* reason) {
    auto have = ReadSidecar(wanted.path);
    if (!have.ok()) {
      *reason = FileExists(wanted.path + ".json") ? "its sidecar cannot be read" : "no sidecar";
      return std::optional<EngineArtifact>();
    }
    // What nvinfer does in front of the engine is no part of it.
    EngineArtifact comparable = *have;
    comparable.net_scale_factor = wanted.net_scale_factor;
    comparable.offsets = wanted.offsets;
    *reason = ArtifactMismatch(comparable, wanted);
    if (reason->empty()) {
      SG_ASSIGN_OR_RETURN(const std::string sha256, Sha256File(wanted.path));
      if (sha256 != have->sha256) *reason = "the file is not the one its sidecar describes";
    }
    if (!reason->empty()) return std::optional<EngineArtifact>();
    comparable.reused = true;
    comparable.rebuild_reason.clear();
    return std::optional(comparable);
  }

  Status BuildInto(const EngineRequest& request, const OnnxSummary& onnx, const std::string& staged,
                   const ProgressFn& progress) const {
    TrtBuild build;
    build.trtexec = tools_.trtexec;
    build.version = tools_.version;
    SG_ASSIGN_OR_RETURN(build.onnx, Path(request.onnx_path));
    SG_ASSIGN_OR_RETURN(build.engine, Path(staged));
    SG_ASSIGN_OR_RETURN(build.timing_cache, Path(JoinPath(request.engines_folder, "timing.cache")));
    SG_ASSIGN_OR_RETURN(build.inputs, InputsOf(onnx));
    build.max_batch = request.max_batch;
    build.precision =
        request.precision == Precision::kFp32 ? TrtPrecision::kFp32 : TrtPrecision::kFp16;
    const std::string log_path = JoinPath(
        request.engines_folder,
        fmt::format("{}_dynamic_build_b{}.log", request.model_file_stem, request.max_batch));
    progress(0, "trtexec builds; some minutes without a word are usual");
    SG_ASSIGN_OR_RETURN(TrtRun run, Run(TrtBuildArgv(build), log_path, progress));
    if (!run.exit.interrupted && !Passed(run) && !FailedForeignNode(run.log).empty()) {
      progress(0, "once more with less fusion, because of a ForeignNode");
      build.optimization_level = kLowerOptimization;
      SG_ASSIGN_OR_RETURN(run, Run(TrtBuildArgv(build), log_path, progress));
    }
    if (run.exit.interrupted || !Passed(run)) return Failure(run, "the build", log_path);
    const Result<uint64_t> size = FileSize(staged);
    if (!size.ok() || *size == 0)
      return EnvironmentError(
          fmt::format("trtexec ended well and left {} engine file; its log is {}",
                      size.ok() ? "an empty" : "no", log_path));
    return OkStatus();
  }

  static bool Passed(const TrtRun& run) {
    return run.exit.code == 0 && run.log.passed && !run.log.failed && !run.silent;
  }

  Result<TrtRun> Run(const std::vector<std::string>& argv, const std::string& log_path,
                     const ProgressFn& progress) const {
    TrtRun run;
    Subprocess process;
    process.argv = tools_.container ? ContainerArgv(*tools_.container, argv) : argv;
    Clock::time_point last_line = Clock::now();
    const auto take = [&](const std::string& line) {
      run.text += line + "\n";
      last_line = Clock::now();
    };
    process.on_stdout_line = take;
    process.on_stderr_line = take;
    const Clock::time_point start = Clock::now();
    process.stop_now = [&] {
      progress(0, fmt::format("trtexec: {:.0f} s", SecondsSince(start)));
      run.silent = SecondsSince(last_line) > tools_.silence_s;
      return run.silent;
    };
    SG_ASSIGN_OR_RETURN(run.exit, RunSubprocess(process));
    SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(log_path)));
    SG_RETURN_IF_ERROR(WriteFileAtomic(log_path, ShellQuoted(process.argv) + "\n" + run.text));
    run.log = ParseTrtLog(run.text);
    return run;
  }

  Error Failure(const TrtRun& run, const std::string& what, const std::string& log_path) const {
    if (run.exit.interrupted) return InterruptedError();
    if (run.silent)
      return EnvironmentError(
          fmt::format("{}: trtexec said nothing for {:g} s and was ended; its log is {}", what,
                      tools_.silence_s, log_path));
    std::string why = ExplainLog(run.text);
    if (why.empty() && !run.log.errors.empty()) why = run.log.errors.front();
    if (why.empty() && run.exit.code > 128)
      why = fmt::format("ended by signal {}", run.exit.code - 128);
    if (why.empty() && run.exit.code != 0) why = fmt::format("exit code {}", run.exit.code);
    if (why.empty() && !run.log.passed) why = "it never said PASSED";
    if (why.empty()) why = "no throughput stands in its log";
    return EnvironmentError(
        fmt::format("{} with trtexec failed: {}; its log is {}", what, why, log_path));
  }

  Result<std::string> Path(const std::string& path) const {
    if (!tools_.container) return path;
    return PathInContainer(*tools_.container, path);
  }

  TensorRtTools tools_;
};

}  // namespace

Result<TensorRtTools> NativeTensorRt(const Toolset& tools) {
  if (tools.gpus.empty())
    return EnvironmentError("no NVIDIA GPU answers: streamgauge doctor says why");
  if (!tools.trtexec.answers())
    return EnvironmentError(fmt::format("trtexec {}: streamgauge doctor says how to get it",
                                        tools.trtexec.path.empty()
                                            ? "is not on this machine"
                                            : "does not answer: " + tools.trtexec.problem));
  TensorRtTools found;
  found.trtexec = tools.trtexec.path;
  found.version = ParseTensorRtVersion("[TensorRT v" + tools.trtexec.version + "]");
  found.gpu = tools.gpus.front();
  if (const char* silence = std::getenv("STREAMGAUGE_TRTEXEC_SILENCE_S"); silence != nullptr) {
    const double seconds = std::atof(silence);
    if (seconds > 0) found.silence_s = seconds;
  }
  return found;
}

std::string TensorRtEnginePath(const EngineRequest& request) {
  return JoinPath(request.engines_folder,
                  fmt::format("{}_dynamic_b{}.engine", request.model_file_stem, request.max_batch));
}

std::unique_ptr<Engine> MakeTensorRtEngine(const TensorRtTools& tools) {
  return std::make_unique<TensorRtEngine>(tools);
}

}  // namespace sg
