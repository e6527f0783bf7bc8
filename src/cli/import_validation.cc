#include "cli/import_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/interrupt.h"
#include "deepstream/config_writer.h"
#include "deepstream/kitti.h"
#include "detector/parser_library.h"
#include "detector/parser_source.h"
#include "detector/proof_tensors.h"

namespace sg {
namespace {

constexpr int kMuxWidth = 1280;
constexpr int kMuxHeight = 720;
/// Overlap from which a box counts as a duplicate of a better one.
constexpr double kDuplicateIou = 0.7;
/// Of the clip with boxes drawn; a longer clip is cut there.
constexpr double kVideoSeconds = 60;
constexpr uint64_t kVideoFramesWhenRateIsUnknown = 900;
constexpr int kSampleFrames = 3;

std::vector<RecordedTensors> ProofTensors(const ModelCard& card) {
  ProofTensorsRequest request;
  request.network_width = card.input_width;
  request.network_height = card.input_height;
  request.score_threshold = static_cast<float>(card.score_threshold);
  request.batches = {1, 4, 4, 4};
  return MakeProofTensors(card.head, request);
}

/// The parser, generated, compiled and compared with the reference decoder.
Result<ParserNames> MakeParser(const ImportContext& context, const ModelCard& card) {
  const std::string parser_folder = context.folder.Path("parser");
  const ParserSource source = GenerateParser(card);
  SG_RETURN_IF_ERROR(WriteParser(source, parser_folder));
  SG_ASSIGN_OR_RETURN(const std::string path, CompileParser(parser_folder, source.names));
  SG_ASSIGN_OR_RETURN(const ParserLibrary library,
                      ParserLibrary::Load(path, source.names.function_name));
  SG_ASSIGN_OR_RETURN(
      const ParserProof proof,
      ProveParser(library, card, ProofTensors(card), static_cast<float>(card.score_threshold)));
  context.console.Say(
      fmt::format("Parser {} agrees with the reference decoder on {} boxes in {} batch slots",
                  source.names.library_name, proof.boxes, proof.slots));
  return source.names;
}

struct ConfigFile {
  std::string path;         ///< relative to the model's folder
  std::string engine_file;  ///< relative to the model's folder, as DeepStream names it
  int batch_size = 1;
};

std::string EngineConfigName(const std::string& artifact_path) {
  std::string name = BaseName(artifact_path);
  return name.substr(0, name.rfind('.')) + ".engine";
}

Status WriteInferConfig(const ImportContext& context, const ModelCard& card,
                        const ParserNames& names, const ConfigFile& config) {
  const size_t depth = static_cast<size_t>(std::count(config.path.begin(), config.path.end(), '/'));
  std::string up;
  for (size_t i = 0; i < depth; ++i) up += "../";
  NvinferConfigPaths paths;
  paths.onnx_file = up + context.folder.OnnxFile();
  paths.model_engine_file = up + config.engine_file;
  paths.labelfile_path = ParentFolder(config.path) == ParentFolder(context.folder.LabelFile())
                             ? BaseName(context.folder.LabelFile())
                             : up + context.folder.LabelFile();
  paths.custom_lib_path = up + "parser/" + names.library_name;
  paths.parse_bbox_func_name = names.function_name;
  paths.batch_size = config.batch_size;
  const std::string& precision = context.options.precision;
  paths.network_mode = precision == "fp32" ? 0 : precision == "int8" ? 1 : 2;
  SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(context.folder.Path(config.path))));
  return WriteFileAtomic(context.folder.Path(config.path), WriteNvinferConfig(card, paths));
}

