// YOLO and SSD: a box and class scores for each anchor point, in one output (v5 to v9, 11, X) or in
// two (NAS, RTMDet, SSD). A point is the best of those of its classes that reach their thresholds;
// with an objectness, that must reach the threshold too, and multiplies the score.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "detector/heads/family.h"
#include "detector/heads/output_shapes.h"
#include "detector/heads/parser_text.h"
#include "detector/heads/recognisers.h"

namespace sg {
namespace {

bool IsOneOutput(const Head& head) { return head.Count(OutputRole::kRows) > 0; }

/// Columns of a row before the class scores.
int ColumnsBefore(const Head& head) {
  return IsOneOutput(head) ? 4 + (head.objectness ? 1 : 0) : 0;
}

/// A matrix of points and columns, whichever of them comes first.
class Matrix {
 public:
  Matrix(const TensorView& tensor, bool channels_first)
      : tensor_(tensor),
        points_(tensor.dims[channels_first ? 1 : 0]),
        columns_(tensor.dims[channels_first ? 0 : 1]),
        channels_first_(channels_first) {}
  float At(int point, int column) const {
    return tensor_.At(channels_first_ ? static_cast<size_t>(column) * points_ + point
                                      : static_cast<size_t>(point) * columns_ + column);
  }
  int points() const { return points_; }

 private:
  const TensorView& tensor_;
  int points_;
  int columns_;
  bool channels_first_;
};

/// The scores of a point's columns.
std::vector<float> ColumnScores(const Matrix& matrix, int point, const Head& head) {
  std::vector<float> row;
  for (int i = 0; i < head.ScoreColumns(); ++i)
    row.push_back(matrix.At(point, ColumnsBefore(head) + i));
  return ActivatedRow(row, head.activation);
}

/// Offsets in a cell of the grids to pixels.
void FromGrid(const Head& head, int point, float (*box)[4]) {
  for (const HeadLevel& level : head.levels) {
    const int cells = level.rows * level.columns;
    if (point >= cells) {
      point -= cells;
      continue;
    }
    const auto stride = static_cast<float>(level.stride);
    (*box)[0] = ((*box)[0] + static_cast<float>(point % level.columns)) * stride;
    (*box)[1] = ((*box)[1] + static_cast<float>(point / level.columns)) * stride;
    (*box)[2] = std::exp((*box)[2]) * stride;
    (*box)[3] = std::exp((*box)[3]) * stride;
    return;
  }
}

std::vector<Box> Decode(const HeadTensors& tensors) {
  const Head& head = tensors.head;
  const std::vector<float>& thresholds = tensors.settings.thresholds;
  const bool one = IsOneOutput(head);
  const Matrix scores(tensors.Get(one ? OutputRole::kRows : OutputRole::kScores),
                      head.channels_first);
  const Matrix boxes(tensors.Get(one ? OutputRole::kRows : OutputRole::kBoxes),
                     head.channels_first);
  std::vector<Box> found;
  for (int point = 0; point < std::min(scores.points(), boxes.points()); ++point) {
    const float objectness =
        head.objectness ? Activated(scores.At(point, 4), head.activation) : 1.0F;
    const std::vector<float> columns = ColumnScores(scores, point, head);
    int best = -1;
    float best_score = 0;
    for (int i = 0; i < head.ScoreColumns(); ++i) {
      if (i == head.background) continue;
      const int id = head.background >= 0 && i > head.background ? i - 1 : i;
      const float score = head.objectness ? objectness * columns[i] : columns[i];
      if (!std::isfinite(score) || !(score >= thresholds[id])) continue;
      if (head.objectness && !(objectness >= thresholds[id])) continue;
      if (best >= 0 && !(score > best_score)) continue;
      best = id;
      best_score = score;
    }
    if (best < 0) continue;
    float box[4] = {boxes.At(point, 0), boxes.At(point, 1), boxes.At(point, 2), boxes.At(point, 3)};
    if (head.grid_offsets) FromGrid(head, point, &box);
    std::optional<Box> clamped = ClampedBox(CornersOf(box, tensors), tensors.settings);
    if (!clamped) continue;
    clamped->class_id = best;
    clamped->score = best_score;
    found.push_back(*clamped);
  }
  return found;
}

constexpr const char kConstantsText[] = R"parser(
const unsigned int kColumns = @COLUMNS@;  // class scores of a point
)parser";

constexpr const char kSoftmaxText[] = R"parser(
// Softmax over a point's columns, `step` apart; false when it has no finite result.
bool softmax(const float* columns, size_t step, float* scores) {
  float largest = columns[0];
  for (unsigned int i = 1; i < kColumns; ++i) largest = std::max(largest, columns[i * step]);
  float sum = 0.0f;
  for (unsigned int i = 0; i < kColumns; ++i) {
    scores[i] = std::exp(columns[i * step] - largest);
    sum += scores[i];
  }
  if (!std::isfinite(sum)) return false;
  for (unsigned int i = 0; i < kColumns; ++i) scores[i] /= sum;
  return true;
}
)parser";

