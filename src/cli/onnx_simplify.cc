#include "cli/onnx_simplify.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/worker_client.h"
#include "cli/scratch_folder.h"
#include "onnx/simplify.h"

namespace sg {
namespace {

Result<std::vector<onnx::TensorProto>> WorkOut(const ConstantPart& part,
                                               const ScratchFolder& scratch) {
  SG_RETURN_IF_ERROR(WriteFileAtomic(scratch / "constants.onnx", part.model.SerializeAsString()));
  WorkerCall call;
  call.job = "onnx-constants";
  call.request = {{"path", scratch / "constants.onnx"}, {"to", scratch / "constants.bin"}};
  SG_ASSIGN_OR_RETURN(const Json reply, CallWorker(call));
  SG_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(scratch / "constants.bin"));
  std::vector<onnx::TensorProto> values;
  size_t at = 0;
  for (const Json& value : reply.at("values")) {
    onnx::TensorProto tensor;
    tensor.set_name(value.at("name").get<std::string>());
    tensor.set_data_type(value.at("type").get<int>());
    for (const Json& dim : value.at("shape")) tensor.add_dims(dim.get<int64_t>());
    const auto size = value.at("bytes").get<size_t>();
    if (at + size > bytes.size()) return InternalError("onnx-constants gave too few bytes");
    tensor.set_raw_data(bytes.substr(at, size));
    at += size;
    values.push_back(std::move(tensor));
  }
  return values;
}

struct Attempt {
  GraphFile file;
  int folded_nodes = 0;
};

/// The graph with its constants worked out; `why` says why not.
Result<Attempt> Folded(const GraphFile& original, const ScratchFolder& scratch, std::string* why) {
  Attempt attempt{original, 0};
  const ConstantPart part = FindConstantPart(original);
  if (part.nodes.empty()) return attempt;
  const auto values = WorkOut(part, scratch);
  if (!values.ok()) {
    if (values.error().kind == ErrorKind::kInterrupted) return values.error();
    *why = values.error().message;
    return attempt;
  }
  attempt.folded_nodes = ReplaceConstantPart(&attempt.file, part, *values);
  return attempt;
}

class Simplifier {
 public:
  Simplifier(const SimplifyRequest& request, PictureInput picture, std::vector<FoldedInput> further)
      : request_(request), picture_(std::move(picture)), further_(std::move(further)) {}

  /// Cleans the attempt up, writes it to `path` and runs it against the original.
  Result<SimplifiedGraph> Finish(Attempt attempt, const std::string& path) const {
    SimplifiedGraph graph;
    const CleanedUp cleaned = RemoveIdle(&attempt.file);
    graph.folded_nodes = attempt.folded_nodes;
    graph.removed_nodes = cleaned.nodes;
    graph.removed_weights = cleaned.weights;
    if (request_.half_weights) {
      HalvedWeights halved = HalveWeights(&attempt.file);
      graph.halved_weights = halved.halved;
      graph.kept_weights = std::move(halved.kept);
    }
    SG_ASSIGN_OR_RETURN(const std::string bytes, attempt.file.WholeBytes());
    SG_RETURN_IF_ERROR(WriteFileAtomic(path, bytes));
    graph.bytes_before = attempt.file.size_bytes();
    graph.bytes_after = bytes.size();
    ProofGraph reference{request_.from, picture_.name, {picture_.batch.value_or(1)}, further_};
    ProofGraph candidate = reference;
    candidate.path = path;
    if (!picture_.batch) candidate.batches = ProofBatches(request_.proof.max_batch);
    ProofOptions proof = request_.proof;
    if (request_.half_weights) proof.tolerance = kHalfWeightTolerance;
    SG_ASSIGN_OR_RETURN(graph.run, RunProof(reference, candidate, picture_.shape, proof));
    return graph;
  }

  Error NotProven(const ProofRun& run) const {
    if (run.equal) {
      return GateError(fmt::format(
          "{}: nothing is proven: all pictures gave the same outputs; name real ones with --frames",
          request_.from));
    }
    return GateError(fmt::format("{}: {} it is not the same: {}", request_.from,
                                 request_.half_weights ? "with half weights" : "simplified",
                                 run.failure));
  }

 private:
  const SimplifyRequest& request_;
  PictureInput picture_;
  std::vector<FoldedInput> further_;
};

}  // namespace

Json SimplifiedGraph::ToJson() const {
  return {{"folded_nodes", folded_nodes},
          {"removed_nodes", removed_nodes},
          {"removed_weights", removed_weights},
          {"halved_weights", halved_weights},
          {"kept_weights", kept_weights},
          {"bytes_before", bytes_before},
          {"bytes_after", bytes_after},
          {"not_folded", not_folded},
          {"run", run.json}};
}

Result<SimplifiedGraph> SimplifyOnnx(const SimplifyRequest& request) {
  SG_ASSIGN_OR_RETURN(const GraphFile file, GraphFile::Open(request.from));
  SG_ASSIGN_OR_RETURN(const OnnxSummary summary, Summarize(file));
  SG_RETURN_IF_ERROR(CheckOperatorDomains(summary));
  SG_ASSIGN_OR_RETURN(const PictureInput picture, FindPictureInput(summary));
  SG_ASSIGN_OR_RETURN(const auto further, KnownFurtherInputs(file, picture.name, picture.shape));
  const std::string to_folder = ParentFolder(request.to);
  SG_RETURN_IF_ERROR(CheckWritable(to_folder, 2 * summary.size_bytes));
  SG_RETURN_IF_ERROR(MakeFolders(to_folder));
  SG_ASSIGN_OR_RETURN(const ScratchFolder scratch, ScratchFolder::Make(to_folder));
  const std::string path = scratch / "model.onnx";
  SG_RETURN_IF_ERROR(CopyExternalData(summary, ParentFolder(path)));

  const Simplifier simplifier(request, picture, further);
  std::string not_folded;
  SG_ASSIGN_OR_RETURN(const Attempt folded, Folded(file, scratch, &not_folded));
  SG_ASSIGN_OR_RETURN(SimplifiedGraph graph, simplifier.Finish(folded, path));
  if (!graph.run.equal && folded.folded_nodes > 0) {
    not_folded = "with its constants worked out it is not the same: " + graph.run.failure;
    SG_ASSIGN_OR_RETURN(graph, simplifier.Finish({file, 0}, path));
  }
  if (!graph.run.equal || !graph.run.different) return simplifier.NotProven(graph.run);
  graph.not_folded = not_folded;
  SG_RETURN_IF_ERROR(CopyExternalData(summary, to_folder));
  SG_RETURN_IF_ERROR(RenameFile(path, request.to));
  return graph;
}

}  // namespace sg
