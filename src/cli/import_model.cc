#include "cli/import_model.h"

#include <fmt/format.h>

#include <chrono>

#include "base/files.h"
#include "cli/model_source.h"
#include "detector/card_builder.h"
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

/// NGC files and unpacked archives lie in the model's folder until `clean` takes them away.
std::string StagingOf(const ImportOptions& options) {
  const Result<ModelSource> source = ParseSource(options.source);
  if (!source.ok() || source->kind != SourceKind::kNgc) return "";
  const std::string& name = options.name.empty() ? source->name : options.name;
  return JoinPath(JoinPath(options.out, name), "ngc_download");
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
  SG_ASSIGN_OR_RETURN(found.files, FetchModelFiles(repository.get(), options.variant, console));
  found.snapshot = repository->snapshot();
  found.seconds = watch.Seconds();
  SayStepDone(console, "1", found.seconds, false);
  return found;
}

Result<CheckedModel> CheckModel(const ImportOptions& options, const Console& console,
                                FoundModel found) {
  const Stopwatch watch;
  CheckedModel checked;
  SG_ASSIGN_OR_RETURN(checked.graph, CheckGraphBatch(found.files.onnx, options.max_batch, console));
  checked.onnx = checked.graph.onnx;
  const double seconds = watch.Seconds();
  SayStepDone(console, "2", seconds, false);
  checked.seconds = found.seconds + seconds;
  checked.found = std::move(found);
  return checked;
}

Result<AcquiredModel> DescribeModel(const ImportOptions& options, const CheckedModel& checked) {
  const Stopwatch watch;
  const FoundModel& found = checked.found;
  const bool is_local = found.snapshot.commit.empty();
  const CardOverrides overrides{
      options.name.empty() && !is_local ? found.snapshot.name : options.name,
      options.labels,
      options.score_threshold,
      options.nms_iou,
      options.head,
      options.classes};
  AcquiredModel model;
  SG_ASSIGN_OR_RETURN(model.card, BuildModelCard(found.files, checked.onnx, overrides));
  model.onnx = checked.onnx;
  model.files = found.files;
  model.snapshot = found.snapshot;
  if (model.card.licence.empty() || model.card.licence == "unknown") {
    if (!found.snapshot.licence.empty()) model.card.licence = found.snapshot.licence;
  }
  model.notes = model.card.notes;
  model.notes.push_back(found.files.selection_line);
  const std::string real = WeightVariant(checked.onnx);
  const bool is_quantized = found.files.variant == "quantized" && real.starts_with("int");
  if (!real.empty() && real != found.files.variant && !is_quantized) {
    model.notes.push_back(fmt::format("{} is {} by its name, its weights are {}.",
                                      BaseName(found.files.onnx), found.files.variant, real));
  }
  model.notes.insert(model.notes.end(), checked.graph.notes.begin(), checked.graph.notes.end());
  model.files.onnx = checked.graph.path;
  model.seconds = checked.seconds + watch.Seconds();
  model.described_s = watch.Seconds();
  return model;
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
  for (const char* name : {"config.json", "preprocessor_config.json"}) {
    const std::string from = JoinPath(model->files.config_folder, name);
    if (FileExists(from)) {
      SG_RETURN_IF_ERROR(CopyIfChanged(from, folder.Path(std::string("config/") + name)));
    }
  }
  std::string labels;
  for (const std::string& label : model->card.labels) labels += label + "\n";
  SG_RETURN_IF_ERROR(WriteFileAtomic(folder.Path(folder.LabelFile()), labels));
  SayStepDone(context->console, "3", model->described_s + watch.Seconds(), false);
  model->seconds += watch.Seconds();
  return OkStatus();
}

}  // namespace sg
