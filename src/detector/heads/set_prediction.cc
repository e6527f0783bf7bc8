// DETR and its kin: class scores [Q,C] and boxes [Q,4] of Q queries. With a sigmoid each (query,
// class) is on its own and the best Q of a frame are kept; with a softmax, or a no-object column, a
// query is its best class.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "detector/heads/family.h"
#include "detector/heads/output_shapes.h"
#include "detector/heads/parser_text.h"
#include "detector/heads/recognisers.h"

namespace sg {
namespace {

bool TakesBestClass(const Head& head) {
  return head.background >= 0 || head.activation == Activation::kSoftmax;
}

struct Candidate {
  float score;
  int query;
  int class_id;
};

/// The scores of a query's classes, background left out.
std::vector<float> ClassScores(const TensorView& scores, int query, const Head& head) {
  const int columns = head.ScoreColumns();
  std::vector<float> row;
  for (int i = 0; i < columns; ++i)
    row.push_back(scores.At(static_cast<size_t>(query) * columns + i));
  row = ActivatedRow(row, head.activation);
  if (head.background >= 0) row.erase(row.begin() + head.background);
  return row;
}

std::vector<Box> Decode(const HeadTensors& tensors) {
  const Head& head = tensors.head;
  const TensorView& scores = tensors.Get(OutputRole::kScores);
  const TensorView& boxes = tensors.Get(OutputRole::kBoxes);
  const int queries = std::min(scores.dims[0], boxes.dims[0]);
  std::vector<Candidate> candidates;
  for (int query = 0; query < queries; ++query) {
    const std::vector<float> row = ClassScores(scores, query, head);
    Candidate best = {-1, query, -1};
    for (int id = 0; id < head.num_classes; ++id) {
      if (!std::isfinite(row[id]) || !(row[id] >= tensors.settings.thresholds[id])) continue;
      if (!TakesBestClass(head)) candidates.push_back({row[id], query, id});
      if (best.class_id < 0 || row[id] > best.score) best = {row[id], query, id};
    }
    if (TakesBestClass(head) && best.class_id >= 0) candidates.push_back(best);
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.score, a.query, a.class_id) < std::tuple(-b.score, b.query, b.class_id);
  });
  if (candidates.size() > static_cast<size_t>(queries)) candidates.resize(queries);

  std::vector<Box> found;
  for (const Candidate& candidate : candidates) {
    const size_t at = static_cast<size_t>(candidate.query) * 4;
    const float box[4] = {boxes.At(at), boxes.At(at + 1), boxes.At(at + 2), boxes.At(at + 3)};
    std::optional<Box> clamped = ClampedBox(CornersOf(box, tensors), tensors.settings);
    if (!clamped) continue;
    clamped->class_id = candidate.class_id;
    clamped->score = candidate.score;
    found.push_back(*clamped);
  }
  return found;
}

constexpr const char kCandidatesText[] = R"parser(
const unsigned int kColumns = @COLUMNS@;  // of the scores

struct Candidate {
  float score;
  unsigned int query;
  unsigned int classId;
};

bool betterScore(const Candidate& a, const Candidate& b) { return a.score > b.score; }
)parser";

constexpr const char kPairsText[] = R"parser(
// Every (query, class) that reaches its class's threshold counts, as in the model's own
// post-processing.
void findCandidates(const Tensor& scores, size_t queries, const float* thresholds,
                    std::vector<Candidate>* candidates) {
  float lows[kNumClasses];
  for (unsigned int id = 0; id < kNumClasses; ++id) lows[id] = @LOW@;
  for (size_t query = 0; query < queries; ++query) {
    const float* row = scores.data() + query * kColumns;
    bool any = false;
    for (unsigned int id = 0; id < kNumClasses; ++id) any |= row[id] >= lows[id];
    if (!any) continue;
    for (unsigned int id = 0; id < kNumClasses; ++id) {
      if (!(row[id] >= lows[id]) || !std::isfinite(row[id])) continue;
      const float score = @SCORE@;
      if (!(score >= thresholds[id])) continue;
      const Candidate candidate = {score, static_cast<unsigned int>(query), id};
      candidates->push_back(candidate);
    }
  }
}
)parser";

constexpr const char kSoftmaxText[] = R"parser(
// Softmax over a row; false when it has no finite result.
bool softmax(const float* row, float* scores) {
  float largest = row[0];
  for (unsigned int i = 1; i < kColumns; ++i) largest = std::max(largest, row[i]);
  float sum = 0.0f;
  for (unsigned int i = 0; i < kColumns; ++i) {
    scores[i] = std::exp(row[i] - largest);
    sum += scores[i];
  }
  if (!std::isfinite(sum)) return false;
  for (unsigned int i = 0; i < kColumns; ++i) scores[i] /= sum;
  return true;
}
)parser";

