// A model that has SafeTensors and no ONNX becomes an ONNX that gives the same outputs.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "cli/command.h"

namespace sg {

/// What the user says about an export.
struct ExportOptions {
  std::string image_size;  ///< "640" or "WIDTHxHEIGHT"; empty: from the model's files
  int opset = 17;
  std::string prompt;  ///< "person . car", for text+image detectors
  bool trust = false;  ///< Python code in the model's folder may run
};

void AddExportOptions(CLI::App* command, ExportOptions* options);

struct ModelExport {
  std::string folder;                 ///< config.json and what belongs to it
  std::vector<std::string> weights;   ///< paths of the SafeTensors
  std::string output_folder;          ///< gets model.onnx, its configs, export.json, export.log
  std::vector<std::string> pictures;  ///< picture files that the parity is proven on, at least two
  int max_batch = 8;                  ///< the largest batch that matters
  ExportOptions options;
};

struct ExportedOnnx {
  std::string path;
  std::vector<std::string> labels;  ///< of the prompt; empty for other models
  std::vector<std::string> notes;   ///< for the report: backend, opset, parity
  bool reused = false;              ///< an earlier export of the same files
  Json json;                        ///< what export.json holds
};

/// Tries torch's exporters in turn; the first graph whose batch is free, that passes the audit and
/// whose outputs equal the torch model's on every picture, at every batch, is kept. One whose batch
/// is fixed is made free with the same proof when no exporter gives a better one. kGate when the
/// outputs differ, kUnsupported when torch cannot export it: with the cause and the log's path.
Result<ExportedOnnx> ExportModel(const ModelExport& request, const Console& console);

}  // namespace sg
