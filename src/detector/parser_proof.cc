#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "detector/parser_source.h"

namespace sg {
namespace {

constexpr double kMaxBoxPx = 0.01;
constexpr double kMaxScore = 1e-4;

double BoxDistance(const Box& a, const Box& b) {
  return std::max(std::max(std::fabs(a.left - b.left), std::fabs(a.top - b.top)),
                  std::max(std::fabs(a.width - b.width), std::fabs(a.height - b.height)));
}

/// Takes the box of `found` that is nearest to `expected` and of its class out of `found`, and
/// raises the proof's differences. False when there is none.
bool Match(const Box& expected, std::vector<Box>* found, ParserProof* proof) {
  auto nearest = found->end();
  double nearest_cost = std::numeric_limits<double>::infinity();
  for (auto box = found->begin(); box != found->end(); ++box) {
    if (box->class_id != expected.class_id) continue;
    const double cost = BoxDistance(expected, *box) / kMaxBoxPx +
                        std::fabs(expected.score - box->score) / kMaxScore;
    if (cost < nearest_cost) {
      nearest = box;
      nearest_cost = cost;
    }
  }
  if (nearest == found->end()) return false;
  proof->max_box_px = std::max(proof->max_box_px, BoxDistance(expected, *nearest));
  proof->max_score =
      std::max(proof->max_score, static_cast<double>(std::fabs(expected.score - nearest->score)));
  found->erase(nearest);
  ++proof->boxes;
  return true;
}

Status CheckSizes(const RecordedTensors& tensors, const ModelCard& card) {
  const size_t rows = static_cast<size_t>(tensors.batch) * card.num_queries;
  if (tensors.scores.size() == rows * card.num_classes && tensors.boxes.size() == rows * 4) {
    return OkStatus();
  }
  return InternalError(
      fmt::format("recorded tensors hold {} scores and {} box values, batch {} of {} queries and "
                  "{} classes has "
                  "{} and {}",
                  tensors.scores.size(), tensors.boxes.size(), tensors.batch, card.num_queries,
                  card.num_classes, rows * card.num_classes, rows * 4));
}

}  // namespace

Result<ParserProof> ProveParser(const ParserLibrary& library, const ModelCard& card,
                                const std::vector<RecordedTensors>& batches,
                                float score_threshold) {
  const std::vector<float> thresholds(card.num_classes, score_threshold);
  const NvDsInferParseDetectionParams params = DetectionParams(thresholds, thresholds);
  const NvDsInferNetworkInfo network = {static_cast<unsigned>(card.input_width),
                                        static_cast<unsigned>(card.input_height), 3};
  ParserProof proof;
  for (size_t batch = 0; batch < batches.size(); ++batch) {
    const RecordedTensors& tensors = batches[batch];
    SG_RETURN_IF_ERROR(CheckSizes(tensors, card));
    for (int slot = 0; slot < tensors.batch; ++slot) {
      const size_t row = static_cast<size_t>(slot) * card.num_queries;
      const float* scores = tensors.scores.data() + row * card.num_classes;
      const float* boxes = tensors.boxes.data() + row * 4;
      std::vector<NvDsInferLayerInfo> outputs = {
          DescribeOutput(card.scores_output.c_str(), {card.num_queries, card.num_classes}, scores),
          DescribeOutput(card.boxes_output.c_str(), {card.num_queries, 4}, boxes)};
      // Engines give outputs in an order of their own: a parser must go by the names.
      if (slot % 2 == 1) std::swap(outputs[0], outputs[1]);

      const std::vector<Box> expected =
          DecodeDetrSigmoid({scores, boxes, card.num_queries, card.num_classes}, card.input_width,
                            card.input_height, thresholds);
      std::vector<Box> found;
      const std::string where = fmt::format("{}: {} in slot {} of batch {}", library.path(),
                                            library.function_name(), slot, tensors.batch);
      if (!library.Parse(outputs, network, params, &found)) {
        return GateError(where + " refused the model's outputs");
      }
      if (found.size() != expected.size()) {
        return GateError(fmt::format("{} gives {} boxes, the reference decoder {}", where,
                                     found.size(), expected.size()));
      }
      for (const Box& box : expected) {
        if (!Match(box, &found, &proof)) {
          return GateError(fmt::format("{} misses a box of class {}", where, box.class_id));
        }
      }
      if (proof.max_box_px > kMaxBoxPx || proof.max_score > kMaxScore) {
        return GateError(
            fmt::format("{} differs from the reference decoder by {:g} px and {:g} in score", where,
                        proof.max_box_px, proof.max_score));
      }
      ++proof.slots;
    }
  }
  return proof;
}

}  // namespace sg
