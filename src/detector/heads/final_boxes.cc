// Boxes that the graph has chosen: one score and one class each, in one output of rows (YOLOv10,
// 26, SSD's DetectionOutput) or in outputs of their own (NMS plugins, TensorFlow, RT-DETR's own
// export). Rows that were not chosen among (DeepStream-Yolo's exports) are read the same way.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "detector/heads/family.h"
#include "detector/heads/output_shapes.h"
#include "detector/heads/recognisers.h"

namespace sg {
namespace {

bool HasRows(const Head& head) { return head.Count(OutputRole::kRows) > 0; }

/// The columns of a row, counted by the last axis.
int RowColumns(const Head& head) {
  return head.Find(HasRows(head) ? OutputRole::kRows : OutputRole::kBoxes)->dims.back();
}

/// The real ones among `rows`, as the count output says; all of them without one.
int RealRows(const HeadTensors& tensors, int rows) {
  if (!tensors.Has(OutputRole::kCount)) return rows;
  const float count = tensors.Get(OutputRole::kCount).At(0);
  if (!(count > 0)) return 0;
  return count < static_cast<float>(rows) ? static_cast<int>(count) : rows;
}

std::vector<Box> Decode(const HeadTensors& tensors) {
  const Head& head = tensors.head;
  const TensorView& rows = tensors.Get(HasRows(head) ? OutputRole::kRows : OutputRole::kBoxes);
  const int columns = RowColumns(head);
  const int count = RealRows(tensors, static_cast<int>(rows.Size()) / columns);
  std::vector<Box> found;
  for (int i = 0; i < count; ++i) {
    const size_t row = static_cast<size_t>(i) * columns;
    const float score = head.score_column >= 0 ? rows.At(row + head.score_column)
                                               : tensors.Get(OutputRole::kScores).At(i);
    float label = static_cast<float>(head.first_class_id);
    if (head.class_column >= 0) label = rows.At(row + head.class_column);
    if (tensors.Has(OutputRole::kLabels)) label = tensors.Get(OutputRole::kLabels).At(i);
    const float id = label - static_cast<float>(head.first_class_id);
    if (!(id >= 0 && id < static_cast<float>(head.num_classes))) continue;
    const int class_id = static_cast<int>(id);
    if (!std::isfinite(score) || !(score >= tensors.settings.thresholds[class_id])) continue;
    const size_t at = row + head.box_column;
    const float box[4] = {rows.At(at), rows.At(at + 1), rows.At(at + 2), rows.At(at + 3)};
    std::optional<Box> clamped = ClampedBox(CornersOf(box, tensors), tensors.settings);
    if (!clamped) continue;
    clamped->class_id = class_id;
    clamped->score = score;
    found.push_back(*clamped);
  }
  return found;
}

constexpr const char kDecodeText[] = R"parser(
const unsigned int kColumns = @COLUMNS@;  // of a row

bool decode(Layers const& layers, Boxes& out) {
  Tensor rows;
  if (!rows.open(layers, @ROWS@, @ROWS_DIMS@)) return false;
  size_t count = rows.size() / kColumns;
@OPEN@  for (size_t i = 0; i < count; ++i) {
    const float* row = rows.data() + i * kColumns;
@CLASS@    const float score = @SCORE@;
    if (!std::isfinite(score) || !(score >= out.thresholds[classId])) continue;
    const float* box = row + @BOX_COLUMN@;
    @ADD_BOX@
  }
  return true;
}
)parser";

// @VARIABLE@ has one value for each row.
constexpr const char kOpenColumnText[] = R"parser(  Tensor @VARIABLE@;
  if (!@VARIABLE@.open(layers, @NAME@, @DIMS@)) return false;
  if (@VARIABLE@.size() != count) {
    return complain(std::to_string(count) + " boxes, but " + std::to_string(@VARIABLE@.size()) +
                    " of " + @NAME@);
  }
)parser";

