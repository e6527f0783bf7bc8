// What an ONNX file says of itself, and the checks that tell a whole file from a damaged one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "onnx/graph_file.h"

namespace sg {

/// One axis: a number, a symbol ("batch"), or neither (unknown).
struct OnnxDim {
  std::optional<int64_t> value;
  std::string symbol;
  /// "3", "batch" or "?".
  std::string Text() const;
};

/// A graph input or output.
struct OnnxTensor {
  std::string name;
  std::string elem_type;  ///< "float32", "int64", …
  bool has_shape = false;
  std::vector<OnnxDim> dims;
  /// "logits [N,50,1] float32".
  std::string Text() const;
};

struct OnnxOperator {
  std::string domain;  ///< "" is ai.onnx
  std::string type;
  int count = 0;
};

struct OnnxSummary {
  std::string path;
  int64_t ir_version = 0;
  int64_t opset = 0;               ///< of the ai.onnx domain
  std::string producer;            ///< name and version
  std::vector<OnnxTensor> inputs;  ///< without those that are initializers
  std::vector<OnnxTensor> outputs;
  std::vector<OnnxOperator> operators;           ///< sorted by domain and type; subgraphs counted
  std::vector<std::string> function_domains;     ///< of functions that the model itself defines
  std::map<std::string, uint64_t> weight_bytes;  ///< by element type
  std::vector<std::string> external_files;       ///< sorted, relative to the model's folder
  std::map<std::string, std::string> metadata;   ///< metadata_props, as the exporter wrote them
  bool has_external_data = false;
  uint64_t size_bytes = 0;  ///< of the .onnx file alone
  std::string sha256;       ///< of the .onnx file alone

  const OnnxTensor* FindOutput(const std::string& name) const;
};

/// Reads the file and checks that it is whole: a graph with nodes, inputs, outputs and an opset;
/// every value that a node takes is made by something; every weight has the bytes its shape needs,
/// in the file or in a file of the same folder. kUser otherwise, with what to do.
Result<OnnxSummary> ReadOnnxFile(const std::string& path);
/// The same of a file that is open already.
Result<OnnxSummary> Summarize(const GraphFile& file);

/// "Gelu (com.microsoft)" of each operator whose domain is neither ai.onnx, ai.onnx.ml nor one that
/// the model defines itself.
std::vector<std::string> ForeignOperators(const std::vector<OnnxOperator>& operators,
                                          const std::vector<std::string>& own_domains);

/// kUnsupported, listing them, when the graph uses foreign operators.
Status CheckOperatorDomains(const OnnxSummary& summary);

/// The batch that the first input is fixed to; nullopt when it is free.
std::optional<int64_t> FixedBatch(const OnnxSummary& summary);

}  // namespace sg
