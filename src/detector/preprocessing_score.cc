#include "detector/preprocessing_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sg {
namespace {

constexpr double kNoRival = std::numeric_limits<double>::infinity();

/// Scale, offsets, mean and std of a candidate in RGB order, with its name.
struct Values {
  const char* name;
  double net_scale_factor;
  std::vector<double> offsets;
  std::vector<double> mean;
  std::vector<double> std;
};

std::vector<Values> CommonValues() {
  return {{"÷ 255", 1.0 / 255, {}, {}, {}},
          {"as they are", 1, {}, {}, {}},
          {"÷ 127.5 − 1", 1.0 / 127.5, {127.5, 127.5, 127.5}, {}, {}},
          {"ImageNet mean, std", 1.0 / 255, {}, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}};
}

std::vector<double> Turned(std::vector<double> channels, bool turn) {
  if (turn) std::reverse(channels.begin(), channels.end());
  return channels;
}

bool SameNumbers(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::abs(x - y) <= 1e-6 * std::max(1.0, std::abs(x));
  });
}

bool SameValues(const Preprocessing& a, const Preprocessing& b) {
  return std::abs(a.net_scale_factor / b.net_scale_factor - 1) < 1e-6 &&
         SameNumbers(a.offsets, b.offsets) && SameNumbers(a.front.mean, b.front.mean) &&
         SameNumbers(a.front.std, b.front.std);
}

/// The card's values and the common ones, each once.
std::vector<Values> ValuesToTry(const Preprocessing& card) {
  Values own{"the card's", card.net_scale_factor, Turned(card.offsets, card.bgr),
             Turned(card.front.mean, card.bgr), Turned(card.front.std, card.bgr)};
  std::vector<Values> tried = {own};
  if (card.front.bytes) {
    tried[0].name = "the graph's own";
    return tried;
  }
  for (const Values& values : CommonValues()) {
    Preprocessing common;
    common.net_scale_factor = values.net_scale_factor;
    common.offsets = values.offsets;
    common.front = {values.mean, values.std, false, false};
    Preprocessing mine;
    mine.net_scale_factor = own.net_scale_factor;
    mine.offsets = own.offsets;
    mine.front = {own.mean, own.std, false, false};
    if (SameValues(common, mine)) {
      tried[0].name = values.name;
    } else {
      tried.push_back(values);
    }
  }
  return tried;
}

bool Lasts(const Box& box, const std::vector<Box>& other_frame) {
  return std::any_of(other_frame.begin(), other_frame.end(), [&](const Box& other) {
    return other.class_id == box.class_id && IntersectionOverUnion(box, other) >= kLastingIou;
  });
}

std::string Describe(const PreprocessingCandidate& candidate) {
  return fmt::format("values {}, {}, {}", candidate.values, ColourName(candidate.preprocessing),
                     ResizeName(candidate.preprocessing.resize));
}

}  // namespace

const char* ColourName(const Preprocessing& preprocessing) {
  return preprocessing.bgr ? "BGR" : "RGB";
}

const char* ResizeName(ResizeMode mode) {
  switch (mode) {
    case ResizeMode::kStretch:
      return "stretch";
    case ResizeMode::kLetterboxCorner:
      return "corner letterbox";
    case ResizeMode::kLetterboxCentre:
      return "centre letterbox";
  }
  return "?";
}

std::vector<PreprocessingCandidate> PreprocessingCandidates(const Preprocessing& card) {
  std::vector<PreprocessingCandidate> candidates;
  for (const Values& values : ValuesToTry(card)) {
    for (const bool bgr : {card.bgr, !card.bgr}) {
      for (const ResizeMode resize :
           {ResizeMode::kStretch, ResizeMode::kLetterboxCorner, ResizeMode::kLetterboxCentre}) {
        PreprocessingCandidate candidate;
        candidate.values = values.name;
        Preprocessing& p = candidate.preprocessing;
        p = card;
        p.resize = resize;
        p.bgr = bgr;
        p.net_scale_factor = values.net_scale_factor;
        p.offsets = Turned(values.offsets, bgr);
        p.front.mean = Turned(values.mean, bgr);
        p.front.std = Turned(values.std, bgr);
        candidate.is_card = bgr == card.bgr && resize == card.resize && SameValues(p, card);
        candidates.push_back(std::move(candidate));
      }
    }
  }
  const auto own = std::find_if(candidates.begin(), candidates.end(),
                                [](const auto& candidate) { return candidate.is_card; });
  std::rotate(candidates.begin(), own, own + 1);
  return candidates;
}

PreprocessingScore ScorePreprocessing(const std::vector<std::vector<Box>>& boxes_of_frames) {
  PreprocessingScore score;
  score.frames = static_cast<int>(boxes_of_frames.size());
  if (score.frames == 0) return score;
  double confidence = 0;
  int lasting = 0;
  for (size_t i = 0; i < boxes_of_frames.size(); ++i) {
    const bool is_last = i + 1 == boxes_of_frames.size();
    const size_t neighbour = !is_last ? i + 1 : i > 0 ? i - 1 : i;
    for (const Box& box : boxes_of_frames[i]) {
      ++score.boxes;
      confidence += box.score;
      if (Lasts(box, boxes_of_frames[neighbour])) ++lasting;
    }
  }
  if (score.boxes == 0) return score;
  score.boxes_per_frame = static_cast<double>(score.boxes) / score.frames;
  score.mean_confidence = confidence / score.boxes;
  score.persistence = static_cast<double>(lasting) / score.boxes;
  score.score = score.mean_confidence * score.persistence * (1 - std::exp(-score.boxes_per_frame));
  return score;
}

PreprocessingVerdict JudgePreprocessing(const std::vector<PreprocessingCandidate>& candidates,
                                        const std::vector<PreprocessingScore>& scores) {
  SG_CHECK_OP(candidates.size(), ==, scores.size());
  using Answer = PreprocessingVerdict::Answer;
  size_t card = candidates.size();
  size_t rival = candidates.size();
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].is_card) {
      card = i;
    } else if (rival == candidates.size() || scores[i].score > scores[rival].score) {
      rival = i;
    }
  }
  SG_CHECK_OP(card, <, candidates.size());
  PreprocessingVerdict verdict{Answer::kCardIsBest, card, card, kNoRival, ""};
  if (rival == candidates.size()) {
    verdict.text = "There is nothing to compare the card's own preprocessing with";
    return verdict;
  }
  verdict.rival = rival;
  const double own = scores[card].score;
  const double other = scores[rival].score;
  if (other > own) verdict.best = rival;
  verdict.margin = other > 0 ? own / other - 1 : own > 0 ? kNoRival : 0;
  const std::string figures =
      fmt::format("{:.3f} against {:.3f} of {}", own, other, Describe(candidates[rival]));
  if (own <= 0 && other <= 0) {
    verdict.answer = Answer::kNothingFound;
    verdict.text =
        "No preprocessing gives boxes on these frames: they show nothing that the model "
        "knows, or its head is decoded wrongly";
  } else if (verdict.margin > kClearMargin) {
    verdict.text = fmt::format("The card's own preprocessing is the best: {}", figures);
  } else if (verdict.margin >= -kClearMargin) {
    verdict.answer = Answer::kTooClose;
    verdict.text = fmt::format(
        "The card's own preprocessing is among the best; these frames do not tell it apart: {}",
        figures);
  } else {
    verdict.answer = Answer::kAnotherIsBetter;
    verdict.text = fmt::format("The card's own preprocessing is not the best: {}", figures);
  }
  return verdict;
}

}  // namespace sg
