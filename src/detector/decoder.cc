#include "detector/decoder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>

#include "detector/heads/family.h"

namespace sg {
namespace {

/// IEEE 754 binary16, by its definition.
float HalfToFloat(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int fraction = half & 1023;
  float value;
  if (exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<float>::infinity()
                          : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    value = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  return (half & 0x8000) != 0 ? -value : value;
}

/// The same axes but for 1s in front, which engines add and leave out.
bool SameDims(std::vector<int> dims, const std::vector<int>& wanted) {
  while (dims.size() > wanted.size() && dims.front() == 1) dims.erase(dims.begin());
  while (dims.size() < wanted.size()) dims.insert(dims.begin(), 1);
  if (dims.size() != wanted.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (wanted[i] >= 0 && wanted[i] != dims[i]) return false;
  }
  return true;
}

Result<TensorView> FindTensor(const HeadOutput& wanted, const std::vector<TensorView>& outputs) {
  for (const TensorView& output : outputs) {
    if (wanted.name != output.name) continue;
    if (!SameDims(output.dims, wanted.dims)) {
      return UserError(fmt::format("output {} is [{}], the head wants [{}]", wanted.name,
                                   fmt::join(output.dims, ","), fmt::join(wanted.dims, ",")));
    }
    TensorView found = output;
    while (found.dims.size() > wanted.dims.size()) found.dims.erase(found.dims.begin());
    while (found.dims.size() < wanted.dims.size()) found.dims.insert(found.dims.begin(), 1);
    return found;
  }
  return UserError("there is no output named " + wanted.name);
}

}  // namespace

float IntersectionOverUnion(const Box& a, const Box& b) {
  const float overlap_width =
      std::min(a.left + a.width, b.left + b.width) - std::max(a.left, b.left);
  const float overlap_height =
      std::min(a.top + a.height, b.top + b.height) - std::max(a.top, b.top);
  if (overlap_width <= 0 || overlap_height <= 0) return 0;
  const float overlap = overlap_width * overlap_height;
  const float both = a.width * a.height + b.width * b.height - overlap;
  return both > 0 ? overlap / both : 0;
}

float TensorView::At(size_t i) const {
  switch (type) {
    case TensorType::kFloat:
      return static_cast<const float*>(data)[i];
    case TensorType::kHalf:
      return HalfToFloat(static_cast<const uint16_t*>(data)[i]);
    case TensorType::kInt32:
      return static_cast<float>(static_cast<const int32_t*>(data)[i]);
    case TensorType::kInt64:
      return static_cast<float>(static_cast<const int64_t*>(data)[i]);
  }
  return std::numeric_limits<float>::quiet_NaN();
}

size_t TensorView::Size() const {
  size_t size = 1;
  for (const int dim : dims) size *= static_cast<size_t>(dim);
  return size;
}

const TensorView& HeadTensors::Get(OutputRole role, int n) const {
  for (size_t i = 0; i < head.outputs.size(); ++i) {
    if (head.outputs[i].role == role && n-- == 0) return outputs[i];
  }
  SG_CHECK(false && "the head has no such output");
  return outputs.front();
}

Corners CornersOf(const float (&box)[4], const HeadTensors& tensors) {
  const bool fraction = tensors.head.box_unit == BoxUnit::kFraction;
  const float x = fraction ? static_cast<float>(tensors.settings.network_width) : 1.0F;
  const float y = fraction ? static_cast<float>(tensors.settings.network_height) : 1.0F;
  switch (tensors.head.box_format) {
    case BoxFormat::kCxcywh:
      return {(box[0] - box[2] / 2) * x, (box[1] - box[3] / 2) * y, (box[0] + box[2] / 2) * x,
              (box[1] + box[3] / 2) * y};
    case BoxFormat::kXyxy:
      return {box[0] * x, box[1] * y, box[2] * x, box[3] * y};
    case BoxFormat::kYxyx:
      return {box[1] * x, box[0] * y, box[3] * x, box[2] * y};
    case BoxFormat::kXywh:
      return {box[0] * x, box[1] * y, (box[0] + box[2]) * x, (box[1] + box[3]) * y};
  }
  return {};
}

std::optional<Box> ClampedBox(const Corners& corners, const DecodeSettings& settings) {
  for (const float corner : {corners.left, corners.top, corners.right, corners.bottom}) {
    if (!std::isfinite(corner)) return std::nullopt;
  }
  const float right = static_cast<float>(settings.network_width) - 1;
  const float bottom = static_cast<float>(settings.network_height) - 1;
  Box box;
  if (!settings.clamp) {
    box.left = corners.left;
    box.top = corners.top;
    box.width = corners.right - corners.left;
    box.height = corners.bottom - corners.top;
    return box;
  }
  box.left = std::clamp(corners.left, 0.0F, right);
  box.top = std::clamp(corners.top, 0.0F, bottom);
  box.width = std::max(std::clamp(corners.right, 0.0F, right) - box.left, 0.0F);
  box.height = std::max(std::clamp(corners.bottom, 0.0F, bottom) - box.top, 0.0F);
  return box;
}

std::vector<float> ActivatedRow(const std::vector<float>& raw, Activation activation) {
  float largest = -std::numeric_limits<float>::infinity();
  float sum = 0;
  if (activation == Activation::kSoftmax) {
    for (const float value : raw) largest = std::max(largest, value);
    for (const float value : raw) sum += std::exp(value - largest);
  }
  std::vector<float> scores;
  for (const float value : raw) {
    float score = std::numeric_limits<float>::quiet_NaN();
    if (std::isfinite(value)) {
      score = activation == Activation::kSoftmax ? std::exp(value - largest) / sum
                                                 : Activated(value, activation);
    }
    scores.push_back(score);
  }
  return scores;
}

Result<std::vector<Box>> DecodeHead(const Head& head, const std::vector<TensorView>& outputs,
                                    const DecodeSettings& settings) {
  SG_CHECK_OP(settings.thresholds.size(), ==, static_cast<size_t>(head.num_classes));
  HeadTensors tensors{head, settings, {}};
  for (const HeadOutput& wanted : head.outputs) {
    SG_ASSIGN_OR_RETURN(TensorView found, FindTensor(wanted, outputs));
    tensors.outputs.push_back(std::move(found));
  }
  return FamilyOf(head.kind).decode(tensors);
}

}  // namespace sg
