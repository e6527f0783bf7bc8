#include "cli/import_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/files.h"
#include "base/subprocess.h"
#include "cli/version.h"
#include "hardware/machine.h"
#include "pipeline/launch.h"
#include "report/report.h"

namespace sg {
namespace {

std::string NowUtc() {
  const std::time_t now = std::time(nullptr);
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(now));
}

std::string ShapeText(const std::vector<size_t>& shape) {
  std::string text = "N";
  for (size_t dim : shape) text += fmt::format(" x {}", dim);
  return text;
}

/// "PekingU/rtdetr_r50vd@main, commit 0123…"; a local path as it was given.
std::string SourceText(const ModelSnapshot& snapshot) {
  if (snapshot.commit.empty()) return snapshot.source;
  if (snapshot.commit == snapshot.revision) return snapshot.kind + " " + snapshot.id;
  return fmt::format("{} {}@{}, commit {}", snapshot.kind, snapshot.id, snapshot.revision,
                     snapshot.commit);
}

ReportModel ModelSection(const ImportContext& context, const ImportResults& results) {
  const ModelCard& card = results.valid.card;
  ReportModel model;
  model.name = card.name;
  model.source = SourceText(results.model.snapshot);
  model.architecture = card.architecture;
  model.licence = card.licence;
  model.onnx_path = context.folder.OnnxFile();
  model.opset = results.model.onnx.opset;
  model.input_name = card.input_name;
  model.input_shape = fmt::format("N x 3 x {} x {}", card.input_height, card.input_width);
  for (const EngineTensor& output : results.timed.artifact.outputs)
    model.outputs.push_back({output.name, ShapeText(output.shape)});
  model.labels = card.labels;
  model.labels_source = card.labels_source;
  model.parser_library = results.valid.parser_library;
  model.parser_function = results.valid.parser_function;
  model.score_threshold = card.score_threshold;
  model.score_threshold_source = card.score_threshold_source;
  model.nms_iou_threshold = card.nms_iou_threshold;
  model.nms_iou_source = card.nms_iou_source;
  model.topk = card.topk;
  model.cluster_mode = card.cluster_mode;
  model.cluster_mode_reason = card.cluster_mode_reason;
  model.duplicate_rate = results.valid.duplicates.rate;
  model.duplicate_iou = results.valid.duplicates.iou;
  model.duplicate_boxes = static_cast<uint64_t>(results.valid.duplicates.boxes);
  return model;
}

ReportMachine MachineSection(const MachineInfo& machine, const EngineArtifact& artifact) {
  ReportMachine section;
  section.cpu_name = machine.cpu_name;
  if (machine.cores_allowed)
    section.cpu_cores = std::max(1, static_cast<int>(std::lround(*machine.cores_allowed)));
  section.cpu_features = fmt::format("{}", fmt::join(machine.cpu_features, ", "));
  section.memory_bytes = machine.memory_total_bytes;
  section.has_gpu = machine.has_gpu;
  if (!machine.gpus.empty()) {
    section.gpu_name = machine.gpus[0].name;
    section.gpu_memory_bytes = machine.gpus[0].memory_bytes;
    section.driver = machine.gpus[0].driver_version;
  }
  section.os = machine.os_name;
  section.kernel = machine.kernel;
  section.software = {{"streamgauge", kVersion}, {artifact.runtime, artifact.runtime_version}};
  return section;
}

std::string ResizeText(ResizeMode mode) {
  switch (mode) {
    case ResizeMode::kStretch:
      return "stretch";
    case ResizeMode::kLetterboxCorner:
      return "letterbox, padded right and below";
    case ResizeMode::kLetterboxCentre:
      return "letterbox, padded on both sides";
  }
  return "";
}

/// What nvinfer has no setting for, and the rewritten graph does.
std::string FrontText(const InputFront& front) {
  std::vector<std::string> parts;
  if (!front.mean.empty())
    parts.push_back(fmt::format("then (y − [{:g}]) ÷ [{:g}]", fmt::join(front.mean, ", "),
                                fmt::join(front.std, ", ")));
  if (front.bytes) parts.emplace_back("taken as bytes");
  if (front.channels_last) parts.emplace_back("transposed to channels last");
  return fmt::format("{}", fmt::join(parts, "; "));
}

ReportPreprocessing PreprocessingSection(const ModelCard& card, const LaunchPlan& plan) {
  ReportPreprocessing section;
  section.net_scale_factor = card.preprocessing.net_scale_factor;
  section.offsets = card.preprocessing.offsets;
  section.colour_format = card.preprocessing.bgr ? "BGR" : "RGB";
  section.resize = ResizeText(card.preprocessing.resize);
  section.source = card.preprocessing.source;
  section.in_graph = FrontText(card.preprocessing.front);
  section.width = card.input_width;
  section.height = card.input_height;
  section.mux_width = plan.width;
  section.mux_height = plan.height;
  return section;
}

ReportVideo VideoSection(const ImportContext& context) {
  const VideoInfo& video = context.video;
  ReportVideo section;
  section.path = video.path;
  section.codec = video.codec;
  section.width = video.width;
  section.height = video.height;
  if (video.fps > 0) section.fps = video.fps;
  if (video.duration_s > 0) section.duration_s = video.duration_s;
  section.synthetic = context.options.synthetic_video;
  return section;
}

ReportEngine EngineSection(const ImportContext& context, const ImportResults& results) {
  const EngineArtifact& artifact = results.timed.artifact;
  const std::string& name = context.folder.name();
  ReportEngine engine;
  engine.kind = "embedded";
  engine.runtime = artifact.runtime;
  engine.runtime_version = artifact.runtime_version;
  engine.device = artifact.device;
  engine.device_name = artifact.device_name;
  engine.file = "benchmarks/engines/" + BaseName(artifact.path);
  engine.size_bytes = artifact.size_bytes;
  engine.max_batch = artifact.max_batch;
  engine.profile = artifact.max_batch > 1 ? fmt::format(
                                                "batch 1 and batch {}, each compiled on its "
                                                "own; 1 to {} images at a time",
                                                artifact.max_batch, artifact.max_batch)
                                          : "batch 1";
  engine.precision_asked = context.options.precision;
  engine.precision_used = artifact.precision_used;
  if (context.options.precision == "int8")
    engine.precision_used =
        "int8 where the graph's Q/DQ nodes say so, else " + engine.precision_used;
  engine.conversion = fmt::format("{}.onnx -> {} compiled model", name, artifact.runtime);
  engine.build_s = artifact.build_s;
  engine.load_s = artifact.load_s;
  engine.reused = artifact.reused || results.built.reused;
  engine.rebuild_reason = artifact.rebuild_reason;
  const BoxDifference& deviation = results.valid.deviation;
  if (deviation.frames > 0) {
    engine.deviation.reference = "f32";
    engine.deviation.compared = artifact.precision_used;
    engine.deviation.frames = deviation.frames;
    engine.deviation.boxes = deviation.matched;
    engine.deviation.max_box_px = deviation.max_box_px;
    engine.deviation.max_score = deviation.max_score;
    engine.deviation.unmatched_boxes = deviation.unmatched;
  }
  return engine;
}

ReportEngineTiming TimingSection(const EngineTiming& timing) {
  ReportEngineTiming section;
  section.batch = timing.batch;
  section.qps = timing.throughput_qps;
  section.images_per_s = timing.images_per_s;
  section.mean_ms = timing.latency_mean_ms;
  section.p99_ms = timing.latency_p99_ms;
  section.requests_in_flight = timing.requests_in_flight;
  section.cpu_ms_per_image = timing.cpu_ms_per_image;
  section.measured_s = timing.seconds;
  section.log = timing.log_path;
  return section;
}

ReportSingleStream SingleStreamSection(const ValidatedModel& valid) {
  ReportSingleStream section;
  section.mode = valid.video_mode;
  section.output = valid.video;
  section.frames = valid.frames;
  section.kitti_folder = "samples/kitti_output";
  section.kitti_frames = valid.kitti_frames;
  section.kitti_frames_with_detections = valid.kitti_frames_with_boxes;
  section.kitti_passed = valid.kitti_passed;
  section.detected_classes = valid.labels_found;
  return section;
}

ReportRun RunSection(const BenchmarkRun& run, std::optional<double> cores) {
  ReportRun section;
  section.streams = run.streams;
  section.batch = run.streams;
  section.total_fps = run.fps.aggregate_fps;
  section.total_fps_low = run.fps.aggregate_low_fps;
  section.total_fps_high = run.fps.aggregate_high_fps;
  section.fps_per_stream = run.fps.aggregate_fps / run.streams;
  section.worst_fps = run.fps.worst_fps;
  section.warmup_s = run.warmup_s;
  section.measured_s = run.fps.window_s;
  if (cores && run.fps.cpu_cores > 0) section.cpu_utilisation = run.fps.cpu_cores / *cores;
  section.log = run.log;
  section.outcome = run.outcome;
  return section;
}

ReportTimes TimesSection(const ImportResults& results) {
  ReportTimes times;
  times.acquire = {results.model.seconds, false};
  times.build = {results.built.seconds, results.built.reused};
  times.timing = {results.timed.seconds, results.timed.reused};
  times.validate = {results.valid.seconds, results.valid.reused};
  times.run1 = {results.benchmark.run1_seconds, results.benchmark.run1_reused};
  times.run2 = {results.benchmark.run2_seconds, results.benchmark.run2_reused};
  return times;
}

/// `source` is the snapshot's: a URL without what may be secret in it.
std::string CommandLine(const ImportOptions& options, const std::string& source) {
  std::vector<std::string> argv = {"streamgauge", "import", source, "--video", options.video};
  const auto add = [&](const std::string& flag, const std::string& value) {
    argv.push_back(flag);
    argv.push_back(value);
  };
  const ImportOptions defaults;
  if (!options.revision.empty()) add("--revision", options.revision);
  if (!options.variant.empty()) add("--variant", options.variant);
  if (options.out != defaults.out) add("--out", options.out);
  if (!options.name.empty()) add("--name", options.name);
  if (options.precision != defaults.precision) add("--precision", options.precision);
  if (!options.labels.empty()) add("--labels", options.labels);
  if (options.score_threshold)
    add("--score-threshold", fmt::format("{:g}", *options.score_threshold));
  if (!options.head.empty()) add("--head", options.head);
  if (!options.classes.empty())
    add("--classes", fmt::format("{}", fmt::join(options.classes, ",")));
  if (options.nms_iou) add("--nms-iou", fmt::format("{:g}", *options.nms_iou));
  if (options.target_fps != defaults.target_fps)
    add("--target-fps", fmt::format("{:g}", options.target_fps));
  if (options.max_batch != defaults.max_batch)
    add("--max-batch", fmt::format("{}", options.max_batch));
  if (options.measure_s != defaults.measure_s)
    add("--duration", fmt::format("{:g}", options.measure_s));
  if (options.warmup_s != defaults.warmup_s) add("--warmup", fmt::format("{:g}", options.warmup_s));
  if (options.timing_s != defaults.timing_s) add("--timing", fmt::format("{:g}", options.timing_s));
  if (options.gate_frames != defaults.gate_frames)
    add("--frames", fmt::format("{}", options.gate_frames));
  if (options.synthetic_video) argv.push_back("--synthetic-video");
  return ShellQuoted(argv);
}

std::vector<ReportCommand> CommandsSection(const ImportContext& context,
                                           const ImportResults& results) {
  const ModelFolder& folder = context.folder;
  const std::string plugins = PluginFolder();
  const int streams = results.benchmark.run2.streams;
  std::vector<ReportCommand> commands;
  commands.push_back({"The whole import again", "bash",
                      CommandLine(context.options, results.model.snapshot.source)});
  LaunchPlan video = MakeLaunchPlan(context, 1, folder.Path(folder.InferConfig()));
  video.end = LaunchEnd::kVideo;
  video.output = folder.Path("samples/" + folder.name() + "_output.ogv");
  commands.push_back(
      {"One stream with boxes drawn, as a video file", "bash", LaunchShellLine(video, plugins)});
  commands.push_back(
      {fmt::format("{} streams through the engine, once through the clip", streams), "bash",
       LaunchShellLine(MakeLaunchPlan(context, streams, folder.Path(folder.BenchmarkInferConfig())),
                       plugins)});
  commands.push_back({"The parser, compiled again", "bash",
                      ShellQuoted({"make", "-B", "-C", folder.Path("parser")})});
  commands.push_back({"This report from its recorded figures", "bash",
                      ShellQuoted({"streamgauge", "report", folder.root()})});
  return commands;
}

std::vector<ReportInput> InputsSection(const ImportContext& context, const ImportResults& results) {
  const ModelFolder& folder = context.folder;
  std::vector<ReportInput> inputs;
  const auto add = [&](const std::string& role, const std::string& path, const std::string& full) {
    ReportInput input{role, path, "", std::nullopt};
    if (const Result<std::string> hash = Sha256File(full); hash.ok()) input.sha256 = *hash;
    if (const Result<uint64_t> size = FileSize(full); size.ok()) input.size_bytes = *size;
    inputs.push_back(std::move(input));
  };
  add("ONNX model", folder.OnnxFile(), folder.Path(folder.OnnxFile()));
  inputs.push_back({"Video", context.video.path, context.video_sha256, std::nullopt});
  if (const Result<uint64_t> size = FileSize(context.video.path); size.ok())
    inputs.back().size_bytes = *size;
  add("Labels", folder.LabelFile(), folder.Path(folder.LabelFile()));
  add("nvinfer config", folder.InferConfig(), folder.Path(folder.InferConfig()));
  add("Parser", results.valid.parser_library, folder.Path(results.valid.parser_library));
  return inputs;
}

std::vector<std::string> Notes(const ImportContext& context, const ImportResults& results) {
  std::vector<std::string> notes = results.model.notes;
  notes.push_back(results.built.batch_proof + ".");
  notes.push_back(results.benchmark.capacity.words + ".");
  if (results.timed.peak_streams == 0)
    notes.push_back(fmt::format("One stream does not reach {:g} fps on this machine.",
                                context.options.target_fps));
  if (results.timed.peak_streams > results.timed.artifact.max_batch)
    notes.push_back(fmt::format("Peak streams ({}) were cut to --max-batch {}.",
                                results.timed.peak_streams, results.timed.artifact.max_batch));
  if (context.video.rotation_degrees != 0)
    notes.push_back(fmt::format(
        "The clip asks players to turn the picture by {} degrees; the frames were inferred as they "
        "are stored.",
        context.video.rotation_degrees));
  return notes;
}

Report MakeReport(const ImportContext& context, const ImportResults& results) {
  const MachineInfo machine = DescribeMachine();
  const LaunchPlan plan = MakeLaunchPlan(context, 1, "");
  const Benchmark& benchmark = results.benchmark;
  Report report;
  report.generated_at = NowUtc();
  report.tool_version = fmt::format("streamgauge {}", kVersion);
  report.target_fps = context.options.target_fps;
  report.model = ModelSection(context, results);
  report.machine = MachineSection(machine, results.timed.artifact);
  report.inputs = InputsSection(context, results);
  report.preprocessing = PreprocessingSection(results.valid.card, plan);
  report.video = VideoSection(context);
  report.engine = EngineSection(context, results);
  report.engine_b1 = TimingSection(results.timed.batch_1);
  report.engine_bmax = TimingSection(results.timed.batch_max);
  for (const PeakTry& attempt : results.timed.tries)
    report.peak_tries.push_back({attempt.max_batch, attempt.images_per_s, attempt.peak_streams});
  report.peak_streams = results.timed.peak_streams;
  report.single = SingleStreamSection(results.valid);
  report.run1 = RunSection(benchmark.run1, machine.cores_allowed);
  report.run2 = RunSection(benchmark.run2, machine.cores_allowed);
  for (const BenchmarkRun& run : benchmark.tries)
    report.tries.push_back(RunSection(run, machine.cores_allowed));
  report.costs.decode_ms = benchmark.decode_cpu_ms;
  report.costs.inference_ms = results.timed.batch_max.cpu_ms_per_image;
  report.costs.pipeline_ms = benchmark.run1.fps.cpu_ms_per_frame;
  report.costs.source =
      "process CPU time: decoding with the inference taken out, inference with inputs ready in "
      "memory, the pipeline in run 1";
  const Limit limit = FindLimit({benchmark.run1.fps.aggregate_fps, benchmark.decode_only_fps,
                                 results.timed.batch_max.images_per_s, benchmark.run1.fps.cpu_cores,
                                 machine.cores_allowed.value_or(0)});
  report.limiting_resource = limit.resource;
  report.limiting_evidence = limit.evidence;
  report.times = TimesSection(results);
  report.commands = CommandsSection(context, results);
  report.notes = Notes(context, results);
  context.console.Say(benchmark.capacity.words + ".");
  return report;
}

void SayAnswer(const ImportContext& context, const Report& report) {
  const std::string streams =
      fmt::format("{} stream{}", *report.run2.streams, *report.run2.streams == 1 ? "" : "s");
  const bool real_time = *report.run2.worst_fps >= report.target_fps;
  context.console.Say("");
  context.console.Say(
      real_time
          ? fmt::format(
                "This machine carries {} at {:g} fps ({:.1f} fps in all, worst stream {:.1f}).",
                streams, report.target_fps, *report.run2.total_fps, *report.run2.worst_fps)
          : fmt::format("This machine does not carry one stream at {:g} fps: it reaches {:.1f}.",
                        report.target_fps, *report.run2.worst_fps));
  context.console.Say(report.limiting_resource.empty()
                          ? "What limits it could not be determined: " + report.limiting_evidence
                          : fmt::format("Limited by: {} ({}).", report.limiting_resource,
                                        report.limiting_evidence));
  for (const char* name : {"benchmark_report.html", "benchmark_report.md", "benchmark_data.json"})
    context.console.Say("  " + context.folder.Path(std::string("reports/") + name));
  context.console.Say(
      "  " + context.folder.Path("reports/benchmark_report_" + report.model.name + ".pdf"));
}

}  // namespace

Status WriteImportReport(ImportContext* context, const ImportResults& results) {
  const std::string reports = context->folder.Path("reports");
  SG_ASSIGN_OR_RETURN(
      const ImportContext::StepResult step,
      context->RunStep("8", Json::object(), [&]() -> Result<ImportContext::StepOutput> {
        const Report report = MakeReport(*context, results);
        SG_RETURN_IF_ERROR(WriteReport(report, reports));
        const std::string pdf = "reports/benchmark_report_" + report.model.name + ".pdf";
        return ImportContext::StepOutput{
            Json::object(),
            {"reports/benchmark_data.json", "reports/benchmark_report.md",
             "reports/benchmark_report.html", pdf}};
      }));
  SG_ASSIGN_OR_RETURN(const Json data, ReadJsonFile(JoinPath(reports, "benchmark_data.json")));
  SG_ASSIGN_OR_RETURN(const Report report, Report::FromJson(data["report"]));
  SayAnswer(*context, report);
  if (context->options.common.json) std::fputs(ToJsonText(data).c_str(), stdout);
  return OkStatus();
}

}  // namespace sg
