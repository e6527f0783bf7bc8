#include "detector/head_recognition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "detector/heads/family.h"

namespace sg {
namespace {

std::string OutputsText(const OnnxSummary& onnx) {
  std::string text;
  for (const OnnxTensor& output : onnx.outputs) text += (text.empty() ? "" : "; ") + output.Text();
  return text;
}

std::string FamiliesText(const std::vector<HeadCandidate>& candidates) {
  std::vector<std::string> names;
  for (const HeadCandidate& candidate : candidates) {
    if (std::find(names.begin(), names.end(), candidate.head.family) == names.end())
      names.push_back(candidate.head.family);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Drops candidates that `keep` does not like, unless that were all of them.
template <typename Keep>
bool KeepIfAny(std::vector<HeadCandidate>* candidates, const Keep& keep) {
  std::vector<HeadCandidate> kept;
  std::copy_if(candidates->begin(), candidates->end(), std::back_inserter(kept), keep);
  if (kept.empty()) return false;
  *candidates = std::move(kept);
  return true;
}

}  // namespace

const OutputTrace* HeadQuestion::Trace(const std::string& output) const {
  const auto trace = traces.find(output);
  return trace == traces.end() ? nullptr : &trace->second;
}

bool HeadCandidate::HasFacts() const {
  return std::any_of(evidence.begin(), evidence.end(),
                     [](const HeadEvidence& fact) { return fact.decides; });
}

std::string CandidateText(const HeadCandidate& candidate) {
  std::vector<std::string> texts;
  for (const HeadEvidence& fact : candidate.evidence) texts.push_back(fact.text);
  return fmt::format("{} ({})", HeadText(candidate.head), fmt::join(texts, "; "));
}

Result<std::vector<HeadCandidate>> RecogniseHead(const HeadQuestion& question,
                                                 const std::string& wanted) {
  std::vector<HeadCandidate> candidates;
  for (const HeadFamily& family : HeadFamilies()) family.recognise(question, &candidates);
  if (candidates.empty()) {
    return UnsupportedError(fmt::format(
        "{}: no decoder is known for {}{}the outputs {}; docs/add_a_model_family.md lists the "
        "heads that are",
        question.onnx.path, question.architecture, question.architecture.empty() ? "" : " with ",
        OutputsText(question.onnx)));
  }
  if (!wanted.empty() && !KeepIfAny(&candidates, [&](const HeadCandidate& candidate) {
        return candidate.head.family == wanted;
      })) {
    return UserError(fmt::format("--head {}: does not fit {} with the outputs {}; what fits: {}",
                                 wanted, question.onnx.path, OutputsText(question.onnx),
                                 FamiliesText(candidates)));
  }
  if (wanted.empty())
    KeepIfAny(&candidates, [](const HeadCandidate& candidate) { return !candidate.only_if_asked; });
  KeepIfAny(&candidates, [](const HeadCandidate& candidate) { return candidate.HasFacts(); });
  if (question.labels > 0 && !KeepIfAny(&candidates, [&](const HeadCandidate& candidate) {
        return candidate.head.num_classes == question.labels;
      })) {
    const Head& head = candidates.front().head;
    return UserError(fmt::format("there are {} labels, the model's {} has {} classes",
                                 question.labels, head.outputs.front().name, head.num_classes));
  }
  return candidates;
}

}  // namespace sg
