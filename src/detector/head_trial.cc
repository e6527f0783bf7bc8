#include "detector/head_trial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "detector/cluster.h"
#include "detector/decoder.h"

namespace sg {
namespace {

constexpr double kOutside = 0.05;     ///< a corner this far outside the picture is still in range
constexpr float kSmallestSizePx = 2;  ///< of a box that means something
constexpr float kLargestArea = 0.98F;
constexpr float kSameBoxIou = 0.95F;
constexpr float kMirrorIou = 0.5F;
constexpr float kNmsIou = 0.5F;
constexpr size_t kMostBoxes = 50;  ///< of a picture, the best ones

std::vector<Box> BoxesOf(const Head& head, const RecordedTensors& tensors, int slot,
                         const TrialSettings& settings, Status* status) {
  std::vector<TensorView> views;
  for (const RecordedOutput& output : tensors.outputs) {
    const size_t size = output.values.size() / static_cast<size_t>(tensors.batch);
    views.push_back({output.name.c_str(), output.dims, TensorType::kFloat,
                     output.values.data() + static_cast<size_t>(slot) * size});
  }
  DecodeSettings decode = {settings.network_width, settings.network_height,
                           std::vector<float>(head.num_classes, settings.score_threshold)};
  decode.clamp = false;
  Result<std::vector<Box>> boxes = DecodeHead(head, views, decode);
  if (!boxes.ok()) {
    *status = boxes.status();
    return {};
  }
  if (head.IsDense()) {
    ClusterSettings cluster;
    cluster.classes.assign(static_cast<size_t>(head.num_classes),
                           {settings.score_threshold, 0, kNmsIou, -1});
    *boxes = Cluster(*std::move(boxes), cluster);
  }
  std::stable_sort(boxes->begin(), boxes->end(),
                   [](const Box& a, const Box& b) { return a.score > b.score; });
  if (boxes->size() > kMostBoxes) boxes->resize(kMostBoxes);
  return *std::move(boxes);
}

bool IsInRange(const Box& box, const TrialSettings& settings) {
  const auto width = static_cast<float>(settings.network_width);
  const auto height = static_cast<float>(settings.network_height);
  const auto inside = [](float low, float high, float size) {
    return low >= -kOutside * size && high <= (1 + kOutside) * size;
  };
  return box.width >= kSmallestSizePx && box.height >= kSmallestSizePx &&
         inside(box.left, box.left + box.width, width) &&
         inside(box.top, box.top + box.height, height) &&
         box.width * box.height <= kLargestArea * width * height && box.score <= 1.001F;
}

bool IsRepeated(const std::vector<Box>& boxes, size_t at) {
  for (size_t i = 0; i < at; ++i) {
    if (boxes[i].class_id == boxes[at].class_id &&
        IntersectionOverUnion(boxes[i], boxes[at]) > kSameBoxIou) {
      return true;
    }
  }
  return false;
}

bool IsIn(const Box& box, const std::vector<Box>& others) {
  return std::any_of(others.begin(), others.end(), [&](const Box& other) {
    return other.class_id == box.class_id && IntersectionOverUnion(box, other) >= kMirrorIou;
  });
}

}  // namespace

Result<TrialScore> TryHead(const Head& head, const RecordedTensors& pictures,
                           const RecordedTensors& mirrored, const TrialSettings& settings) {
  TrialScore score;
  int in_range = 0;
  int distinct = 0;
  int found_again = 0;
  int frames = 0;
  Status status;
  for (int slot = 0; slot < pictures.batch; ++slot) {
    const std::vector<Box> boxes = BoxesOf(head, pictures, slot, settings, &status);
    std::vector<Box> turned = BoxesOf(head, mirrored, slot, settings, &status);
    SG_RETURN_IF_ERROR(status);
    for (Box& box : turned)
      box.left = static_cast<float>(settings.network_width) - box.left - box.width;
    frames += boxes.empty() ? 0 : 1;
    for (size_t i = 0; i < boxes.size(); ++i) {
      ++score.boxes;
      in_range += IsInRange(boxes[i], settings) ? 1 : 0;
      distinct += IsRepeated(boxes, i) ? 0 : 1;
      found_again += IsIn(boxes[i], turned) ? 1 : 0;
    }
  }
  if (score.boxes == 0) return score;
  score.in_range = static_cast<double>(in_range) / score.boxes;
  score.distinct = static_cast<double>(distinct) / score.boxes;
  score.mirrored = static_cast<double>(found_again) / score.boxes;
  score.frames = static_cast<double>(frames) / pictures.batch;
  return score;
}

Result<size_t> ChooseHead(const std::vector<HeadCandidate>& candidates,
                          const std::vector<TrialScore>& scores, const std::string& model) {
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a].Total() > scores[b].Total(); });
  const double best = scores[order[0]].Total();
  if (order.size() == 1 || (best > 0 && best >= kTrialMargin * scores[order[1]].Total()))
    return order[0];
  std::vector<std::string> list;
  for (const size_t i : order) {
    const TrialScore& score = scores[i];
    list.push_back(
        fmt::format("{} {:.2f} ({} boxes)", candidates[i].head.family, score.Total(), score.boxes));
  }
  return GateError(fmt::format(
      "{}: several heads fit its outputs and none makes twice as much sense of the clip's pictures "
      "as the next: {}; name the right one with --head",
      model, fmt::join(list, ", ")));
}

}  // namespace sg
