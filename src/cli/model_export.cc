#include "cli/model_export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <optional>

#include "base/files.h"
#include "base/worker_client.h"
#include "cli/graph_run.h"
#include "cli/onnx_inspect.h"
#include "cli/onnx_proof.h"
#include "cli/scratch_folder.h"
#include "detector/box_compare.h"
#include "detector/card_builder.h"
#include "detector/decoder.h"
#include "detector/task_gate.h"
#include "onnx/export_environment.h"
#include "onnx/exporter.h"
#include "onnx/graph_audit.h"

namespace sg {
namespace {

constexpr char kResultFile[] = "export.json";

/// Everything that the exported graph depends on.
Result<Json> ExportKey(const ModelExport& request, const NetworkSize& size) {
  Json files = Json::object();
  for (const std::string& path : request.weights) {
    SG_ASSIGN_OR_RETURN(files[BaseName(path)], Sha256File(path));
  }
  SG_ASSIGN_OR_RETURN(const auto names, ListFolder(request.folder));
  for (const std::string& name : names) {
    if (!name.ends_with(".json") && !name.ends_with(".txt") && !name.ends_with(".py")) continue;
    SG_ASSIGN_OR_RETURN(files[name], Sha256File(JoinPath(request.folder, name)));
  }
  Json pictures = Json::array();
  for (const std::string& path : request.pictures) {
    SG_ASSIGN_OR_RETURN(const std::string hash, Sha256File(path));
    pictures.push_back(hash);
  }
  return Json{{"files", files},
              {"pictures", pictures},
              {"exporter", ExporterVersion()},
              {"opset", request.options.opset},
              {"width", size.width},
              {"height", size.height},
              {"prompt", request.options.prompt},
              {"max_batch", request.max_batch}};
}

ExportedOnnx FromJson(const Json& json, const std::string& path) {
  ExportedOnnx exported;
  exported.path = path;
  exported.json = json;
  exported.labels = json.at("labels").get<std::vector<std::string>>();
  exported.notes = json.at("notes").get<std::vector<std::string>>();
  return exported;
}

/// The earlier export, when it was made from the same and lies there unchanged.
std::optional<ExportedOnnx> Earlier(const std::string& folder, const Json& key) {
  const std::string path = JoinPath(folder, "model.onnx");
  const std::string result = JoinPath(folder, kResultFile);
  if (!FileExists(path) || !FileExists(result)) return std::nullopt;
  const Result<Json> json = ReadJsonFile(result);
  const Result<std::string> hash = Sha256File(path);
  if (!json.ok() || !hash.ok() || json->value("key", Json()) != key) return std::nullopt;
  if (json->value("sha256", "") != *hash) return std::nullopt;
  try {
    ExportedOnnx exported = FromJson(*json, path);
    exported.reused = true;
    return exported;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

/// The pictures as the model expects them; `path` gets them.
Status WritePictures(const ModelExport& request, const NetworkSize& size, const std::string& path) {
  WorkerCall call;
  call.job = "pictures";
  std::vector<std::string> files;
  for (const std::string& file : request.pictures) files.push_back(AbsolutePath(file));
  call.request = {{"files", files}, {"shape", {3, size.height, size.width}}, {"path", path}};
  const std::string config = JoinPath(request.folder, "preprocessor_config.json");
  if (FileExists(config)) {
    SG_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(config));
    if (json.value("do_normalize", false) && json.contains("image_mean") &&
        json.contains("image_std") && json["image_mean"].size() == 3 &&
        json["image_std"].size() == 3) {
      call.request["mean"] = json["image_mean"];
      call.request["deviation"] = json["image_std"];
    }
  }
  return CallWorker(call).status();
}

/// The torch model's outputs as the decoders take them.
Result<RecordedTensors> ReadRecorded(const RecordedOutputs& recorded) {
  SG_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(recorded.path));
  RecordedTensors tensors;
  size_t at = 0;
  for (const RecordedOutputs::Output& output : recorded.outputs) {
    RecordedOutput values;
    values.name = output.name;
    size_t count = 1;
    for (const int64_t dim : output.shape) count *= static_cast<size_t>(dim);
    if (bytes.size() - at < count * sizeof(float))
      return InternalError(recorded.path + ": holds fewer numbers than its outputs need");
    values.dims.assign(output.shape.begin() + 1, output.shape.end());
    values.values.resize(count);
    std::memcpy(values.values.data(), bytes.data() + at, count * sizeof(float));
    at += count * sizeof(float);
    tensors.batch = static_cast<int>(output.shape.at(0));
    tensors.outputs.push_back(std::move(values));
  }
  return tensors;
}

/// The boxes of every picture, before any suppression.
Result<std::vector<std::vector<Box>>> Decode(const ModelCard& card,
                                             const RecordedTensors& tensors) {
  DecodeSettings settings;
  settings.network_width = card.input_width;
  settings.network_height = card.input_height;
  settings.thresholds.assign(card.labels.size(), static_cast<float>(card.score_threshold));
  std::vector<std::vector<Box>> boxes;
  for (int slot = 0; slot < tensors.batch; ++slot) {
    std::vector<TensorView> views;
    for (const RecordedOutput& output : tensors.outputs) {
      const size_t size = output.values.size() / static_cast<size_t>(tensors.batch);
      views.push_back({output.name.c_str(), output.dims, TensorType::kFloat,
                       output.values.data() + static_cast<size_t>(slot) * size});
    }
    SG_ASSIGN_OR_RETURN(std::vector<Box> found, DecodeHead(card.head, views, settings));
    boxes.push_back(std::move(found));
  }
  return boxes;
}

Result<std::string> BoxText(const BoxDifference& difference, double threshold) {
  // A score that lies on the threshold may fall on either side of it.
  constexpr double kMargin = 0.01;
  if (difference.unmatched > 0 && difference.max_unmatched_margin > kMargin) {
    return GateError(fmt::format(
        "the exported graph finds other boxes than the model: {} have no partner, the surest of "
        "them {:.3f} above the threshold",
        difference.unmatched, difference.max_unmatched_margin));
  }
  if (difference.matched == 0) {
    return fmt::format("Boxes: neither the model nor the graph finds any of at least {:g}.",
                       threshold);
  }
  return fmt::format(
      "Boxes of at least {:g}: {} in {} frames agree, by at most {:.3f} px and {:.5f} in score{}.",
      threshold, difference.matched, difference.frames, difference.max_box_px, difference.max_score,
      difference.unmatched == 0
          ? ""
          : fmt::format("; {} at the threshold have no partner", difference.unmatched));
}

/// An exporter's graph and what was found out about it.
struct Candidate {
  std::string backend;
  std::string path;
  ExportedModel model;
  std::optional<ProofRun> parity;
};

class Exporter {
 public:
  Exporter(const ModelExport& request, const NetworkSize& size, const Console& console,
           ScratchFolder scratch)
      : request_(request), size_(size), console_(console), scratch_(std::move(scratch)) {}

