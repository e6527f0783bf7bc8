#include "cli/import_model.h"

#include <fmt/format.h>

#include <chrono>

#include "base/files.h"
#include "cli/import_front.h"
#include "cli/model_source.h"
#include "cli/scratch_folder.h"
#include "deepstream/nvinfer_recipe.h"
#include "detector/card_builder.h"
#include "detector/label_file.h"
#include "detector/model_files.h"
#include "onnx/onnx_file.h"

namespace sg {
namespace {

/// Seconds since it was made.
class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// What the import writes beside the copy of the model: engines at batch 1 and MAX, an f32 one for
/// the comparison, the video, samples, report.
constexpr uint64_t kEngineCopies = 6;
constexpr uint64_t kOtherOutputBytes = uint64_t{200} << 20;

/// Frames of the clip that an exported model's parity is proven on.
constexpr int kParityFrames = 16;

/// NGC files and unpacked archives lie in the model's folder until `clean` takes them away.
std::string StagingOf(const ImportOptions& options) {
  const Result<ModelSource> source = ParseSource(options.source);
  if (!source.ok() || source->kind != SourceKind::kNgc) return "";
  const std::string& name = options.name.empty() ? source->name : options.name;
  return JoinPath(JoinPath(options.out, name), "ngc_download");
}

/// The SafeTensors become models/NAME/onnx_export, a folder that could be imported itself.
Status Export(const ImportOptions& options, const std::vector<std::string>& weights,
              const Console& console, FoundModel* found) {
  found->name = options.name.empty() ? found->snapshot.name : options.name;
  SG_RETURN_IF_ERROR(CheckModelName(found->name));
  SG_ASSIGN_OR_RETURN(const ScratchFolder scratch, ScratchFolder::Make());
  SG_ASSIGN_OR_RETURN(const ExtractedFrames frames,
                      ExtractFrames(options.video, scratch / "frames", kParityFrames));
  ModelExport request;
  request.folder = found->files.config_folder;
  request.weights = weights;
  request.output_folder = JoinPath(JoinPath(options.out, found->name), "onnx_export");
  request.pictures = frames.files;
  request.max_batch = options.max_batch;
  request.options = options.exporting;
  SG_ASSIGN_OR_RETURN(const ExportedOnnx exported, ExportModel(request, console));
  found->files.onnx = exported.path;
  found->files.config_folder = request.output_folder;
  found->files.variant = "fp32";
  found->files.variants = {"fp32"};
  found->notes = exported.notes;
  return OkStatus();
}

/// Copies unless the same bytes are there already. An input that lies where its copy would go
/// stays.
Status CopyIfChanged(const std::string& from, const std::string& to) {
  if (FileExists(to)) {
    SG_ASSIGN_OR_RETURN(const std::string old_hash, Sha256File(to));
    SG_ASSIGN_OR_RETURN(const std::string new_hash, Sha256File(from));
    if (old_hash == new_hash) return OkStatus();
  }
  return CopyFileAtomic(from, to);
}

}  // namespace

Result<FoundModel> FindModel(const ImportOptions& options, const Console& console) {
  const Stopwatch watch;
  FoundModel found;
  SG_ASSIGN_OR_RETURN(const std::unique_ptr<Repository> repository,
                      OpenSource(options.source, options.revision, StagingOf(options), console));
  const ModelWish wish{options.variant, options.exporting.prompt, options.exporting.trust,
                       /*from_weights=*/!options.exporting.prompt.empty()};
  SG_ASSIGN_OR_RETURN(const FetchedModel fetched, FetchModel(repository.get(), wish, console));
  found.files = fetched.files;
  found.snapshot = repository->snapshot();
  if (!fetched.weights.empty()) {
    SG_RETURN_IF_ERROR(Export(options, fetched.weights, console, &found));
  }
  found.seconds = watch.Seconds();
  SayStepDone(console, "1", found.seconds, false);
  return found;
}

Result<CheckedModel> CheckModel(const ImportOptions& options, const Console& console,
                                FoundModel found) {
  const Stopwatch watch;
  CheckedModel checked;
  SG_RETURN_IF_ERROR(CheckPrecision(found.files.onnx, options.precision, options.calibration));
  SG_ASSIGN_OR_RETURN(checked.graph, CheckGraphBatch(found.files.onnx, options.max_batch, console));
  checked.onnx = checked.graph.onnx;
  const double seconds = watch.Seconds();
  SayStepDone(console, "2", seconds, false);
  checked.seconds = found.seconds + seconds;
  checked.found = std::move(found);
  return checked;
}

Result<AcquiredModel> DescribeModel(const ImportOptions& options, const Console& console,
                                    const CheckedModel& checked) {
  const Stopwatch watch;
  const FoundModel& found = checked.found;
  const bool is_local = found.snapshot.commit.empty();
  std::string name = options.name;
  if (name.empty()) name = is_local ? found.name : found.snapshot.name;
  CardOverrides overrides{name,         options.labels, options.score_threshold, options.nms_iou,
                          options.head, options.classes, std::nullopt};
  SG_ASSIGN_OR_RETURN(overrides.nvinfer_recipe, NvinferRecipe(found.files.config_folder));
  AcquiredModel model;
  SG_ASSIGN_OR_RETURN(model.card, BuildModelCard(found.files, checked.onnx, overrides));
  model.onnx = checked.onnx;
  model.files = found.files;
  model.snapshot = found.snapshot;
  if (model.card.licence.empty() || model.card.licence == "unknown") {
    if (!found.snapshot.licence.empty()) model.card.licence = found.snapshot.licence;
  }
  model.notes = model.card.notes;
  model.notes.insert(model.notes.end(), found.notes.begin(), found.notes.end());
  if (!found.files.selection_line.empty()) model.notes.push_back(found.files.selection_line);
  model.notes.insert(model.notes.end(), found.files.notes.begin(), found.files.notes.end());
  model.notes.insert(model.notes.end(), checked.graph.notes.begin(), checked.graph.notes.end());
  model.files.onnx = checked.graph.path;
  SG_RETURN_IF_ERROR(FitInput(console, &model));
  model.seconds = checked.seconds + watch.Seconds();
  model.described_s = watch.Seconds();
  return model;
}

Status PlaceLabels(const ImportContext& context, const ModelCard& card) {
  return WriteFileAtomic(context.folder.Path(context.folder.LabelFile()),
                         LabelFileText(card.labels));
}

Status PlaceModel(ImportContext* context, AcquiredModel* model) {
  const Stopwatch watch;
  const uint64_t need_bytes = model->onnx.size_bytes * kEngineCopies + kOtherOutputBytes;
  SG_RETURN_IF_ERROR(CheckWritable(context->options.out, need_bytes));
  SG_RETURN_IF_ERROR(context->OpenFolder(model->card.name));
  const ModelFolder& folder = context->folder;
  SG_ASSIGN_OR_RETURN(context->video_sha256, Sha256File(context->video.path));

  SG_RETURN_IF_ERROR(CopyIfChanged(model->files.onnx, folder.Path(folder.OnnxFile())));
  // External weights are named inside the ONNX, relative to it: they keep their names.
  for (const std::string& name : model->onnx.external_files) {
    const std::string to = folder.Path("model/" + name);
    SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(to)));
    SG_RETURN_IF_ERROR(CopyIfChanged(JoinPath(ParentFolder(model->files.onnx), name), to));
  }
  for (const std::string& name : {std::string("config.json"), model->card.preprocessing.source}) {
    const std::string from = JoinPath(model->files.config_folder, name);
    if (FileExists(from)) {
      SG_RETURN_IF_ERROR(CopyIfChanged(from, folder.Path("config/" + name)));
    }
  }
  SG_RETURN_IF_ERROR(PlaceLabels(*context, model->card));
  SayStepDone(context->console, "3", model->described_s + watch.Seconds(), false);
  model->seconds += watch.Seconds();
  return OkStatus();
}

}  // namespace sg
