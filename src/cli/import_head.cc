#include "cli/import_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/files.h"
#include "base/worker_client.h"
#include "cli/graph_run.h"
#include "cli/onnx_proof.h"
#include "cli/scratch_folder.h"
#include "detector/card_builder.h"
#include "detector/head_trial.h"

namespace sg {
namespace {

/// Pictures in a file as the network wants them, from f32 planes in RGB, 0 to 1; and the same
/// pictures mirrored left to right in another.
Status WriteNetworkPictures(const std::string& from, const ModelCard& card,
                            const std::vector<int64_t>& shape, const std::string& to,
                            const std::string& mirrored_to) {
  SG_ASSIGN_OR_RETURN(std::string bytes, ReadFile(from));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  const Preprocessing& pre = card.preprocessing;
  const auto plane = static_cast<size_t>(shape[1] * shape[2]);
  const size_t picture = 3 * plane;
  if (pre.bgr) {
    for (size_t at = 0; at + picture <= values.size(); at += picture)
      std::swap_ranges(values.begin() + static_cast<ptrdiff_t>(at),
                       values.begin() + static_cast<ptrdiff_t>(at + plane),
                       values.begin() + static_cast<ptrdiff_t>(at + 2 * plane));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const double offset = pre.offsets.empty() ? 0 : pre.offsets[i / plane % pre.offsets.size()];
    values[i] = static_cast<float>(pre.net_scale_factor * (values[i] * 255.0 - offset));
  }
  const auto text = [&] {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  };
  SG_RETURN_IF_ERROR(WriteFileAtomic(to, text()));
  const auto width = static_cast<size_t>(shape[2]);
  for (size_t row = 0; row + width <= values.size(); row += width)
    std::reverse(values.begin() + static_cast<ptrdiff_t>(row),
                 values.begin() + static_cast<ptrdiff_t>(row + width));
  return WriteFileAtomic(mirrored_to, text());
}

}  // namespace

Status SettleHead(const ImportContext& context, AcquiredModel* model) {
  ModelCard& card = model->card;
  if (card.head_candidates.size() < 2) return OkStatus();
  context.console.Say(fmt::format("{} heads fit the outputs; the clip's pictures decide:",
                                  card.head_candidates.size()));
  for (const HeadCandidate& candidate : card.head_candidates)
    context.console.Say("  " + CandidateText(candidate));
  SG_ASSIGN_OR_RETURN(const ScratchFolder scratch, ScratchFolder::Make());
  SG_ASSIGN_OR_RETURN(PictureInput input, FindPictureInput(model->onnx));
  SG_ASSIGN_OR_RETURN(const ExtractedFrames frames,
                      ExtractFrames(context.video.path, scratch / "frames", kTrialPictures + 4));
  if (static_cast<int>(frames.files.size()) < kTrialPictures)
    return GateError(fmt::format(
        "{}: has {} pictures, {} are needed to tell the heads apart; name one with --head",
        context.video.path, frames.files.size(), kTrialPictures));
  WorkerCall call;
  call.job = "pictures";
  call.request = {{"files", frames.files}, {"shape", input.shape}, {"path", scratch / "plain.f32"}};
  SG_RETURN_IF_ERROR(CallWorker(call).status());
  SG_RETURN_IF_ERROR(WriteNetworkPictures(scratch / "plain.f32", card, input.shape,
                                          scratch / "pictures.f32", scratch / "mirrored.f32"));
  const std::string onnx = context.folder.Path(context.folder.OnnxFile());
  SG_ASSIGN_OR_RETURN(const RecordedTensors pictures,
                      RunGraph({onnx, input.name, input.shape}, scratch / "pictures.f32",
                               scratch / "outputs.f32", context.ProgressLine("Trying the heads")));
  SG_ASSIGN_OR_RETURN(
      const RecordedTensors mirrored,
      RunGraph({onnx, input.name, input.shape}, scratch / "mirrored.f32", scratch / "outputs.f32",
               context.ProgressLine("Trying the heads on mirrored pictures")));
  const TrialSettings settings = {card.input_width, card.input_height,
                                  static_cast<float>(card.score_threshold)};
  std::vector<TrialScore> scores;
  for (const HeadCandidate& candidate : card.head_candidates) {
    SG_ASSIGN_OR_RETURN(const TrialScore score,
                        TryHead(candidate.head, pictures, mirrored, settings));
    scores.push_back(score);
  }
  SG_ASSIGN_OR_RETURN(const size_t chosen,
                      ChooseHead(card.head_candidates, scores, model->files.onnx));
  HeadCandidate winner = card.head_candidates[chosen];
  winner.Fact(fmt::format("of {} heads it alone makes sense of {} pictures (score {:.2f})",
                          card.head_candidates.size(), pictures.batch, scores[chosen].Total()));
  context.console.Say("Head: " + CandidateText(winner));
  model->notes.push_back("Head: " + CandidateText(winner));
  TakeHead(winner.head, &card);
  card.head_candidates = {winner};
  return OkStatus();
}

}  // namespace sg
