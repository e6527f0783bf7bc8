#include "measure/samples.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/json.h"

namespace sg {
namespace {

constexpr double kNsPerS = 1e9;

/// Reads "[a,b,c,d,e]" without a general JSON parser: a run has a line for each frame.
bool ParseFrame(std::string_view line, FrameSample* sample) {
  std::array<int64_t, 5> fields{};
  const char* at = line.data();
  const char* const end = line.data() + line.size();
  for (size_t i = 0; i < fields.size(); ++i) {
    if (at == end || *at != (i == 0 ? '[' : ',')) return false;
    const auto [next, error] = std::from_chars(at + 1, end, fields[i]);
    if (error != std::errc()) return false;
    at = next;
  }
  if (end - at != 1 || *at != ']' || fields[1] < 0 || !std::in_range<int>(fields[0]) ||
      !std::in_range<int>(fields[4]))
    return false;
  *sample = {static_cast<int>(fields[0]), static_cast<uint64_t>(fields[1]), fields[2], fields[3],
             static_cast<int>(fields[4])};
  return true;
}

Status ParseHeader(const Json& line, RunRecord* record) {
  if (line.value("format", "") != kSamplesFormat)
    return UserError("is not a samples file of streamgauge");
  if (line.value("version", 0) != kSamplesVersion)
    return UnsupportedError("is of format version " + std::to_string(line.value("version", 0)) +
                            "; this program reads version " + std::to_string(kSamplesVersion));
  record->streams = line.at("streams").get<std::vector<std::string>>();
  record->launch = line.value("launch", "");
  record->launch_sha256 = line.value("launch_sha256", "");
  record->tap = line.value("tap", "");
  record->loop = line.value("loop", false);
  record->warmup_s = line.value("warmup_s", 0.0);
  record->measure_s = line.value("measure_s", 0.0);
  record->pace_fps = line.value("pace_fps", 0.0);
  record->images_per_line = line.value("images_per_line", 1.0);
  record->cores = line.value("cores", 0.0);
  record->clock_paced_sinks = line.value("clock_paced_sinks", std::vector<std::string>());
  return OkStatus();
}

/// A line that is an object: a second, or the end.
Status ParseObject(const Json& line, RunRecord* record) {
  if (line.contains("ended_by")) {
    record->ended_by = line.at("ended_by");
  } else {
    SecondSample second;
    second.time_ns = line.at("time_ns");
    second.cpu_s = line.at("cpu_s");
    second.rss_bytes = line.at("rss_bytes");
    for (const SecondField& field : kOptionalSecondFields)
      if (line.contains(field.name)) second.*field.member = line.at(field.name).get<double>();
    record->seconds.push_back(second);
  }
  return OkStatus();
}

Status ParseLine(std::string_view line, bool is_header, RunRecord* record) {
  FrameSample frame;
  if (!is_header && ParseFrame(line, &frame)) {
    if (frame.stream < 0 || frame.stream >= static_cast<int>(record->streams.size()))
      return UserError("stream " + std::to_string(frame.stream) + " is not one of the header's " +
                       std::to_string(record->streams.size()));
    record->frames.push_back(frame);
    return OkStatus();
  }
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return UserError(is_header ? "is not a samples file of streamgauge" : "not a line of samples");
  try {
    return is_header ? ParseHeader(json, record) : ParseObject(json, record);
  } catch (const Json::exception&) {
    return UserError("a value is missing or of the wrong type");
  }
}

}  // namespace

double RunRecord::FirstArrival() const {
  return frames.empty() ? 0 : static_cast<double>(frames.front().arrival_ns) / kNsPerS;
}

double RunRecord::LastArrival() const {
  return frames.empty() ? 0 : static_cast<double>(frames.back().arrival_ns) / kNsPerS;
}

Result<RunRecord> ParseSamples(const std::string& text, const std::string& where) {
  RunRecord record;
  int number = 0;
  for (size_t begin = 0; begin < text.size(); ++number) {
    const size_t newline = text.find('\n', begin);
    if (newline == std::string::npos && number > 0) {
      record.cut = true;
      break;
    }
    const std::string_view line =
        std::string_view(text).substr(begin, std::min(newline, text.size()) - begin);
    if (const Status status = ParseLine(line, number == 0, &record); !status.ok())
      return Error{status.error().kind,
                   where + ":" + std::to_string(number + 1) + ": " + status.error().message};
    begin = newline == std::string::npos ? text.size() : newline + 1;
  }
  if (number == 0) return UserError(where + ": is empty");
  // Threads of different streams stamp before they enqueue, so neighbours may be swapped.
  std::stable_sort(
      record.frames.begin(), record.frames.end(),
      [](const FrameSample& a, const FrameSample& b) { return a.arrival_ns < b.arrival_ns; });
  return record;
}

Result<RunRecord> ReadSamples(const std::string& path) {
  SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseSamples(text, path);
}

}  // namespace sg
