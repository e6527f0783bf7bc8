// Label files, as nvinfer reads them, and other files that hold labels.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "detector/label_map.h"

namespace sg {

/// The labels of a label file, one a line, index = class id. Of a line with ';' the part before
/// the first one counts, as for nvinfer's detectors. kUser when there is none.
Result<std::vector<std::string>> ReadLabelFile(const std::string& path);

/// Whether the file is a list of labels by its name: labels.txt, classes.txt, coco.names, …
bool IsLabelListName(const std::string& file_name);
/// Whether it may be a data set's description with "names:": data.yaml, coco.yml, …
bool IsDataYamlName(const std::string& file_name);

/// The labels beside a model, whose files are in `folders` (the first that has some counts), and
/// the name of their file; an empty map when there are none. Of each folder: the list labels.txt,
/// other lists, data sets' YAML files. Two files of one kind that differ are no answer. kUser for a
/// file that holds no labels or a label map that is none.
struct FoundLabels {
  LabelMap map;
  std::string source;  ///< "coco.names", "data.yaml names"
};
Result<FoundLabels> FindLabels(const std::vector<std::string>& folders);

/// The labels of the user's own file: a list, or a YAML with "names:". kUser when there is none.
Result<FoundLabels> ReadAnyLabels(const std::string& path);

/// The file's text: one label a line.
std::string LabelFileText(const std::vector<std::string>& labels);

}  // namespace sg
