// RetinaNet, FCOS, RTMDet, PicoDet, NanoDet and GFL: class scores and box values for each point of
// several grids, level by level or all levels one after the other. The boxes are distances from a
// point, distributions of such distances (DFL), or offsets from anchors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "detector/heads/family.h"
#include "detector/heads/output_shapes.h"
#include "detector/heads/parser_text.h"
#include "detector/heads/recognisers.h"

namespace sg {
namespace {

/// A log of a size beyond which a box is far larger than any picture: log(1000 / 16), where the
/// families' own code stops.
constexpr float kMaxLogSize = 4.135166556742356F;

int BoxValues(const Head& head) {
  return head.point_box == PointBox::kDistribution ? 4 * head.bins : 4;
}
int AnchorsOf(const HeadLevel& level) {
  return std::max<int>(1, static_cast<int>(level.anchors.size()) / 2);
}
int PointsOf(const HeadLevel& level) { return level.rows * level.columns * AnchorsOf(level); }

/// All levels lie one after the other in one output.
bool IsJoined(const Head& head) {
  return head.Count(OutputRole::kRows) > 0 ||
         head.Count(OutputRole::kScores) < static_cast<int>(head.levels.size());
}

/// Where the values of a role are in its output: value k of point p (anchors apart) is at
/// first + p·point + k·value, when `anchor` is 0; else p counts cells and an anchor adds `anchor`.
struct Place {
  OutputRole role;
  int number;  ///< the n-th output of that role
  size_t first, point, anchor, value;
};

Place PlaceOf(const Head& head, OutputRole role, int level) {
  const bool rows = head.Count(OutputRole::kRows) > 0;
  const size_t scores = static_cast<size_t>(head.num_classes);
  const size_t own = role == OutputRole::kScores  ? scores
                     : role == OutputRole::kBoxes ? static_cast<size_t>(BoxValues(head))
                                                  : 1;
  const size_t width = rows ? scores + static_cast<size_t>(BoxValues(head)) : own;
  const size_t column = rows && role == OutputRole::kBoxes ? scores : 0;
  const auto anchors = static_cast<size_t>(AnchorsOf(head.levels[level]));
  size_t before = 0;
  size_t all = 0;
  for (size_t i = 0; i < head.levels.size(); ++i) {
    if (i < static_cast<size_t>(level)) before += static_cast<size_t>(PointsOf(head.levels[i]));
    all += static_cast<size_t>(PointsOf(head.levels[i]));
  }
  Place place;
  place.role = rows ? OutputRole::kRows : role;
  place.number = IsJoined(head) ? 0 : level;
  if (!IsJoined(head)) {
    before = 0;
    all = static_cast<size_t>(PointsOf(head.levels[level])) / anchors;
  }
  if (!head.channels_first) {
    place.first = before * width + column;
    place.point = width * anchors;
    place.anchor = width;
    place.value = 1;
  } else if (IsJoined(head)) {
    place.first = column * all + before;
    place.point = anchors;
    place.anchor = 1;
    place.value = all;
  } else {
    place.first = 0;
    place.point = 1;
    place.anchor = own * all;
    place.value = all;
  }
  return place;
}

/// Reads one role of one level.
class Values {
 public:
  Values(const HeadTensors& tensors, OutputRole role, int level)
      : place_(PlaceOf(tensors.head, role, level)),
        tensor_(tensors.Get(place_.role, place_.number)) {}
  float At(int cell, int anchor, int value) const {
    return tensor_.At(place_.first + static_cast<size_t>(cell) * place_.point +
                      static_cast<size_t>(anchor) * place_.anchor +
                      static_cast<size_t>(value) * place_.value);
  }

