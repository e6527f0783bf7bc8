// trtexec's command lines, and what its logs say. Pure functions: nothing is started here.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sg {

/// TensorRT's version as trtexec prints it: "[TensorRT v8601]" is 8.6.1, "[TensorRT
/// v101600]" 10.16.0.
struct TensorRtVersion {
  int major = 0;  ///< 0: unknown
  int minor = 0;
  int patch = 0;
  std::string Text() const;  ///< "10.16.0"; "unknown"
};
TensorRtVersion ParseTensorRtVersion(const std::string& trtexec_output);

/// One input of the network; dims without the batch axis.
struct TrtInput {
  std::string name;
  std::vector<int> dims;
  bool dynamic_batch = true;
};

enum class TrtPrecision { kFp32, kFp16, kInt8 };

struct TrtBuild {
  std::string trtexec = "trtexec";
  TensorRtVersion version;
  std::string onnx;
  std::string engine;        ///< --saveEngine
  std::string timing_cache;  ///< --timingCacheFile
  std::vector<TrtInput> inputs;
  int max_batch = 1;  ///< opt = max; min is 1
  TrtPrecision precision = TrtPrecision::kFp16;
  std::string calibration;     ///< a table for int8; empty: Q/DQ nodes
  int optimization_level = 0;  ///< 0: trtexec's own (3)
};

/// Every path is the tail of one "--flag=PATH" word, so a name that begins with a dash or holds
/// blanks, quotes or "$(…)" is only a name. Shapes are given for inputs with a dynamic batch alone:
/// trtexec refuses them for static ones. Up to TensorRT 8.5 what is --skipInference later is
/// --buildOnly.
std::vector<std::string> TrtBuildArgv(const TrtBuild& build);

struct TrtTiming {
  std::string trtexec = "trtexec";
  std::string engine;
  std::vector<TrtInput> inputs;
  int batch = 1;
  double warmup_s = 1;
  double seconds = 10;
};
std::vector<std::string> TrtTimingArgv(const TrtTiming& timing);

/// What a log of trtexec says. What is not there is nullopt; nothing is derived.
struct TrtLog {
  TensorRtVersion version;
  std::optional<double> throughput_qps;
  std::optional<double> gpu_mean_ms;    ///< GPU Compute Time, mean
  std::optional<double> gpu_p99_ms;     ///< GPU Compute Time, percentile(99%)
  std::optional<double> build_s;        ///< "Engine built in 63.2 sec."
  std::optional<double> workspace_mib;  ///< "Memory Pools: workspace: … MiB"
  bool passed = false;                  ///< "&&&& PASSED", and no FAILED behind it
  bool failed = false;                  ///< "&&&& FAILED"
  int int64_warnings = 0;               ///< harmless: "INT64 weights … cast down to INT32"
  std::vector<std::string> errors;      ///< the [E] lines' texts, in order, each once, at most 20
};

/// Reads TensorRT 7 to 10: with and without time stamps, decimal points and (of a foreign locale)
/// decimal commas, \r\n, colour codes. Numbers that are no numbers are not there.
TrtLog ParseTrtLog(const std::string& log);

/// The node of a "Could not find any implementation for node {ForeignNode[…]}" that does not say
/// "insufficient workspace"; empty when there is none.
std::string FailedForeignNode(const TrtLog& log);

}  // namespace sg
