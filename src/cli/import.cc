// streamgauge import: a detection model and a clip become models/NAME with an engine, a parser,
// configs, checked boxes, a benchmark and a report. The eight steps are eight calls in Import().
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/subprocess.h"
#include "cli/check_preprocessing.h"
#include "cli/command.h"
#include "cli/import_benchmark.h"
#include "cli/import_context.h"
#include "cli/import_engine.h"
#include "cli/import_head.h"
#include "cli/import_model.h"
#include "cli/import_report.h"
#include "cli/import_validation.h"
#include "detector/card_builder.h"
#include "hub/source.h"
#include "report/report.h"

namespace sg {
namespace {

constexpr char kSampleVideo[] = "/opt/nvidia/deepstream/deepstream/samples/streams/sample_720p.mp4";
constexpr char kDefaultModel[] = "PekingU/rtdetr_r50vd";

/// The two options that are always offered when no model was named.
Result<std::string> AskForSource(const Console& console, const CommonFlags& flags) {
  console.Say("Which model?");
  console.Say(fmt::format("  1. {} (recommended): the verified Hugging Face RT-DETR model, fp16",
                          kDefaultModel));
  console.Say(
      "  2. Your own object detection model: a Hugging Face id or URL, an NVIDIA NGC URL with a "
      "version, a local folder or an .onnx file. Classification, segmentation and other "
      "architectures are refused once config.json has been read.");
  if (flags.yes || flags.dry_run) return std::string(kDefaultModel);
  if (!isatty(STDIN_FILENO))
    return UserError("no model was named: streamgauge import SOURCE, or --yes for option 1");
  console.Say("Type 1, or the source of your own model:");
  std::string answer;
  if (!std::getline(std::cin, answer) || answer.empty())
    return UserError("no model was named: streamgauge import SOURCE");
  return answer == "1" ? std::string(kDefaultModel) : answer;
}

Result<std::string> ChooseVideo(const ImportOptions& options) {
  if (!options.video.empty()) return options.video;
  if (const char* video = std::getenv("DS_VIDEO"); video != nullptr && *video != '\0')
    return std::string(video);
  if (FileExists(kSampleVideo)) return std::string(kSampleVideo);
  return EnvironmentError(
      "no video: DeepStream's sample_720p.mp4 is not on this machine; name a clip with --video or "
      "DS_VIDEO");
}

Status ChooseEngine(ImportContext* context) {
  if (context->options.common.engine == "deepstream")
    return UnsupportedError(
        "--engine deepstream: this version runs models on the embedded engine only; the parser and "
        "configs that it writes are the ones DeepStream loads. Use --engine embedded");
  context->engine = MakeOpenVinoEngine();
  context->console.Say(
      fmt::format("Engine: embedded ({} on the CPU){}", context->engine->Name(),
                  context->options.common.engine == "auto" ? ", chosen by auto" : ""));
  return OkStatus();
}

/// Everything that would stop the import later is found here, before any long work.
Status CheckMachine() {
  for (const char* tool : {"make", "g++"})
    if (FindProgram(tool).empty())
      return EnvironmentError(
          fmt::format("{} is needed to build the parser: apt install build-essential", tool));
  return CheckReportTools();
}

/// What an import would do, without network, files written or processes started.
Status PrintPlan(const ImportOptions& options, const Console& console) {
  SG_ASSIGN_OR_RETURN(const ModelSource source, ParseSource(options.source));
  console.Say(fmt::format("Would import {} ({}) into {}/{}", options.source,
                          SourceKindName(source.kind), options.out,
                          options.name.empty() ? source.name : options.name));
  console.Say(
      "Step 1-3  look the model up, refuse what is no detector, fetch the one ONNX that is needed "
      "with config and labels (or export it from SafeTensors), check its graph");
  console.Say("Step 4    build NAME_dynamic_b{MAX}, MAX from a quick timing");
  console.Say(fmt::format("Step 5    time it at batch 1 and MAX, {:g} s each", options.timing_s));
  console.Say(
      fmt::format("Step 6    parser, configs, one stream of {} with boxes, KITTI gate on {} frames",
                  options.video.empty() ? "the clip" : options.video, options.gate_frames));
  console.Say(fmt::format("Step 7    two benchmark runs of {:g} s", options.measure_s));
  console.Say("Step 8    benchmark_report.md, .html, .pdf, benchmark_data.json");
  console.Say("Dry run: nothing was fetched, written or started.");
  return OkStatus();
}

Status Import(ImportOptions options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  if (options.source.empty()) {
    SG_ASSIGN_OR_RETURN(options.source, AskForSource(console, options.common));
  }
  if (options.common.dry_run) return PrintPlan(options, console);
  std::optional<ScratchFolder> scratch;  // a check leaves nothing behind
  if (options.check_preprocessing) {
    SG_ASSIGN_OR_RETURN(scratch, ScratchFolder::Make());
    options.out = *scratch / "models";
    options.gate_frames = kCheckFrames;
  }
  ImportContext context(options, console);
  if (!options.name.empty()) SG_RETURN_IF_ERROR(CheckModelName(options.name));
  SG_RETURN_IF_ERROR(ChooseEngine(&context));
  SG_RETURN_IF_ERROR(ParseSource(options.source).status());
  SG_ASSIGN_OR_RETURN(options.video, ChooseVideo(options));
  SG_RETURN_IF_ERROR(CheckMachine());
  SG_ASSIGN_OR_RETURN(context.video, ProbeVideo(options.video));

  SG_ASSIGN_OR_RETURN(const FoundModel found, FindModel(options, console));              // step 1
  SG_ASSIGN_OR_RETURN(const CheckedModel checked, CheckModel(options, console, found));  // step 2
  SG_ASSIGN_OR_RETURN(AcquiredModel model, DescribeModel(options, console, checked));    // step 3
  if (options.check_preprocessing) {
    SG_RETURN_IF_ERROR(context.OpenFolder(model.card.name));
    SG_RETURN_IF_ERROR(PlaceLabels(context, model.card));
    return CheckPreprocessing(&context, checked, model);
  }
  SG_RETURN_IF_ERROR(PlaceModel(&context, &model));  // step 3: its files, in place
  SG_RETURN_IF_ERROR(SettleHead(context, &model));   // where the outputs alone do not tell
  SG_ASSIGN_OR_RETURN(const BuiltEngine built, BuildEngine(&context, model));              // step 4
  SG_ASSIGN_OR_RETURN(const TimedEngine timed, TimeEngine(&context, model, built));        // step 5
  SG_ASSIGN_OR_RETURN(const ValidatedModel valid, ValidateModel(&context, model, timed));  // step 6
  SG_ASSIGN_OR_RETURN(const Benchmark benchmark, RunBenchmark(&context, timed));           // step 7
  return WriteImportReport(&context, {model, built, timed, valid, benchmark});             // step 8
}

}  // namespace

void AddImportCommand(CLI::App* app, CommandRun* run) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app->add_subcommand(
      "import", "A model becomes models/NAME: engine, parser, configs, checked boxes, report");
  command->add_option("source", options->source,
                      "A Hugging Face id or URL, an NGC URL with a version, an http(s) URL, a "
                      "folder, an .onnx or an archive");
  command->add_option("--revision", options->revision,
                      "Branch, tag or commit of a Hugging Face model");
  command->add_option("--variant", options->variant,
                      "fp16, fp32, int8, int4, quantized or the name of an .onnx file");
  AddExportOptions(command, &options->exporting);
  command->add_option("--video", options->video,
                      "The clip (default: DS_VIDEO, or DeepStream's sample_720p.mp4)");
  command->add_option("--out", options->out, "Folder that gets NAME/")->capture_default_str();
  command->add_option("--name", options->name, "NAME (default: the source's)");
  command
      ->add_option(
          "--precision", options->precision,
          "fp32: exact; fp16: the fastest half type this device has; int8: where the graph's "
          "Q/DQ nodes say so")
      ->check(CLI::IsMember({"fp16", "fp32", "int8"}))
      ->capture_default_str();
  command->add_option("--calibration", options->calibration,
                      "Calibration table for int8; it must name the model's SHA-256");
  command->add_option("--labels", options->labels, "Label file, one class a line");
  command->add_option("--head", options->head,
                      "How the outputs become boxes, where several ways fit: the name of one");
  command
      ->add_option("--classes", options->classes,
                   "Labels or class numbers to detect, separated by commas (default: all)")
      ->delimiter(',');
  command->add_option("--score-threshold", options->score_threshold, "Lowest score of a detection")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--nms-iou", options->nms_iou, "Overlap from which NMS removes a box")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--target-fps", options->target_fps, "fps that a real-time stream keeps")
      ->check(CLI::Range(0.1, 1000.0))
      ->capture_default_str();
  command->add_option("--max-batch", options->max_batch, "MAX is never larger")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--frames", options->gate_frames, "Frames that the detection gate looks at")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--duration", options->measure_s, "Measured seconds of each benchmark run")
      ->check(CLI::Range(3.0, 86400.0))
      ->capture_default_str();
  command->add_option("--warmup", options->warmup_s, "Seconds before each measurement")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command->add_option("--timing", options->timing_s, "Measured seconds of each engine timing")
      ->check(CLI::Range(0.5, 3600.0))
      ->capture_default_str();
  command->add_flag("--check-preprocessing", options->check_preprocessing,
                    "Only try other scales, mean and std, colour orders and letterboxes on the "
                    "clip's first frames, and say whether the model's own are the best");
  command->add_flag("--synthetic-video", options->synthetic_video,
                    "The clip is made, not filmed; the report says so");
  AddCommonFlags(command, &options->common);
  command->callback([options, run] { *run = [options] { return Import(*options); }; });
}

}  // namespace sg