constexpr const char kBestText[] = R"parser(
const unsigned int kBackground = @BACKGROUND@;  // the column that is no object

// A query is the best of the classes that reach their thresholds.
void findCandidates(const Tensor& logits, size_t queries, const float* thresholds,
                    std::vector<Candidate>* candidates) {
  for (size_t query = 0; query < queries; ++query) {
    const float* row = logits.data() + query * kColumns;
@ROW@    Candidate best = {0.0f, static_cast<unsigned int>(query), kNumClasses};
    for (unsigned int i = 0; i < kColumns; ++i) {
      if (i == kBackground || !std::isfinite(row[i])) continue;
      const unsigned int id = i < kBackground ? i : i - 1;
      const float score = @SCORE@;
      if (!(score >= thresholds[id]) || (best.classId < kNumClasses && !(score > best.score))) {
        continue;
      }
      best.score = score;
      best.classId = id;
    }
    if (best.classId < kNumClasses) candidates->push_back(best);
  }
}
)parser";

constexpr const char kDecodeText[] = R"parser(
bool decode(Layers const& layers, Boxes& out) {
  Tensor scores;
  Tensor boxes;
  if (!scores.open(layers, @SCORES@, {@QUERIES@, kColumns}) ||
      !boxes.open(layers, @BOXES@, {@QUERIES@, 4})) {
    return false;
  }
  if (scores.dim(0) != boxes.dim(0)) {
    return complain("scores for " + std::to_string(scores.dim(0)) + " queries, boxes for " +
                    std::to_string(boxes.dim(0)));
  }
  const size_t queries = scores.dim(0);
  std::vector<Candidate> candidates;
  candidates.reserve(queries);
  findCandidates(scores, queries, out.thresholds, &candidates);
  std::stable_sort(candidates.begin(), candidates.end(), betterScore);
  if (candidates.size() > queries) candidates.resize(queries);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const float* box = boxes.data() + static_cast<size_t>(candidates[i].query) * 4;
    @ADD_BOX@
  }
  return true;
}
)parser";

constexpr const char kSoftmaxRowText[] = R"parser(    float scores[kColumns];
    if (!softmax(row, scores)) continue;
)parser";

std::string ParserText(const Head& head) {
  const bool sigmoid = head.activation == Activation::kSigmoid;
  const bool softmax = head.activation == Activation::kSoftmax;
  std::string text;
  if (sigmoid) text += kParserSigmoidText;
  text += kCandidatesText;
  if (softmax) text += kSoftmaxText;
  text += TakesBestClass(head) ? kBestText : kPairsText;
  text += kDecodeText;
  const HeadOutput& scores = *head.Find(OutputRole::kScores);
  const HeadOutput& boxes = *head.Find(OutputRole::kBoxes);
  const std::string value = TakesBestClass(head) ? "row[i]" : "row[id]";
  return Filled(
      text,
      {{"COLUMNS", fmt::format("{}", head.ScoreColumns())},
       {"BACKGROUND",
        fmt::format("{}", head.background >= 0 ? head.background : head.ScoreColumns())},
       {"LOW", sigmoid ? "beforeSigmoid(thresholds[id])" : "thresholds[id]"},
       {"SCORE", softmax   ? "scores[i]"
                 : sigmoid ? "sigmoid(" + value + ")"
                           : value},
       {"ROW", softmax ? kSoftmaxRowText : ""},
       {"SCORES", CppString(scores.name)},
       {"BOXES", CppString(boxes.name)},
       {"QUERIES", fmt::format("{}", std::max(boxes.dims[0], 0))},
       {"ADD_BOX", CppAddBox(head, "box[{}]", "candidates[i].classId, candidates[i].score")}});
}

// transformers' families by the way their own post-processing reads the scores.
constexpr const char* kSigmoidFamilies[] = {"RTDetr", "RTDetrV2", "DeformableDetr",
                                            "DFine",  "RfDetr",   "ConditionalDetr",
                                            "Deta",   "DabDetr",  "LwDetr"};
constexpr const char* kSoftmaxFamilies[] = {"Detr", "Yolos", "TableTransformer"};

template <size_t kCount>
bool IsOneOf(const std::string& architecture, const char* const (&families)[kCount]) {
  return std::any_of(std::begin(families), std::end(families), [&](const char* family) {
    return architecture == std::string(family) + "ForObjectDetection";
  });
}