// Channels first: a class is one long run of numbers, read block by block.
constexpr const char kAliveFirstText[] = R"parser(
// Marks the points where a column may reach its threshold: most blocks of a column have none.
void markAlive(const float* column, size_t points, float low, unsigned char* alive) {
  const size_t kBlock = 128;
  size_t start = 0;
  for (; start + kBlock <= points; start += kBlock) {
    const float* block = column + start;
    int any = 0;
    for (size_t i = 0; i < kBlock; ++i) any |= block[i] >= low;
    if (any == 0) continue;
    for (size_t i = 0; i < kBlock; ++i) alive[start + i] |= block[i] >= low;
  }
  for (; start < points; ++start) alive[start] |= column[start] >= low;
}
)parser";

constexpr const char kAliveLastText[] = R"parser(
// Whether a column of this point may reach its threshold: most points have none.
bool mayReach(const float* columns, const float* lows) {
  int any = 0;
  for (unsigned int i = 0; i < kColumns; ++i) any |= columns[i] >= lows[i];
  return any != 0;
}
)parser";

constexpr const char kGridText[] = R"parser(
struct Grid {
  size_t rows, columns;
  float stride;  // pixels
};
const Grid kGrids[] = {@GRIDS@};

// Offsets in a cell to pixels.
void fromGrid(size_t point, float* box) {
  for (size_t i = 0; i < sizeof kGrids / sizeof kGrids[0]; ++i) {
    const Grid& grid = kGrids[i];
    if (point >= grid.rows * grid.columns) {
      point -= grid.rows * grid.columns;
      continue;
    }
    box[0] = (box[0] + static_cast<float>(point % grid.columns)) * grid.stride;
    box[1] = (box[1] + static_cast<float>(point / grid.columns)) * grid.stride;
    box[2] = std::exp(box[2]) * grid.stride;
    box[3] = std::exp(box[3]) * grid.stride;
    return;
  }
}
)parser";

constexpr const char kDecodeText[] = R"parser(
bool decode(Layers const& layers, Boxes& out) {
@OPEN@
  const float* const thresholds = out.thresholds;
  float lows[kColumns];  // before the activation
  for (unsigned int i = 0; i < kColumns; ++i) {
@LOW@  }
@BEFORE@  for (size_t point = 0; point < points; ++point) {
@SKIP@    const float* columns = scores + point * @SCORE_ROW@;
@ROW@    unsigned int best = kNumClasses;
    float bestScore = 0.0f;
    for (unsigned int i = 0; i < kColumns; ++i) {
      const float raw = columns[i * @STEP@];
      if (!(raw >= lows[i]) || !std::isfinite(raw)) continue;
@CLASS@      const float score = @SCORE@;
      if (!std::isfinite(score) || !(score >= thresholds[id])@AND_OBJECTNESS@) continue;
      if (best < kNumClasses && !(score > bestScore)) continue;
      best = id;
      bestScore = score;
    }
    if (best == kNumClasses) continue;
    const float* from = boxes + point * @BOX_ROW@;
    float box[4] = {from[0], from[@STEP@], from[2 * @STEP@], from[3 * @STEP@]};
@GRID@    @ADD_BOX@
  }
  return true;
}
)parser";

