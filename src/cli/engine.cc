// streamgauge engine build|time: an engine from an ONNX, and how fast it is with its inputs ready.
#include "engine/engine.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/files.h"
#include "base/log.h"
#include "cli/command.h"
#include "engine/tensorrt/tensorrt_engine.h"
#include "onnx/onnx_file.h"

namespace sg {
namespace {

constexpr double kWarmupSeconds = 1;

struct EngineOptions {
  CommonFlags common;
  std::string file;  ///< the ONNX, or the engine
  std::string out = ".";
  std::string precision = "fp16";
  int max_batch = 64;
  std::vector<int> batches;
  double seconds = 10;
};

/// The engine that --engine names; auto: TensorRT where trtexec and a GPU answer.
Result<std::unique_ptr<Engine>> ChooseEngine(const CommonFlags& flags, const Console& console) {
  if (flags.engine == "embedded") return MakeOpenVinoEngine();
  const Toolset tools = FindToolset({});
  const Result<TensorRtTools> tensorrt = NativeTensorRt(tools);
  if (!tensorrt.ok() && flags.engine == "deepstream") return tensorrt.error();
  std::unique_ptr<Engine> engine =
      tensorrt.ok() ? MakeTensorRtEngine(*tensorrt) : MakeOpenVinoEngine();
  console.Say(fmt::format("Engine: {}{}", engine->Name(),
                          flags.engine == "auto" ? ", chosen by auto" : ""));
  return engine;
}

ProgressFn Line(const Console& console, const std::string& title) {
  auto progress = std::make_shared<Progress>(console.progress_mode(), title);
  return [progress](double fraction, const std::string& note) { progress->Update(fraction, note); };
}

Status BuildEngineFile(const EngineOptions& options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  SG_ASSIGN_OR_RETURN(const OnnxSummary onnx, ReadOnnxFile(options.file));
  EngineRequest request;
  request.onnx_path = options.file;
  request.engines_folder = options.out;
  request.model_file_stem = BaseName(options.file).substr(0, BaseName(options.file).rfind(".onnx"));
  request.max_batch = options.max_batch;
  SG_ASSIGN_OR_RETURN(request.precision, PrecisionFromName(options.precision));
  for (const std::string& name : onnx.external_files)
    request.external_data_paths.push_back(JoinPath(ParentFolder(options.file), name));
  if (options.common.dry_run) {
    console.Say(fmt::format("Would build {}_dynamic_b{} in {}", request.model_file_stem,
                            request.max_batch, options.out));
    return OkStatus();
  }
  SG_RETURN_IF_ERROR(CheckWritable(options.out, onnx.size_bytes));
  SG_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, ChooseEngine(options.common, console));
  SG_ASSIGN_OR_RETURN(const EngineArtifact artifact,
                      engine->Build(request, Line(console, "Building the engine")));
  if (!artifact.rebuild_reason.empty()) console.Say("Built again: " + artifact.rebuild_reason);
  console.Say(fmt::format("{}: {:.1f} MB, {}, up to batch {}{}", artifact.path,
                          static_cast<double>(artifact.size_bytes) / 1e6, artifact.precision_used,
                          artifact.max_batch,
                          artifact.reused ? ", was there already"
                                          : fmt::format(", built in {:.1f} s", artifact.build_s)));
  if (options.common.json) std::fputs((ToJsonText(artifact.ToJson()) + "\n").c_str(), stdout);
  return OkStatus();
}

Status TimeEngineFile(const EngineOptions& options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  SG_ASSIGN_OR_RETURN(const EngineArtifact artifact, ReadSidecar(options.file));
  CommonFlags flags = options.common;
  flags.engine = artifact.runtime == "TensorRT" ? "deepstream" : "embedded";
  SG_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, ChooseEngine(flags, console));
  std::vector<int> batches = options.batches;
  if (batches.empty()) batches = {1};
  SG_RETURN_IF_ERROR(MakeFolders(options.out));
  if (options.batches.empty() && artifact.max_batch > 1) batches.push_back(artifact.max_batch);
  Json rows = Json::array();
  for (const int batch : batches) {
    if (batch > artifact.max_batch)
      return UserError(fmt::format("{}: is built for up to batch {}, not {}", options.file,
                                   artifact.max_batch, batch));
    const std::string log = JoinPath(
        options.out,
        fmt::format("{}_b{}.log", artifact.runtime == "TensorRT" ? "trtexec" : "openvino", batch));
    SG_ASSIGN_OR_RETURN(const EngineTiming timing,
                        engine->Time(artifact, batch, kWarmupSeconds, options.seconds, log,
                                     Line(console, fmt::format("Timing batch {}", batch))));
    rows.push_back(timing.ToJson());
    console.Say(fmt::format("batch {:>4}: {:>9.1f} images/s, {:.2f} ms mean, {:.2f} ms p99", batch,
                            timing.images_per_s, timing.latency_mean_ms, timing.latency_p99_ms));
  }
  if (options.common.json) std::fputs((ToJsonText(rows) + "\n").c_str(), stdout);
  return OkStatus();
}

}  // namespace

void AddEngineCommand(CLI::App* app, CommandRun* run) {
  CLI::App* group = app->add_subcommand("engine", "Engines alone: build one, time it");
  group->require_subcommand(1);
  auto options = std::make_shared<EngineOptions>();
  CLI::App* build = group->add_subcommand("build", "{stem}_dynamic_b{MAX} from an ONNX");
  build->add_option("onnx", options->file, "The ONNX")->required();
  build->add_option("--max-batch", options->max_batch, "MAX")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  build->add_option("--precision", options->precision, "fp16 or fp32")
      ->check(CLI::IsMember({"fp16", "fp32"}))
      ->capture_default_str();
  CLI::App* time = group->add_subcommand("time", "Images/s and latency, inputs ready in memory");
  time->add_option("engine", options->file, "The engine file, its .json beside it")->required();
  time->add_option("--batch", options->batches, "Batches (default: 1 and MAX)")
      ->check(CLI::Range(1, 1024))
      ->delimiter(',');
  time->add_option("--seconds", options->seconds, "Measured seconds of each batch")
      ->check(CLI::Range(0.5, 3600.0))
      ->capture_default_str();
  for (CLI::App* command : {build, time}) {
    command->add_option("--out", options->out, "Folder of the engine, or of the logs")
        ->capture_default_str();
    AddCommonFlags(command, &options->common);
  }
  build->callback([options, run] { *run = [options] { return BuildEngineFile(*options); }; });
  time->callback([options, run] { *run = [options] { return TimeEngineFile(*options); }; });
}

}  // namespace sg
