// Label files, as nvinfer reads them, and label maps, as exporters write them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

/// The labels of a label file, one a line, index = class id. Of a line with ';' the part before
/// the first one counts, as for nvinfer's detectors. kUser when there is none.
Result<std::vector<std::string>> ReadLabelFile(const std::string& path);

/// Class numbers and labels of a text like {0: 'person', 1: "traffic light"} or ['a', 'b'], which
/// exporters put into an ONNX's metadata: Python's notation, which JSON is a part of for this.
/// kUser when it is neither; `where` is for the message.
Result<std::map<int, std::string>> ParseLabelMap(const std::string& text, const std::string& where);

/// The file's text: one label a line.
std::string LabelFileText(const std::vector<std::string>& labels);

}  // namespace sg