 private:
  Place place_;
  const TensorView& tensor_;
};

/// The mean of a distribution over the bins, in strides.
float Expectation(const Values& boxes, int cell, int side, int bins) {
  std::vector<float> raw;
  for (int i = 0; i < bins; ++i) raw.push_back(boxes.At(cell, 0, side * bins + i));
  float largest = -std::numeric_limits<float>::infinity();
  for (const float value : raw) largest = std::max(largest, value);
  float sum = 0;
  float weighted = 0;
  for (int i = 0; i < bins; ++i) {
    const float part = std::exp(raw[i] - largest);
    sum += part;
    weighted += part * static_cast<float>(i);
  }
  return weighted / sum;
}

Corners CornersOfPoint(const Head& head, const HeadLevel& level, const Values& boxes, int cell,
                       int anchor) {
  const auto stride = static_cast<float>(level.stride);
  const float x = (static_cast<float>(cell % level.columns) + head.point_offset) * stride;
  const float y = (static_cast<float>(cell / level.columns) + head.point_offset) * stride;
  float values[4];
  for (int i = 0; i < 4; ++i) {
    if (head.point_box == PointBox::kDistribution)
      values[i] = Expectation(boxes, cell, i, head.bins) * stride;
    else
      values[i] = boxes.At(cell, anchor, i);
  }
  if (head.point_box == PointBox::kAnchorDeltas) {
    const float width = level.anchors[static_cast<size_t>(anchor) * 2];
    const float height = level.anchors[static_cast<size_t>(anchor) * 2 + 1];
    const float cx = x + values[0] * width;
    const float cy = y + values[1] * height;
    const float w =
        width * std::exp(std::isnan(values[2]) ? values[2] : std::min(values[2], kMaxLogSize));
    const float h =
        height * std::exp(std::isnan(values[3]) ? values[3] : std::min(values[3], kMaxLogSize));
    return {cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2};
  }
  const float unit = head.point_box == PointBox::kDistances && head.in_strides ? stride : 1.0F;
  return {x - values[0] * unit, y - values[1] * unit, x + values[2] * unit, y + values[3] * unit};
}

void DecodeLevel(const HeadTensors& tensors, int number, std::vector<Box>* found) {
  const Head& head = tensors.head;
  const HeadLevel& level = head.levels[number];
  const std::vector<float>& thresholds = tensors.settings.thresholds;
  const Values scores(tensors, OutputRole::kScores, number);
  const Values boxes(tensors, OutputRole::kBoxes, number);
  std::optional<Values> objectnesses;
  if (tensors.Has(OutputRole::kObjectness))
    objectnesses.emplace(tensors, OutputRole::kObjectness, number);
  for (int cell = 0; cell < level.rows * level.columns; ++cell) {
    for (int anchor = 0; anchor < AnchorsOf(level); ++anchor) {
      const float objectness =
          objectnesses ? Activated(objectnesses->At(cell, anchor, 0), head.activation) : 1.0F;
      int best = -1;
      float best_score = 0;
      for (int id = 0; id < head.num_classes; ++id) {
        const float raw = scores.At(cell, anchor, id);
        const float score = objectness * Activated(raw, head.activation);
        if (!std::isfinite(raw) || !std::isfinite(score) || !(score >= thresholds[id])) continue;
        if (best >= 0 && !(score > best_score)) continue;
        best = id;
        best_score = score;
      }
      if (best < 0) continue;
      std::optional<Box> clamped =
          ClampedBox(CornersOfPoint(head, level, boxes, cell, anchor), tensors.settings);
      if (!clamped) continue;
      clamped->class_id = best;
      clamped->score = best_score;
      found->push_back(*clamped);
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
// Where the values of a point are in an output.
struct Place {
  size_t output;  // of kOutputs
  size_t first, point, anchor, value;
};
struct Level {
  size_t rows, columns, anchors;
  float stride;        // pixels of a cell
  const float* sizes;  // width and height of each anchor, pixels
  Place scores, boxes, objectness;
};
struct Output {
  const char* name;
  std::initializer_list<unsigned int> dims;
};
@DIMS@const Output kOutputs[] = {
@OUTPUTS@};
@SIZES@const Level kLevels[] = {
@LEVELS@};
)parser";

constexpr const char kDistributionText[] = R"parser(
const unsigned int kBins = @BINS@;

// The mean of a distribution over the bins.
float expectation(const float* raw, size_t step) {
  float largest = raw[0];
  for (unsigned int i = 1; i < kBins; ++i) largest = std::max(largest, raw[i * step]);
  float sum = 0.0f;
  float weighted = 0.0f;
  for (unsigned int i = 0; i < kBins; ++i) {
    const float part = std::exp(raw[i * step] - largest);
    sum += part;
    weighted += part * static_cast<float>(i);
  }
  return weighted / sum;
}
)parser";

constexpr const char kDecodeText[] = R"parser(
void addBox(const Level& level, size_t cell, size_t anchor, const float* raw, unsigned int classId,
            float score, Boxes& out) {
  const size_t step = level.boxes.value;
  const float x = (static_cast<float>(cell % level.columns) + @OFFSET@) * level.stride;
  const float y = (static_cast<float>(cell / level.columns) + @OFFSET@) * level.stride;
@BOX@}

void decodeLevel(const Level& level, const Tensor* tensors, const float* lows, Boxes& out) {
  const float* scores = tensors[level.scores.output].data() + level.scores.first;
  const float* boxes = tensors[level.boxes.output].data() + level.boxes.first;
@OBJECTNESSES@  const size_t step = level.scores.value;
  for (size_t cell = 0; cell < level.rows * level.columns; ++cell) {
    for (size_t anchor = 0; anchor < level.anchors; ++anchor) {
      const float* row = scores + cell * level.scores.point + anchor * level.scores.anchor;
@OBJECTNESS@      unsigned int best = kNumClasses;
      float bestScore = 0.0f;
      for (unsigned int id = 0; id < kNumClasses; ++id) {
        const float raw = row[id * step];
        if (!(raw >= lows[id]) || !std::isfinite(raw)) continue;
        const float score = @SCORE@;
        if (!std::isfinite(score) || !(score >= out.thresholds[id])) continue;
        if (best < kNumClasses && !(score > bestScore)) continue;
        best = id;
        bestScore = score;
      }
      if (best == kNumClasses) continue;
      addBox(level, cell, anchor,
             boxes + cell * level.boxes.point + anchor * level.boxes.anchor, best, bestScore, out);
    }
  }
}

bool decode(Layers const& layers, Boxes& out) {
  float lows[kNumClasses];  // before the activation
  for (unsigned int id = 0; id < kNumClasses; ++id) lows[id] = @LOW@;
  const size_t outputs = sizeof kOutputs / sizeof kOutputs[0];
  Tensor tensors[outputs];
  for (size_t i = 0; i < outputs; ++i) {
    if (!tensors[i].open(layers, kOutputs[i].name, kOutputs[i].dims)) return false;
  }
  for (size_t i = 0; i < sizeof kLevels / sizeof kLevels[0]; ++i) {
    decodeLevel(kLevels[i], tensors, lows, out);
  }
  return true;
}
)parser";

constexpr const char kDistancesBoxText[] =
    "  (void)anchor;\n"
    "  out.add(x - @VALUE0@, y - @VALUE1@, x + @VALUE2@, y + @VALUE3@,\n"
    "          classId, score);\n";
constexpr const char kDeltasBoxText[] =
    "  const float maxLog = @MAX_LOG@;  // where a box is larger than any picture\n"
    "  const float width = level.sizes[2 * anchor];\n"
    "  const float height = level.sizes[2 * anchor + 1];\n"
    "  const float cx = x + raw[0] * width;\n"
    "  const float cy = y + raw[step] * height;\n"
    "  const float w = width * std::exp(raw[2 * step] > maxLog ? maxLog : raw[2 * step]);\n"
    "  const float h = height * std::exp(raw[3 * step] > maxLog ? maxLog : raw[3 * step]);\n"
    "  out.add(cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2, classId, score);\n";

std::string BoxText(const Head& head) {
  if (head.point_box == PointBox::kAnchorDeltas)
    return Filled(kDeltasBoxText, {{"MAX_LOG", CppFloat(kMaxLogSize)}});
  TextValues values;
  for (int i = 0; i < 4; ++i) {
    const std::string key = fmt::format("VALUE{}", i);
    if (head.point_box == PointBox::kDistribution)
      values.emplace_back(
          key, fmt::format("expectation(raw + {} * kBins * step, step) * level.stride", i));
    else
      values.emplace_back(
          key, fmt::format("raw[{} * step]{}", i, head.in_strides ? " * level.stride" : ""));
  }
  return Filled(kDistancesBoxText, values);
}

std::string PlaceText(const Head& head, OutputRole role, int level) {
  if (role == OutputRole::kObjectness && head.Count(role) == 0) return "{0, 0, 0, 0, 0}";
  const Place place = PlaceOf(head, role, level);
  const HeadOutput* output = head.Find(place.role, place.number);
  return fmt::format("{{{}, {}, {}, {}, {}}}", output - head.outputs.data(), place.first,
                     place.point, place.anchor, place.value);
}

std::string ParserText(const Head& head) {
  const bool sigmoid = head.activation == Activation::kSigmoid;
  const bool objectness = head.Count(OutputRole::kObjectness) > 0;
  std::string dims, outputs, sizes, levels;
  for (size_t i = 0; i < head.outputs.size(); ++i) {
    // A list of initialisers lives only as long as what it is written in: each has a name.
    dims += fmt::format("const std::initializer_list<unsigned int> kDims{} = {};\n", i,
                        CppDims(head.outputs[i].dims));
    outputs += fmt::format("    {{{}, kDims{}}},\n", CppString(head.outputs[i].name), i);
  }
  for (size_t i = 0; i < head.levels.size(); ++i) {
    const HeadLevel& level = head.levels[i];
    std::vector<std::string> numbers;
    for (const float anchor : level.anchors) numbers.push_back(CppFloat(anchor));
    if (!numbers.empty())
      sizes += fmt::format("const float kSizes{}[] = {{{}}};\n", i, fmt::join(numbers, ", "));
    const auto place = [&](OutputRole role) { return PlaceText(head, role, static_cast<int>(i)); };
    levels += fmt::format(
        "    {{{}, {}, {}, {}, {},\n     {}, {}, {}}},\n", level.rows, level.columns,
        AnchorsOf(level), CppFloat(static_cast<float>(level.stride)),
        numbers.empty() ? "nullptr" : fmt::format("kSizes{}", i), place(OutputRole::kScores),
        place(OutputRole::kBoxes), place(OutputRole::kObjectness));
  }
  const std::string activated = sigmoid ? "sigmoid(raw)" : "raw";
  std::string text = sigmoid ? kParserSigmoidText : "";
  text += kLevelText;
  if (head.point_box == PointBox::kDistribution)
    text += Filled(kDistributionText, {{"BINS", fmt::format("{}", head.bins)}});
  text += kDecodeText;
  const std::string read =
      "objectnesses[cell * level.objectness.point + anchor * level.objectness.anchor]";
  return Filled(text,
                {{"DIMS", dims},
                 {"OUTPUTS", outputs},
                 {"SIZES", sizes},
                 {"LEVELS", levels},
                 {"OFFSET", CppFloat(head.point_offset)},
                 {"BOX", BoxText(head)},
                 {"OBJECTNESSES", objectness ? "  const float* objectnesses =\n"
                                               "      tensors[level.objectness.output].data() + "
                                               "level.objectness.first;\n"
                                             : ""},
                 {"OBJECTNESS", objectness ? fmt::format("      const float objectness = {};\n",
                                                         sigmoid ? "sigmoid(" + read + ")" : read)
                                           : ""},
                 {"SCORE", objectness ? "objectness * " + activated : activated},
                 {"LOW", sigmoid      ? "beforeSigmoid(out.thresholds[id])"
                         : objectness ? "-std::numeric_limits<float>::infinity()"
                                      : "out.thresholds[id]"}});
}

bool NameHasAny(const std::string& name, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return name.find(part) != std::string::npos; });
}

