#include "cli/check_preprocessing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/files.h"
#include "base/interrupt.h"
#include "cli/import_validation.h"
#include "cli/onnx_proof.h"
#include "detector/preprocessing_score.h"

namespace sg {
namespace {

/// Builds one engine for all candidates that give the network the same numbers.
class EngineShelf {
 public:
  EngineShelf(const ImportContext& context, const CheckedModel& checked)
      : context_(context), checked_(checked) {}

  /// The engine's path.
  Result<std::string> Find(const Preprocessing& preprocessing) {
    const std::string key = ToJsonLine({{"scale", preprocessing.net_scale_factor},
                                        {"offsets", preprocessing.offsets},
                                        {"mean", preprocessing.front.mean},
                                        {"std", preprocessing.front.std}});
    if (const auto found = engines_.find(key); found != engines_.end()) return found->second;
    const std::string folder =
        context_.folder.Path(fmt::format("candidates/{}", engines_.size() + 1));
    SG_RETURN_IF_ERROR(MakeFolders(folder));
    EngineRequest request;
    SG_ASSIGN_OR_RETURN(request.onnx_path, Graph(preprocessing.front, folder));
    for (const std::string& name : checked_.onnx.external_files)
      request.external_data_paths.push_back(JoinPath(ParentFolder(request.onnx_path), name));
    request.engines_folder = folder;
    request.model_file_stem = "candidate";
    request.precision = context_.options.precision == "fp32" ? Precision::kFp32 : Precision::kFp16;
    request.net_scale_factor = preprocessing.net_scale_factor;
    request.offsets = preprocessing.offsets;
    SG_ASSIGN_OR_RETURN(
        const EngineArtifact artifact,
        context_.engine->Build(request, context_.ProgressLine("Building a candidate's engine")));
    engines_[key] = artifact.path;
    return artifact.path;
  }

 private:
  /// The graph with that front. It is an experiment: nothing is proven of it.
  Result<std::string> Graph(const InputFront& front, const std::string& folder) {
    const std::string from = checked_.graph.path;
    if (front.empty()) return from;
    SG_ASSIGN_OR_RETURN(GraphFile file, GraphFile::Open(from));
    SG_ASSIGN_OR_RETURN(const PictureInput picture, FindPictureInput(checked_.onnx));
    SG_RETURN_IF_ERROR(PutFront(&file, picture.name, front, FrontPlace::kNodes).status());
    SG_ASSIGN_OR_RETURN(const std::string bytes, file.WholeBytes());
    SG_RETURN_IF_ERROR(CopyExternalData(checked_.onnx, folder));
    const std::string path = JoinPath(folder, "model.onnx");
    SG_RETURN_IF_ERROR(WriteFileAtomic(path, bytes));
    return path;
  }

  const ImportContext& context_;
  const CheckedModel& checked_;
  std::map<std::string, std::string> engines_;
};

std::string Row(const PreprocessingCandidate& candidate, const PreprocessingScore& score) {
  return fmt::format("{:<2}{:<20}{:<5}{:<18}{:>8.2f}{:>12.3f}{:>9.0f} %{:>9.3f}",
                     candidate.is_card ? "*" : "", candidate.values,
                     ColourName(candidate.preprocessing),
                     ResizeName(candidate.preprocessing.resize), score.boxes_per_frame,
                     score.mean_confidence, score.persistence * 100, score.score);
}

Json ToJson(const std::vector<PreprocessingCandidate>& candidates,
            const std::vector<PreprocessingScore>& scores, const PreprocessingVerdict& verdict) {
  Json list = Json::array();
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Preprocessing& p = candidates[i].preprocessing;
    const PreprocessingScore& score = scores[i];
    list.push_back({{"card", candidates[i].is_card},
                    {"values", candidates[i].values},
                    {"net_scale_factor", p.net_scale_factor},
                    {"offsets", p.offsets},
                    {"mean", p.front.mean},
                    {"std", p.front.std},
                    {"colour", ColourName(p)},
                    {"resize", ResizeName(p.resize)},
                    {"frames", score.frames},
                    {"boxes_per_frame", score.boxes_per_frame},
                    {"mean_confidence", score.mean_confidence},
                    {"persistence", score.persistence},
                    {"score", score.score}});
  }
  Json json = {{"candidates", list}, {"best", verdict.best}, {"verdict", verdict.text}};
  json["margin"] = std::isfinite(verdict.margin) ? Json(verdict.margin) : Json();
  return json;
}

void Print(const ImportContext& context, const std::vector<PreprocessingCandidate>& candidates,
           const std::vector<PreprocessingScore>& scores, const PreprocessingVerdict& verdict) {
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a].score > scores[b].score; });
  context.console.Say(fmt::format("{:<2}{:<20}{:<5}{:<18}{:>8}{:>12}{:>11}{:>9}", "", "pixels", "",
                                  "", "boxes", "confidence", "lasting", "score"));
  for (const size_t i : order) context.console.Say(Row(candidates[i], scores[i]));
  context.console.Say(
      fmt::format("* the card's own (from {}). {} frames; boxes: a frame; lasting: found in the "
                  "next frame too; "
                  "score: confidence × lasting × (1 − e^−boxes).",
                  candidates[0].preprocessing.source, scores[0].frames));
  if (std::isfinite(verdict.margin))
    context.console.Say(fmt::format("Margin of the card's own over the best other: {:+.1f} %",
                                    verdict.margin * 100));
}

}  // namespace

Status CheckPreprocessing(ImportContext* context, const CheckedModel& checked,
                          const AcquiredModel& model) {
  SG_ASSIGN_OR_RETURN(const ParserNames names, MakeProvenParser(*context, model.card));
  const std::vector<PreprocessingCandidate> candidates =
      PreprocessingCandidates(model.card.preprocessing);
  EngineShelf engines(*context, checked);
  const ProgressFn progress = context->ProgressLine("Trying preprocessing");
  std::vector<PreprocessingScore> scores;
  for (const PreprocessingCandidate& candidate : candidates) {
    if (Interrupted()) return InterruptedError();
    progress(static_cast<double>(scores.size()) / static_cast<double>(candidates.size()), "");
    ModelCard card = model.card;
    card.preprocessing = candidate.preprocessing;
    card.cluster_mode = 2;  // duplicates would count twice
    SG_ASSIGN_OR_RETURN(const std::string engine, engines.Find(candidate.preprocessing));
    SG_ASSIGN_OR_RETURN(const auto boxes,
                        BoxesOf(*context, {card, names, engine,
                                           fmt::format("candidates/run{}", scores.size() + 1)}));
    scores.push_back(ScorePreprocessing(boxes));
  }
  const PreprocessingVerdict verdict = JudgePreprocessing(candidates, scores);
  Print(*context, candidates, scores, verdict);
  if (context->options.common.json)
    std::fputs(ToJsonText(ToJson(candidates, scores, verdict)).c_str(), stdout);
  using Answer = PreprocessingVerdict::Answer;
  if (verdict.answer == Answer::kAnotherIsBetter || verdict.answer == Answer::kNothingFound)
    return GateError(fmt::format("{}: {}{}", context->options.source, verdict.text,
                                 verdict.answer == Answer::kAnotherIsBetter
                                     ? fmt::format("; correct {} if that is what the model was "
                                                   "trained with",
                                                   model.card.preprocessing.source)
                                     : ""));
  context->console.Say(verdict.text + ".");
  return OkStatus();
}

}  // namespace sg
