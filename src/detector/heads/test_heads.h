// One small head for each thing that a parser template does: what the tests of all heads go
// through.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "detector/model_card.h"

namespace sg {

inline constexpr int kTestWidth = 64;
inline constexpr int kTestHeight = 32;

struct TestHead {
  std::string name;
  Head head;
};

inline ModelCard CardOf(const TestHead& test) {
  ModelCard card;
  card.name = test.name;
  card.input_width = kTestWidth;
  card.input_height = kTestHeight;
  card.head = test.head;
  for (int i = 0; i < test.head.num_classes; ++i) card.labels.push_back("c" + std::to_string(i));
  return card;
}

inline Head QueriesHead(Activation activation, int background) {
  Head head;
  head.kind = HeadKind::kSetPrediction;
  head.num_classes = 5;
  head.background = background;
  head.activation = activation;
  const int columns = head.ScoreColumns();
  head.outputs = {{OutputRole::kScores, "logits", {12, columns}, TensorType::kFloat},
                  {OutputRole::kBoxes, "pred_boxes", {12, 4}, TensorType::kFloat}};
  return head;
}

inline Head RowsHead(bool channels_first, bool objectness, Activation activation) {
  Head head;
  head.kind = HeadKind::kDenseRows;
  head.num_classes = 6;
  head.activation = activation;
  head.channels_first = channels_first;
  head.objectness = objectness;
  head.box_unit = BoxUnit::kPixels;
  const int columns = 4 + (objectness ? 1 : 0) + head.num_classes;
  // More points than a block of the scan (128), and a rest.
  const std::vector<int> dims =
      channels_first ? std::vector<int>{columns, 140} : std::vector<int>{140, columns};
  head.outputs = {{OutputRole::kRows, "output0", dims, TensorType::kFloat}};
  return head;
}

inline Head PairHead(BoxFormat format, BoxUnit unit, Activation activation, int background) {
  Head head;
  head.kind = HeadKind::kDenseRows;
  head.num_classes = 4;
  head.background = background;
  head.activation = activation;
  head.box_format = format;
  head.box_unit = unit;
  head.outputs = {{OutputRole::kScores, "scores", {40, head.ScoreColumns()}, TensorType::kFloat},
                  {OutputRole::kBoxes, "boxes", {40, 4}, TensorType::kFloat}};
  return head;
}

inline Head GridOffsetsHead() {
  Head head = RowsHead(false, true, Activation::kNone);
  head.grid_offsets = true;
  head.levels = {{8, 4, 8, {}}, {16, 2, 4, {}}, {32, 1, 2, {}}};
  head.outputs[0].dims = {42, 11};
  return head;
}

/// Rows of `columns` numbers, with the box, the score and the class where they are told.
inline Head FinalRowsHead(int columns, int box, int score, int class_column) {
  Head head;
  head.kind = HeadKind::kFinalBoxes;
  head.num_classes = 5;
  head.activation = Activation::kNone;
  head.box_format = BoxFormat::kXyxy;
  head.box_unit = BoxUnit::kPixels;
  head.outputs = {{OutputRole::kRows, "output0", {30, columns}, TensorType::kFloat}};
  head.box_column = box;
  head.score_column = score;
  head.class_column = class_column;
  return head;
}

inline Head SeparateHead(TensorType labels, bool count, BoxFormat format, BoxUnit unit) {
  Head head = FinalRowsHead(4, 0, -1, -1);
  head.box_format = format;
  head.box_unit = unit;
  head.outputs = {{OutputRole::kBoxes, "boxes", {-1, 4}, TensorType::kFloat},
                  {OutputRole::kScores, "scores", {-1}, TensorType::kFloat},
                  {OutputRole::kLabels, "labels", {-1, 1}, labels}};
  if (count) head.outputs.push_back({OutputRole::kCount, "num", {1}, TensorType::kInt32});
  return head;
}

inline Head DetsLabelsHead() {
  Head head = FinalRowsHead(5, 0, 4, -1);
  head.first_class_id = 1;
  head.outputs.push_back({OutputRole::kLabels, "labels", {30}, TensorType::kInt64});
  return head;
}

inline Head SelectionsHead() {
  Head head = SeparateHead(TensorType::kInt64, false, BoxFormat::kYxyx, BoxUnit::kPixels);
  head.kind = HeadKind::kNmsSelections;
  head.outputs = {{OutputRole::kSelections, "selected_indices", {-1, 3}, TensorType::kInt64},
                  {OutputRole::kBoxes, "boxes", {20, 4}, TensorType::kFloat},
                  {OutputRole::kScores, "scores", {5, 20}, TensorType::kFloat}};
  return head;
}

inline std::vector<HeadLevel> TwoLevels() {
  return {{8, kTestHeight / 8, kTestWidth / 8, {}}, {16, kTestHeight / 16, kTestWidth / 16, {}}};
}

/// Scores, boxes and perhaps an objectness for each of two levels.
inline Head LevelsHead(PointBox box, bool channels_first, bool objectness, Activation activation) {
  Head head;
  head.kind = HeadKind::kLevels;
  head.num_classes = 3;
  head.activation = activation;
  head.channels_first = channels_first;
  head.box_unit = BoxUnit::kPixels;
  head.point_box = box;
  head.point_offset = channels_first ? 0.5F : 0.0F;
  head.in_strides = channels_first;
  head.bins = box == PointBox::kDistribution ? 8 : 0;
  head.levels = TwoLevels();
  int number = 0;
  for (HeadLevel& level : head.levels) {
    if (box == PointBox::kAnchorDeltas) level.anchors = {8, 8, 16, 4};
    const int anchors = box == PointBox::kAnchorDeltas ? 2 : 1;
    const auto add = [&](OutputRole role, const char* name, int channels) {
      const int cells = level.rows * level.columns;
      const std::vector<int> dims =
          channels_first ? std::vector<int>{channels * anchors, level.rows, level.columns}
                         : std::vector<int>{cells * anchors, channels};
      head.outputs.push_back({role, name + std::to_string(number), dims, TensorType::kFloat});
    };
    add(OutputRole::kScores, "cls", head.num_classes);
    add(OutputRole::kBoxes, "reg", box == PointBox::kDistribution ? 4 * head.bins : 4);
    if (objectness) add(OutputRole::kObjectness, "obj", 1);
    ++number;
  }
  return head;
}

/// The same in one output of all levels, or in two.
inline Head JoinedHead(PointBox box, bool rows, bool channels_first) {
  Head head = LevelsHead(box, channels_first, false, Activation::kSigmoid);
  int points = 0;
  for (const HeadLevel& level : head.levels)
    points += level.rows * level.columns * std::max<int>(1, level.anchors.size() / 2);
  const int values = box == PointBox::kDistribution ? 4 * head.bins : 4;
  const auto dims = [&](int columns) {
    return channels_first ? std::vector<int>{columns, points} : std::vector<int>{points, columns};
  };
  if (rows)
    head.outputs = {{OutputRole::kRows, "output", dims(3 + values), TensorType::kFloat}};
  else
    head.outputs = {{OutputRole::kScores, "cls", dims(3), TensorType::kFloat},
                    {OutputRole::kBoxes, "reg", dims(values), TensorType::kFloat}};
  return head;
}

inline Head AnchorsHead(CellLayout layout, AnchorScale scale) {
  Head head;
  head.kind = HeadKind::kAnchorGrid;
  head.num_classes = 3;
  head.box_unit = BoxUnit::kPixels;
  head.objectness = true;
  head.anchor_scale = scale;
  head.cell_layout = layout;
  head.levels = TwoLevels();
  for (HeadLevel& level : head.levels) {
    level.anchors = {6, 10, 12, 8, 30, 20};
    level.centre_scale = scale == AnchorScale::kExp ? 1.1F : 1.0F;
    const int h = level.rows;
    const int w = level.columns;
    const std::vector<int> dims =
        layout == CellLayout::kAnchorValueCell   ? std::vector<int>{24, h, w}
        : layout == CellLayout::kAnchorCellValue ? std::vector<int>{3, h, w, 8}
                                                 : std::vector<int>{h, w, 24};
    head.outputs.push_back(
        {OutputRole::kRows, "raw" + std::to_string(level.stride), dims, TensorType::kFloat});
  }
  return head;
}

inline Head CoverageHead() {
  Head head;
  head.kind = HeadKind::kCoverageGrid;
  head.num_classes = 3;
  head.activation = Activation::kNone;
  head.box_unit = BoxUnit::kPixels;
  head.levels = {{16, kTestHeight / 16, kTestWidth / 16, {}}};
  head.outputs = {{OutputRole::kScores, "output_cov/Sigmoid:0", {3, 2, 4}, TensorType::kFloat},
                  {OutputRole::kBoxes, "output_bbox/BiasAdd:0", {12, 2, 4}, TensorType::kFloat}};
  return head;
}

inline std::vector<TestHead> TestHeads() {
  using enum Activation;
  std::vector<TestHead> heads = {
      {"detr-sigmoid", QueriesHead(kSigmoid, -1)},
      {"detr-softmax", QueriesHead(kSoftmax, 5)},
      {"detr-background-first", QueriesHead(kSoftmax, 0)},
      {"detr-activated", QueriesHead(kNone, -1)},
      {"detr-activated-background", QueriesHead(kNone, 2)},
      {"yolo-v8", RowsHead(true, false, kNone)},
      {"yolo-v8-logits", RowsHead(true, false, kSigmoid)},
      {"yolo-v8-rows", RowsHead(false, false, kNone)},
      {"yolo-v8-rows-logits", RowsHead(false, false, kSigmoid)},
      {"yolo-v5", RowsHead(false, true, kNone)},
      {"yolo-v5-logits", RowsHead(false, true, kSigmoid)},
      {"yolo-v5-first", RowsHead(true, true, kNone)},
      {"yolox-grid", GridOffsetsHead()},
      {"yolo-nas", PairHead(BoxFormat::kXyxy, BoxUnit::kPixels, kNone, -1)},
      {"ssd", PairHead(BoxFormat::kYxyx, BoxUnit::kFraction, kNone, 0)},
      {"end-to-end", FinalRowsHead(6, 0, 4, 5)},
      {"ssd-rows", FinalRowsHead(7, 3, 2, 1)},
      {"one-class-rows", FinalRowsHead(5, 0, 4, -1)},
      {"dets-labels", DetsLabelsHead()},
      {"labels-boxes-scores",
       SeparateHead(TensorType::kInt64, false, BoxFormat::kXyxy, BoxUnit::kPixels)},
      {"tf-detection",
       SeparateHead(TensorType::kFloat, true, BoxFormat::kYxyx, BoxUnit::kFraction)},
      {"efficient-nms",
       SeparateHead(TensorType::kInt32, true, BoxFormat::kCxcywh, BoxUnit::kPixels)},
      {"onnx-nms", SelectionsHead()},
      {"rtmdet", LevelsHead(PointBox::kDistances, false, false, kSigmoid)},
      {"fcos", LevelsHead(PointBox::kDistances, true, true, kSigmoid)},
      {"fcos-activated", LevelsHead(PointBox::kDistances, true, true, kNone)},
      {"picodet", LevelsHead(PointBox::kDistribution, false, false, kNone)},
      {"gfl", LevelsHead(PointBox::kDistribution, true, false, kSigmoid)},
      {"nanodet", JoinedHead(PointBox::kDistribution, true, false)},
      {"levels-joined-first", JoinedHead(PointBox::kDistribution, false, true)},
      {"retinanet", LevelsHead(PointBox::kAnchorDeltas, true, false, kSigmoid)},
      {"retinanet-joined", JoinedHead(PointBox::kAnchorDeltas, false, false)},
      {"yolo-v3", AnchorsHead(CellLayout::kAnchorValueCell, AnchorScale::kExp)},
      {"yolo-v5-raw", AnchorsHead(CellLayout::kAnchorCellValue, AnchorScale::kFourSquare)},
      {"yolo-v4", AnchorsHead(CellLayout::kCellAnchorValue, AnchorScale::kExp)},
      {"detectnet-v2", CoverageHead()},
      {"ssd-softmax", PairHead(BoxFormat::kXywh, BoxUnit::kFraction, kSoftmax, 0)},
  };
  return heads;
}

}  // namespace sg