/// RetinaNet's anchors: three sizes from four strides on, three shapes each, shape by shape.
std::vector<float> RetinaAnchors(int stride) {
  std::vector<float> anchors;
  for (const double ratio : {0.5, 1.0, 2.0}) {
    for (int i = 0; i < 3; ++i) {
      const double size = 4.0 * stride * std::pow(2.0, i / 3.0);
      anchors.push_back(static_cast<float>(size / std::sqrt(ratio)));
      anchors.push_back(static_cast<float>(size * std::sqrt(ratio)));
    }
  }
  return anchors;
}
constexpr int kRetinaAnchors = 9;

/// An output that covers one grid.
struct LevelOutput {
  const OnnxTensor* tensor;
  int channels;
  bool channels_first;
};

/// The outputs of one grid by what they hold.
struct LevelParts {
  HeadLevel level;
  std::vector<LevelOutput> scores, boxes, objectness;
};

std::optional<LevelOutput> CoversGrid(const OnnxTensor& output, const HeadLevel& level) {
  const std::vector<int> dims = DimsOf(output);
  const int cells = level.rows * level.columns;
  if (dims.size() == 3 && dims[1] == level.rows && dims[2] == level.columns)
    return LevelOutput{&output, dims[0], true};
  if (dims.size() == 3 && dims[0] == level.rows && dims[1] == level.columns)
    return LevelOutput{&output, dims[2], false};
  if (dims.size() == 2 && dims[0] == cells) return LevelOutput{&output, dims[1], false};
  if (dims.size() == 2 && dims[1] == cells) return LevelOutput{&output, dims[0], true};
  return std::nullopt;
}

