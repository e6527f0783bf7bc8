// DetectNet_v2 (NVIDIA TAO): for each class and cell of one grid how much of an object covers it,
// and how far the object's four edges are from the cell's centre, in units of 35 pixels.
#include <fmt/format.h>

#include <cmath>

#include "detector/heads/family.h"
#include "detector/heads/output_shapes.h"
#include "detector/heads/recognisers.h"

namespace sg {
namespace {

/// The unit of the edges, as DeepStream's own DetectNet_v2 parser has it.
constexpr float kEdgeUnit = 35.0F;

std::vector<Box> Decode(const HeadTensors& tensors) {
  const TensorView& coverage = tensors.Get(OutputRole::kScores);
  const TensorView& edges = tensors.Get(OutputRole::kBoxes);
  const HeadLevel& grid = tensors.head.levels[0];
  const auto cells = static_cast<size_t>(grid.rows) * static_cast<size_t>(grid.columns);
  std::vector<Box> found;
  for (int id = 0; id < tensors.head.num_classes; ++id) {
    for (size_t cell = 0; cell < cells; ++cell) {
      const float score = coverage.At(static_cast<size_t>(id) * cells + cell);
      if (!std::isfinite(score) || !(score >= tensors.settings.thresholds[id])) continue;
      const size_t first = static_cast<size_t>(id) * 4 * cells + cell;
      const auto columns = static_cast<size_t>(grid.columns);
      const float x = static_cast<float>(cell % columns) * static_cast<float>(grid.stride) + 0.5F;
      const float y = static_cast<float>(cell / columns) * static_cast<float>(grid.stride) + 0.5F;
      const Corners corners = {
          x - kEdgeUnit * edges.At(first), y - kEdgeUnit * edges.At(first + cells),
          x + kEdgeUnit * edges.At(first + 2 * cells), y + kEdgeUnit * edges.At(first + 3 * cells)};
      std::optional<Box> clamped = ClampedBox(corners, tensors.settings);
      if (!clamped) continue;
      clamped->class_id = id;
      clamped->score = score;
      found.push_back(*clamped);
    }
  }
  return found;
}

constexpr const char kDecodeText[] = R"parser(
const float kEdgeUnit = @UNIT@;  // pixels
const size_t kRows = @GRID_ROWS@;
const size_t kColumns = @GRID_COLUMNS@;
const float kStride = @STRIDE@;  // pixels of a cell

bool decode(Layers const& layers, Boxes& out) {
  Tensor coverage;
  Tensor edges;
  if (!coverage.open(layers, @COVERAGE@, @COVERAGE_DIMS@) ||
      !edges.open(layers, @EDGES@, @EDGES_DIMS@)) {
    return false;
  }
  const size_t cells = kRows * kColumns;
  for (unsigned int id = 0; id < kNumClasses; ++id) {
    const float* scores = coverage.data() + id * cells;
    const float* left = edges.data() + static_cast<size_t>(id) * 4 * cells;
    for (size_t cell = 0; cell < cells; ++cell) {
      const float score = scores[cell];
      if (!(score >= out.thresholds[id]) || !std::isfinite(score)) continue;
      const float x = static_cast<float>(cell % kColumns) * kStride + 0.5f;
      const float y = static_cast<float>(cell / kColumns) * kStride + 0.5f;
      out.add(x - kEdgeUnit * left[cell], y - kEdgeUnit * left[cell + cells],
              x + kEdgeUnit * left[cell + 2 * cells], y + kEdgeUnit * left[cell + 3 * cells], id,
              score);
    }
  }
  return true;
}
)parser";

std::string ParserText(const Head& head) {
  const HeadLevel& grid = head.levels[0];
  const HeadOutput& coverage = *head.Find(OutputRole::kScores);
  const HeadOutput& edges = *head.Find(OutputRole::kBoxes);
  return Filled(kDecodeText, {{"UNIT", CppFloat(kEdgeUnit)},
                              {"GRID_ROWS", fmt::format("{}", grid.rows)},
                              {"GRID_COLUMNS", fmt::format("{}", grid.columns)},
                              {"STRIDE", CppFloat(static_cast<float>(grid.stride))},
                              {"COVERAGE", CppString(coverage.name)},
                              {"COVERAGE_DIMS", CppDims(coverage.dims)},
                              {"EDGES", CppString(edges.name)},
                              {"EDGES_DIMS", CppDims(edges.dims)}});
}

void Recognise(const HeadQuestion& question, std::vector<HeadCandidate>* candidates) {
  for (const OnnxTensor& coverage : question.onnx.outputs) {
    const std::vector<int> dims = DimsOf(coverage);
    if (!IsFloatTensor(coverage) || dims.size() != 3 || dims[0] < 1 || dims[1] < 1) continue;
    for (const OnnxTensor& edges : question.onnx.outputs) {
      const std::vector<int> edge_dims = DimsOf(edges);
      if (&edges == &coverage || !IsFloatTensor(edges) ||
          edge_dims != std::vector<int>{dims[0] * 4, dims[1], dims[2]}) {
        continue;
      }
      const int stride = (question.input_width + dims[2] - 1) / dims[2];
      if (stride < 2 || (question.input_height + dims[1] - 1) / dims[1] != stride) continue;
      HeadCandidate candidate;
      Head& head = candidate.head;
      head.kind = HeadKind::kCoverageGrid;
      head.family = "detectnet-v2";
      head.num_classes = dims[0];
      head.activation = Activation::kNone;
      head.box_unit = BoxUnit::kPixels;
      head.levels = {{stride, dims[1], dims[2], {}}};
      head.outputs = {OutputOf(OutputRole::kScores, coverage, dims),
                      OutputOf(OutputRole::kBoxes, edges, edge_dims)};
      candidate.Shape(fmt::format("{} [{},{},{}] and four times as many channels in {}",
                                  coverage.name, dims[0], dims[1], dims[2], edges.name));
      if (coverage.name.find("cov") != std::string::npos)
        candidate.Fact(fmt::format("outputs named {}, {}", coverage.name, edges.name));
      candidates->push_back(candidate);
    }
  }
}

}  // namespace

HeadFamily CoverageGridFamily() { return {HeadKind::kCoverageGrid, Decode, ParserText, Recognise}; }

}  // namespace sg
