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

void AddExternalNames(const onnx::TensorProto& tensor, std::set<std::string>* names) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") names->insert(entry.value());
  }
}

void AddExternalNames(const onnx::GraphProto& graph, std::set<std::string>* names) {
  for (const auto& tensor : graph.initializer()) AddExternalNames(tensor, names);
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_t()) AddExternalNames(attribute.t(), names);
      for (const auto& tensor : attribute.tensors()) AddExternalNames(tensor, names);
      if (attribute.has_g()) AddExternalNames(attribute.g(), names);
      for (const auto& inner : attribute.graphs()) AddExternalNames(inner, names);
    }
  }
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

Status CheckOperatorDomains(const OnnxSummary& summary) {
  std::vector<std::string> foreign;
  for (const OnnxOperator& op : summary.operators) {
    const auto& own = summary.function_domains;
    if (IsDefaultDomain(op.domain) || op.domain == "ai.onnx.ml" ||
        std::find(own.begin(), own.end(), op.domain) != own.end()) {
      continue;
    }
    foreign.push_back(fmt::format("{} ({})", op.type, op.domain));
  }
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

std::string WeightVariant(const OnnxSummary& summary) {
  constexpr uint64_t kFewBytes = 4096;
  constexpr std::pair<const char*, const char*> kVariants[] = {
      {"float32", "fp32"}, {"float16", "fp16"}, {"bfloat16", "fp16"}, {"int8", "int8"},
      {"uint8", "int8"},   {"int4", "int4"},    {"uint4", "int4"}};
  std::map<std::string, uint64_t> bytes;
  for (const auto& [type, variant] : kVariants) {
    const auto found = summary.weight_bytes.find(type);
    if (found != summary.weight_bytes.end()) bytes[variant] += found->second;
  }
  const auto most = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() || most->second < kFewBytes ? "" : most->first;
}

Result<std::vector<std::string>> ExternalFileNames(const std::string& path) {
  SG_ASSIGN_OR_RETURN(const GraphFile file, GraphFile::Open(path));
  std::set<std::string> names;
  AddExternalNames(file.model().graph(), &names);
  for (const std::string& name : names) {
    if (IsInnerPath(name)) continue;
    return UserError(fmt::format(
        "{}: names a weight file outside its folder: '{}'; it is not followed", path, name));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace sg
