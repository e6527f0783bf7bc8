// One small head for each thing that a parser template does: what the tests of all heads go
// through.
#pragma once

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
      {"ssd-softmax", PairHead(BoxFormat::kXywh, BoxUnit::kFraction, kSoftmax, 0)},
  };
  return heads;
}

}  // namespace sg
