#include "detector/heads/output_shapes.h"

#include <fmt/format.h>

#include <algorithm>

namespace sg {
namespace {

bool IsRows(const OnnxTensor& tensor) { return tensor.dims.size() == 3 && IsFloatTensor(tensor); }

bool IsNamed(const OnnxTensor& tensor, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), tensor.name) != names.end();
}

}  // namespace

bool IsFloatTensor(const OnnxTensor& tensor) {
  return tensor.elem_type == "float32" || tensor.elem_type == "float16";
}

std::vector<int> DimsOf(const OnnxTensor& tensor) {
  std::vector<int> dims;
  for (size_t i = 1; i < tensor.dims.size(); ++i) {
    const int64_t value = tensor.dims[i].value.value_or(-1);
    dims.push_back(value < 0 || value > 100'000'000 ? -1 : static_cast<int>(value));
  }
  return dims;
}

HeadOutput OutputOf(OutputRole role, const OnnxTensor& tensor, std::vector<int> dims) {
  const TensorType type = tensor.elem_type == "float16" ? TensorType::kHalf
                          : tensor.elem_type == "int32" ? TensorType::kInt32
                          : tensor.elem_type == "int64" ? TensorType::kInt64
                                                        : TensorType::kFloat;
  return {role, tensor.name, std::move(dims), type};
}

std::vector<HeadLevel> GridsOf(const HeadQuestion& question, const std::vector<int>& strides) {
  std::vector<HeadLevel> levels;
  for (const int stride : strides) {
    const auto cells = [stride](int pixels) { return (pixels + stride - 1) / stride; };
    levels.push_back({stride, cells(question.input_height), cells(question.input_width), {}});
  }
  return levels;
}

int CellsOf(const std::vector<HeadLevel>& levels) {
  int cells = 0;
  for (const HeadLevel& level : levels) cells += level.rows * level.columns;
  return cells;
}

std::vector<int> StridesOfPoints(const HeadQuestion& question, int points, int anchors) {
  static const std::vector<int> kStrides[] = {{8, 16, 32}, {8, 16, 32, 64}, {8, 16, 32, 64, 128},
                                              {16, 32},    {4, 8, 16, 32},  {32, 16, 8}};
  for (const std::vector<int>& strides : kStrides) {
    const int cells = CellsOf(GridsOf(question, strides));
    if (cells > 0 && cells * anchors == points) return strides;
  }
  return {};
}

void AddUltralyticsFacts(const HeadQuestion& question, int classes, HeadCandidate* candidate) {
  const auto& metadata = question.onnx.metadata;
  const auto task = metadata.find("task");
  if (task == metadata.end() || task->second != "detect") return;
  if (classes == question.labels)
    candidate->Fact(fmt::format("metadata: task detect, {} names", classes));
}

OutputPair FindScoresAndBoxes(const HeadQuestion& question,
                              const std::vector<std::string>& score_names,
                              const std::vector<std::string>& box_names) {
  OutputPair best;
  for (const OnnxTensor& boxes : question.onnx.outputs) {
    if (!IsRows(boxes) || boxes.dims[2].value.value_or(4) != 4) continue;
    for (const OnnxTensor& scores : question.onnx.outputs) {
      if (&scores == &boxes || !IsRows(scores)) continue;
      const auto a = scores.dims[1].value;
      const auto b = boxes.dims[1].value;
      const bool named = IsNamed(scores, score_names) && IsNamed(boxes, box_names);
      // Without names the rows must be numbers that agree.
      if (!named && (!a || !b || !boxes.dims[2].value)) continue;
      if (a && b && *a != *b) continue;
      if (best.scores != nullptr && (best.named || !named)) continue;
      best.scores = &scores;
      best.boxes = &boxes;
      best.named = named;
      best.columns = static_cast<int>(scores.dims[2].value.value_or(0));
      best.rows = static_cast<int>(a ? *a : b.value_or(0));
    }
  }
  if (best.scores == nullptr) return best;
  if (best.rows == 0) {
    const auto queries = question.config.find("num_queries");
    if (queries != question.config.end() && queries->is_number_integer())
      best.rows = queries->get<int>();
  }
  best.is_grid = best.rows > 0 && !StridesOfPoints(question, best.rows, 1).empty();
  return best;
}

}  // namespace sg