constexpr const char kOpenRowsText[] = R"parser(  Tensor rows;
  if (!rows.open(layers, @ROWS@, @ROWS_DIMS@)) return false;
  const size_t points = rows.dim(@POINT_AXIS@);
  const float* const boxes = rows.data();
  const float* const scores = boxes + @BEFORE_COLUMNS@ * @STEP@;)parser";

constexpr const char kOpenPairText[] = R"parser(  Tensor scoresOutput;
  Tensor boxesOutput;
  if (!scoresOutput.open(layers, @SCORES@, @SCORES_DIMS@) ||
      !boxesOutput.open(layers, @BOXES@, @BOXES_DIMS@)) {
    return false;
  }
  const size_t points = scoresOutput.dim(@POINT_AXIS@);
  if (boxesOutput.dim(@POINT_AXIS@) != points) {
    return complain("scores for " + std::to_string(points) + " points, boxes for " +
                    std::to_string(boxesOutput.dim(@POINT_AXIS@)));
  }
  const float* const boxes = boxesOutput.data();
  const float* const scores = scoresOutput.data();)parser";

/// What is looked at before a point's classes, so that most points cost next to nothing.
struct Shortcut {
  std::string before;
  std::string skip;
};

Shortcut ShortcutOf(const Head& head) {
  if (head.objectness) {
    const std::string value =
        head.channels_first
            ? "objectnesses[point]"
            : "objectnesses[point * " + fmt::format("{}", 5 + head.num_classes) + "]";
    const std::string activated =
        head.activation == Activation::kSigmoid ? "sigmoid(" + value + ")" : value;
    // The product of two sigmoids is below either; of scores as they are nothing is known.
    const char* lows = head.activation == Activation::kSigmoid ? "lows" : "thresholds";
    return {fmt::format("  const float lowest = *std::min_element({0}, {0} + kColumns);\n"
                        "  const float* const objectnesses = boxes + 4 * {1};\n",
                        lows, head.channels_first ? "points" : "1"),
            fmt::format("    if (!({} >= lowest)) continue;\n"
                        "    const float objectness = {};\n",
                        value, activated)};
  }
  if (head.activation == Activation::kSoftmax) return {};
  if (head.channels_first) {
    return {
        "  std::vector<unsigned char> alive(points);\n"
        "  for (unsigned int i = 0; i < kColumns; ++i) {\n"
        "    markAlive(scores + i * points, points, lows[i], alive.data());\n"
        "  }\n",
        "    if (alive[point] == 0) continue;\n"};
  }
  return {"", "    if (!mayReach(scores + point * @SCORE_ROW@, lows)) continue;\n"};
}

std::string GridsText(const Head& head) {
  std::vector<std::string> grids;
  for (const HeadLevel& level : head.levels)
    grids.push_back(fmt::format("{{{}, {}, {}}}", level.rows, level.columns,
                                CppFloat(static_cast<float>(level.stride))));
  return fmt::format("{}", fmt::join(grids, ", "));
}

std::string LowText(const Head& head) {
  const std::string infinity = "-std::numeric_limits<float>::infinity()";
  const std::string background =
      head.background < 0 ? ""
                          : fmt::format(
                                "    if (i == {}) {{  // no object\n"
                                "      lows[i] = std::numeric_limits<float>::infinity();\n"
                                "      continue;\n    }}\n",
                                head.background);
  const std::string id = head.background < 0 ? "i" : fmt::format("i - (i > {}u)", head.background);
  const std::string threshold = "thresholds[" + id + "]";
  const std::string low = head.activation == Activation::kSigmoid
                              ? "beforeSigmoid(" + threshold + ")"
                          : head.activation == Activation::kSoftmax || head.objectness ? infinity
                                                                                       : threshold;
  return background + "    lows[i] = " + low + ";\n";
}

