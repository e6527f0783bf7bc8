#include "onnx/onnx_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "onnx/graph_check.h"

namespace sg {
namespace {

struct Kind {
  const char* variant;
  const char* words;
  std::vector<const char*> types;  ///< ONNX element types
};

const std::vector<Kind>& Kinds() {
  static const auto* kinds = new std::vector<Kind>{
      {"fp32", "float32", {"float32", "float64"}},
      {"fp16", "float16", {"float16"}},
      {"bf16", "bfloat16", {"bfloat16"}},
      {"int8", "8-bit integer", {"int8", "uint8"}},
      {"int4", "4-bit", {"int4", "uint4", "float4e2m1"}},
      {"fp8", "float8", {"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"}},
  };
  return *kinds;
}

/// Operators that only a graph quantised to 8 bits has.
constexpr const char* kQuantisedOperators[] = {"DynamicQuantizeLinear", "MatMulInteger",
                                               "ConvInteger", "QLinearConv", "QLinearMatMul"};

/// Walks the messages; each function counts one of them with all that is in it.
class Reader {
 public:
  void Graph(const onnx::GraphProto& graph) {
    for (const auto& tensor : graph.initializer()) Tensor(tensor);
    for (const auto& tensor : graph.sparse_initializer()) Tensor(tensor.values());
    for (const auto& node : graph.node()) Node(node);
  }

  void Node(const onnx::NodeProto& node) {
    const std::string& type = node.op_type();
    ++facts_.operators[type];
    ++operators_[{node.domain() == "ai.onnx" ? "" : node.domain(), type}];
    int bits = 4;
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "bits") bits = static_cast<int>(attribute.i());
      if (attribute.has_t()) Tensor(attribute.t());
      for (const auto& tensor : attribute.tensors()) Tensor(tensor);
      if (attribute.has_g()) Graph(attribute.g());
      for (const auto& inner : attribute.graphs()) Graph(inner);
    }
    if (type.ends_with("NBits") || type == "GatherBlockQuantized" || type == "MatMulBnb4") {
      facts_.block_bits.insert(bits);
    }
  }

  const WeightFacts& facts() const { return facts_; }
  const std::set<std::string>& external_files() const { return external_files_; }
  std::vector<OnnxOperator> Operators() const {
    std::vector<OnnxOperator> operators;
    for (const auto& [name, count] : operators_) {
      operators.push_back({name.first, name.second, count});
    }
    return operators;
  }

 private:
  void Tensor(const onnx::TensorProto& tensor) {
    uint64_t elements = 1;
    for (const int64_t dim : tensor.dims())
      elements *= static_cast<uint64_t>(std::max<int64_t>(dim, 0));
    facts_.elements[OnnxTypeName(tensor.data_type())] += elements;
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") external_files_.insert(entry.value());
    }
  }

  WeightFacts facts_;
  std::map<std::pair<std::string, std::string>, int> operators_;
  std::set<std::string> external_files_;
};

std::string AxesOf(const onnx::ValueInfoProto& info) {
  std::string axes;
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    axes += dim.dim_value() > 0 ? fmt::format(" {}", dim.dim_value()) : " ?";
  }
  return fmt::format("{}:{}", info.name(), axes);
}

std::string SignatureOf(const onnx::GraphProto& graph) {
  std::set<std::string> weights;
  for (const auto& tensor : graph.initializer()) weights.insert(tensor.name());
  std::string signature;
  for (const auto& input : graph.input()) {
    if (!weights.contains(input.name())) signature += AxesOf(input) + "; ";
  }
  signature += "-> ";
  for (const auto& output : graph.output()) signature += AxesOf(output) + "; ";
  return signature;
}

uint64_t Elements(const WeightFacts& facts, const Kind& kind) {
  uint64_t elements = 0;
  for (const char* type : kind.types) {
    const auto found = facts.elements.find(type);
    if (found != facts.elements.end()) elements += found->second;
  }
  return elements;
}

bool ComputesInEightBits(const WeightFacts& facts) {
  const auto uses = [&](const char* type) { return facts.operators.contains(type); };
  return (uses("QuantizeLinear") && uses("DequantizeLinear")) ||
         std::any_of(std::begin(kQuantisedOperators), std::end(kQuantisedOperators), uses);
}

}  // namespace

void TellVariant(const WeightFacts& facts, OnnxContents* contents) {
  const Kind* most = nullptr;
  uint64_t largest = 0;
  for (const Kind& kind : Kinds()) {
    const uint64_t elements = Elements(facts, kind);
    contents->parameters += elements;
    if (elements <= largest) continue;
    largest = elements;
    most = &kind;
  }
  if (!facts.block_bits.empty()) {
    const int bits = *facts.block_bits.begin();
    contents->variant = fmt::format("int{}", bits);
    contents->weights = fmt::format("{}-bit weights in blocks", bits);
    return;
  }
  if (most == nullptr) return;
  contents->variant = most->variant;
  contents->weights =
      fmt::format("{}{} weights", largest == contents->parameters ? "" : "mostly ", most->words);
  if (ComputesInEightBits(facts) && contents->variant != "int8" && contents->variant != "int4" &&
      contents->variant != "fp8") {
    contents->variant = "int8";
    contents->weights += " in a graph that computes in 8 bits";
  }
}

Result<OnnxContents> ReadOnnxContents(const std::string& path) {
  SG_ASSIGN_OR_RETURN(const GraphFile file, GraphFile::Open(path));
  Reader reader;
  std::vector<std::string> own_domains;
  reader.Graph(file.model().graph());
  for (const auto& function : file.model().functions()) {
    own_domains.push_back(function.domain());
    for (const auto& node : function.node()) reader.Node(node);
  }
  OnnxContents contents;
  TellVariant(reader.facts(), &contents);
  contents.foreign_operators = ForeignOperators(reader.Operators(), own_domains);
  contents.signature = SignatureOf(file.model().graph());
  for (const std::string& name : reader.external_files()) {
    if (!StaysInFolder(ParentFolder(path), name)) {
      return UserError(fmt::format(
          "{}: names a weight file outside its folder: '{}'; it is not followed", path, name));
    }
    contents.external_files.push_back(name.starts_with("./") ? name.substr(2) : name);
  }
  return contents;
}

}  // namespace sg
