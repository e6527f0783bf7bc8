// sginfer's properties, and the config that results from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "deepstream/nvinfer_config.h"

namespace sg {

/// What the user set; the rest is the config file's.
struct InferSettings {
  std::string config_path;
  std::string engine_path;  ///< instead of model-engine-file; empty: the config's
  unsigned batch_size = 0;  ///< 0: the config's
  std::optional<unsigned> interval;
  unsigned unique_id = 0;          ///< 0: the config's
  std::string filter_out_classes;  ///< "0;2"; empty: the config's
};

/// "0;2;3" (also with ':' between them, as nvinfer's property has it). kUser names what is wrong.
Result<std::vector<int>> ParseClassIds(const std::string& text);

/// Reads the config file and puts the settings on top.
Result<NvinferConfig> ReadInferConfig(const InferSettings& settings);

}  // namespace sg