std::string ParserText(const Head& head) {
  const bool sigmoid = head.activation == Activation::kSigmoid;
  const bool softmax = head.activation == Activation::kSoftmax;
  const bool one = IsOneOutput(head);
  const bool scans = !head.objectness && !softmax;
  std::string text = kConstantsText;
  if (sigmoid) text += kParserSigmoidText;
  if (softmax) text += kSoftmaxText;
  if (scans) text += head.channels_first ? kAliveFirstText : kAliveLastText;
  if (head.grid_offsets) text += kGridText;
  text += kDecodeText;
  const Shortcut shortcut = ShortcutOf(head);
  text = Filled(text, {{"OPEN", one ? kOpenRowsText : kOpenPairText},
                       {"BEFORE", shortcut.before},
                       {"SKIP", shortcut.skip}});
  const auto name = [&](OutputRole role) {
    const HeadOutput* output = head.Find(role);
    return output == nullptr ? "" : CppString(output->name);
  };
  const auto dims = [&](OutputRole role) {
    const HeadOutput* output = head.Find(role);
    return output == nullptr ? "" : CppDims(output->dims);
  };
  const int row = ColumnsBefore(head) + head.ScoreColumns();
  const std::string activated = softmax ? "columnScores[i]" : sigmoid ? "sigmoid(raw)" : "raw";
  const std::string class_text =
      head.background < 0
          ? "      const unsigned int id = i;\n"
          : fmt::format(
                "      if (i == {0}) continue;  // no object\n"
                "      const unsigned int id = {1};\n",
                head.background,
                head.background == 0 ? "i - 1"
                                     : fmt::format("i < {} ? i : i - 1", head.background));
  return Filled(text, {{"COLUMNS", fmt::format("{}", head.ScoreColumns())},
                       {"ROWS", name(OutputRole::kRows)},
                       {"ROWS_DIMS", dims(OutputRole::kRows)},
                       {"SCORES", name(OutputRole::kScores)},
                       {"SCORES_DIMS", dims(OutputRole::kScores)},
                       {"BOXES", name(OutputRole::kBoxes)},
                       {"BOXES_DIMS", dims(OutputRole::kBoxes)},
                       {"POINT_AXIS", head.channels_first ? "1" : "0"},
                       {"BEFORE_COLUMNS", fmt::format("{}", ColumnsBefore(head))},
                       {"STEP", head.channels_first ? "points" : "1"},
                       {"SCORE_ROW", head.channels_first ? "1" : fmt::format("{}", row)},
                       {"BOX_ROW", head.channels_first ? "1" : fmt::format("{}", one ? row : 4)},
                       {"LOW", LowText(head)},
                       {"ROW", softmax ? "    float columnScores[kColumns];\n"
                                         "    if (!softmax(columns, " +
                                             std::string(head.channels_first ? "points" : "1") +
                                             ", columnScores)) continue;\n"
                                       : ""},
                       {"CLASS", class_text},
                       {"SCORE", head.objectness ? "objectness * " + activated : activated},
                       {"AND_OBJECTNESS",
                        head.objectness ? " ||\n          !(objectness >= thresholds[id])" : ""},
                       {"GRIDS", GridsText(head)},
                       {"GRID", head.grid_offsets ? "    fromGrid(point, box);\n" : ""},
                       {"ADD_BOX", CppAddBox(head, "box[{}]", "best, bestScore")}});
}

/// One way to read an output of columns and points.
struct Reading {
  const char* family;
  bool channels_first;
  bool objectness;
  int anchors;  ///< boxes of a cell
};
constexpr Reading kReadings[] = {
    {"yolo-v8", true, false, 1},
    {"yolo-v8-rows", false, false, 1},
    {"yolo-v5", false, true, 3},
    {"yolox", false, true, 1},
};