  Status Prepare() {
    Progress progress(console_.progress_mode(), "exporter");
    SG_ASSIGN_OR_RETURN(
        venv_, PrepareExportVenv([&](const std::string& note) { progress.Update(0, note); }));
    pictures_path_ = scratch_ / "pictures.f32";
    return WritePictures(request_, size_, pictures_path_);
  }

  /// Exports, audits and compares. An Error is final; a candidate that will not do is in
  /// `failure()`.
  Result<std::optional<Candidate>> Try(const std::string& backend) {
    console_.Say("[export] backend=" + backend);
    Candidate candidate;
    candidate.backend = backend;
    candidate.path = scratch_ / (backend + "/model.onnx");
    SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(candidate.path)));
    Result<ExportedModel> exported = RunExporter(venv_, RequestFor(candidate));
    if (!exported.ok()) {
      if (exported.error().kind != ErrorKind::kUnsupported) return exported.error();
      return Failed(exported.error(),
                    fmt::format("{} failed: {}", backend, exported.error().message));
    }
    candidate.model = *exported;
    if (!candidate.model.has_free_batch) {
      static_batch_ = candidate;
      return Failed(GateError(fmt::format("{}: the batch is fixed in the exported graph", backend)),
                    backend + " produced a static batch dimension");
    }
    SG_RETURN_IF_ERROR(Compare(&candidate));
    if (candidate.parity->equal) return std::optional(candidate);
    // What is right for one picture may be made right for more.
    if (candidate.parity->json.at("batches").at(0).value("ok", false)) static_batch_ = candidate;
    const std::string why = candidate.parity->failure;
    return Failed(
        GateError(fmt::format("{}: the exported graph is not the model: {}", backend, why)),
        fmt::format("{} produced a graph that differs from the model: {}", backend, why));
  }