/// The frames' boxes through the whole pipeline, as KITTI files in `kitti_folder`.
Result<KittiFrames> RunKitti(const ImportContext& context, const std::string& infer_config,
                             const std::string& kitti_folder, const std::string& title) {
  SG_RETURN_IF_ERROR(MakeFolders(kitti_folder));
  LaunchPlan plan = MakeLaunchPlan(context, 1, infer_config);
  plan.end = LaunchEnd::kKitti;
  plan.output = kitti_folder;
  RunJob job;
  job.launch = LaunchString(plan);
  job.tap = "tap";
  job.sources = {context.video.path};
  job.max_frames = static_cast<uint64_t>(context.options.gate_frames);
  const ProgressFn progress = context.ProgressLine(title);
  SG_ASSIGN_OR_RETURN(const RunOutcome outcome, RunPipeline(job, [&](double, uint64_t frames) {
                        progress(static_cast<double>(frames) / context.options.gate_frames, "");
                      }));
  if (outcome.ended_by == "interrupt" || Interrupted()) return InterruptedError();
  for (const std::string& warning : outcome.warnings) context.console.Say("Warning: " + warning);
  return ReadKittiFolder(kitti_folder, 0);
}

/// Boxes of the clip's first frames before any clustering: how many are duplicates?
Result<DuplicateRate> MeasureDuplicates(const ImportContext& context, ModelCard card,
                                        const ParserNames& names, const TimedEngine& engine) {
  const std::string staging = context.folder.Staging();
  card.cluster_mode = 4;
  const ConfigFile config{staging + "/config_infer_unclustered.txt",
                          "benchmarks/engines/" + EngineConfigName(engine.artifact.path), 1};
  SG_RETURN_IF_ERROR(WriteInferConfig(context, card, names, config));
  SG_ASSIGN_OR_RETURN(const KittiFrames frames, RunKitti(context, context.folder.Path(config.path),
                                                         context.folder.Path(staging + "/boxes"),
                                                         "Measuring duplicate boxes"));
  return MeasureDuplicateRate(ToBoxes(frames, card.labels), kDuplicateIou);
}

struct DrawnVideo {
  std::string mode;
  std::string path;  ///< relative; empty when skipped
  std::vector<std::string> frames;
};

/// One stream with its boxes drawn. There is no NVENC on the embedded engine, so the file is
/// Theora in Ogg; without that encoder none is made.
Result<DrawnVideo> DrawVideo(const ImportContext& context) {
  const std::string name = context.folder.name();
  DrawnVideo drawn;
  drawn.mode = "theoraenc-fallback";
  drawn.path = "samples/" + name + "_output.ogv";
  const std::string staged = context.folder.Path(context.folder.Staging() + "/output.ogv");
  LaunchPlan plan = MakeLaunchPlan(context, 1, context.folder.Path(context.folder.InferConfig()));
  plan.end = LaunchEnd::kVideo;
  plan.output = staged;
  RunJob job;
  job.launch = LaunchString(plan);
  job.tap = "tap";
  job.sources = {context.video.path};
  job.max_frames = context.video.fps > 0
                       ? static_cast<uint64_t>(std::ceil(kVideoSeconds * context.video.fps))
                       : kVideoFramesWhenRateIsUnknown;
  const ProgressFn progress = context.ProgressLine("One stream with boxes");
  const Result<RunOutcome> outcome = RunPipeline(job, [&](double, uint64_t frames) {
    const double whole = context.video.duration_s > 0 && context.video.fps > 0
                             ? std::min<double>(static_cast<double>(job.max_frames),
                                                context.video.duration_s * context.video.fps)
                             : static_cast<double>(job.max_frames);
    progress(static_cast<double>(frames) / whole, "");
  });
  if (!outcome.ok()) {
    if (outcome.error().message.find("theoraenc") == std::string::npos &&
        outcome.error().message.find("oggmux") == std::string::npos)
      return outcome.error();
    drawn.mode = "skipped";
    drawn.path.clear();
    return drawn;
  }
  if (outcome->ended_by == "interrupt" || Interrupted()) return InterruptedError();
  SG_RETURN_IF_ERROR(RenameFile(staged, context.folder.Path(drawn.path)));
  SG_ASSIGN_OR_RETURN(const ExtractedFrames frames,
                      ExtractFrames(context.folder.Path(drawn.path), context.folder.Path("samples"),
                                    kSampleFrames));
  for (const std::string& file : frames.files) drawn.frames.push_back("samples/" + BaseName(file));
  return drawn;
}

