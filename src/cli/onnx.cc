// streamgauge onnx: what an ONNX graph really is and takes, and graphs rewritten with proof.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/worker_client.h"
#include "cli/command.h"
#include "cli/model_export.h"
#include "cli/model_source.h"
#include "cli/onnx_inspect.h"
#include "cli/onnx_proof.h"
#include "cli/onnx_simplify.h"
#include "cli/scratch_folder.h"
#include "detector/card_builder.h"
#include "hub/local_repository.h"
#include "pipeline/run_job.h"

namespace sg {
namespace {

/// Without --run or --no-run graphs up to this size are run: larger ones take long.
constexpr uint64_t kRunUnaskedBytes = 100'000'000;

struct OnnxOptions {
  CommonFlags common;
  std::string file;
  std::string other;  ///< the output, or the file to compare with
  int max_batch = 8;
  int batch = 1;
  double tolerance = kOutputTolerance;
  std::string frames;
  bool run = false;
  bool no_run = false;
  bool half_weights = false;
};

/// Pictures of --frames as the worker takes them, and the folder that holds them.
struct Pictures {
  std::optional<ScratchFolder> folder;
  std::string path;
};

Result<std::vector<std::string>> PictureFiles(const std::string& frames) {
  if (!FolderExists(frames)) return UserError(frames + ": no such folder (--frames)");
  std::vector<std::string> files;
  SG_ASSIGN_OR_RETURN(const auto names, ListFolder(frames));
  for (const std::string& name : names) {
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    if (lower.ends_with(".jpg") || lower.ends_with(".jpeg") || lower.ends_with(".png"))
      files.push_back(AbsolutePath(JoinPath(frames, name)));
  }
  if (files.size() < 2)
    return UserError(frames + ": needs at least two pictures (.jpg, .png) to tell them apart");
  if (files.size() > 64) files.resize(64);
  return files;
}

Result<Pictures> ReadPictures(const std::string& frames, const PictureInput& input) {
  Pictures pictures;
  if (frames.empty()) return pictures;
  SG_ASSIGN_OR_RETURN(const std::vector<std::string> files, PictureFiles(frames));
  SG_ASSIGN_OR_RETURN(pictures.folder, ScratchFolder::Make());
  pictures.path = *pictures.folder / "pictures.f32";
  WorkerCall call;
  call.job = "pictures";
  call.request = {{"files", files}, {"shape", input.shape}, {"path", pictures.path}};
  SG_RETURN_IF_ERROR(CallWorker(call).status());
  return pictures;
}

Result<ProofOptions> ProofOf(const OnnxOptions& options, const Pictures& pictures,
                             const Console& console) {
  ProofOptions proof;
  proof.max_batch = options.max_batch;
  proof.pictures_path = pictures.path;
  proof.tolerance = options.tolerance;
  proof.progress = console.progress_mode();
  return proof;
}

/// What makes `inspect` say no, after everything has been printed.
Status Verdict(const Inspection& inspection) {
  const std::string& path = inspection.summary.path;
  if (!inspection.audit.unknown_operators.empty()) {
    return UnsupportedError(
        fmt::format("{}: uses operators outside the ONNX standard: {}; export the model again "
                    "without runtime-specific optimisation",
                    path, fmt::join(inspection.audit.unknown_operators, ", ")));
  }
  if (!inspection.batch) return OkStatus();
  const BatchAudit& batch = *inspection.batch;
  if (batch.verdict != BatchAudit::Verdict::kBroken) return OkStatus();
  const std::string findings = batch.findings.empty() ? "" : "; " + FindingsText(batch.findings, 3);
  return GateError(fmt::format("{}: its batch is said to be free, and is not: {}{}", path,
                               batch.reason, findings));
}

Status Inspect(const OnnxOptions& options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  SG_ASSIGN_OR_RETURN(const GraphFile file, GraphFile::Open(options.file));
  Inspection inspection;
  SG_ASSIGN_OR_RETURN(inspection.summary, Summarize(file));
  inspection.audit = AuditGraph(file, inspection.summary);
  ModelFiles files;
  files.source = options.file;
  files.onnx = options.file;
  files.config_folder = ModelFolderOf(options.file);
  Result<ModelCard> card = BuildModelCard(files, inspection.summary, {});
  if (card.ok())
    inspection.card = *std::move(card);
  else
    inspection.no_card_reason = card.error().message;
  Status failed;
  if (!inspection.audit.unknown_operators.empty() || !inspection.audit.tensorrt_plugins.empty()) {
    inspection.no_batch_reason = inspection.audit.tensorrt_plugins.empty()
                                     ? "it has unknown operators"
                                     : "only TensorRT runs it";
  } else if (options.common.dry_run) {
    inspection.no_batch_reason = "--dry-run";
  } else {
    const auto look = [&]() -> Status {
      SG_ASSIGN_OR_RETURN(const PictureInput picture, FindPictureInput(inspection.summary));
      SG_ASSIGN_OR_RETURN(inspection.further,
                          KnownFurtherInputs(file, picture.name, picture.ChannelsFirst()));
      SG_ASSIGN_OR_RETURN(const Pictures pictures, ReadPictures(options.frames, picture));
      SG_ASSIGN_OR_RETURN(const ProofOptions proof, ProofOf(options, pictures, console));
      const bool run = options.run || (!options.no_run && file.size_bytes() <= kRunUnaskedBytes);
      SG_ASSIGN_OR_RETURN(inspection.batch, AuditBatch(file, inspection.summary, proof, run));
      return OkStatus();
    };
    failed = look();
    if (!failed.ok()) inspection.no_batch_reason = failed.error().message;
    if (!failed.ok() && failed.error().kind == ErrorKind::kInterrupted) return failed;
  }
  for (const std::string& line : InspectionLines(inspection)) console.Say(line);
  if (options.common.json) std::fputs(ToJsonText(InspectionJson(inspection)).c_str(), stdout);
  SG_RETURN_IF_ERROR(failed);
  return Verdict(inspection);
}

Json RebatchedJson(const Rebatched& rebatched, const std::string& path) {
  Json json = {{"path", path}, {"changed", Json::array()}, {"folded", Json::array()}};
  for (const BatchFinding& finding : rebatched.changed)
    json["changed"].push_back({{"node", finding.node}, {"why", finding.why}});
  for (const FoldedInput& input : rebatched.folded)
    json["folded"].push_back({{"name", input.name}, {"values", input.values}});
  json["run"] = rebatched.run.json;
  return json;
}

Status CheckOutput(const OnnxOptions& options) {
  if (FolderExists(options.other)) return UserError(options.other + ": is a folder, not a file");
  if (AbsolutePath(options.file) == AbsolutePath(options.other))
    return UserError(options.other + ": is the input; inputs are never overwritten");
  return OkStatus();
}

Status Rewrite(const OnnxOptions& options, std::optional<int64_t> batch) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  SG_RETURN_IF_ERROR(CheckOutput(options));
  SG_ASSIGN_OR_RETURN(const OnnxSummary summary, ReadOnnxFile(options.file));
  SG_ASSIGN_OR_RETURN(const PictureInput picture, FindPictureInput(summary));
  if (options.common.dry_run) {
    console.Say(fmt::format("would write {} to {} with {}", options.file, options.other,
                            batch ? fmt::format("batch {}", *batch) : "a free batch"));
    return OkStatus();
  }
  SG_ASSIGN_OR_RETURN(const Pictures pictures, ReadPictures(options.frames, picture));
  RebatchRequest request{options.file, options.other, batch, {}};
  SG_ASSIGN_OR_RETURN(request.proof, ProofOf(options, pictures, console));
  SG_ASSIGN_OR_RETURN(const Rebatched rebatched, Rebatch(request));
  for (const FoldedInput& input : rebatched.folded)
    console.Say(fmt::format("Input '{}' is now a constant: {}", input.name, input.meaning));
  for (const BatchFinding& finding : rebatched.changed)
    console.Say(fmt::format("Rewritten: {}, which {}", finding.node, finding.why));
  console.Say(
      fmt::format("{}: {}, equal to {}", options.other, ProofText(rebatched.run), options.file));
  if (options.common.json)
    std::fputs(ToJsonText(RebatchedJson(rebatched, options.other)).c_str(), stdout);
  return OkStatus();
}

/// A file to compare: what feeds it, and at which batches it runs.
Result<ProofGraph> ComparedGraph(const std::string& path, PictureInput* picture) {
  SG_ASSIGN_OR_RETURN(const GraphFile file, GraphFile::Open(path));
  SG_ASSIGN_OR_RETURN(const OnnxSummary summary, Summarize(file));
  SG_RETURN_IF_ERROR(CheckOperatorDomains(summary));
  SG_ASSIGN_OR_RETURN(*picture, FindPictureInput(summary));
  ProofGraph graph{path, picture->name, {picture->batch.value_or(1)}, {}};
  SG_ASSIGN_OR_RETURN(graph.further, KnownFurtherInputs(file, picture->name, picture->shape));
  return graph;
}

Status Compare(const OnnxOptions& options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  PictureInput first;
  PictureInput second;
  SG_ASSIGN_OR_RETURN(const ProofGraph reference, ComparedGraph(options.file, &first));
  SG_ASSIGN_OR_RETURN(ProofGraph candidate, ComparedGraph(options.other, &second));
  if (first.shape != second.shape) {
    return UserError(fmt::format("{} takes pictures of [{}], {} of [{}]", options.file,
                                 fmt::join(first.shape, ","), options.other,
                                 fmt::join(second.shape, ",")));
  }
  if (!second.batch) candidate.batches = {1, 2};
  if (options.common.dry_run) {
    console.Say(fmt::format("would run {} and {} and compare", options.file, options.other));
    return OkStatus();
  }
  SG_ASSIGN_OR_RETURN(const Pictures pictures, ReadPictures(options.frames, first));
  SG_ASSIGN_OR_RETURN(const ProofOptions proof, ProofOf(options, pictures, console));
  SG_ASSIGN_OR_RETURN(const ProofRun run, RunProof(reference, candidate, first.shape, proof));
  console.Say(fmt::format("Largest difference {:.3g}{}, {} pictures, {} rows changed places",
                          run.max_difference,
                          run.output.empty() ? "" : fmt::format(" in output '{}'", run.output),
                          run.json.value("pictures", 0), run.moved_rows));
  if (options.common.json) std::fputs(ToJsonText(run.json).c_str(), stdout);
  if (!run.equal) {
    return GateError(fmt::format("{} and {} differ beyond {:g} of an output's largest value: {}",
                                 options.file, options.other, options.tolerance, run.failure));
  }
  if (!run.different)
    return GateError(
        "nothing is proven: all pictures gave the same outputs; name real ones with --frames");
  return OkStatus();
}

void AddProofOptions(CLI::App* command, OnnxOptions* options) {
  command->add_option("--frames", options->frames,
                      "Folder of pictures to run on (default: made ones, always the same)");
  AddCommonFlags(command, &options->common);
}

Status Simplify(const OnnxOptions& options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  SG_RETURN_IF_ERROR(CheckOutput(options));
  if (options.common.dry_run) {
    console.Say(fmt::format("would write {}, made smaller, to {}", options.file, options.other));
    return OkStatus();
  }
  SG_ASSIGN_OR_RETURN(const OnnxSummary summary, ReadOnnxFile(options.file));
  SG_ASSIGN_OR_RETURN(const PictureInput picture, FindPictureInput(summary));
  SG_ASSIGN_OR_RETURN(const Pictures pictures, ReadPictures(options.frames, picture));
  SimplifyRequest request{options.file, options.other, options.half_weights, {}};
  SG_ASSIGN_OR_RETURN(request.proof, ProofOf(options, pictures, console));
  SG_ASSIGN_OR_RETURN(const SimplifiedGraph graph, SimplifyOnnx(request));
  console.Say(fmt::format("{} constants worked out, {} idle nodes and {} unused weights removed",
                          graph.folded_nodes, graph.removed_nodes, graph.removed_weights));
  if (!graph.not_folded.empty()) console.Say("Constants stay as they were: " + graph.not_folded);
  if (options.half_weights) {
    console.Say(fmt::format("{} weights are stored in half precision", graph.halved_weights));
    for (const std::string& name : graph.kept_weights)
      console.Say(fmt::format("Kept in f32, beyond what half precision holds: {}", name));
  }
  console.Say(
      fmt::format("{}: {} bytes, {} before; largest difference {:.3g}{} at batch {}", options.other,
                  graph.bytes_after, graph.bytes_before, graph.run.max_difference,
                  graph.run.output.empty() ? "" : fmt::format(" in output '{}'", graph.run.output),
                  fmt::join(graph.run.batches, ", ")));
  if (options.common.json) std::fputs(ToJsonText(graph.ToJson()).c_str(), stdout);
  return OkStatus();
}

struct OnnxExportOptions {
  CommonFlags common;
  std::string source;
  std::string folder;
  std::string revision;
  std::string video;
  std::string frames;
  ExportOptions exporting;
};

/// Picture files: those of --frames, or frames of the clip.
Result<std::vector<std::string>> ParityPictures(const OnnxExportOptions& options,
                                                const ScratchFolder& scratch) {
  if (!options.frames.empty()) return PictureFiles(options.frames);
  std::string video = options.video;
  if (const char* named = std::getenv("DS_VIDEO"); video.empty() && named != nullptr) video = named;
  if (video.empty()) {
    return EnvironmentError(
        "no pictures: the exported graph is compared with the model on real ones; name a clip with "
        "--video or DS_VIDEO, or a folder with --frames");
  }
  constexpr int kFrames = 16;
  SG_ASSIGN_OR_RETURN(const ExtractedFrames frames,
                      ExtractFrames(video, scratch / "frames", kFrames));
  return frames.files;
}

Status Export(const OnnxExportOptions& options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  if (options.common.dry_run) {
    console.Say(fmt::format("would export {} to {}/model.onnx and compare it with the model",
                            options.source, options.folder));
    return OkStatus();
  }
  SG_ASSIGN_OR_RETURN(const ScratchFolder scratch, ScratchFolder::Make());
  ModelExport request;
  SG_ASSIGN_OR_RETURN(request.pictures, ParityPictures(options, scratch));
  SG_ASSIGN_OR_RETURN(const std::unique_ptr<Repository> repository,
                      OpenSource(options.source, options.revision, "", console));
  ModelWish wish;
  wish.prompt = options.exporting.prompt;
  wish.trust = options.exporting.trust;
  wish.from_weights = true;
  SG_ASSIGN_OR_RETURN(const FetchedModel model, FetchModel(repository.get(), wish, console));
  if (AbsolutePath(model.files.config_folder) == AbsolutePath(options.folder))
    return UserError(options.folder + ": is the model's own folder; inputs are never overwritten");
  request.folder = model.files.config_folder;
  request.weights = model.weights;
  request.output_folder = options.folder;
  request.options = options.exporting;
  SG_ASSIGN_OR_RETURN(const ExportedOnnx exported, ExportModel(request, console));
  console.Say(exported.path);
  if (options.common.json) std::fputs(ToJsonText(exported.json).c_str(), stdout);
  return OkStatus();
}

CLI::App* AddAction(CLI::App* parent, const char* name, const char* what,
                    const std::shared_ptr<OnnxOptions>& options) {
  CLI::App* command = parent->add_subcommand(name, what);
  command->add_option("file", options->file, "The .onnx file")->required();
  return command;
}

void AddMaxBatch(CLI::App* command, OnnxOptions* options) {
  command->add_option("--max-batch", options->max_batch, "The largest batch that is run (up to 8)")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

}  // namespace

void AddOnnxCommand(CLI::App* app, CommandRun* run) {
  CLI::App* parent = app->add_subcommand("onnx", "Look into, rewrite and compare ONNX graphs");
  parent->require_subcommand(1);
  const auto make = [] { return std::make_shared<OnnxOptions>(); };

  auto options = make();
  CLI::App* command =
      AddAction(parent, "inspect", "What a graph is, and what it really takes", options);
  command->add_flag("--run", options->run, "Run it however large it is");
  command->add_flag("--no-run", options->no_run, "Only read it")->excludes("--run");
  AddMaxBatch(command, options.get());
  AddProofOptions(command, options.get());
  command->callback([options, run] { *run = [options] { return Inspect(*options); }; });

  auto exporting = std::make_shared<OnnxExportOptions>();
  command = parent->add_subcommand(
      "export", "Make an ONNX from SafeTensors and prove that it gives the same outputs");
  command->add_option("source", exporting->source, "Where the model is, as for import")->required();
  command->add_option("folder", exporting->folder, "Gets model.onnx and its configs")->required();
  command->add_option("--revision", exporting->revision, "Branch, tag or commit");
  command->add_option("--video", exporting->video, "A clip to compare on (default: DS_VIDEO)");
  command->add_option("--frames", exporting->frames, "A folder of pictures to compare on");
  AddExportOptions(command, &exporting->exporting);
  AddCommonFlags(command, &exporting->common);
  command->callback([exporting, run] { *run = [exporting] { return Export(*exporting); }; });

  options = make();
  command = AddAction(parent, "rebatch", "Make the batch free, with proof", options);
  command->add_option("out", options->other, "The .onnx file to write")->required();
  AddMaxBatch(command, options.get());
  AddProofOptions(command, options.get());
  command->callback(
      [options, run] { *run = [options] { return Rewrite(*options, std::nullopt); }; });

  options = make();
  command = AddAction(parent, "static", "Fix the batch, with proof", options);
  command->add_option("out", options->other, "The .onnx file to write")->required();
  command->add_option("--batch", options->batch, "The batch")
      ->required()
      ->check(CLI::Range(1, 1024));
  AddProofOptions(command, options.get());
  command->callback(
      [options, run] { *run = [options] { return Rewrite(*options, options->batch); }; });

  options = make();
  command = AddAction(parent, "simplify", "Work out constants and remove what is idle, with proof",
                      options);
  command->add_option("out", options->other, "The .onnx file to write")->required();
  command->add_flag("--half-weights", options->half_weights,
                    "Store weights in half precision, those that fit; the graph computes in f32");
  AddMaxBatch(command, options.get());
  AddProofOptions(command, options.get());
  command->callback([options, run] { *run = [options] { return Simplify(*options); }; });

  options = make();
  command =
      AddAction(parent, "compare", "Compare two graphs' outputs, as sets per picture", options);
  command->add_option("other", options->other, "The other .onnx file")->required();
  command
      ->add_option("--tolerance", options->tolerance,
                   "Largest difference, as a part of an output's largest value")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  AddProofOptions(command, options.get());
  command->callback([options, run] { *run = [options] { return Compare(*options); }; });
}

}  // namespace sg