  /// The last graph whose batch is not free, with its batch made free.
  Result<std::optional<Candidate>> MakeBatchFree() {
    if (!static_batch_) return std::optional<Candidate>();
    Candidate candidate = *static_batch_;
    candidate.path = scratch_ / "rewritten/model.onnx";
    ProofOptions proof = Proof();
    const Result<Rebatched> rebatched =
        Rebatch({static_batch_->path, candidate.path, std::nullopt, proof});
    if (!rebatched.ok()) {
      if (rebatched.error().kind != ErrorKind::kGate) return rebatched.error();
      failure_ = rebatched.error();
      return std::optional<Candidate>();
    }
    console_.Say(fmt::format("[export] the batch of {}'s graph was made free", candidate.backend));
    SG_RETURN_IF_ERROR(Compare(&candidate));
    if (candidate.parity->equal) return std::optional(candidate);
    failure_ = GateError(fmt::format("{}: the exported graph is not the model: {}",
                                     candidate.backend, candidate.parity->failure));
    return std::optional<Candidate>();
  }

  /// The boxes that the graph's outputs and the torch model's become, compared; in words. The
  /// folder's configs must be in place. kGate when they are not the same ones.
  Result<std::string> CompareDetections(const Candidate& candidate) const {
    SG_ASSIGN_OR_RETURN(const GraphFile file, GraphFile::Open(candidate.path));
    SG_ASSIGN_OR_RETURN(const OnnxSummary summary, Summarize(file));
    SG_ASSIGN_OR_RETURN(const PictureInput picture, FindPictureInput(summary));
    ModelFiles files;
    files.source = request_.folder;
    files.onnx = candidate.path;
    files.config_folder = request_.output_folder;
    CardOverrides overrides;
    overrides.name = "export";
    const Result<ModelCard> card = BuildModelCard(files, summary, overrides);
    if (!card.ok()) return "Boxes were not compared: " + card.error().message;
    SG_ASSIGN_OR_RETURN(const RecordedTensors given,
                        RunGraph({candidate.path, picture.name, picture.shape}, pictures_path_,
                                 scratch_ / "outputs.f32", [](double, const std::string&) {}));
    SG_ASSIGN_OR_RETURN(const RecordedTensors expected, ReadRecorded(candidate.model.recorded));
    SG_ASSIGN_OR_RETURN(const auto boxes, Decode(*card, given));
    SG_ASSIGN_OR_RETURN(const auto torch_boxes, Decode(*card, expected));
    return BoxText(CompareBoxes(torch_boxes, boxes, card->score_threshold), card->score_threshold);
  }

  /// Why the last one will not do.
  const std::string& reason() const { return reason_; }
  const Error& failure() const { return *failure_; }

 private:
  ExportRequest RequestFor(const Candidate& candidate) const {
    ExportRequest request;
    request.folder = request_.folder;
    request.output = candidate.path;
    request.backend = candidate.backend;
    request.opset = request_.options.opset;
    request.width = size_.width;
    request.height = size_.height;
    request.pictures_path = pictures_path_;
    request.pictures = static_cast<int64_t>(request_.pictures.size());
    request.recorded_path = scratch_ / "recorded.f32";
    request.prompt = request_.options.prompt;
    request.trust = request_.options.trust;
    request.log_path = JoinPath(request_.output_folder, "export.log");
    return request;
  }

