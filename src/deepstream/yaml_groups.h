// The YAML form of DeepStream's configs, read into the same groups and keys as the .txt form.
#pragma once

#include <string>

#include "base/status.h"
#include "deepstream/key_file.h"

namespace sg {

/// A map of maps becomes groups; a sequence becomes a ';' separated list. kUser with "where:line"
/// for text that is not YAML or has another shape.
Result<KeyFile> ParseYamlGroups(const std::string& text, const std::string& where);

}  // namespace sg