/// How far the half type's boxes are from exact f32, on the frames that the gate looks at.
Result<BoxDifference> MeasureDeviation(const ImportContext& context, const ModelCard& card,
                                       const ParserNames& names, const KittiFrames& half) {
  const std::string staging = context.folder.Staging();
  EngineRequest request;
  request.onnx_path = context.folder.Path(context.folder.OnnxFile());
  request.engines_folder = context.folder.Path(staging);
  request.model_file_stem = context.folder.name() + "_exact";
  request.precision = Precision::kFp32;
  request.net_scale_factor = card.preprocessing.net_scale_factor;
  request.offsets = card.preprocessing.offsets;
  SG_ASSIGN_OR_RETURN(
      const EngineArtifact exact,
      context.engine->Build(request, context.ProgressLine("Building an f32 engine")));
  const ConfigFile config{staging + "/config_infer_exact.txt",
                          staging + "/" + EngineConfigName(exact.path), 1};
  SG_RETURN_IF_ERROR(WriteInferConfig(context, card, names, config));
  SG_ASSIGN_OR_RETURN(const KittiFrames frames,
                      RunKitti(context, context.folder.Path(config.path),
                               context.folder.Path(staging + "/exact"), "Comparing with f32"));
  if (frames.by_frame.size() != half.by_frame.size())
    return InternalError(fmt::format("the f32 engine saw {} frames and the other one {}",
                                     frames.by_frame.size(), half.by_frame.size()));
  return CompareBoxes(ToBoxes(frames, card.labels), ToBoxes(half, card.labels),
                      card.score_threshold);
}

/// Scripts that people run by hand, with this machine's paths.
Status WriteScripts(const ImportContext& context, const TimedEngine& engine) {
  const ModelFolder& folder = context.folder;
  LaunchPlan video = MakeLaunchPlan(context, 1, folder.Path(folder.InferConfig()));
  video.end = LaunchEnd::kVideo;
  video.output = folder.Path("samples/" + folder.name() + "_output.ogv");
  const LaunchPlan streams = MakeLaunchPlan(context, engine.artifact.max_batch,
                                            folder.Path(folder.BenchmarkInferConfig()));
  const auto script = [](const std::string& what, const LaunchPlan& plan) {
    return "#!/bin/sh\n# " + what + "\n" + LaunchShellLine(plan, PluginFolder()) + "\n";
  };
  SG_RETURN_IF_ERROR(WriteFileAtomic(folder.Path("scripts/single_stream.sh"),
                                     script("One stream with boxes drawn, into samples/.", video)));
  return WriteFileAtomic(
      folder.Path("scripts/streams.sh"),
      script("As many streams as the engine's batch, once through the clip.", streams));
}

Status WriteConfigs(const ImportContext& context, const ModelCard& card, const ParserNames& names,
                    const TimedEngine& engine) {
  const std::string engine_file = "benchmarks/engines/" + EngineConfigName(engine.artifact.path);
  SG_RETURN_IF_ERROR(
      WriteInferConfig(context, card, names, {context.folder.InferConfig(), engine_file, 1}));
  SG_RETURN_IF_ERROR(WriteInferConfig(
      context, card, names,
      {context.folder.BenchmarkInferConfig(), engine_file, engine.artifact.max_batch}));
  AppConfig app;
  app.infer_config = "../" + context.folder.BenchmarkInferConfig();
  app.video = AbsolutePath(context.video.path);
  app.streams = engine.artifact.max_batch;
  app.mux_width = kMuxWidth;
  app.mux_height = kMuxHeight;
  SG_RETURN_IF_ERROR(WriteFileAtomic(context.folder.Path(context.folder.AppConfig()),
                                     WriteBenchmarkAppConfig(app)));
  return WriteScripts(context, engine);
}