/// False when the graph speaks against the reading; adds what speaks for it.
bool GraphAgrees(const HeadQuestion& question, const Reading& reading, HeadCandidate* candidate) {
  const std::string& name = candidate->head.outputs[0].name;
  const OutputTrace* trace = question.Trace(name);
  if (trace == nullptr || trace->makers.empty()) return true;
  if (trace->Has("ArgMax") || trace->Has("ReduceMax") || trace->Has("TopK") ||
      trace->Has("NonMaxSuppression")) {
    return false;  // one score and one class a row
  }
  if (!trace->Has("Sigmoid") && !trace->Has("Softmax")) {
    candidate->head.activation = Activation::kSigmoid;
    candidate->Fact(fmt::format("no Sigmoid leads to {}", name));
  }
  const int classes = candidate->head.num_classes;
  const auto has = [&](int channels) { return trace->conv_channels.count(channels) > 0; };
  if (trace->conv_channels.empty()) return true;
  if (reading.anchors > 1) {
    if (!has(reading.anchors * (5 + classes))) return !has(1) && !has(classes);
    candidate->Fact(
        fmt::format("convolutions of {} x (5 + {}) channels lead to it", reading.anchors, classes));
    return true;
  }
  if (reading.objectness) {
    if (!has(1) || !has(classes)) return false;
    candidate->Fact(
        fmt::format("convolutions of 1 and {} channels give objectness and classes", classes));
    return true;
  }
  if (!has(classes) || (classes > 1 && has(1))) return !has(1) && !has(classes + 1);
  candidate->Fact(
      fmt::format("convolutions of {} channels give the classes, none an objectness", classes));
  return true;
}

/// YOLOX leaves the grid out of the graph unless it was exported with --decode_in_inference.
void AddGridReadings(const HeadQuestion& question, const HeadCandidate& decoded,
                     const std::vector<int>& strides, std::vector<HeadCandidate>* candidates) {
  const OutputTrace* trace = question.Trace(decoded.head.outputs[0].name);
  const bool known = trace != nullptr && !trace->makers.empty();
  HeadCandidate undecoded = decoded;
  undecoded.head.family = "yolox-grid";
  undecoded.head.grid_offsets = true;
  undecoded.head.levels = GridsOf(question, strides);
  if (!known || trace->Has("Exp")) {
    candidates->push_back(decoded);
    if (known) candidates->back().Fact("the graph adds the grid (Exp)");
  }
  if (!known || (!trace->Has("Exp") && !trace->Has("Pow") && !trace->Has("Mul"))) {
    candidates->push_back(undecoded);
    if (known) candidates->back().Fact("nothing in the graph adds the grid");
  }
  if (known && !trace->Has("Exp") && (trace->Has("Mul") || trace->Has("Pow")))
    candidates->push_back(decoded);  // v6 and others, with distances
}

void RecogniseRows(const HeadQuestion& question, const OnnxTensor& output,
                   std::vector<HeadCandidate>* candidates) {
  const std::vector<int> dims = DimsOf(output);
  if (dims.size() != 2 || !IsFloatTensor(output)) return;
  for (const Reading& reading : kReadings) {
    const int points = dims[reading.channels_first ? 1 : 0];
    const int columns = dims[reading.channels_first ? 0 : 1];
    const int classes = columns - 4 - (reading.objectness ? 1 : 0);
    if (points < 1 || classes < 1) continue;
    const std::vector<int> strides = StridesOfPoints(question, points, reading.anchors);
    if (strides.empty()) continue;
    HeadCandidate candidate;
    Head& head = candidate.head;
    head.kind = HeadKind::kDenseRows;
    head.family = reading.family;
    head.outputs = {OutputOf(OutputRole::kRows, output, dims)};
    head.num_classes = classes;
    head.activation = Activation::kNone;
    head.box_unit = BoxUnit::kPixels;
    head.channels_first = reading.channels_first;
    head.objectness = reading.objectness;
    candidate.Shape(fmt::format("{} [{}]: {} points are {} box{} in each cell of strides {}",
                                output.name, fmt::join(dims, ","), points, reading.anchors,
                                reading.anchors == 1 ? "" : "es", fmt::join(strides, ", ")));
    AddUltralyticsFacts(question, classes, &candidate);
    if (!GraphAgrees(question, reading, &candidate)) continue;
    if (reading.objectness && reading.anchors == 1)
      AddGridReadings(question, candidate, strides, candidates);
    else
      candidates->push_back(candidate);
  }
}

