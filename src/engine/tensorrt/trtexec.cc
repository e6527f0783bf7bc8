#include "engine/tensorrt/trtexec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace sg {
namespace {

constexpr size_t kMostErrors = 20;

std::string ShapeOf(const TrtInput& input, int batch) {
  return fmt::format("{}:{}x{}", input.name, batch, fmt::join(input.dims, "x"));
}

/// "a:1x3x8x8,b:1x2" of the inputs whose batch is free; empty when none is.
std::string Shapes(const std::vector<TrtInput>& inputs, int batch) {
  std::vector<std::string> shapes;
  for (const TrtInput& input : inputs) {
    if (input.dynamic_batch) shapes.push_back(ShapeOf(input, batch));
  }
  return fmt::format("{}", fmt::join(shapes, ","));
}

/// --skipInference came with 8.6.
bool KnowsSkipInference(const TensorRtVersion& version) {
  return version.major == 0 || version.major > 8 || (version.major == 8 && version.minor >= 6);
}

/// A number with '.' or ',' before its fraction, whatever our own locale; nullopt for anything
/// else.
std::optional<double> NumberAt(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t=:");
  if (from == std::string_view::npos) return std::nullopt;
  std::string digits;
  for (const char c : text.substr(from)) {
    if ((c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e') {
      digits += c;
    } else if (c == ',' && digits.find('.') == std::string::npos) {
      digits += '.';  // "12,5 ms"; the comma behind a value is dropped below
    } else {
      break;
    }
  }
  while (!digits.empty() && digits.back() == '.') digits.pop_back();
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<double> NumberAfter(std::string_view line, std::string_view what) {
  const size_t at = line.find(what);
  if (at == std::string_view::npos) return std::nullopt;
  return NumberAt(line.substr(at + what.size()));
}

/// The line without colour codes and the carriage return.
std::string Plain(std::string_view line) {
  std::string plain;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      while (i < line.size() && line[i] != 'm') ++i;
    } else if (line[i] != '\r') {
      plain += line[i];
    }
  }
  return plain;
}

/// The text behind "[E]" and the time stamp; nullopt when the line is no error.
std::optional<std::string> ErrorText(const std::string& line) {
  const size_t at = line.find("[E] ");
  // In front of it only a time stamp may be: "[12/01/2026-10:00:00] [E] …".
  if (at == std::string::npos || at > 40) return std::nullopt;
  std::string text = line.substr(at + 4);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

void ReadLine(const std::string& line, TrtLog* log) {
  const auto take = [&](std::string_view what, std::optional<double>* value) {
    if (const auto number = NumberAfter(line, what); number && *number >= 0) *value = number;
  };
  take("Throughput:", &log->throughput_qps);
  const size_t compute = line.find("GPU Compute Time:");
  const size_t old_compute = line.find("GPU Compute:");  // TensorRT 7
  if (compute != std::string::npos || old_compute != std::string::npos) {
    take("mean =", &log->gpu_mean_ms);
    take("mean:", &log->gpu_mean_ms);
    take("percentile(99%) =", &log->gpu_p99_ms);
    take("percentile(99%):", &log->gpu_p99_ms);
    take("99% percentile:", &log->gpu_p99_ms);
  }
  take("Engine built in", &log->build_s);
  take("Memory Pools: workspace:", &log->workspace_mib);
  if (line.find("&&&& PASSED") != std::string::npos) log->passed = true;
  if (line.find("&&&& FAILED") != std::string::npos) log->failed = true;
  const bool int64 =
      line.find("INT64") != std::string::npos && line.find("[W]") != std::string::npos;
  if (int64) ++log->int64_warnings;
  if (const auto error = ErrorText(line)) {
    const bool known =
        std::find(log->errors.begin(), log->errors.end(), *error) != log->errors.end();
    if (!known && log->errors.size() < kMostErrors) log->errors.push_back(*error);
  }
}

}  // namespace

std::string TensorRtVersion::Text() const {
  return major == 0 ? "unknown" : fmt::format("{}.{}.{}", major, minor, patch);
}

TensorRtVersion ParseTensorRtVersion(const std::string& trtexec_output) {
  TensorRtVersion version;
  const std::string_view mark = "[TensorRT v";
  const size_t at = trtexec_output.find(mark);
  if (at == std::string::npos) return version;
  int number = 0;
  const char* from = trtexec_output.data() + at + mark.size();
  const auto [end, error] =
      std::from_chars(from, trtexec_output.data() + trtexec_output.size(), number);
  if (error != std::errc() || number < 1000 || number > 999999) return version;
  // Since 10, two digits for the minor version.
  const int unit = number >= 100000 ? 10000 : 1000;
  version.major = number / unit;
  version.minor = number % unit / 100;
  version.patch = number % 100;
  return version;
}

std::vector<std::string> TrtBuildArgv(const TrtBuild& build) {
  std::vector<std::string> argv = {build.trtexec, "--onnx=" + build.onnx};
  const std::string smallest = Shapes(build.inputs, 1);
  if (!smallest.empty()) {
    const std::string largest = Shapes(build.inputs, build.max_batch);
    argv.push_back("--minShapes=" + smallest);
    argv.push_back("--optShapes=" + largest);
    argv.push_back("--maxShapes=" + largest);
  }
  if (build.precision == TrtPrecision::kFp16) argv.push_back("--fp16");
  if (build.precision == TrtPrecision::kInt8) {
    // What int8 cannot run falls back to fp16.
    argv.insert(argv.end(), {"--int8", "--fp16"});
    if (!build.calibration.empty()) argv.push_back("--calib=" + build.calibration);
  }
  argv.push_back(KnowsSkipInference(build.version) ? "--skipInference" : "--buildOnly");
  argv.push_back("--memPoolSize=workspace:32768M");
  if (build.optimization_level > 0)
    argv.push_back(fmt::format("--builderOptimizationLevel={}", build.optimization_level));
  argv.push_back("--timingCacheFile=" + build.timing_cache);
  argv.push_back("--saveEngine=" + build.engine);
  return argv;
}

std::vector<std::string> TrtTimingArgv(const TrtTiming& timing) {
  std::vector<std::string> argv = {timing.trtexec, "--loadEngine=" + timing.engine};
  const std::string shapes = Shapes(timing.inputs, timing.batch);
  if (!shapes.empty()) argv.push_back("--shapes=" + shapes);
  argv.push_back("--noDataTransfers");
  argv.push_back(fmt::format("--duration={:.0f}", std::max(1.0, timing.seconds)));
  argv.push_back(fmt::format("--warmUp={:.0f}", timing.warmup_s * 1000));
  return argv;
}

TrtLog ParseTrtLog(const std::string& log) {
  TrtLog parsed;
  parsed.version = ParseTensorRtVersion(log);
  for (size_t at = 0; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    ReadLine(Plain(std::string_view(log).substr(at, end - at)), &parsed);
    at = end + 1;
  }
  return parsed;
}

std::string FailedForeignNode(const TrtLog& log) {
  const std::string_view mark = "Could not find any implementation for node {";
  for (const std::string& error : log.errors) {
    const size_t at = error.find(mark);
    if (at == std::string::npos || error.find("ForeignNode") == std::string::npos) continue;
    if (error.find("insufficient workspace") != std::string::npos) continue;
    const size_t from = at + mark.size();
    return error.substr(from, error.find('}', from) - from);
  }
  return "";
}

}  // namespace sg
