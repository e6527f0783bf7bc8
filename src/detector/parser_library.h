// A custom bounding box parser, loaded as nvinfer loads it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "detector/decoder.h"
#include "detector/parser_abi.h"

namespace sg {

class ParserLibrary {
 public:
  /// Loads `path` and finds `function`. kUser when the file is missing, not a library for this
  /// machine, or has no such function; the message names both.
  static Result<ParserLibrary> Load(const std::string& path, const std::string& function);

  /// Calls the parser on one frame's outputs. `boxes` is replaced; false when the parser said no
  /// or threw (it has then told why on stderr). Any thread, if the parser itself allows it; the
  /// generated ones do.
  bool Parse(const std::vector<NvDsInferLayerInfo>& outputs, const NvDsInferNetworkInfo& network,
             const NvDsInferParseDetectionParams& params, std::vector<Box>* boxes) const;

  const std::string& path() const { return path_; }
  const std::string& function_name() const { return function_name_; }

 private:
  struct Closer {
    void operator()(void* handle) const;
  };
  ParserLibrary() = default;

  std::string path_;
  std::string function_name_;
  std::unique_ptr<void, Closer> handle_;
  NvDsInferParseCustomFunc function_ = nullptr;
};

/// Describes an output of one frame to a parser. Name and data are borrowed and must outlive the
/// call that uses the result.
NvDsInferLayerInfo DescribeOutput(const TensorView& output);

/// The parameters that nvinfer passes: thresholds indexed by class. Do not copy or move the result:
/// NVIDIA's struct holds a reference to its own member.
NvDsInferParseDetectionParams DetectionParams(const std::vector<float>& pre_cluster_thresholds,
                                              const std::vector<float>& post_cluster_thresholds);

}  // namespace sg