/// The activation that the scores still need, and what says so.
void FillActivation(const HeadQuestion& question, const std::string& scores,
                    HeadCandidate* candidate) {
  Head& head = candidate->head;
  const OutputTrace* trace = question.Trace(scores);
  const char* made_by = trace == nullptr           ? nullptr
                        : trace->MadeBy("Sigmoid") ? "Sigmoid"
                        : trace->MadeBy("Softmax") ? "Softmax"
                                                   : nullptr;
  if (made_by != nullptr) {
    head.activation = Activation::kNone;
    candidate->Fact(fmt::format("{} is made by a {}", scores, made_by));
  }
}

/// Box formats that the graph does not rule out.
std::vector<std::pair<BoxFormat, BoxUnit>> BoxReadings(const HeadQuestion& question,
                                                       const std::string& boxes, std::string* why) {
  const OutputTrace* trace = question.Trace(boxes);
  if (trace == nullptr || trace->makers.empty() ||
      (trace->makers.size() == 1 && trace->MadeBy("Sigmoid"))) {
    *why = trace == nullptr ? boxes + " as the family gives them"
                            : boxes + " is made by a Sigmoid, so it is in 0-1";
    return {{BoxFormat::kCxcywh, BoxUnit::kFraction}};
  }
  *why = fmt::format("{} is computed further ({})", boxes, fmt::join(trace->makers, ", "));
  return {{BoxFormat::kCxcywh, BoxUnit::kFraction},
          {BoxFormat::kXyxy, BoxUnit::kFraction},
          {BoxFormat::kXyxy, BoxUnit::kPixels},
          {BoxFormat::kCxcywh, BoxUnit::kPixels}};
}

void AddReadings(const HeadQuestion& question, const HeadCandidate& candidate,
                 std::vector<HeadCandidate>* candidates) {
  std::string why;
  const std::string& boxes = candidate.head.Find(OutputRole::kBoxes)->name;
  const auto readings = BoxReadings(question, boxes, &why);
  for (const auto& [format, unit] : readings) {
    HeadCandidate reading = candidate;
    reading.head.box_format = format;
    reading.head.box_unit = unit;
    reading.Shape(why);
    candidates->push_back(reading);
  }
}

void Recognise(const HeadQuestion& question, std::vector<HeadCandidate>* candidates) {
  const OutputPair pair = FindScoresAndBoxes(
      question, {"logits", "pred_logits", "labels", "scores", "class_logits", "cls_logits"},
      {"pred_boxes", "dets", "boxes", "bboxes", "pred_bboxes"});
  if (pair.scores == nullptr || pair.is_grid) return;
  const int columns = pair.columns > 0 ? pair.columns : question.labels;
  if (columns < 1) return;
  HeadCandidate base;
  base.head.kind = HeadKind::kSetPrediction;
  base.head.outputs = {OutputOf(OutputRole::kScores, *pair.scores, {pair.rows, columns}),
                       OutputOf(OutputRole::kBoxes, *pair.boxes, {pair.rows, 4})};
  base.Shape(fmt::format("{} [{},{}] and {} [{},4] are scores and boxes of {} queries",
                         pair.scores->name, pair.rows, columns, pair.boxes->name, pair.rows,
                         pair.rows));
  if (pair.named)
    base.Fact(fmt::format("outputs named {}, {}", pair.scores->name, pair.boxes->name));
  const bool sigmoid_family = IsOneOf(question.architecture, kSigmoidFamilies);
  const bool softmax_family = IsOneOf(question.architecture, kSoftmaxFamilies);
  if (!softmax_family) {
    HeadCandidate candidate = base;
    candidate.head.family = "detr-sigmoid";
    candidate.head.activation = Activation::kSigmoid;
    candidate.head.num_classes = columns;
    if (sigmoid_family)
      candidate.Fact(
          fmt::format("config.json: {} reads its scores through a sigmoid", question.architecture));
    FillActivation(question, pair.scores->name, &candidate);
    AddReadings(question, candidate, candidates);
  }
  if (!sigmoid_family && columns > 1) {
    HeadCandidate candidate = base;
    candidate.head.family = "detr-softmax";
    candidate.head.activation = Activation::kSoftmax;
    candidate.head.num_classes = columns - 1;
    candidate.head.background = columns - 1;
    if (softmax_family)
      candidate.Fact(
          fmt::format("config.json: {} reads its scores through a softmax with a last "
                      "column for no object",
                      question.architecture));
    FillActivation(question, pair.scores->name, &candidate);
    AddReadings(question, candidate, candidates);
  }
}

}  // namespace

HeadFamily SetPredictionFamily() {
  return {HeadKind::kSetPrediction, Decode, ParserText, Recognise};
}

}  // namespace sg
