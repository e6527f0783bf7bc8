#include "onnx/onnx_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "onnx/graph_check.h"

namespace sg {
namespace {

OnnxTensor Describe(const onnx::ValueInfoProto& info) {
  OnnxTensor tensor;
  tensor.name = info.name();
  if (!info.type().has_tensor_type()) {
    tensor.elem_type = "not a tensor";
    return tensor;
  }
  const auto& type = info.type().tensor_type();
  tensor.elem_type = OnnxTypeName(type.elem_type());
  tensor.has_shape = type.has_shape();
  for (const auto& dim : type.shape().dim()) {
    OnnxDim axis;
    // Older exporters write a free axis as 0.
    if (dim.dim_value() > 0) axis.value = dim.dim_value();
    axis.symbol = dim.dim_param();
    tensor.dims.push_back(axis);
  }
  return tensor;
}

bool IsDefaultDomain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

Status CheckParts(const onnx::ModelProto& model, const std::string& path, uint64_t size) {
  const char* missing = nullptr;
  if (!model.has_graph() || model.graph().node_size() == 0) {
    missing = "graph";
  } else if (model.graph().input_size() == 0) {
    missing = "input";
  } else if (model.graph().output_size() == 0) {
    missing = "output";
  } else if (model.opset_import_size() == 0) {
    missing = "opset";
  }
  if (missing == nullptr) return OkStatus();
  return UserError(
      fmt::format("{}: truncated, or not an ONNX model: no {} in its {} bytes; download or export "
                  "it again",
                  path, missing, size));
}

}  // namespace

std::string OnnxDim::Text() const {
  if (value) return fmt::format("{}", *value);
  return symbol.empty() ? "?" : symbol;
}

std::string OnnxTensor::Text() const {
  if (!has_shape) return fmt::format("{} [unknown shape] {}", name, elem_type);
  std::vector<std::string> axes;
  for (const OnnxDim& dim : dims) axes.push_back(dim.Text());
  return fmt::format("{} [{}] {}", name, fmt::join(axes, ","), elem_type);
}

const OnnxTensor* OnnxSummary::FindOutput(const std::string& name) const {
  for (const OnnxTensor& output : outputs) {
    if (output.name == name) return &output;
  }
  return nullptr;
}

Result<OnnxSummary> ReadOnnxFile(const std::string& path) {
  SG_ASSIGN_OR_RETURN(const GraphFile file, GraphFile::Open(path));
  return Summarize(file);
}

Result<OnnxSummary> Summarize(const GraphFile& file) {
  const onnx::ModelProto& model = file.model();
  OnnxSummary summary;
  summary.path = file.path();
  summary.size_bytes = file.size_bytes();
  SG_RETURN_IF_ERROR(CheckParts(model, summary.path, summary.size_bytes));

  GraphFacts facts;
  SG_RETURN_IF_ERROR(CheckGraph(file, &facts));
  for (const auto& [domain_and_type, count] : facts.operators) {
    summary.operators.push_back({domain_and_type.first, domain_and_type.second, count});
  }
  summary.weight_bytes = facts.weight_bytes;
  summary.external_files.assign(facts.external_files.begin(), facts.external_files.end());
  summary.has_external_data = !facts.external_files.empty();

  for (const auto& entry : model.metadata_props()) summary.metadata[entry.key()] = entry.value();
  summary.ir_version = model.ir_version();
  for (const auto& opset : model.opset_import()) {
    if (IsDefaultDomain(opset.domain())) summary.opset = opset.version();
  }
  summary.producer = model.producer_name();
  if (!model.producer_version().empty()) summary.producer += " " + model.producer_version();
  std::set<std::string> function_domains;
  for (const auto& function : model.functions()) function_domains.insert(function.domain());
  summary.function_domains.assign(function_domains.begin(), function_domains.end());

  std::set<std::string> initializers;
  for (const auto& tensor : model.graph().initializer()) initializers.insert(tensor.name());
  for (const auto& input : model.graph().input()) {
    if (!initializers.contains(input.name())) summary.inputs.push_back(Describe(input));
  }
  for (const auto& output : model.graph().output()) summary.outputs.push_back(Describe(output));
  if (summary.inputs.empty()) {
    return UserError(
        fmt::format("{}: has no input that is not a weight, so it takes no picture", summary.path));
  }
  summary.sha256 = Sha256(file.bytes());
  return summary;
}

std::vector<std::string> ForeignOperators(const std::vector<OnnxOperator>& operators,
                                          const std::vector<std::string>& own_domains) {
  std::vector<std::string> foreign;
  for (const OnnxOperator& op : operators) {
    if (IsDefaultDomain(op.domain) || op.domain == "ai.onnx.ml" ||
        std::find(own_domains.begin(), own_domains.end(), op.domain) != own_domains.end()) {
      continue;
    }
    foreign.push_back(fmt::format("{} ({})", op.type, op.domain));
  }
  return foreign;
}

Status CheckOperatorDomains(const OnnxSummary& summary) {
  const std::vector<std::string> foreign =
      ForeignOperators(summary.operators, summary.function_domains);
  if (foreign.empty()) return OkStatus();
  return UnsupportedError(fmt::format(
      "{}: uses operators outside the ONNX standard: {}; export the model again without "
      "runtime-specific optimisation",
      summary.path, fmt::join(foreign, ", ")));
}

std::optional<int64_t> FixedBatch(const OnnxSummary& summary) {
  if (summary.inputs.empty() || summary.inputs.front().dims.empty()) return std::nullopt;
  return summary.inputs.front().dims.front().value;
}

}  // namespace sg
