// labels.txt, as nvinfer reads it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

/// The labels of a label file, one a line, index = class id. Of a line with ';' the part before
/// the first one counts, as for nvinfer's detectors. kUser when there is none.
Result<std::vector<std::string>> ReadLabelFile(const std::string& path);

/// The file's text: one label a line.
std::string LabelFileText(const std::vector<std::string>& labels);

}  // namespace sg
