// Class numbers and their labels, read from the forms that models carry them in. Numbers keep their
// places: gaps stay gaps.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace sg {

using LabelMap = std::map<int, std::string>;

/// {"0": "person", …} as id2label and Ultralytics' names have it, or a list of labels. `what` names
/// it in messages ("DIR/config.json: id2label"). kUser, with the entry, for a negative or repeated
/// class number and for a label that is no text.
Result<LabelMap> LabelsById(const Json& map, const std::string& what);

/// {"person": 0, …} as label2id has it. The same errors.
Result<LabelMap> IdsByLabel(const Json& map, const std::string& what);

/// Python's or JSON's text of a dict or list: "{0: 'person', 1: 'car'}", as Ultralytics writes it
/// into an ONNX file, or labels alone, one a line or with commas between them, as RapidAI does. The
/// same errors, and kUser for other text.
Result<LabelMap> LabelsOfText(const std::string& text, const std::string& what);

/// "names:" of a data set's YAML (PaddleDetection's "label_list:"), a map or a list; an empty map
/// when the file has none or is no YAML. The same errors.
Result<LabelMap> LabelsOfYaml(const std::string& text, const std::string& what);

/// kUser when the object `key` of a JSON text has the same member twice, which a parser would hide.
Status CheckNoRepeatedMember(const std::string& json_text, const std::string& key,
                             const std::string& what);

/// Whether they are all transformers' placeholders: LABEL_0, LABEL_1, …
bool ArePlaceholders(const LabelMap& labels);

}  // namespace sg
