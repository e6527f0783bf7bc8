// YOLOv3, v4, and the raw outputs of v5 and v7: for each cell of each grid and each anchor, offsets
// of the box, an objectness and class scores, all of them before their sigmoid.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "detector/heads/family.h"
#include "detector/heads/output_shapes.h"
#include "detector/heads/parser_text.h"
#include "detector/heads/recognisers.h"

namespace sg {
namespace {

/// How far apart the values of a level lie: value (anchor, row, column, k) is at their sum.
struct Steps {
  size_t anchor, row, column, value;
};

Steps StepsOf(const Head& head, const HeadLevel& level) {
  const size_t rows = static_cast<size_t>(level.rows);
  const size_t columns = static_cast<size_t>(level.columns);
  const size_t values = 5 + static_cast<size_t>(head.num_classes);
  const size_t anchors = level.anchors.size() / 2;
  switch (head.cell_layout) {
    case CellLayout::kAnchorValueCell:
      return {values * rows * columns, columns, 1, rows * columns};
    case CellLayout::kAnchorCellValue:
      return {values * rows * columns, columns * values, values, 1};
    case CellLayout::kCellAnchorValue:
      return {values, columns * anchors * values, anchors * values, 1};
  }
  return {};
}

/// Centre and size of a raw box, in pixels.
void FromAnchor(const Head& head, const HeadLevel& level, const float (&cell)[2], size_t anchor,
                float (*box)[4]) {
  const auto stride = static_cast<float>(level.stride);
  for (int i = 0; i < 2; ++i) {
    const float size = level.anchors[anchor * 2 + static_cast<size_t>(i)];
    const float centre = Sigmoid((*box)[i]);
    if (head.anchor_scale == AnchorScale::kExp) {
      const float scale = level.centre_scale;
      (*box)[i] = (cell[i] + centre * scale - (scale - 1.0F) / 2.0F) * stride;
      (*box)[i + 2] = size * std::exp((*box)[i + 2]);
    } else {
      const float twice = 2.0F * Sigmoid((*box)[i + 2]);
      (*box)[i] = (cell[i] + 2.0F * centre - 0.5F) * stride;
      (*box)[i + 2] = size * twice * twice;
    }
  }
}

void DecodeLevel(const HeadTensors& tensors, int number, std::vector<Box>* found) {
  const Head& head = tensors.head;
  const HeadLevel& level = head.levels[number];
  const TensorView& raw = tensors.Get(OutputRole::kRows, number);
  const Steps steps = StepsOf(head, level);
  const std::vector<float>& thresholds = tensors.settings.thresholds;
  for (size_t anchor = 0; anchor < level.anchors.size() / 2; ++anchor) {
    for (int row = 0; row < level.rows; ++row) {
      for (int column = 0; column < level.columns; ++column) {
        const size_t at = anchor * steps.anchor + static_cast<size_t>(row) * steps.row +
                          static_cast<size_t>(column) * steps.column;
        const float objectness = Sigmoid(raw.At(at + 4 * steps.value));
        int best = -1;
        float best_score = 0;
        for (int id = 0; id < head.num_classes; ++id) {
          const float value = raw.At(at + (5 + static_cast<size_t>(id)) * steps.value);
          const float score = objectness * Sigmoid(value);
          if (!std::isfinite(value) || !(objectness >= thresholds[id])) continue;
          if (!(score >= thresholds[id]) || (best >= 0 && !(score > best_score))) continue;
          best = id;
          best_score = score;
        }
        if (best < 0) continue;
        float box[4];
        for (size_t i = 0; i < 4; ++i) box[i] = raw.At(at + i * steps.value);
        const float cell[2] = {static_cast<float>(column), static_cast<float>(row)};
        FromAnchor(head, level, cell, anchor, &box);
        std::optional<Box> clamped = ClampedBox(CornersOf(box, tensors), tensors.settings);
        if (!clamped) continue;
        clamped->class_id = best;
        clamped->score = best_score;
        found->push_back(*clamped);
      }
    }
  }
}

std::vector<Box> Decode(const HeadTensors& tensors) {
  std::vector<Box> found;
  for (size_t level = 0; level < tensors.head.levels.size(); ++level)
    DecodeLevel(tensors, static_cast<int>(level), &found);
  return found;
}

constexpr const char kLevelText[] = R"parser(
struct Level {
  const char* output;
  std::initializer_list<unsigned int> dims;
  size_t rows, columns, anchors;
  size_t anchorStep, rowStep, columnStep, valueStep;  // between values
  float stride;                                       // pixels of a cell
  float centreScale;
  const float* sizes;  // width and height of each anchor, pixels
};
@SIZES@
const Level kLevels[] = {
@LEVELS@};

// A raw offset to a centre and a size, in pixels.
void fromAnchor(const Level& level, size_t cell, float anchor, float* centre, float* size) {
  const float where = sigmoid(*centre);
@SCALE@}

void decodeLevel(const Level& level, const float* raw, const float* lows, Boxes& out) {
  const float lowest = *std::min_element(lows, lows + kNumClasses);
  const size_t step = level.valueStep;
  for (size_t anchor = 0; anchor < level.anchors; ++anchor) {
    for (size_t row = 0; row < level.rows; ++row) {
      for (size_t column = 0; column < level.columns; ++column) {
        const float* values = raw + anchor * level.anchorStep + row * level.rowStep +
                              column * level.columnStep;
        if (!(values[4 * step] >= lowest)) continue;
        const float objectness = sigmoid(values[4 * step]);
        unsigned int best = kNumClasses;
        float bestScore = 0.0f;
        for (unsigned int id = 0; id < kNumClasses; ++id) {
          const float value = values[(5 + id) * step];
          if (!(value >= lows[id]) || !std::isfinite(value)) continue;
          const float score = objectness * sigmoid(value);
          if (!(objectness >= out.thresholds[id]) || !(score >= out.thresholds[id])) continue;
          if (best < kNumClasses && !(score > bestScore)) continue;
          best = id;
          bestScore = score;
        }
        if (best == kNumClasses) continue;
        float box[4] = {values[0], values[step], values[2 * step], values[3 * step]};
        fromAnchor(level, column, level.sizes[2 * anchor], &box[0], &box[2]);
        fromAnchor(level, row, level.sizes[2 * anchor + 1], &box[1], &box[3]);
        @ADD_BOX@
      }
    }
  }
}

bool decode(Layers const& layers, Boxes& out) {
  float lows[kNumClasses];  // before the sigmoid
  for (unsigned int id = 0; id < kNumClasses; ++id) lows[id] = beforeSigmoid(out.thresholds[id]);
  const size_t count = sizeof kLevels / sizeof kLevels[0];
  Tensor raw[count];
  for (size_t i = 0; i < count; ++i) {
    if (!raw[i].open(layers, kLevels[i].output, kLevels[i].dims)) return false;
  }
  for (size_t i = 0; i < count; ++i) decodeLevel(kLevels[i], raw[i].data(), lows, out);
  return true;
}
)parser";

constexpr const char kExpText[] =
    "  *centre = (static_cast<float>(cell) + where * level.centreScale -\n"
    "             (level.centreScale - 1.0f) / 2.0f) * level.stride;\n"
    "  *size = anchor * std::exp(*size);\n";
constexpr const char kFourSquareText[] =
    "  const float twice = 2.0f * sigmoid(*size);\n"
    "  *centre = (static_cast<float>(cell) + 2.0f * where - 0.5f) * level.stride;\n"
    "  *size = anchor * twice * twice;\n";

std::string ParserText(const Head& head) {
  std::string sizes;
  std::string levels;
  for (size_t i = 0; i < head.levels.size(); ++i) {
    const HeadLevel& level = head.levels[i];
    const HeadOutput& output = *head.Find(OutputRole::kRows, static_cast<int>(i));
    const Steps steps = StepsOf(head, level);
    std::vector<std::string> numbers;
    for (const float anchor : level.anchors) numbers.push_back(CppFloat(anchor));
    sizes += fmt::format("const float kSizes{}[] = {{{}}};\n", i, fmt::join(numbers, ", "));
    // A list of initialisers lives only as long as what it is written in: each has a name.
    sizes += fmt::format("const std::initializer_list<unsigned int> kDims{} = {};\n", i,
                         CppDims(output.dims));
    levels +=
        fmt::format("    {{{}, kDims{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, kSizes{}}},\n",
                    CppString(output.name), i, level.rows, level.columns, level.anchors.size() / 2,
                    steps.anchor, steps.row, steps.column, steps.value,
                    CppFloat(static_cast<float>(level.stride)), CppFloat(level.centre_scale), i);
  }
  return Filled(std::string(kParserSigmoidText) + kLevelText,
                {{"SIZES", sizes},
                 {"LEVELS", levels},
                 {"SCALE", head.anchor_scale == AnchorScale::kExp ? kExpText : kFourSquareText},
                 {"ADD_BOX", CppAddBox(head, "box[{}]", "best, bestScore")}});
}

/// Anchors of the COCO models that people start from, by stride, in pixels.
struct AnchorSet {
  const char* family;
  AnchorScale scale;
  const char* file_name;  ///< a part of the file's name that says so
  std::vector<std::pair<int, std::vector<float>>> anchors;
  std::vector<float> centre_scales;
};

const std::vector<AnchorSet>& AnchorSets() {
  static const std::vector<std::pair<int, std::vector<float>>> kV3 = {
      {8, {10, 13, 16, 30, 33, 23}},
      {16, {30, 61, 62, 45, 59, 119}},
      {32, {116, 90, 156, 198, 373, 326}}};
  static const std::vector<std::pair<int, std::vector<float>>> kV4 = {
      {8, {12, 16, 19, 36, 40, 28}},
      {16, {36, 75, 76, 55, 72, 146}},
      {32, {142, 110, 192, 243, 459, 401}}};
  static const std::vector<std::pair<int, std::vector<float>>> kTinyV3 = {
      {16, {10, 14, 23, 27, 37, 58}}, {32, {81, 82, 135, 169, 344, 319}}};
  static const std::vector<std::pair<int, std::vector<float>>> kTinyV4 = {
      {16, {23, 27, 37, 58, 81, 82}}, {32, {81, 82, 135, 169, 344, 319}}};
  static const std::vector<AnchorSet> kSets = {
      {"yolo-v3", AnchorScale::kExp, "yolov3", kV3, {1, 1, 1}},
      {"yolo-v4", AnchorScale::kExp, "yolov4", kV4, {1.2F, 1.1F, 1.05F}},
      {"yolo-v5-raw", AnchorScale::kFourSquare, "yolov5", kV3, {1, 1, 1}},
      {"yolo-v7-raw", AnchorScale::kFourSquare, "yolov7", kV4, {1, 1, 1}},
      {"yolo-v3-tiny", AnchorScale::kExp, "yolov3", kTinyV3, {1, 1}},
      {"yolo-v4-tiny", AnchorScale::kExp, "yolov4", kTinyV4, {1.05F, 1.05F}},
  };
  return kSets;
}

/// One grid's output, understood.
struct GridOutput {
  const OnnxTensor* tensor = nullptr;
  HeadLevel level;
  int anchors = 0;
  CellLayout layout = CellLayout::kAnchorValueCell;
};

std::optional<GridOutput> ReadGridOutput(const HeadQuestion& question, const OnnxTensor& output) {
  const std::vector<int> dims = DimsOf(output);
  const int values = 5 + question.labels;
  if (!IsFloatTensor(output) || question.labels < 1) return std::nullopt;
  for (const int stride : {8, 16, 32}) {
    GridOutput grid;
    grid.tensor = &output;
    grid.level = GridsOf(question, {stride})[0];
    const int rows = grid.level.rows;
    const int columns = grid.level.columns;
    if (dims.size() == 3 && dims[1] == rows && dims[2] == columns && dims[0] % values == 0) {
      grid.anchors = dims[0] / values;
      grid.layout = CellLayout::kAnchorValueCell;
    } else if (dims.size() == 4 && dims[3] == values && dims[1] == rows && dims[2] == columns) {
      grid.anchors = dims[0];
      grid.layout = CellLayout::kAnchorCellValue;
    } else if (dims.size() == 4 && dims[3] == values && dims[0] == rows && dims[1] == columns) {
      grid.anchors = dims[2];
      grid.layout = CellLayout::kCellAnchorValue;
    } else if (dims.size() == 3 && dims[0] == rows && dims[1] == columns && dims[2] % values == 0) {
      grid.anchors = dims[2] / values;
      grid.layout = CellLayout::kCellAnchorValue;
    }
    if (grid.anchors > 0) return grid;
  }
  return std::nullopt;
}

void Recognise(const HeadQuestion& question, std::vector<HeadCandidate>* candidates) {
  std::vector<GridOutput> grids;
  for (const OnnxTensor& output : question.onnx.outputs) {
    const OutputTrace* trace = question.Trace(output.name);
    if (trace != nullptr && trace->Has("Sigmoid")) continue;
    if (const auto grid = ReadGridOutput(question, output); grid) grids.push_back(*grid);
  }
  std::sort(grids.begin(), grids.end(), [](const GridOutput& a, const GridOutput& b) {
    return a.level.stride < b.level.stride;
  });
  if (grids.size() < 2) return;
  const std::string file = BaseName(question.onnx.path);
  for (const AnchorSet& set : AnchorSets()) {
    HeadCandidate candidate;
    Head& head = candidate.head;
    head.kind = HeadKind::kAnchorGrid;
    head.family = set.family;
    head.num_classes = question.labels;
    head.box_unit = BoxUnit::kPixels;
    head.objectness = true;
    head.anchor_scale = set.scale;
    head.cell_layout = grids[0].layout;
    bool fits = grids.size() == set.anchors.size();
    for (size_t i = 0; fits && i < grids.size(); ++i) {
      const GridOutput& grid = grids[i];
      const auto& [stride, anchors] = set.anchors[i];
      fits = stride == grid.level.stride && grid.layout == head.cell_layout &&
             static_cast<size_t>(grid.anchors) * 2 == anchors.size();
      HeadLevel level = grid.level;
      level.anchors = anchors;
      level.centre_scale = set.centre_scales[i];
      head.levels.push_back(level);
      head.outputs.push_back(OutputOf(OutputRole::kRows, *grid.tensor, DimsOf(*grid.tensor)));
    }
    if (!fits) continue;
    candidate.Shape(
        fmt::format("{} grids of {} anchors x (5 + {}) values; anchors are those of "
                    "the COCO model",
                    grids.size(), grids[0].anchors, question.labels));
    if (file.find(set.file_name) != std::string::npos)
      candidate.Fact(fmt::format("the file is named {}", file));
    candidates->push_back(candidate);
  }
}

}  // namespace

HeadFamily AnchorGridFamily() { return {HeadKind::kAnchorGrid, Decode, ParserText, Recognise}; }

}  // namespace sg
