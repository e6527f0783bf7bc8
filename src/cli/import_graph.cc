#include "cli/import_graph.h"

#include <fmt/format.h>

#include "base/files.h"
#include "cli/onnx_inspect.h"
#include "cli/onnx_proof.h"
#include "onnx/graph_audit.h"

namespace sg {
namespace {

ProofOptions ProofOf(int max_batch, const Console& console) {
  ProofOptions proof;
  proof.max_batch = max_batch;
  proof.progress = console.progress_mode();
  return proof;
}

Status CheckOperators(const GraphFile& file, const OnnxSummary& summary) {
  SG_RETURN_IF_ERROR(CheckOperatorDomains(summary));
  const GraphAudit audit = AuditGraph(file, summary);
  std::string names;
  for (const auto& list : {audit.unknown_operators, audit.tensorrt_plugins}) {
    for (const std::string& name : list) names += (names.empty() ? "" : ", ") + name;
  }
  if (names.empty()) return OkStatus();
  return UnsupportedError(fmt::format(
      "{}: uses operators outside the ONNX standard: {}; export the model again without {}",
      summary.path, names,
      audit.nms_is_tensorrt ? "NMS in the graph" : "runtime-specific optimisation"));
}

Error BatchError(const std::string& path, const BatchAudit& audit) {
  const std::string findings = audit.findings.empty() ? "" : "; " + FindingsText(audit.findings, 3);
  return GateError(fmt::format(
      "{}: its batch is said to be free, and is not: {}{}; export it again with a dynamic batch "
      "axis",
      path, audit.reason, findings));
}

Result<CheckedGraph> Rewritten(const OnnxSummary& summary, int max_batch, const Console& console) {
  CheckedGraph graph;
  SG_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::Make());
  graph.scratch = std::make_shared<ScratchFolder>(std::move(scratch));
  graph.path = *graph.scratch / "model.onnx";
  const std::optional<int64_t> fixed = FixedBatch(summary);
  const RebatchRequest request{summary.path, graph.path, std::nullopt, ProofOf(max_batch, console)};
  const Result<Rebatched> rebatched = Rebatch(request);
  if (!rebatched.ok() && fixed) {
    return Error{rebatched.error().kind,
                 fmt::format("{} (the batch of {} is fixed to {})", rebatched.error().message,
                             summary.inputs.front().Text(), *fixed)};
  }
  SG_RETURN_IF_ERROR(rebatched.status());
  SG_ASSIGN_OR_RETURN(graph.onnx, ReadOnnxFile(graph.path));
  if (fixed)
    graph.notes.push_back(fmt::format("The model's batch was fixed to {}; it was made free and {}.",
                                      *fixed, ProofText(rebatched->run)));
  else
    graph.notes.push_back(
        fmt::format("The model was rewritten and {}.", ProofText(rebatched->run)));
  for (const BatchFinding& finding : rebatched->changed)
    graph.notes.push_back(fmt::format("Rewritten: {}, which {}.", finding.node, finding.why));
  for (const FoldedInput& input : rebatched->folded)
    graph.notes.push_back(
        fmt::format("Its input '{}' became a constant: {}.", input.name, input.meaning));
  for (const std::string& note : graph.notes) console.Say(note);
  return graph;
}

}  // namespace

Result<CheckedGraph> CheckGraphBatch(const std::string& path, int max_batch,
                                     const Console& console) {
  SG_ASSIGN_OR_RETURN(const GraphFile file, GraphFile::Open(path));
  CheckedGraph graph;
  SG_ASSIGN_OR_RETURN(graph.onnx, Summarize(file));
  graph.path = path;
  SG_RETURN_IF_ERROR(CheckOperators(file, graph.onnx));
  SG_ASSIGN_OR_RETURN(const PictureInput picture, FindPictureInput(graph.onnx));
  SG_ASSIGN_OR_RETURN(const auto further,
                      KnownFurtherInputs(file, picture.name, picture.ChannelsFirst()));
  const bool fits = !picture.batch || (*picture.batch == 1 && max_batch == 1);
  if (!fits || !further.empty()) return Rewritten(graph.onnx, max_batch, console);
  if (max_batch == 1) return graph;
  SG_ASSIGN_OR_RETURN(const BatchAudit audit,
                      AuditBatch(file, graph.onnx, ProofOf(max_batch, console), /*run=*/false));
  if (audit.verdict != BatchAudit::Verdict::kBroken) return graph;
  Result<CheckedGraph> rewritten = Rewritten(graph.onnx, max_batch, console);
  return rewritten.ok() ? rewritten : BatchError(path, audit);
}

Result<std::string> ProveGraphBatch(const std::string& path, int max_batch,
                                    const Console& console) {
  SG_ASSIGN_OR_RETURN(const GraphFile file, GraphFile::Open(path));
  SG_ASSIGN_OR_RETURN(const OnnxSummary summary, Summarize(file));
  SG_ASSIGN_OR_RETURN(const BatchAudit audit,
                      AuditBatch(file, summary, ProofOf(max_batch, console), /*run=*/true));
  if (audit.verdict == BatchAudit::Verdict::kBroken) return BatchError(path, audit);
  if (audit.verdict == BatchAudit::Verdict::kProven) return "Batch: " + ProofText(*audit.run);
  return "Batch: " + (audit.reason.empty() ? "fixed to 1" : "not proven: " + audit.reason);
}

}  // namespace sg