constexpr const char kOpenCountText[] = R"parser(  Tensor real;
  if (!real.open(layers, @NAME@, @DIMS@)) return false;
  if (!(real[0] > 0.0f)) return true;
  if (real[0] < static_cast<float>(count)) count = static_cast<size_t>(real[0]);
)parser";

constexpr const char kClassText[] =
    "    const float label = @LABEL@;\n"
    "    if (!(label >= 0.0f && label < static_cast<float>(kNumClasses))) continue;\n"
    "    const unsigned int classId = static_cast<unsigned int>(label);\n";

std::string OpenText(const HeadOutput& output, const std::string& text, const char* variable) {
  return Filled(
      text,
      {{"VARIABLE", variable}, {"NAME", CppString(output.name)}, {"DIMS", CppDims(output.dims)}});
}

std::string ParserText(const Head& head) {
  std::string open;
  if (const HeadOutput* scores = head.Find(OutputRole::kScores); scores != nullptr)
    open += OpenText(*scores, kOpenColumnText, "scores");
  if (const HeadOutput* labels = head.Find(OutputRole::kLabels); labels != nullptr)
    open += OpenText(*labels, kOpenColumnText, "labels");
  if (const HeadOutput* count = head.Find(OutputRole::kCount); count != nullptr)
    open += OpenText(*count, kOpenCountText, "real");
  std::string label =
      head.Count(OutputRole::kLabels) > 0 ? "labels[i]" : fmt::format("row[{}]", head.class_column);
  const bool has_label = head.Count(OutputRole::kLabels) > 0 || head.class_column >= 0;
  if (head.first_class_id != 0)
    label += fmt::format(" - {}", CppFloat(static_cast<float>(head.first_class_id)));
  const HeadOutput& rows = *head.Find(HasRows(head) ? OutputRole::kRows : OutputRole::kBoxes);
  return Filled(
      kDecodeText,
      {{"COLUMNS", fmt::format("{}", RowColumns(head))},
       {"ROWS", CppString(rows.name)},
       {"ROWS_DIMS", CppDims(rows.dims)},
       {"OPEN", open},
       {"CLASS", has_label ? Filled(kClassText, {{"LABEL", label}})
                           : "    const unsigned int classId = 0;\n"},
       {"SCORE", head.score_column >= 0 ? fmt::format("row[{}]", head.score_column) : "scores[i]"},
       {"BOX_COLUMN", fmt::format("{}", head.box_column)},
       {"ADD_BOX", CppAddBox(head, "box[{}]", "classId, score")}});
}

/// A meaning of the four numbers, and the name of the head that has it.
struct BoxReading {
  const char* family;
  BoxFormat format;
  BoxUnit unit;
  int first_class_id = 0;
  bool only_if_asked = false;
};

void AddReadings(const HeadCandidate& base, const std::vector<BoxReading>& readings,
                 std::vector<HeadCandidate>* candidates) {
  for (const BoxReading& reading : readings) {
    HeadCandidate candidate = base;
    candidate.head.family = reading.family;
    candidate.head.box_format = reading.format;
    candidate.head.box_unit = reading.unit;
    candidate.head.first_class_id = reading.first_class_id;
    candidate.only_if_asked = reading.only_if_asked;
    candidates->push_back(candidate);
  }
}

constexpr auto kPixels = BoxUnit::kPixels;
constexpr auto kFraction = BoxUnit::kFraction;

