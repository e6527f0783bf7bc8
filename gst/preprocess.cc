#include "gst/preprocess.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/status.h"
#include "gst/resample.h"

namespace sg {
namespace {

static_assert(Preprocessor::kWeightOne == 1 << kWeightBits);

constexpr int kPad = 8;
constexpr size_t kMaxPlans = 16;

bool IsYuv(PixelFormat format) {
  return format == PixelFormat::kI420 || format == PixelFormat::kNv12;
}

/// Weights of one output of the triangle filter over `source_size` samples, starting at *first.
std::vector<double> TriangleWeights(int source_size, int output_size, int output,
                                    ResizeFilter filter, int* first) {
  const double scale = static_cast<double>(source_size) / output_size;
  const double width = filter == ResizeFilter::kBilinearAntialias ? std::max(scale, 1.0) : 1.0;
  const double centre = (output + 0.5) * scale;
  const int begin = std::max(0, static_cast<int>(std::floor(centre - width)));
  const int end = std::min(source_size, static_cast<int>(std::ceil(centre + width)));
  std::vector<double> weights;
  double sum = 0;
  for (int i = begin; i < end; ++i) {
    const double weight = std::max(0.0, 1.0 - std::abs(i + 0.5 - centre) / width);
    weights.push_back(weight);
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  *first = begin;
  return weights;
}

/// Replicating each sample twice and then filtering weighs a sample with the sum of its two copies.
std::vector<double> FoldPairs(const std::vector<double>& weights, int* first) {
  const int begin = *first / 2;
  std::vector<double> folded;
  for (size_t k = 0; k < weights.size(); ++k) {
    const size_t sample = (*first + k) / 2 - begin;
    if (sample >= folded.size()) folded.push_back(0);
    folded[sample] += weights[k];
  }
  *first = begin;
  return folded;
}

/// To integers with the sum kWeightOne, so that an even area keeps its value; the rounding's rest
/// goes to the largest weight.
std::vector<int16_t> Quantise(const std::vector<double>& weights) {
  std::vector<int16_t> integers;
  int rest = Preprocessor::kWeightOne;
  for (double weight : weights) {
    integers.push_back(static_cast<int16_t>(std::lround(weight * Preprocessor::kWeightOne)));
    rest -= integers.back();
  }
  *std::max_element(integers.begin(), integers.end()) += static_cast<int16_t>(rest);
  while (integers.size() > 1 && integers.back() == 0) integers.pop_back();
  return integers;
}

Preprocessor::Axis MakeAxis(int source_size, int output_size, ResizeFilter filter, bool chroma) {
  Preprocessor::Axis axis;
  axis.source_size = chroma ? (source_size + 1) / 2 : source_size;
  std::vector<std::vector<int16_t>> all;
  for (int output = 0; output < output_size; ++output) {
    int first = 0;
    std::vector<double> weights = TriangleWeights(source_size, output_size, output, filter, &first);
    if (chroma) weights = FoldPairs(weights, &first);
    all.push_back(Quantise(weights));
    axis.first.push_back(first);
    axis.taps = std::max(axis.taps, static_cast<int>(all.back().size()));
  }
  axis.padded_taps = (axis.taps + kPad - 1) / kPad * kPad;
  axis.weights.assign(static_cast<size_t>(output_size) * axis.padded_taps, 0);
  for (int output = 0; output < output_size; ++output) {
    std::copy(all[output].begin(), all[output].end(),
              axis.weights.begin() + static_cast<ptrdiff_t>(output) * axis.padded_taps);
  }
  axis.paired_weights.assign(axis.weights.size(), 0);
  PairWeights(axis.weights.data(), axis.padded_taps, output_size, axis.paired_weights.data());
  return axis;
}

/// The inverse of Y = Kr·R + Kg·G + Kb·B with Cb and Cr scaled to ±0.5 (ITU-R BT.601, BT.709).
ColourWeights WeightsFor(ColourMatrix matrix, bool full_range) {
  const double kr = matrix == ColourMatrix::kBt601 ? 0.299 : 0.2126;
  const double kb = matrix == ColourMatrix::kBt601 ? 0.114 : 0.0722;
  const double kg = 1.0 - kr - kb;
  const double luma = full_range ? 1.0 : 255.0 / 219.0;
  const double chroma = full_range ? 1.0 : 255.0 / 224.0;
  const auto fixed = [](double value) {
    return static_cast<int32_t>(std::lround(value * (1 << kColourBits)));
  };
  return {.y_offset = full_range ? 0 : 16 << kSampleBits,
          .y = fixed(luma),
          .v_to_r = fixed(chroma * 2 * (1 - kr)),
          .u_to_g = fixed(-chroma * 2 * (1 - kb) * kb / kg),
          .v_to_g = fixed(-chroma * 2 * (1 - kr) * kr / kg),
          .u_to_b = fixed(chroma * 2 * (1 - kb))};
}

/// The source rows that one output row is made of.
struct RowTaps {
  std::vector<const uint8_t*> rows;
  const int16_t* weights = nullptr;

  void Run(int count, int16_t* out) const {
    FastKernels().vertical(rows.data(), weights, static_cast<int>(rows.size()), count, out);
  }
};

void FindRows(const Preprocessor::Axis& axis, int row, const uint8_t* plane, ptrdiff_t stride,
              RowTaps* taps) {
  taps->weights = axis.weights.data() + static_cast<ptrdiff_t>(row) * axis.padded_taps;
  // Weights that only pad the table may lie past the picture.
  int count = axis.taps;
  while (count > 1 && taps->weights[count - 1] == 0) --count;
  taps->rows.resize(count);
  for (int k = 0; k < count; ++k) taps->rows[k] = plane + (axis.first[row] + k) * stride;
}

void Split(const int16_t* from, int step, int count, int16_t* to) {
  for (int i = 0; i < count; ++i) to[i] = from[static_cast<ptrdiff_t>(i) * step];
}

void ResizeRow(const Preprocessor::Axis& axis, const int16_t* from, std::vector<int16_t>* to) {
  FastKernels().horizontal(from, axis.first.data(), axis.weights.data(), axis.paired_weights.data(),
                           axis.padded_taps, static_cast<int>(axis.first.size()), to->data());
}

}  // namespace

Placement PlacePicture(int picture_width, int picture_height, int network_width, int network_height,
                       ResizeMode mode) {
  if (mode == ResizeMode::kStretch) return {0, 0, network_width, network_height};
  const double width_for_height =
      static_cast<double>(network_height) * picture_width / picture_height;
  const double height_for_width =
      static_cast<double>(network_width) * picture_height / picture_width;
  Placement place{0, 0, network_width, network_height};
  if (height_for_width <= network_height) {
    place.height = std::max(1, static_cast<int>(height_for_width));
  } else {
    place.width = std::max(1, static_cast<int>(width_for_height));
  }
  if (mode == ResizeMode::kLetterboxCentre) {
    place.left = (network_width - place.width) / 2;
    place.top = (network_height - place.height) / 2;
  }
  return place;
}

size_t Preprocessor::OutputBytes() const {
  return static_cast<size_t>(options_.network_width) * options_.network_height * 3;
}

const Preprocessor::Plan& Preprocessor::PlanFor(const Picture& picture) {
  const auto found = std::find_if(plans_.begin(), plans_.end(), [&](const Plan& plan) {
    return plan.format == picture.format && plan.width == picture.width &&
           plan.height == picture.height;
  });
  if (found != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, found);
    return plans_.front();
  }
  Plan plan;
  plan.format = picture.format;
  plan.width = picture.width;
  plan.height = picture.height;
  plan.placement = PlacePicture(picture.width, picture.height, options_.network_width,
                                options_.network_height, options_.resize);
  plan.x = MakeAxis(picture.width, plan.placement.width, options_.filter, false);
  plan.y = MakeAxis(picture.height, plan.placement.height, options_.filter, false);
  if (IsYuv(picture.format)) {
    plan.chroma_x = MakeAxis(picture.width, plan.placement.width, options_.filter, true);
    plan.chroma_y = MakeAxis(picture.height, plan.placement.height, options_.filter, true);
  }
  plans_.push_front(std::move(plan));
  if (plans_.size() > kMaxPlans) plans_.pop_back();
  return plans_.front();
}

Placement Preprocessor::Run(const Picture& picture, uint8_t* output) {
  const Plan& plan = PlanFor(picture);
  const Placement& place = plan.placement;
  const size_t room = static_cast<size_t>(picture.width) + plan.x.padded_taps + kPad;
  if (vertical_.size() < room * 4) vertical_.resize(room * 4);
  for (std::vector<int16_t>& row : components_) row.resize(std::max(row.size(), room));
  for (std::vector<int16_t>& row : resized_) {
    row.resize(std::max(row.size(), static_cast<size_t>(place.width)));
  }
  if (place.width != options_.network_width || place.height != options_.network_height) {
    std::memset(output, 0, OutputBytes());
  }
  if (IsYuv(picture.format)) {
    RunYuv(picture, plan, output);
  } else {
    RunPacked(picture, plan, output);
  }
  return place;
}

void Preprocessor::RunYuv(const Picture& picture, const Plan& plan, uint8_t* output) {
  const ResampleKernels& kernels = FastKernels();
  const ColourWeights colours = WeightsFor(picture.matrix, picture.full_range);
  const Placement& place = plan.placement;
  const int chroma_width = plan.chroma_x.source_size;
  RowTaps taps;
  for (int row = 0; row < place.height; ++row) {
    FindRows(plan.y, row, picture.planes[0], picture.strides[0], &taps);
    taps.Run(picture.width, vertical_.data());
    ResizeRow(plan.x, vertical_.data(), &resized_[0]);
    if (picture.format == PixelFormat::kNv12) {
      FindRows(plan.chroma_y, row, picture.planes[1], picture.strides[1], &taps);
      taps.Run(2 * chroma_width, vertical_.data());
      for (int c = 1; c <= 2; ++c) {
        Split(vertical_.data() + c - 1, 2, chroma_width, components_[c].data());
        ResizeRow(plan.chroma_x, components_[c].data(), &resized_[c]);
      }
    } else {
      for (int c = 1; c <= 2; ++c) {
        FindRows(plan.chroma_y, row, picture.planes[c], picture.strides[c], &taps);
        taps.Run(chroma_width, vertical_.data());
        ResizeRow(plan.chroma_x, vertical_.data(), &resized_[c]);
      }
    }
    uint8_t* to =
        output + (static_cast<size_t>(place.top + row) * options_.network_width + place.left) * 3;
    kernels.yuv_to_rgb(resized_[0].data(), resized_[1].data(), resized_[2].data(), colours,
                       options_.bgr, place.width, to);
  }
}

void Preprocessor::RunPacked(const Picture& picture, const Plan& plan, uint8_t* output) {
  const Placement& place = plan.placement;
  const int step = picture.format == PixelFormat::kRgb ? 3 : 4;
  const bool swap = (picture.format == PixelFormat::kBgrx) != options_.bgr;
  if (picture.format == PixelFormat::kRgb && !swap && place.width == picture.width &&
      place.height == picture.height) {
    // The picture is the network's input already.
    for (int row = 0; row < place.height; ++row) {
      std::memcpy(
          output + (static_cast<size_t>(place.top + row) * options_.network_width + place.left) * 3,
          picture.planes[0] + row * picture.strides[0], static_cast<size_t>(place.width) * 3);
    }
    return;
  }
  constexpr int kRound = 1 << (kSampleBits - 1);
  RowTaps taps;
  for (int row = 0; row < place.height; ++row) {
    FindRows(plan.y, row, picture.planes[0], picture.strides[0], &taps);
    taps.Run(picture.width * step, vertical_.data());
    uint8_t* to =
        output + (static_cast<size_t>(place.top + row) * options_.network_width + place.left) * 3;
    for (int c = 0; c < 3; ++c) {
      Split(vertical_.data() + c, step, picture.width, components_[c].data());
      ResizeRow(plan.x, components_[c].data(), &resized_[c]);
      const int channel = swap ? 2 - c : c;
      for (int i = 0; i < place.width; ++i) {
        to[i * 3 + channel] = static_cast<uint8_t>((resized_[c][i] + kRound) >> kSampleBits);
      }
    }
  }
}

}  // namespace sg