bool IsDistribution(int channels) {
  return channels % 4 == 0 && channels / 4 >= 8 && channels / 4 <= 33;
}

LevelParts PartsOf(const HeadQuestion& question, int stride) {
  LevelParts parts;
  parts.level = GridsOf(question, {stride})[0];
  const int classes = question.labels;
  for (const OnnxTensor& output : question.onnx.outputs) {
    const auto found = CoversGrid(output, parts.level);
    if (!found || !IsFloatTensor(output)) continue;
    const bool named_boxes = NameHasAny(output.name, {"box", "reg", "dis", "offset"});
    const bool named_objectness = NameHasAny(output.name, {"obj", "cent"});
    const int channels = found->channels;
    if (channels == 1 && (classes != 1 || named_objectness)) {
      parts.objectness.push_back(*found);
    } else if (channels == classes &&
               !(named_boxes && (channels == 4 || IsDistribution(channels))) &&
               parts.scores.empty()) {
      parts.scores.push_back(*found);
    } else if (channels == 4 || IsDistribution(channels) || channels == 4 * kRetinaAnchors) {
      parts.boxes.push_back(*found);
    } else if (channels == kRetinaAnchors * classes) {
      parts.scores.push_back(*found);
    }
  }
  return parts;
}

/// The head's name, point offset and unit by what the boxes are.
struct PointReading {
  const char* family;
  float point_offset;
  bool in_strides;
  bool only_if_asked = false;
};

