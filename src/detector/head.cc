#include "detector/head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sg {
namespace {

const char* FormatName(BoxFormat format) {
  switch (format) {
    case BoxFormat::kCxcywh:
      return "cxcywh";
    case BoxFormat::kXyxy:
      return "xyxy";
    case BoxFormat::kYxyx:
      return "yxyx";
    case BoxFormat::kXywh:
      return "xywh";
  }
  return "?";
}

const char* ActivationName(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "scores as they are";
    case Activation::kSigmoid:
      return "scores through a sigmoid";
    case Activation::kSoftmax:
      return "scores through a softmax";
  }
  return "?";
}

std::string BoxText(const Head& head) {
  switch (head.kind) {
    case HeadKind::kLevels:
      return fmt::format("{} at {} levels",
                         head.point_box == PointBox::kDistribution   ? "distributions of distances"
                         : head.point_box == PointBox::kAnchorDeltas ? "offsets from anchors"
                         : head.in_strides                           ? "distances in strides"
                                                                     : "distances in pixels",
                         head.levels.size());
    case HeadKind::kAnchorGrid:
      return fmt::format("offsets from anchors ({}) at {} levels",
                         head.anchor_scale == AnchorScale::kExp ? "exponential" : "squared sigmoid",
                         head.levels.size());
    case HeadKind::kCoverageGrid:
      return "edges relative to grid cells";
    default:
      break;
  }
  if (head.grid_offsets) return fmt::format("offsets in {} grids", head.levels.size());
  return fmt::format("{} {}", FormatName(head.box_format),
                     head.box_unit == BoxUnit::kFraction ? "in 0-1" : "in pixels");
}

}  // namespace

const char* OutputRoleName(OutputRole role) {
  switch (role) {
    case OutputRole::kScores:
      return "scores";
    case OutputRole::kBoxes:
      return "boxes";
    case OutputRole::kRows:
      return "rows";
    case OutputRole::kLabels:
      return "class ids";
    case OutputRole::kCount:
      return "count";
    case OutputRole::kObjectness:
      return "objectness";
    case OutputRole::kSelections:
      return "selections";
  }
  return "?";
}

const char* TensorTypeName(TensorType type) {
  switch (type) {
    case TensorType::kFloat:
      return "float32";
    case TensorType::kHalf:
      return "float16";
    case TensorType::kInt32:
      return "int32";
    case TensorType::kInt64:
      return "int64";
  }
  return "?";
}

const HeadOutput* Head::Find(OutputRole role, int n) const {
  for (const HeadOutput& output : outputs) {
    if (output.role == role && n-- == 0) return &output;
  }
  return nullptr;
}

int Head::Count(OutputRole role) const {
  int count = 0;
  for (const HeadOutput& output : outputs) count += output.role == role ? 1 : 0;
  return count;
}

bool Head::IsDense() const {
  if (kind == HeadKind::kFinalBoxes) return overlapping;
  return kind != HeadKind::kSetPrediction && kind != HeadKind::kNmsSelections;
}

std::string HeadText(const Head& head) {
  std::vector<std::string> outputs;
  for (const HeadOutput& output : head.outputs)
    outputs.push_back(fmt::format("{} [{}] {}", output.name, fmt::join(output.dims, ","),
                                  OutputRoleName(output.role)));
  return fmt::format("{}: {}; {}, {}; {} class{}{}", head.family, fmt::join(outputs, ", "),
                     BoxText(head), ActivationName(head.activation), head.num_classes,
                     head.num_classes == 1 ? "" : "es",
                     head.objectness        ? " with objectness"
                     : head.background >= 0 ? " and a no-object column"
                                            : "");
}

}  // namespace sg