  ProofOptions Proof() const {
    ProofOptions proof;
    proof.max_batch = request_.max_batch;
    proof.pictures_path = pictures_path_;
    proof.progress = console_.progress_mode();
    return proof;
  }

  Status Compare(Candidate* candidate) const {
    SG_ASSIGN_OR_RETURN(const GraphFile file, GraphFile::Open(candidate->path));
    SG_ASSIGN_OR_RETURN(const OnnxSummary summary, Summarize(file));
    SG_RETURN_IF_ERROR(CheckOperatorDomains(summary));
    SG_ASSIGN_OR_RETURN(const PictureInput picture, FindPictureInput(summary));
    const ProofGraph graph{candidate->path, picture.name, ProofBatches(request_.max_batch), {}};
    SG_ASSIGN_OR_RETURN(candidate->parity,
                        RunProof(candidate->model.recorded, graph, picture.shape, Proof()));
    return OkStatus();
  }

  std::optional<Candidate> Failed(const Error& error, const std::string& reason) {
    failure_ = error;
    reason_ = "[export] " + reason;
    return std::nullopt;
  }

  const ModelExport& request_;
  const NetworkSize size_;
  const Console& console_;
  ScratchFolder scratch_;
  std::string venv_;
  std::string pictures_path_;
  std::optional<Candidate> static_batch_;
  std::optional<Error> failure_;
  std::string reason_;
};

Result<Candidate> FirstThatHolds(Exporter* exporter, const Console& console) {
  const size_t backends = std::size(kExportBackends);
  for (size_t i = 0; i < backends; ++i) {
    SG_ASSIGN_OR_RETURN(const std::optional<Candidate> candidate,
                        exporter->Try(kExportBackends[i]));
    if (candidate) return *candidate;
    console.Say(exporter->reason() + (i + 1 < backends ? "; trying the next backend" : ""));
  }
  SG_ASSIGN_OR_RETURN(const std::optional<Candidate> rewritten, exporter->MakeBatchFree());
  if (rewritten) return *rewritten;
  return exporter->failure();
}

std::vector<std::string> Notes(const Candidate& candidate, const ModelExport& request,
                               const NetworkSize& size) {
  std::vector<std::string> notes = {
      fmt::format("Exported from {} with torch ({}), input {} x {} ({}), opset {}.",
                  BaseName(request.weights.at(0)), candidate.backend, size.width, size.height,
                  size.source, candidate.model.opset)};
  if (candidate.model.opset != request.options.opset) {
    notes.push_back(fmt::format("Opset {} was asked for; the exporter gave {}.",
                                request.options.opset, candidate.model.opset));
  }
  notes.push_back(fmt::format(
      "Parity with the torch model on {} frames at batch {}: largest difference {:.3g} in output "
      "'{}' (tolerance {:g} of an output's largest value).",
      request.pictures.size(), fmt::join(candidate.parity->batches, ", "),
      candidate.parity->max_difference, candidate.parity->output, kOutputTolerance));
  return notes;
}

/// Moves the graph, and weights beside it, to where it belongs.
Result<std::string> Place(const Candidate& candidate, const std::string& folder) {
  const std::string from = ParentFolder(candidate.path);
  SG_ASSIGN_OR_RETURN(const auto names, ListFolder(from));
  for (const std::string& name : names) {
    if (name != "model.onnx")
      SG_RETURN_IF_ERROR(RenameFile(JoinPath(from, name), JoinPath(folder, name)));
  }
  const std::string path = JoinPath(folder, "model.onnx");
  SG_RETURN_IF_ERROR(RenameFile(candidate.path, path));
  return path;
}

