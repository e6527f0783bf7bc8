#include "detector/proof_tensors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace sg {
namespace {

/// How many rows an axis gets that the data decide.
constexpr int kFreeRows = 37;

class Maker {
 public:
  Maker(const Head& head, const ProofTensorsRequest& request, unsigned seed)
      : head_(head), request_(request), random_(seed) {
    style_ = static_cast<int>(random_() % 4);
  }

  RecordedTensors Make(int batch) {
    RecordedTensors tensors;
    tensors.batch = batch;
    for (const HeadOutput& output : head_.outputs) {
      RecordedOutput made{output.name, output.dims, {}, output.type};
      for (int& dim : made.dims) dim = dim < 0 ? kFreeRows : dim;
      size_t size = static_cast<size_t>(batch);
      for (const int dim : made.dims) size *= static_cast<size_t>(dim);
      made.values.reserve(size);
      const size_t inner = made.dims.empty() ? 1 : static_cast<size_t>(made.dims.back());
      for (size_t i = 0; i < size; ++i) made.values.push_back(Value(output, i, inner));
      tensors.outputs.push_back(std::move(made));
    }
    return tensors;
  }

 private:
  float Uniform(float low, float high) {
    // By hand: the standard's distributions differ between libraries.
    const auto unit = static_cast<float>(random_() >> 8) * (1.0F / 16777216.0F);
    return low + (high - low) * unit;
  }
  bool OneIn(unsigned n) { return random_() % n == 0; }

  float Wild() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float values[] = {std::numeric_limits<float>::quiet_NaN(),
                            kInfinity,
                            -kInfinity,
                            -0.0F,
                            3e38F,
                            -3e38F,
                            1e-40F,
                            65504.0F};
    return values[random_() % 8];
  }

  float Score() {
    const bool sparse = style_ == 2 && !OneIn(15);  // as on real pictures
    if (head_.activation != Activation::kNone) {
      if (sparse) return Uniform(-9, -4);
      const float threshold = std::clamp(request_.score_threshold, 0.01F, 0.99F);
      if (OneIn(5)) return std::log(threshold / (1 - threshold)) + Uniform(-0.2F, 0.6F);
      if (OneIn(17)) return 90.0F;
      return style_ == 1 ? std::round(Uniform(-3, 3)) : Uniform(-8, 4);
    }
    if (sparse) return Uniform(0, 0.05F);
    if (OneIn(11)) return request_.score_threshold;
    // Few different scores make ties.
    return style_ == 1 ? std::round(Uniform(0, 4)) / 4 : Uniform(0, 1) * Uniform(0, 1);
  }

  float Coordinate(size_t column) {
    const bool is_size = head_.box_format == BoxFormat::kCxcywh && column % 4 >= 2;
    const float unit = is_size ? Uniform(-0.02F, 0.6F) : Uniform(-0.2F, 1.2F);
    if (head_.box_unit == BoxUnit::kFraction) return unit;
    return unit *
           static_cast<float>(column % 2 == 0 ? request_.network_width : request_.network_height);
  }

  float Value(const HeadOutput& output, size_t i, size_t inner) {
    const bool whole = output.type == TensorType::kInt32 || output.type == TensorType::kInt64;
    if (request_.wild && style_ != 3 && !whole && OneIn(61)) return Wild();
    switch (output.role) {
      case OutputRole::kScores:
      case OutputRole::kObjectness:
        return Score();
      case OutputRole::kBoxes:
        return BoxValue(i % inner);
      case OutputRole::kLabels:
        return Label();
      case OutputRole::kCount:
        return std::round(Uniform(request_.wild ? -3 : 0, 60));
      case OutputRole::kSelections:
        return Selection(i % inner);
      case OutputRole::kRows:
        return RowValue(i, inner, output.dims);
    }
    return 0;
  }

  /// A value of kRows: which column it is depends on the head.
  float RowValue(size_t i, size_t inner, const std::vector<int>& dims) {
    const size_t column =
        head_.channels_first ? i / inner % static_cast<size_t>(dims[dims.size() - 2]) : i % inner;
    if (head_.kind == HeadKind::kFinalBoxes) {
      if (static_cast<int>(column) == head_.score_column) return Score();
      if (static_cast<int>(column) == head_.class_column) return Label();
      return Coordinate(column - static_cast<size_t>(head_.box_column));
    }
    // Levels and anchors: raw numbers of any column do.
    if (head_.kind != HeadKind::kDenseRows) return OneIn(2) ? Score() : Uniform(-2, 3);
    if (column >= 4) return Score();
    return head_.grid_offsets ? Uniform(-2, 3) : Coordinate(column);
  }

  float BoxValue(size_t column) {
    if (head_.kind == HeadKind::kLevels)
      return head_.point_box == PointBox::kDistances && !head_.in_strides ? Uniform(-4, 40)
                                                                          : Uniform(-2, 3);
    if (head_.kind == HeadKind::kCoverageGrid) return Uniform(-0.2F, 1);
    return Coordinate(column);
  }

  float Selection(size_t column) {
    if (column == 0) return OneIn(9) ? 1.0F : 0.0F;
    if (column == 1) return Label();
    const int boxes = head_.Find(OutputRole::kBoxes)->dims[0];
    return std::round(Uniform(-2, static_cast<float>(boxes) + 2));
  }

  float Label() {
    const int low = request_.wild ? -1 : 0;
    const int span = head_.num_classes + (request_.wild ? 3 : 0);
    return static_cast<float>(head_.first_class_id + low +
                              static_cast<int>(random_() % static_cast<unsigned>(span)));
  }

  const Head& head_;
  const ProofTensorsRequest& request_;
  std::mt19937 random_;
  int style_ = 0;
};

}  // namespace

std::vector<RecordedTensors> MakeProofTensors(const Head& head,
                                              const ProofTensorsRequest& request) {
  std::vector<RecordedTensors> batches;
  unsigned seed = request.seed;
  for (const int batch : request.batches)
    batches.push_back(Maker(head, request, seed++).Make(batch));
  return batches;
}

}  // namespace sg