/// Boxes and scores in outputs of their own.
void RecognisePair(const HeadQuestion& question, std::vector<HeadCandidate>* candidates) {
  const OutputPair pair = FindScoresAndBoxes(question, {"scores", "cls_scores", "confidences"},
                                             {"boxes", "bboxes", "locations"});
  if (pair.scores == nullptr || pair.rows < 1 || pair.columns < 1) return;
  const OutputTrace* trace = question.Trace(pair.scores->name);
  const bool known = trace != nullptr && !trace->makers.empty();
  const bool softmax = known && trace->MadeBy("Softmax");
  // Few rows that no grid has are queries, unless a softmax with a background made them.
  if (!pair.is_grid && pair.rows <= 1000 && !softmax) return;
  HeadCandidate base;
  Head& head = base.head;
  head.kind = HeadKind::kDenseRows;
  head.outputs = {OutputOf(OutputRole::kScores, *pair.scores, {pair.rows, pair.columns}),
                  OutputOf(OutputRole::kBoxes, *pair.boxes, {pair.rows, 4})};
  head.activation =
      known && !softmax && !trace->Has("Sigmoid") ? Activation::kSigmoid : Activation::kNone;
  base.Shape(fmt::format("{} [{},{}] and {} [{},4] are scores and boxes of {} points",
                         pair.scores->name, pair.rows, pair.columns, pair.boxes->name, pair.rows,
                         pair.rows));
  if (pair.is_grid)
    base.Fact(fmt::format("{} points are the cells of a detector's grids", pair.rows));
  const auto add = [&](const char* family, BoxFormat format, BoxUnit unit, int background) {
    HeadCandidate candidate = base;
    candidate.head.family = family;
    candidate.head.box_format = format;
    candidate.head.box_unit = unit;
    candidate.head.background = background;
    candidate.head.num_classes = pair.columns - (background >= 0 ? 1 : 0);
    if (background >= 0 && softmax) candidate.Fact(pair.scores->name + " is made by a Softmax");
    candidates->push_back(candidate);
  };
  if (!softmax) {
    add("yolo-nas", BoxFormat::kXyxy, BoxUnit::kPixels, -1);
    add("yolo-boxes-scores", BoxFormat::kCxcywh, BoxUnit::kPixels, -1);
    add("yolo-boxes-scores-xyxy-unit", BoxFormat::kXyxy, BoxUnit::kFraction, -1);
  }
  if (pair.columns < 2) return;
  add("ssd", BoxFormat::kXyxy, BoxUnit::kFraction, 0);
  add("ssd-yxyx", BoxFormat::kYxyx, BoxUnit::kFraction, 0);
  add("ssd-pixels", BoxFormat::kXyxy, BoxUnit::kPixels, 0);
}

void Recognise(const HeadQuestion& question, std::vector<HeadCandidate>* candidates) {
  for (const OnnxTensor& output : question.onnx.outputs)
    RecogniseRows(question, output, candidates);
  RecognisePair(question, candidates);
}

}  // namespace

HeadFamily DenseRowsFamily() { return {HeadKind::kDenseRows, Decode, ParserText, Recognise}; }

}  // namespace sg