Json ToJson(const ValidatedModel& valid) {
  Json labels = Json::array();
  for (const auto& [label, count] : valid.labels_found) labels.push_back({label, count});
  const BoxDifference& d = valid.deviation;
  return {{"cluster_mode", *valid.card.cluster_mode},
          {"cluster_mode_reason", valid.card.cluster_mode_reason},
          {"parser_library", valid.parser_library},
          {"parser_function", valid.parser_function},
          {"duplicates",
           {{"boxes", valid.duplicates.boxes},
            {"duplicates", valid.duplicates.duplicates},
            {"rate", valid.duplicates.rate},
            {"iou", valid.duplicates.iou}}},
          {"video_mode", valid.video_mode},
          {"video", valid.video},
          {"frames", valid.frames},
          {"kitti_frames", valid.kitti_frames},
          {"kitti_frames_with_boxes", valid.kitti_frames_with_boxes},
          {"kitti_passed", valid.kitti_passed},
          {"labels_found", labels},
          {"deviation",
           {{"frames", d.frames},
            {"matched", d.matched},
            {"unmatched", d.unmatched},
            {"max_box_px", d.max_box_px},
            {"max_score", d.max_score},
            {"max_unmatched_margin", d.max_unmatched_margin}}}};
}

ValidatedModel FromJson(const Json& json, const ModelCard& card) {
  ValidatedModel valid;
  valid.card = card;
  valid.card.cluster_mode = json.at("cluster_mode").get<int>();
  valid.card.cluster_mode_reason = json.at("cluster_mode_reason").get<std::string>();
  valid.parser_library = json.at("parser_library").get<std::string>();
  valid.parser_function = json.at("parser_function").get<std::string>();
  const Json& duplicates = json.at("duplicates");
  valid.duplicates = {duplicates.at("boxes").get<int>(), duplicates.at("duplicates").get<int>(),
                      duplicates.at("rate").get<double>(), duplicates.at("iou").get<double>()};
  valid.video_mode = json.at("video_mode").get<std::string>();
  valid.video = json.at("video").get<std::string>();
  valid.frames = json.at("frames").get<std::vector<std::string>>();
  valid.kitti_frames = json.at("kitti_frames").get<uint64_t>();
  valid.kitti_frames_with_boxes = json.at("kitti_frames_with_boxes").get<uint64_t>();
  valid.kitti_passed = json.at("kitti_passed").get<bool>();
  for (const Json& label : json.at("labels_found"))
    valid.labels_found.emplace_back(label.at(0).get<std::string>(), label.at(1).get<uint64_t>());
  const Json& d = json.at("deviation");
  valid.deviation = {d.at("frames").get<uint64_t>(),    d.at("matched").get<uint64_t>(),
                     d.at("unmatched").get<uint64_t>(), d.at("max_box_px").get<double>(),
                     d.at("max_score").get<double>(),   d.at("max_unmatched_margin").get<double>()};
  return valid;
}