/// [K,6] of x1 y1 x2 y2 score class; [1,K,7] of picture class score x1 y1 x2 y2.
void RecogniseRows(const HeadQuestion& question, const OnnxTensor& output,
                   std::vector<HeadCandidate>* candidates) {
  const std::vector<int> dims = DimsOf(output);
  if (!IsFloatTensor(output) || dims.empty() || question.labels < 1) return;
  HeadCandidate base;
  Head& head = base.head;
  head.kind = HeadKind::kFinalBoxes;
  head.activation = Activation::kNone;
  head.num_classes = question.labels;
  head.outputs = {OutputOf(OutputRole::kRows, output, dims)};
  if (dims.size() == 3 && dims[0] == 1 && dims[2] == 7) {
    head.box_column = 3;
    head.score_column = 2;
    head.class_column = 1;
    base.Shape(fmt::format("{} [{}]: rows of picture, class, score, box", output.name,
                           fmt::join(dims, ",")));
    AddReadings(base,
                {{"ssd-rows", BoxFormat::kXyxy, kFraction, 1},
                 {"ssd-rows-0", BoxFormat::kXyxy, kFraction, 0, true}},
                candidates);
    return;
  }
  if (dims.size() != 2 || dims[1] != 6) return;
  base.Shape(fmt::format("{} [{}]: rows of four corners, score, class", output.name,
                         fmt::join(dims, ",")));
  head.overlapping = dims[0] > 0 && (!StridesOfPoints(question, dims[0], 1).empty() ||
                                     !StridesOfPoints(question, dims[0], 3).empty());
  const OutputTrace* trace = question.Trace(output.name);
  const bool known = trace != nullptr && !trace->makers.empty();
  const bool chooses = known && (trace->Has("TopK") || trace->Has("NonMaxSuppression"));
  const bool one_class = known && (trace->Has("ArgMax") || trace->Has("ReduceMax"));
  if (known && !chooses && !one_class) return;  // two classes, or one and an objectness
  if (head.overlapping && one_class && !chooses)
    base.Fact("the graph takes each row's best class (ArgMax)");
  if (chooses) base.Fact("the graph chooses the rows (TopK or NonMaxSuppression)");
  if (chooses) head.overlapping = false;
  const bool is_ultralytics = question.onnx.metadata.count("task") > 0;
  if (is_ultralytics) AddUltralyticsFacts(question, head.num_classes, &base);
  AddReadings(base,
              {{head.overlapping ? "yolo-best-rows" : "end-to-end", BoxFormat::kXyxy, kPixels}},
              candidates);
  if (!is_ultralytics)
    AddReadings(base,
                {{head.overlapping ? "yolo-best-rows-unit" : "end-to-end-unit", BoxFormat::kXyxy,
                  kFraction}},
                candidates);
}

bool NameHas(const std::string& name, std::initializer_list<const char*> parts) {
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return lower.find(part) != std::string::npos; });
}

/// Boxes, scores, labels and count among the outputs.
struct Parts {
  const OnnxTensor* boxes = nullptr;
  const OnnxTensor* scores = nullptr;
  const OnnxTensor* labels = nullptr;
  const OnnxTensor* count = nullptr;
};

Parts FindParts(const HeadQuestion& question) {
  Parts parts;
  for (const OnnxTensor& output : question.onnx.outputs) {
    const std::vector<int> dims = DimsOf(output);
    const bool one_a_box = dims.size() == 1 || (dims.size() == 2 && dims[1] == 1);
    const bool is_number = dims.empty() || (dims.size() == 1 && dims[0] == 1);
    if (NameHas(output.name, {"raw_", "anchor", "multiclass", "logit"})) continue;
    if (dims.size() == 2 && (dims[1] == 4 || dims[1] == 5) && IsFloatTensor(output)) {
      if (parts.boxes == nullptr) parts.boxes = &output;
    } else if (is_number && NameHas(output.name, {"num", "count"})) {
      parts.count = &output;
    } else if (one_a_box &&
               (NameHas(output.name, {"class", "label", "cls"}) || !IsFloatTensor(output))) {
      parts.labels = &output;
    } else if (one_a_box && IsFloatTensor(output)) {
      parts.scores = &output;
    }
  }
  return parts;
}

