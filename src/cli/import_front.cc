#include "cli/import_front.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"

namespace sg {
namespace {

/// Runs the graph with its front against the original, whose pictures are prepared outside.
Result<ProofRun> Prove(const FrontRequest& request, const PictureInput& picture,
                       const std::string& candidate_path) {
  ProofOptions options;
  options.tolerance = kFrontTolerance;
  options.net_scale_factor = request.net_scale_factor;
  options.progress = request.progress;
  const int64_t batch = picture.batch.value_or(1);
  const ProofGraph reference{request.from, picture.name, {batch}, {}, request.front};
  ProofGraph candidate{candidate_path, picture.name, {batch}, {}, {}};
  if (!picture.batch) candidate.batches.push_back(2);
  return RunProof(reference, candidate, picture.ChannelsFirst(), options);
}

Error NotProven(const std::string& path, const ProofRun& run) {
  return GateError(
      fmt::format("{}: with its preprocessing put into the graph it is not proven the same: {}",
                  path, run.equal ? "all pictures gave the same outputs" : run.failure));
}

}  // namespace

Result<ProvenFront> MakeFront(const FrontRequest& request) {
  SG_ASSIGN_OR_RETURN(const GraphFile file, GraphFile::Open(request.from));
  SG_ASSIGN_OR_RETURN(const OnnxSummary summary, Summarize(file));
  SG_ASSIGN_OR_RETURN(const PictureInput picture, FindPictureInput(summary));
  const std::string to_folder = ParentFolder(request.to);
  SG_RETURN_IF_ERROR(MakeFolders(to_folder));
  SG_RETURN_IF_ERROR(CopyExternalData(summary, to_folder));
  std::vector<FrontPlace> places = {FrontPlace::kNodes};
  if (FitsIntoWeights(file, picture.name, request.front))
    places.insert(places.begin(), FrontPlace::kWeights);
  ProvenFront front;
  for (const FrontPlace place : places) {
    GraphFile rewritten = file;
    SG_ASSIGN_OR_RETURN(front.done, PutFront(&rewritten, picture.name, request.front, place));
    SG_ASSIGN_OR_RETURN(const std::string bytes, rewritten.WholeBytes());
    SG_RETURN_IF_ERROR(WriteFileAtomic(request.to, bytes));
    SG_ASSIGN_OR_RETURN(front.run, Prove(request, picture, request.to));
    if (front.run.equal && front.run.different) return front;
  }
  SG_RETURN_IF_ERROR(RemoveAll(request.to));
  return NotProven(request.from, front.run);
}

Status FitInput(const Console& console, AcquiredModel* model) {
  const Preprocessing& preprocessing = model->card.preprocessing;
  if (preprocessing.front.empty()) return OkStatus();
  SG_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::Make());
  model->scratch = std::make_shared<ScratchFolder>(std::move(scratch));
  FrontRequest request;
  request.from = model->files.onnx;
  request.to = *model->scratch / "model.onnx";
  request.front = preprocessing.front;
  request.net_scale_factor = preprocessing.net_scale_factor;
  request.progress = console.progress_mode();
  SG_ASSIGN_OR_RETURN(const ProvenFront front, MakeFront(request));
  SG_ASSIGN_OR_RETURN(model->onnx, ReadOnnxFile(request.to));
  model->files.onnx = request.to;
  const std::string note = fmt::format(
      "The graph was given a front, because nvinfer knows only one scale and floats [N,3,H,W]: {}; "
      "proven at batch {} against the original and its own preprocessing (largest difference "
      "{:.3g}, tolerance {:g} of an output's largest value).",
      front.done, fmt::join(front.run.batches, ", "), front.run.max_difference, kFrontTolerance);
  model->notes.push_back(note);
  console.Say(note);
  return OkStatus();
}

}  // namespace sg
