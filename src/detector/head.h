// How a model's output tensors become boxes: plain facts, which the reference decoder (decoder.h),
// the generated parser (parser_source.h) and the configs are made from.
#pragma once

#include <string>
#include <vector>

namespace sg {

/// The ways of decoding; each has one row in heads/families.cc: a reference decoder and a parser
/// template. Many model families share one.
enum class HeadKind {
  kSetPrediction,  ///< class scores [Q,C] and boxes [Q,4]; each query at most a few objects
  kDenseRows,      ///< a box and class scores for each anchor point, of which many overlap
  kFinalBoxes,     ///< boxes with one score and one class each: chosen inside the graph
  kNmsSelections,  ///< boxes, scores and the [K,3] indices of ONNX's NonMaxSuppression
  kLevels,         ///< scores and distances for each point of several grids
  kAnchorGrid,     ///< offsets from anchors for each cell of several grids
  kCoverageGrid,   ///< DetectNet_v2: coverage and four edges for each cell of one grid
};

enum class OutputRole {
  kScores,      ///< class scores
  kBoxes,       ///< box coordinates, distances or offsets
  kRows,        ///< boxes and scores in one tensor
  kLabels,      ///< class ids
  kCount,       ///< how many of the boxes are real
  kObjectness,  ///< one score for each box, a factor of its class scores
  kSelections,  ///< rows (picture, class, box)
};
const char* OutputRoleName(OutputRole role);

/// The element types that parsers read.
enum class TensorType { kFloat, kHalf, kInt32, kInt64 };
const char* TensorTypeName(TensorType type);

struct HeadOutput {
  OutputRole role = OutputRole::kRows;
  std::string name;
  std::vector<int> dims;                 ///< without the batch axis; -1: the data decide
  TensorType type = TensorType::kFloat;  ///< as the graph says; an engine may give another one
};

enum class BoxFormat { kCxcywh, kXyxy, kYxyx, kXywh };
enum class BoxUnit { kFraction, kPixels };  ///< of the network's input
/// What is still to be applied to the scores.
enum class Activation { kNone, kSigmoid, kSoftmax };

/// One grid of kLevels and kAnchorGrid. The outputs of a level are those of Head::outputs in the
/// order of the levels, role by role.
struct HeadLevel {
  int stride = 0;  ///< pixels of the network's input for a cell
  int rows = 0;
  int columns = 0;
  std::vector<float> anchors;  ///< width and height in pixels, one after the other
  float centre_scale = 1;      ///< kAnchorGrid with kExp: v4's scale_x_y
};

/// Of kAnchorGrid: how a raw value t becomes a width; a is the anchor's.
enum class AnchorScale {
  kExp,         ///< a·e^t, as Darknet's v2 to v4
  kFourSquare,  ///< a·(2σ(t))², as v5 and v7
};

/// Of kAnchorGrid: the order of a level's axes; a value is one of (box, objectness, classes).
enum class CellLayout {
  kAnchorValueCell,  ///< [anchors × values, rows, columns]
  kAnchorCellValue,  ///< [anchors, rows, columns, values]
  kCellAnchorValue,  ///< [rows, columns, anchors × values]
};

/// Of kLevels: what the four box values of a point are.
enum class PointBox {
  kDistances,     ///< left, top, right, bottom, in pixels or strides
  kDistribution,  ///< bins of a distribution for each of them
  kAnchorDeltas,  ///< dx, dy, log dw, log dh of an anchor
};

struct Head {
  HeadKind kind = HeadKind::kSetPrediction;
  std::string family;  ///< as --head takes it: "detr", "yolo-v8", …
  std::vector<HeadOutput> outputs;
  int num_classes = 0;  ///< of the labels: background is none of them
  int background = -1;  ///< column of the scores that is no class; -1: none
  Activation activation = Activation::kSigmoid;  ///< of class scores and objectness
  BoxFormat box_format = BoxFormat::kCxcywh;
  BoxUnit box_unit = BoxUnit::kFraction;

  bool channels_first = false;  ///< kDenseRows, kLevels, kAnchorGrid: [columns, points]
  bool objectness = false;      ///< kDenseRows, kAnchorGrid: the column between box and classes
  bool grid_offsets = false;    ///< kDenseRows: cxcywh are offsets of the grids of `levels` (YOLOX)

  int box_column = 0;        ///< kFinalBoxes with kRows: where things are in a row
  int score_column = 4;      ///< -1: in an output of its own
  int class_column = 5;      ///< -1: in an output of its own, or a single class
  int first_class_id = 0;    ///< kFinalBoxes: the number that stands for labels[0]
  bool overlapping = false;  ///< kFinalBoxes: nothing in the graph chose among them

  std::vector<HeadLevel> levels;
  PointBox point_box = PointBox::kDistances;
  int bins = 0;             ///< of kDistribution
  float point_offset = 0;   ///< of a point in its cell, in cells
  bool in_strides = false;  ///< distances count strides, not pixels
  AnchorScale anchor_scale = AnchorScale::kExp;
  CellLayout cell_layout = CellLayout::kAnchorValueCell;

  /// The output of a role, the n-th one of that role; nullptr when there is none.
  const HeadOutput* Find(OutputRole role, int n = 0) const;
  int Count(OutputRole role) const;
  /// Class columns of the scores: num_classes, one more with a background.
  int ScoreColumns() const { return num_classes + (background >= 0 ? 1 : 0); }
  /// Boxes overlap by design and want NMS (nvinfer's cluster-mode 2); else they are final (4).
  bool IsDense() const;
};

/// "yolo-v8: output0 [84,8400] rows cxcywh in pixels, 80 classes, scores as they are".
std::string HeadText(const Head& head);

}  // namespace sg
