// Exports a model from its SafeTensors folder with torch, in a process of its own. What comes out
// is a candidate: whether it is the model is found by running it (cli/model_export.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace sg {

/// torch's two exporters, in the order in which they are tried.
inline constexpr const char* kExportBackends[] = {"dynamo", "legacy-torchscript"};

struct ExportRequest {
  std::string folder;  ///< config.json and the SafeTensors
  std::string output;  ///< the .onnx to write, alone in its folder
  std::string backend;
  int opset = 17;
  int64_t width = 0;  ///< of the network's input
  int64_t height = 0;
  std::string pictures_path;  ///< f32 [pictures, 3, height, width]
  int64_t pictures = 0;
  std::string recorded_path;  ///< gets the torch model's own outputs for them
  std::string prompt;         ///< "person . car" for text+image detectors
  bool trust = false;         ///< code in the model's folder may run
  std::string log_path;       ///< gets everything that torch has to say
};

/// What a torch model gave for the pictures, one after the other: f32, [pictures, …] an output.
struct RecordedOutputs {
  struct Output {
    std::string name;
    std::vector<int64_t> shape;
  };
  std::string path;
  std::vector<Output> outputs;
};

struct ExportedModel {
  int opset = 0;
  std::string input;                ///< "pixel_values shape=['batch', 3, 640, 640]"
  bool has_free_batch = false;      ///< the first axis of the input is a name
  std::vector<std::string> labels;  ///< of the prompt; empty for other models
  RecordedOutputs recorded;
};

/// Changes when the exporter's program or its packages do.
std::string ExporterVersion();

/// `venv` is PrepareExportVenv's. kUnsupported with torch's own cause in one line and the log's
/// path when it cannot; kEnvironment when memory ran out; kInterrupted.
Result<ExportedModel> RunExporter(const std::string& venv, const ExportRequest& request);

/// The size that the exported network gets: `image_size` ("640" or "WIDTHxHEIGHT") when the user
/// says one, else what preprocessor_config.json or config.json of `folder` names. Pictures whose
/// aspect ratio is kept (shortest and longest edge) get the two as height and width. kUser when
/// nothing says it.
struct NetworkSize {
  int64_t width = 0;
  int64_t height = 0;
  std::string source;
};
Result<NetworkSize> ChooseNetworkSize(const std::string& folder, const std::string& image_size);

}  // namespace sg