/// Config and preprocessing beside the graph, so that the folder can be imported as it is. A
/// prompt's phrases are the classes.
Status PlaceConfigs(const ModelExport& request, const std::vector<std::string>& labels) {
  SG_ASSIGN_OR_RETURN(Json config, ReadJsonFile(JoinPath(request.folder, "config.json")));
  if (!labels.empty()) {
    config[kFrozenPromptKey] = request.options.prompt;
    config["id2label"] = Json::object();
    for (size_t i = 0; i < labels.size(); ++i) config["id2label"][std::to_string(i)] = labels[i];
    config.erase("label2id");
  }
  SG_RETURN_IF_ERROR(
      WriteFileAtomic(JoinPath(request.output_folder, "config.json"), ToJsonText(config)));
  // Those that the model card is made from: thresholds may be in the README.
  for (const char* name : {"preprocessor_config.json", "processor_config.json",
                           "generation_config.json", "README.md"}) {
    const std::string from = JoinPath(request.folder, name);
    if (!FileExists(from)) continue;
    SG_RETURN_IF_ERROR(CopyFileAtomic(from, JoinPath(request.output_folder, name)));
  }
  return OkStatus();
}

}  // namespace

void AddExportOptions(CLI::App* command, ExportOptions* options) {
  command->add_option("--image-size", options->image_size,
                      "Input of an exported network: one number or WIDTHxHEIGHT (default: as the "
                      "model's files say)");
  command->add_option("--opset", options->opset, "Opset to ask the exporter for")
      ->check(CLI::Range(11, 24))
      ->capture_default_str();
  command->add_option("--prompt", options->prompt,
                      "What a text+image detector shall find: \"person . car\"");
  command->add_flag("--trust", options->trust,
                    "Let Python code that comes with the model run, with your rights");
}

Result<ExportedOnnx> ExportModel(const ModelExport& request, const Console& console) {
  SG_ASSIGN_OR_RETURN(const NetworkSize size,
                      ChooseNetworkSize(request.folder, request.options.image_size));
  SG_ASSIGN_OR_RETURN(const Json key, ExportKey(request, size));
  if (auto earlier = Earlier(request.output_folder, key)) {
    console.Say(fmt::format("[export] {} is there already", earlier->path));
    return *earlier;
  }
  uint64_t weight_bytes = 0;
  for (const std::string& path : request.weights) {
    SG_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(path));
    weight_bytes += bytes;
  }
  // Two candidates and what rewriting one takes.
  SG_RETURN_IF_ERROR(CheckWritable(request.output_folder, 4 * weight_bytes));
  SG_RETURN_IF_ERROR(MakeFolders(request.output_folder));
  static_cast<void>(RemoveAll(JoinPath(request.output_folder, "export.log")));
  SG_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::Make(request.output_folder));
  Exporter exporter(request, size, console, std::move(scratch));
  SG_RETURN_IF_ERROR(exporter.Prepare());
  SG_ASSIGN_OR_RETURN(const Candidate candidate, FirstThatHolds(&exporter, console));
  if (!candidate.parity->different) {
    return GateError(
        "the export proves nothing: the model gives the same outputs for all pictures; use a clip "
        "that shows more");
  }
  console.Say("[export] " + candidate.model.input);
  SG_RETURN_IF_ERROR(PlaceConfigs(request, candidate.model.labels));
  std::vector<std::string> notes = Notes(candidate, request, size);
  SG_ASSIGN_OR_RETURN(const std::string boxes, exporter.CompareDetections(candidate));
  notes.push_back(boxes);
  for (const std::string& note : notes) console.Say(note);

  SG_ASSIGN_OR_RETURN(const std::string path, Place(candidate, request.output_folder));
  SG_ASSIGN_OR_RETURN(const std::string sha256, Sha256File(path));
  const Json json = {{"key", key},
                     {"sha256", sha256},
                     {"backend", candidate.backend},
                     {"opset", candidate.model.opset},
                     {"labels", candidate.model.labels},
                     {"parity", candidate.parity->json},
                     {"notes", notes}};
  SG_RETURN_IF_ERROR(
      WriteFileAtomic(JoinPath(request.output_folder, kResultFile), ToJsonText(json)));
  return FromJson(json, path);
}

}  // namespace sg
