#include "gst/infer_settings.h"

#include <charconv>

namespace sg {

Result<std::vector<int>> ParseClassIds(const std::string& text) {
  std::vector<int> ids;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    int id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    const bool separated = next == end || *next == ';' || *next == ':';
    if (error != std::errc() || !separated || id < 0) {
      return UserError("filter-out-class-ids=" + text + ": not class ids as in 0;2;3");
    }
    ids.push_back(id);
    at = next == end ? next : next + 1;
  }
  return ids;
}

Result<NvinferConfig> ReadInferConfig(const InferSettings& settings) {
  if (settings.config_path.empty()) {
    return UserError("config-file-path is not set; it names an nvinfer config (.txt or .yml)");
  }
  SG_ASSIGN_OR_RETURN(NvinferConfig config, ReadNvinferConfig(settings.config_path));
  if (!settings.engine_path.empty()) config.model_engine_file = settings.engine_path;
  if (settings.batch_size > 0) config.batch_size = static_cast<int>(settings.batch_size);
  if (settings.interval.has_value()) config.interval = static_cast<int>(*settings.interval);
  if (settings.unique_id > 0) config.gie_unique_id = static_cast<int>(settings.unique_id);
  if (!settings.filter_out_classes.empty()) {
    SG_ASSIGN_OR_RETURN(config.filter_out_class_ids, ParseClassIds(settings.filter_out_classes));
  }
  return config;
}

}  // namespace sg