std::vector<PointReading> ReadingsOf(const Head& head) {
  if (head.point_box == PointBox::kAnchorDeltas) return {{"retinanet", 0, false}};
  if (head.point_box == PointBox::kDistribution) {
    // NanoDet and GFL count from a cell's corner, PicoDet and PP-YOLOE from its centre.
    if (head.Count(OutputRole::kRows) > 0)
      return {{"nanodet", 0, true}, {"nanodet-centre", 0.5F, true, true}};
    if (head.channels_first) return {{"yolo-levels", 0.5F, true}, {"gfl", 0, true, true}};
    return {{"picodet", 0.5F, true}, {"gfl", 0, true, true}};
  }
  if (head.Count(OutputRole::kObjectness) > 0)
    return {{"fcos", 0.5F, true}, {"fcos-pixels", 0.5F, false}};
  return {{"rtmdet", 0, false}, {"rtmdet-strides", 0, true}, {"fcos-plain", 0.5F, true, true}};
}

void AddReadings(const HeadQuestion& question, HeadCandidate base,
                 std::vector<HeadCandidate>* candidates) {
  Head& head = base.head;
  head.kind = HeadKind::kLevels;
  head.num_classes = question.labels;
  head.box_unit = BoxUnit::kPixels;
  const HeadOutput* scores = head.Find(OutputRole::kScores);
  if (scores == nullptr) scores = head.Find(OutputRole::kRows);
  const OutputTrace* trace = question.Trace(scores->name);
  const bool known = trace != nullptr && !trace->makers.empty();
  head.activation = known && trace->Has("Sigmoid") ? Activation::kNone : Activation::kSigmoid;
  if (known)
    base.Fact(
        fmt::format("{} Sigmoid leads to {}", trace->Has("Sigmoid") ? "a" : "no", scores->name));
  if (head.point_box == PointBox::kAnchorDeltas) {
    for (HeadLevel& level : head.levels) level.anchors = RetinaAnchors(level.stride);
    base.Shape("nine anchors a cell, of RetinaNet's sizes and shapes");
  }
  for (const PointReading& reading : ReadingsOf(head)) {
    HeadCandidate candidate = base;
    candidate.head.family = reading.family;
    candidate.head.point_offset = reading.point_offset;
    candidate.head.in_strides = reading.in_strides;
    candidate.only_if_asked = reading.only_if_asked;
    candidates->push_back(candidate);
  }
}