Result<ImportContext::StepOutput> Validate(const ImportContext& context, const ModelCard& card,
                                           const TimedEngine& engine) {
  ValidatedModel valid;
  valid.card = card;
  SG_ASSIGN_OR_RETURN(const ParserNames names, MakeParser(context, card));
  valid.parser_library = "parser/" + names.library_name;
  valid.parser_function = names.function_name;

  SG_ASSIGN_OR_RETURN(valid.duplicates, MeasureDuplicates(context, card, names, engine));
  const ClusterDecision decision = DecideClusterMode(valid.duplicates, card.head.IsDense());
  valid.card.cluster_mode = decision.cluster_mode;
  valid.card.cluster_mode_reason = decision.reason;
  context.console.Say(fmt::format("cluster-mode={}: {}", decision.cluster_mode, decision.reason));
  SG_RETURN_IF_ERROR(WriteConfigs(context, valid.card, names, engine));

  SG_ASSIGN_OR_RETURN(const DrawnVideo drawn, DrawVideo(context));
  valid.video_mode = drawn.mode;
  valid.video = drawn.path;
  valid.frames = drawn.frames;
  context.console.Say("DS_SINGLE_STREAM_MODE=" + drawn.mode);
  context.console.Say("DS_SINGLE_STREAM_OUTPUT=" +
                      (drawn.path.empty() ? "" : context.folder.Path(drawn.path)));

  const std::string staged_kitti = context.folder.Path(context.folder.Staging() + "/kitti");
  const std::string kitti_folder = context.folder.Path("samples/kitti_output");
  SG_ASSIGN_OR_RETURN(const KittiFrames kitti,
                      RunKitti(context, context.folder.Path(context.folder.InferConfig()),
                               staged_kitti, "Writing KITTI files"));
  SG_RETURN_IF_ERROR(RemoveAll(kitti_folder));
  SG_RETURN_IF_ERROR(RenameFile(staged_kitti, kitti_folder));
  const Status gate = CheckKittiGate(kitti);
  // A made clip has nothing to detect: the gate's answer is reported and not obeyed.
  if (!gate.ok() && !context.options.synthetic_video) return gate.error();
  valid.kitti_passed = gate.ok();
  valid.kitti_frames = kitti.by_frame.size();
  valid.kitti_frames_with_boxes = kitti.FramesWithBoxes();
  valid.labels_found = kitti.CountLabels();
  context.console.Say(fmt::format("Detections in {} of {} frames", valid.kitti_frames_with_boxes,
                                  valid.kitti_frames));
  if (engine.artifact.precision_used != "f32") {
    SG_ASSIGN_OR_RETURN(valid.deviation, MeasureDeviation(context, valid.card, names, kitti));
  }

  std::vector<std::string> files = {
      "parser/" + names.cpp_name,   valid.parser_library,
      context.folder.InferConfig(), context.folder.BenchmarkInferConfig(),
      context.folder.AppConfig(),   "scripts/single_stream.sh",
      "scripts/streams.sh"};
  if (!drawn.path.empty()) files.push_back(drawn.path);
  files.insert(files.end(), drawn.frames.begin(), drawn.frames.end());
  SG_ASSIGN_OR_RETURN(const std::vector<std::string> kitti_files, ListFolder(kitti_folder));
  for (const std::string& name : kitti_files) files.push_back("samples/kitti_output/" + name);
  return ImportContext::StepOutput{ToJson(valid), files};
}

}  // namespace

Result<ParserNames> MakeProvenParser(const ImportContext& context, const ModelCard& card) {
  return MakeParser(context, card);
}

Result<std::vector<std::vector<Box>>> BoxesOf(const ImportContext& context,
                                              const BoxesRequest& request) {
  const std::string engine = request.engine_path.substr(context.folder.root().size() + 1);
  const ConfigFile config{request.folder + "/config_infer.txt",
                          ParentFolder(engine) + "/" + EngineConfigName(engine), 1};
  SG_RETURN_IF_ERROR(WriteInferConfig(context, request.card, request.parser, config));
  SG_ASSIGN_OR_RETURN(const KittiFrames frames,
                      RunKitti(context, context.folder.Path(config.path),
                               context.folder.Path(request.folder + "/boxes"), "Running it"));
  return ToBoxes(frames, request.card.labels);
}

LaunchPlan MakeLaunchPlan(const ImportContext& context, int streams,
                          const std::string& infer_config) {
  LaunchPlan plan;
  plan.sources.assign(static_cast<size_t>(streams), context.video);
  plan.batch_size = streams;
  plan.width = kMuxWidth;
  plan.height = kMuxHeight;
  plan.infer_config_path = infer_config;
  return plan;
}

Result<ValidatedModel> ValidateModel(ImportContext* context, const AcquiredModel& model,
                                     const TimedEngine& engine) {
  const ModelCard& card = model.card;
  const Json inputs = {{"video", context->video_sha256},
                       {"gate_frames", context->options.gate_frames},
                       {"synthetic", context->options.synthetic_video},
                       {"score_threshold", card.score_threshold},
                       {"nms_iou", card.nms_iou_threshold},
                       {"config", WriteNvinferConfig(card, {})},
                       {"labels", card.labels},
                       {"parser", GenerateParser(card).cpp},
                       {"topk", card.topk},
                       {"filtered_classes", card.filtered_classes}};
  SG_ASSIGN_OR_RETURN(const ImportContext::StepResult step, context->RunStep("6", inputs, [&] {
    return Validate(*context, card, engine);
  }));
  ValidatedModel valid = FromJson(step.values, card);
  valid.seconds = step.seconds;
  valid.reused = step.reused;
  return valid;
}

}  // namespace sg
