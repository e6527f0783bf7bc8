#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "detector/parser_source.h"

namespace sg {
namespace {

constexpr double kMaxBoxPx = 0.01;
constexpr double kMaxScore = 1e-4;
/// Between the thresholds of neighbouring classes: a parser must take each class's own.
constexpr float kThresholdStep = 0.0625F;

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

Status CheckSizes(const RecordedTensors& tensors) {
  for (const RecordedOutput& output : tensors.outputs) {
    size_t size = static_cast<size_t>(tensors.batch);
    for (const int dim : output.dims) size *= static_cast<size_t>(dim);
    if (output.values.size() == size) continue;
    return InternalError(fmt::format("recorded output {} holds {} values, batch {} of [{}] has {}",
                                     output.name, output.values.size(), tensors.batch,
                                     fmt::join(output.dims, ","), size));
  }
  return OkStatus();
}

/// The nearest half, by the rule of the format: round to even, infinity beyond the range.
uint16_t ToHalf(float value) {
  if (std::isnan(value)) return 0x7e00;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude is in [2^(exponent-1), 2^exponent)
  const int step = std::max(exponent - 11, -24);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -step)));
  const uint32_t bits = step == -24 ? steps : (static_cast<uint32_t>(step + 24) << 10) + steps;
  return sign | static_cast<uint16_t>(bits);
}

template <typename Number>
void Append(Number number, std::vector<uint8_t>* bytes) {
  const auto* from = reinterpret_cast<const uint8_t*>(&number);
  bytes->insert(bytes->end(), from, from + sizeof number);
}

/// One slot of an output as bytes of the type that the parser is handed.
std::vector<uint8_t> SlotBytes(const RecordedOutput& output, int slot, int batch) {
  const size_t size = output.values.size() / static_cast<size_t>(batch);
  std::vector<uint8_t> bytes;
  bytes.reserve(size * sizeof(int64_t));
  for (size_t i = slot * size; i < (slot + 1) * size; ++i) {
    const float value = output.values[i];
    switch (output.type) {
      case TensorType::kFloat:
        Append(value, &bytes);
        break;
      case TensorType::kHalf:
        Append(ToHalf(value), &bytes);
        break;
      case TensorType::kInt32:
        Append(static_cast<int32_t>(value), &bytes);
        break;
      case TensorType::kInt64:
        Append(static_cast<int64_t>(value), &bytes);
        break;
    }
  }
  return bytes;
}

/// The outputs of one slot, with memory of exactly their size.
struct Slot {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<TensorView> views;
};

Slot TakeSlot(const RecordedTensors& tensors, int slot) {
  Slot taken;
  for (const RecordedOutput& output : tensors.outputs)
    taken.bytes.push_back(SlotBytes(output, slot, tensors.batch));
  for (size_t i = 0; i < tensors.outputs.size(); ++i) {
    const RecordedOutput& output = tensors.outputs[i];
    taken.views.push_back({output.name.c_str(), output.dims, output.type, taken.bytes[i].data()});
  }
  // Engines give outputs in an order of their own: a parser must go by the names.
  std::rotate(taken.views.begin(),
              taken.views.begin() + slot % std::max<ptrdiff_t>(taken.views.size(), 1),
              taken.views.end());
  return taken;
}

}  // namespace

Result<ParserProof> ProveParser(const ParserLibrary& library, const ModelCard& card,
                                const std::vector<RecordedTensors>& batches,
                                float score_threshold) {
  DecodeSettings settings = {card.input_width, card.input_height, {}};
  for (int id = 0; id < card.head.num_classes; ++id)
    settings.thresholds.push_back(score_threshold + kThresholdStep * static_cast<float>(id % 3));
  const NvDsInferParseDetectionParams params =
      DetectionParams(settings.thresholds, settings.thresholds);
  const NvDsInferNetworkInfo network = {static_cast<unsigned>(card.input_width),
                                        static_cast<unsigned>(card.input_height), 3};
  ParserProof proof;
  for (const RecordedTensors& tensors : batches) {
    SG_RETURN_IF_ERROR(CheckSizes(tensors));
    for (int number = 0; number < tensors.batch; ++number) {
      const Slot slot = TakeSlot(tensors, number);
      std::vector<NvDsInferLayerInfo> layers;
      for (const TensorView& view : slot.views) layers.push_back(DescribeOutput(view));
      SG_ASSIGN_OR_RETURN(const std::vector<Box> expected,
                          DecodeHead(card.head, slot.views, settings));
      std::vector<Box> found;
      const std::string where = fmt::format("{}: {} in slot {} of batch {}", library.path(),
                                            library.function_name(), number, tensors.batch);
      if (!library.Parse(layers, network, params, &found)) {
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