/// An output or more for each grid.
void RecogniseLevels(const HeadQuestion& question, std::vector<HeadCandidate>* candidates) {
  HeadCandidate base;
  Head& head = base.head;
  std::vector<LevelParts> levels;
  for (const int stride : {4, 8, 16, 32, 64, 128}) {
    LevelParts parts = PartsOf(question, stride);
    if (parts.scores.size() == 1 && parts.boxes.size() == 1 && parts.objectness.size() <= 1)
      levels.push_back(std::move(parts));
  }
  if (levels.size() < 2) return;
  const int box_channels = levels[0].boxes[0].channels;
  const bool anchors = levels[0].scores[0].channels == kRetinaAnchors * question.labels &&
                       box_channels == 4 * kRetinaAnchors;
  if (!anchors && levels[0].scores[0].channels != question.labels) return;
  head.channels_first = levels[0].scores[0].channels_first;
  head.point_box = anchors             ? PointBox::kAnchorDeltas
                   : box_channels == 4 ? PointBox::kDistances
                                       : PointBox::kDistribution;
  head.bins = head.point_box == PointBox::kDistribution ? box_channels / 4 : 0;
  const auto add = [&](OutputRole role, const std::vector<LevelOutput>& outputs, int channels) {
    for (const LevelOutput& output : outputs) {
      if (output.channels != channels || output.channels_first != head.channels_first) return false;
      head.outputs.push_back(OutputOf(role, *output.tensor, DimsOf(*output.tensor)));
    }
    return true;
  };
  for (const LevelParts& parts : levels) {
    head.levels.push_back(parts.level);
    if (!add(OutputRole::kScores, parts.scores, levels[0].scores[0].channels) ||
        !add(OutputRole::kBoxes, parts.boxes, box_channels) ||
        !add(OutputRole::kObjectness, parts.objectness, 1) ||
        parts.objectness.size() != levels[0].objectness.size()) {
      return;
    }
  }
  std::vector<int> strides;
  for (const HeadLevel& level : head.levels) strides.push_back(level.stride);
  base.Shape(fmt::format("outputs of {} and {} channels for the grids of strides {}",
                         levels[0].scores[0].channels, box_channels, fmt::join(strides, ", ")));
  AddReadings(question, base, candidates);
}

/// All grids one after the other: scores and boxes in one output, or in two.
void RecogniseJoined(const HeadQuestion& question, std::vector<HeadCandidate>* candidates) {
  const int classes = question.labels;
  for (const OnnxTensor& scores : question.onnx.outputs) {
    const std::vector<int> dims = DimsOf(scores);
    if (!IsFloatTensor(scores) || dims.size() != 2 || dims[0] < 2) continue;
    if (dims[1] > classes && IsDistribution(dims[1] - classes)) {
      const std::vector<int> strides = StridesOfPoints(question, dims[0], 1);
      if (strides.empty()) continue;
      HeadCandidate base;
      base.head.outputs = {OutputOf(OutputRole::kRows, scores, dims)};
      base.head.levels = GridsOf(question, strides);
      base.head.point_box = PointBox::kDistribution;
      base.head.bins = (dims[1] - classes) / 4;
      base.Shape(fmt::format("{} [{},{}]: {} scores and 4 x {} bins for each cell of strides {}",
                             scores.name, dims[0], dims[1], classes, base.head.bins,
                             fmt::join(strides, ", ")));
      AddReadings(question, base, candidates);
    }
    if (dims[1] != classes) continue;
    for (const OnnxTensor& boxes : question.onnx.outputs) {
      const std::vector<int> box_dims = DimsOf(boxes);
      if (&boxes == &scores || !IsFloatTensor(boxes) || box_dims.size() != 2 ||
          box_dims[0] != dims[0]) {
        continue;
      }
      const bool distribution = IsDistribution(box_dims[1]);
      if (!distribution && box_dims[1] != 4) continue;
      const int anchors = distribution ? 1 : kRetinaAnchors;
      const std::vector<int> strides = StridesOfPoints(question, dims[0], anchors);
      if (strides.empty()) continue;
      HeadCandidate base;
      base.head.outputs = {OutputOf(OutputRole::kScores, scores, dims),
                           OutputOf(OutputRole::kBoxes, boxes, box_dims)};
      base.head.levels = GridsOf(question, strides);
      base.head.point_box = distribution ? PointBox::kDistribution : PointBox::kAnchorDeltas;
      base.head.bins = distribution ? box_dims[1] / 4 : 0;
      base.Shape(fmt::format("{} [{},{}] and {} [{},{}]: {} boxes for each cell of strides {}",
                             scores.name, dims[0], dims[1], boxes.name, box_dims[0], box_dims[1],
                             anchors, fmt::join(strides, ", ")));
      AddReadings(question, base, candidates);
    }
  }
}

void Recognise(const HeadQuestion& question, std::vector<HeadCandidate>* candidates) {
  if (question.labels < 1 || question.input_width < 1) return;
  RecogniseLevels(question, candidates);
  RecogniseJoined(question, candidates);
}

}  // namespace

HeadFamily LevelsFamily() { return {HeadKind::kLevels, Decode, ParserText, Recognise}; }

}  // namespace sg
