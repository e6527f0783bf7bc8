// ONNX's own NonMaxSuppression at the end of a graph: boxes [A,4], scores [C,A], and rows (picture,
// class, box) of those that it kept. The rows of a batch are not told apart by an axis, so such a
// graph runs at batch 1 only.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "detector/heads/family.h"
#include "detector/heads/output_shapes.h"
#include "detector/heads/recognisers.h"

namespace sg {
namespace {

std::vector<Box> Decode(const HeadTensors& tensors) {
  const TensorView& selections = tensors.Get(OutputRole::kSelections);
  const TensorView& boxes = tensors.Get(OutputRole::kBoxes);
  const TensorView& scores = tensors.Get(OutputRole::kScores);
  const auto number = static_cast<float>(boxes.dims[0]);
  const auto classes = static_cast<float>(tensors.head.num_classes);
  std::vector<Box> found;
  for (int i = 0; i < selections.dims[0]; ++i) {
    const float picture = selections.At(static_cast<size_t>(i) * 3);
    const float label = selections.At(static_cast<size_t>(i) * 3 + 1);
    const float index = selections.At(static_cast<size_t>(i) * 3 + 2);
    if (picture != 0 || !(label >= 0 && label < classes) || !(index >= 0 && index < number))
      continue;
    const auto class_id = static_cast<int>(label);
    const auto at = static_cast<size_t>(index);
    const float score = scores.At(class_id * static_cast<size_t>(boxes.dims[0]) + at);
    if (!std::isfinite(score) || !(score >= tensors.settings.thresholds[class_id])) continue;
    const float box[4] = {boxes.At(at * 4), boxes.At(at * 4 + 1), boxes.At(at * 4 + 2),
                          boxes.At(at * 4 + 3)};
    std::optional<Box> clamped = ClampedBox(CornersOf(box, tensors), tensors.settings);
    if (!clamped) continue;
    clamped->class_id = class_id;
    clamped->score = score;
    found.push_back(*clamped);
  }
  return found;
}

constexpr const char kDecodeText[] = R"parser(
bool decode(Layers const& layers, Boxes& out) {
  Tensor selections;
  Tensor boxes;
  Tensor scores;
  if (!selections.open(layers, @SELECTIONS@, {0, 3}) || !boxes.open(layers, @BOXES@, @BOXES_DIMS@) ||
      !scores.open(layers, @SCORES@, @SCORES_DIMS@)) {
    return false;
  }
  const size_t number = boxes.dim(0);
  if (scores.dim(1) != number) {
    return complain("scores of " + std::to_string(scores.dim(1)) + " boxes, but " +
                    std::to_string(number) + " boxes");
  }
  for (size_t i = 0; i < selections.dim(0); ++i) {
    const float* row = selections.data() + i * 3;  // picture, class, box
    if (row[0] != 0.0f || !(row[1] >= 0.0f && row[1] < static_cast<float>(kNumClasses)) ||
        !(row[2] >= 0.0f && row[2] < static_cast<float>(number))) {
      continue;
    }
    const unsigned int classId = static_cast<unsigned int>(row[1]);
    const size_t index = static_cast<size_t>(row[2]);
    const float score = scores[classId * number + index];
    if (!std::isfinite(score) || !(score >= out.thresholds[classId])) continue;
    const float* box = boxes.data() + index * 4;
    @ADD_BOX@
  }
  return true;
}
)parser";

std::string ParserText(const Head& head) {
  const HeadOutput& boxes = *head.Find(OutputRole::kBoxes);
  const HeadOutput& scores = *head.Find(OutputRole::kScores);
  return Filled(kDecodeText, {{"SELECTIONS", CppString(head.Find(OutputRole::kSelections)->name)},
                              {"BOXES", CppString(boxes.name)},
                              {"BOXES_DIMS", CppDims(boxes.dims)},
                              {"SCORES", CppString(scores.name)},
                              {"SCORES_DIMS", CppDims(scores.dims)},
                              {"ADD_BOX", CppAddBox(head, "box[{}]", "classId, score")}});
}

void Recognise(const HeadQuestion& question, std::vector<HeadCandidate>* candidates) {
  const OnnxTensor* selections = nullptr;
  for (const OnnxTensor& output : question.onnx.outputs) {
    const bool whole = output.elem_type == "int64" || output.elem_type == "int32";
    if (whole && output.dims.size() == 2 && output.dims[1].value == 3) selections = &output;
  }
  if (selections == nullptr) return;
  for (const OnnxTensor& boxes : question.onnx.outputs) {
    const std::vector<int> box_dims = DimsOf(boxes);
    if (!IsFloatTensor(boxes) || box_dims.size() != 2 || box_dims[1] != 4) continue;
    for (const OnnxTensor& scores : question.onnx.outputs) {
      const std::vector<int> dims = DimsOf(scores);
      if (&scores == &boxes || !IsFloatTensor(scores) || dims.size() != 2 || dims[0] < 1 ||
          dims[1] != box_dims[0]) {
        continue;
      }
      HeadCandidate candidate;
      Head& head = candidate.head;
      head.kind = HeadKind::kNmsSelections;
      head.num_classes = dims[0];
      head.activation = Activation::kNone;
      head.outputs = {{OutputRole::kSelections, selections->name, {-1, 3}, TensorType::kInt64},
                      OutputOf(OutputRole::kBoxes, boxes, box_dims),
                      OutputOf(OutputRole::kScores, scores, dims)};
      const OutputTrace* trace = question.Trace(selections->name);
      if (trace != nullptr && trace->Has("NonMaxSuppression"))
        candidate.Fact(selections->name + " is what NonMaxSuppression keeps");
      else
        candidate.Shape(selections->name + " [K,3] picks boxes");
      for (const auto& [family, format, unit] :
           {std::tuple("onnx-nms-yxyx", BoxFormat::kYxyx, BoxUnit::kPixels),
            std::tuple("onnx-nms-xyxy", BoxFormat::kXyxy, BoxUnit::kPixels),
            std::tuple("onnx-nms-cxcywh", BoxFormat::kCxcywh, BoxUnit::kPixels),
            std::tuple("onnx-nms-yxyx-unit", BoxFormat::kYxyx, BoxUnit::kFraction),
            std::tuple("onnx-nms-xyxy-unit", BoxFormat::kXyxy, BoxUnit::kFraction)}) {
        head.family = family;
        head.box_format = format;
        head.box_unit = unit;
        candidates->push_back(candidate);
      }
    }
  }
}

}  // namespace

HeadFamily NmsSelectionsFamily() {
  return {HeadKind::kNmsSelections, Decode, ParserText, Recognise};
}

}  // namespace sg
