// Writes the custom bounding box parser of a model: one C++ file and a Makefile that people open,
// change and build, on a machine with or without DeepStream.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "detector/decoder.h"
#include "detector/model_card.h"
#include "detector/parser_library.h"

namespace sg {

/// The names that follow from a model's name.
struct ParserNames {
  std::string safe_name;      ///< "rtdetr-l" → "rtdetr_l"
  std::string function_name;  ///< "NvDsInferParseCustomRtdetrL"
  std::string cpp_name;       ///< "nvdsinfer_custombboxparser_rtdetr_l.cpp"
  std::string library_name;   ///< "libnvdsinfer_rtdetr_l_parser.so"
};
ParserNames NamesOfParser(const std::string& model_name);

struct ParserSource {
  ParserNames names;
  std::string cpp;
  std::string makefile;
};

/// The parser of the card's head. The same card gives the same bytes.
ParserSource GenerateParser(const ModelCard& card);

/// Writes both files to `folder`, which is made if need be. Files that are already equal stay
/// untouched, so that make has nothing to do.
Status WriteParser(const ParserSource& source, const std::string& folder);

/// Runs make in `folder` and loads the library it made, to see that it has the function. Returns
/// the library's path. kEnvironment when make or g++ is missing, kInternal with the compiler's
/// first error line otherwise.
Result<std::string> CompileParser(const std::string& folder, const ParserNames& names,
                                  double deadline_s = 120);

/// One output of a batch as the engine gives it.
struct RecordedOutput {
  std::string name;
  std::vector<int> dims;      ///< without the batch axis
  std::vector<float> values;  ///< [batch, dims…]; whole numbers where `type` is an integer
  TensorType type = TensorType::kFloat;  ///< what the parser is handed
};

/// One batch of a model's outputs, in any order.
struct RecordedTensors {
  int batch = 0;
  std::vector<RecordedOutput> outputs;
};

/// How far the parser's boxes are from the reference decoder's.
struct ParserProof {
  int slots = 0;          ///< slots of batches compared
  int boxes = 0;          ///< boxes compared
  double max_box_px = 0;  ///< largest difference of a left, top, width or height
  double max_score = 0;   ///< largest difference of a score
};

/// Runs both on every slot of every batch with thresholds from `score_threshold` on, with the
/// outputs in another order in every other slot. kGate with the slot and the numbers when they
/// differ in number, class, by more than 0.01 pixel or by more than 1e-4 in score.
Result<ParserProof> ProveParser(const ParserLibrary& library, const ModelCard& card,
                                const std::vector<RecordedTensors>& batches, float score_threshold);

}  // namespace sg