std::vector<BoxReading> ReadingsOf(const HeadQuestion& question, const Parts& parts,
                                   HeadCandidate* base) {
  const std::string& name = parts.boxes->name;
  if (NameHas(name, {"nmsed"}))
    return {{"batched-nms", BoxFormat::kXyxy, kFraction},
            {"batched-nms-pixels", BoxFormat::kXyxy, kPixels}};
  if (NameHas(name, {"detection_boxes"}))
    return {{"tf-detection", BoxFormat::kYxyx, kFraction, 1},
            {"efficientdet-tao", BoxFormat::kYxyx, kPixels},
            {"tf-detection-0", BoxFormat::kYxyx, kFraction, 0, true},
            {"detection-xyxy", BoxFormat::kXyxy, kPixels, 0, true}};
  if (parts.count != nullptr)
    return {{"efficient-nms", BoxFormat::kXyxy, kPixels},
            {"efficient-nms-unit", BoxFormat::kXyxy, kFraction},
            {"efficient-nms-yxyx", BoxFormat::kYxyx, kPixels, 0, true},
            {"efficient-nms-cxcywh", BoxFormat::kCxcywh, kPixels, 0, true}};
  for (const OnnxTensor& input : question.onnx.inputs) {
    if (input.name != "orig_target_sizes") continue;
    base->Fact("orig_target_sizes scales the boxes in the graph");
    return {{"labels-boxes-scores", BoxFormat::kXyxy, kPixels}};
  }
  return {{"labels-boxes-scores", BoxFormat::kXyxy, kPixels},
          {"labels-boxes-scores-unit", BoxFormat::kXyxy, kFraction},
          {"labels-boxes-scores-cxcywh", BoxFormat::kCxcywh, kFraction}};
}

void RecogniseParts(const HeadQuestion& question, std::vector<HeadCandidate>* candidates) {
  const Parts parts = FindParts(question);
  if (parts.boxes == nullptr || question.labels < 1) return;
  std::vector<int> box_dims = DimsOf(*parts.boxes);
  const bool scored_rows = box_dims[1] == 5;
  if (!scored_rows && parts.scores == nullptr) return;
  if (parts.labels == nullptr && question.labels != 1) return;
  HeadCandidate base;
  Head& head = base.head;
  head.kind = HeadKind::kFinalBoxes;
  head.activation = Activation::kNone;
  head.num_classes = question.labels;
  head.class_column = -1;
  head.score_column = scored_rows ? 4 : -1;
  int rows = box_dims[0];
  for (const OnnxTensor* part : {parts.scores, parts.labels}) {
    if (part == nullptr) continue;
    const int number = DimsOf(*part)[0];
    if (rows > 0 && number > 0 && rows != number) return;
    rows = std::max(rows, number);
  }
  const auto add = [&](OutputRole role, const OnnxTensor* tensor) {
    if (tensor != nullptr) head.outputs.push_back(OutputOf(role, *tensor, DimsOf(*tensor)));
  };
  add(scored_rows ? OutputRole::kRows : OutputRole::kBoxes, parts.boxes);
  if (!scored_rows) add(OutputRole::kScores, parts.scores);
  add(OutputRole::kLabels, parts.labels);
  add(OutputRole::kCount, parts.count);
  head.overlapping = rows > 0 && !StridesOfPoints(question, rows, 1).empty();
  std::vector<std::string> names;
  for (const HeadOutput& output : head.outputs)
    names.push_back(fmt::format("{} {}", OutputRoleName(output.role), output.name));
  base.Fact(fmt::format("outputs of their own: {}", fmt::join(names, ", ")));
  const std::vector<BoxReading> readings =
      scored_rows ? std::vector<BoxReading>{{"dets-labels", BoxFormat::kXyxy, kPixels},
                                            {"dets-labels-unit", BoxFormat::kXyxy, kFraction}}
                  : ReadingsOf(question, parts, &base);
  AddReadings(base, readings, candidates);
}

void Recognise(const HeadQuestion& question, std::vector<HeadCandidate>* candidates) {
  for (const OnnxTensor& output : question.onnx.outputs)
    RecogniseRows(question, output, candidates);
  RecogniseParts(question, candidates);
}

}  // namespace

HeadFamily FinalBoxesFamily() { return {HeadKind::kFinalBoxes, Decode, ParserText, Recognise}; }

}  // namespace sg
