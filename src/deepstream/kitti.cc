#include "deepstream/kitti.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/files.h"

namespace sg {
namespace {

/// Fields after the label: truncation, occlusion, alpha, four corners, seven of 3-D, the score.
constexpr size_t kFieldsAfterLabel = 15;

template <typename T>
bool ParseNumber(const std::string& text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

struct KittiName {
  int source = 0;
  uint64_t frame = 0;
};

/// "00_003_000041.txt" → source 3, frame 41.
bool ParseName(const std::string& name, KittiName* out) {
  const size_t first = name.find('_');
  const size_t second = first == std::string::npos ? first : name.find('_', first + 1);
  if (second == std::string::npos || !name.ends_with(".txt")) return false;
  int app = 0;
  return ParseNumber(name.substr(0, first), &app) &&
         ParseNumber(name.substr(first + 1, second - first - 1), &out->source) &&
         ParseNumber(name.substr(second + 1, name.size() - second - 5), &out->frame);
}

}  // namespace

Result<KittiBox> ParseKittiLine(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> fields;
  for (std::string field; stream >> field;) fields.push_back(field);
  if (fields.size() <= kFieldsAfterLabel)
    return UserError(fmt::format("{} fields, a KITTI line has {} or more", fields.size(),
                                 kFieldsAfterLabel + 1));
  const size_t first = fields.size() - kFieldsAfterLabel;
  KittiBox box;
  for (size_t i = 0; i < first; ++i) box.label += (i > 0 ? " " : "") + fields[i];
  const bool numbers =
      ParseNumber(fields[first + 3], &box.left) && ParseNumber(fields[first + 4], &box.top) &&
      ParseNumber(fields[first + 5], &box.right) && ParseNumber(fields[first + 6], &box.bottom) &&
      ParseNumber(fields.back(), &box.score);
  if (!numbers) return UserError("a coordinate or the score is not a number");
  return box;
}

uint64_t KittiFrames::FramesWithBoxes() const {
  return static_cast<uint64_t>(std::count_if(
      by_frame.begin(), by_frame.end(), [](const auto& frame) { return !frame.second.empty(); }));
}

std::vector<std::pair<std::string, uint64_t>> KittiFrames::CountLabels() const {
  std::map<std::string, uint64_t> counts;
  for (const auto& [frame, boxes] : by_frame)
    for (const KittiBox& box : boxes) ++counts[box.label];
  std::vector<std::pair<std::string, uint64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

Result<KittiFrames> ReadKittiFolder(const std::string& folder, int source) {
  SG_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  KittiFrames frames;
  for (const std::string& name : names) {
    KittiName parsed;
    if (!ParseName(name, &parsed) || parsed.source != source) continue;
    const std::string path = JoinPath(folder, name);
    SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    std::vector<KittiBox>& boxes = frames.by_frame[parsed.frame];
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      Result<KittiBox> box = ParseKittiLine(line);
      if (!box.ok()) return UserError(fmt::format("{}:{}: {}", path, number, box.error().message));
      boxes.push_back(*std::move(box));
    }
  }
  return frames;
}

std::vector<std::vector<Box>> ToBoxes(const KittiFrames& frames,
                                      const std::vector<std::string>& labels) {
  std::vector<std::vector<Box>> result;
  for (const auto& [frame, kitti] : frames.by_frame) {
    std::vector<Box>& boxes = result.emplace_back();
    for (const KittiBox& box : kitti) {
      const auto label = std::find(labels.begin(), labels.end(), box.label);
      const int class_id = label == labels.end() ? -1 : static_cast<int>(label - labels.begin());
      boxes.push_back({class_id, static_cast<float>(box.left), static_cast<float>(box.top),
                       static_cast<float>(box.right - box.left),
                       static_cast<float>(box.bottom - box.top), static_cast<float>(box.score)});
    }
  }
  return result;
}

Status CheckKittiGate(const KittiFrames& frames) {
  const uint64_t total = frames.by_frame.size();
  const uint64_t with_boxes = frames.FramesWithBoxes();
  if (total == 0)
    return GateError(
        "no detection file was written, so the boxes cannot be checked; the benchmark is not run");
  if (static_cast<double>(with_boxes) < kKittiGateRate * static_cast<double>(total))
    return GateError(fmt::format(
        "only {} of {} frames have a detection ({:.1f} %, at least {:.0f} % are needed): the model "
        "does not see what this clip shows, or its preprocessing or labels are wrong; the "
        "benchmark "
        "is not run. Try a clip with objects of the model's classes, or --score-threshold",
        with_boxes, total, 100.0 * static_cast<double>(with_boxes) / static_cast<double>(total),
        kKittiGateRate * 100));
  return OkStatus();
}

}  // namespace sg
