#include "cli/onnx_proof.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/worker_client.h"
#include "cli/scratch_folder.h"

namespace sg {
namespace {

/// An extent that no other axis of a detector is likely to have, so that the batch is not mistaken.
constexpr int64_t kUnusualBatch = 13;

/// A graph's shapes at one batch, or the node that does not accept it.
struct InferredShapes {
  bool ok = false;
  ValueShapes shapes;
  std::string node;
  std::string why;
};

/// Infers shapes from the graph without its weights.
class ShapeReader {
 public:
  static Result<ShapeReader> Open(const GraphFile& file, const PictureInput& picture,
                                  const std::vector<FoldedInput>& further) {
    SG_ASSIGN_OR_RETURN(ScratchFolder folder, ScratchFolder::Make());
    SG_RETURN_IF_ERROR(WriteFileAtomic(folder / "skeleton.onnx", file.SkeletonBytes()));
    return ShapeReader(std::move(folder), file.path(), picture, further);
  }

  Result<InferredShapes> At(int64_t batch) const {
    Json inputs = Json::object();
    const auto with_batch = [batch](std::vector<int64_t> shape) {
      shape.insert(shape.begin(), batch);
      return shape;
    };
    inputs[picture_.name] = with_batch(picture_.shape);
    for (const FoldedInput& input : further_) inputs[input.name] = with_batch(input.shape);
    WorkerCall call;
    call.job = "onnx-shapes";
    call.request = {{"path", folder_ / "skeleton.onnx"}, {"inputs", inputs}};
    const Result<Json> reply = CallWorker(call);
    if (!reply.ok()) {
      Error error = reply.error();
      const std::string skeleton = folder_ / "skeleton.onnx";
      if (error.message.starts_with(skeleton)) error.message.replace(0, skeleton.size(), path_);
      return error;
    }
    InferredShapes inferred;
    inferred.ok = reply->value("ok", false);
    inferred.node = reply->value("node", "");
    inferred.why = reply->value("why", "");
    if (!inferred.ok) return inferred;
    for (const auto& [name, shape] : reply->at("shapes").items())
      inferred.shapes[name] = shape.get<std::vector<int64_t>>();
    return inferred;
  }

 private:
  ShapeReader(ScratchFolder folder, std::string path, PictureInput picture,
              std::vector<FoldedInput> further)
      : folder_(std::move(folder)),
        path_(std::move(path)),
        picture_(std::move(picture)),
        further_(std::move(further)) {}

  ScratchFolder folder_;
  std::string path_;
  PictureInput picture_;
  std::vector<FoldedInput> further_;
};

/// The batch that a graph was exported at, when it says any and takes only one.
struct Exported {
  int64_t batch = 0;  ///< 0: none of those that were tried
  InferredShapes at;
};

Result<Exported> FindExportBatch(const ShapeReader& reader) {
  for (const int64_t batch : {1, 2, 4, 5, 6, 8, 16, 32, 64}) {
    SG_ASSIGN_OR_RETURN(InferredShapes shapes, reader.At(batch));
    if (shapes.ok) return Exported{batch, std::move(shapes)};
  }
  return Exported{};
}

Json GraphJson(const ProofGraph& graph) {
  Json json = {{"path", graph.path}, {"input", graph.input}, {"constants", Json::object()}};
  for (const FoldedInput& input : graph.further)
    json["constants"][input.name] = {{"shape", input.shape}, {"values", input.values}};
  if (!graph.front.empty()) {
    json["front"] = {{"mean", graph.front.mean},
                     {"std", graph.front.std},
                     {"channels_last", graph.front.channels_last}};
  }
  return json;
}

void ReadRun(const Json& batch, ProofRun* run) {
  run->batches.push_back(batch.value("batch", int64_t{0}));
  run->moved_rows += batch.value("moved_rows", int64_t{0});
  const double difference = batch.value("max_difference", 0.0);
  if (difference > run->max_difference || (!batch.value("ok", false) && run->failure.empty())) {
    run->max_difference = difference;
    run->output = batch.value("output", "");
  }
  if (batch.value("ok", false)) return;
  run->equal = false;
  if (!run->failure.empty()) return;
  run->node = batch.value("node", "");
  const std::string at = fmt::format("at batch {}", run->batches.back());
  const std::string why = batch.value("why", "");
  if (!batch.contains("output")) {
    run->failure = fmt::format("{} {}does not work: {}", at,
                               run->node.empty() ? "" : "node " + run->node + " ", why);
  } else if (!why.empty()) {
    run->failure = fmt::format("{} output '{}' is not one picture's: {}", at, run->output, why);
  } else {
    run->failure =
        fmt::format("{} output '{}' of picture {} differs by {:.3g} from that picture's own", at,
                    run->output, batch.value("slot", 0), difference);
  }
}

/// The batch at which the graph works as it is, and what stands in the way of others.
struct Original {
  int64_t batch = 0;
  int64_t traced_batch = 0;
  BatchTrace trace;
};

Result<Original> ReadOriginal(const GraphFile& file, const PictureInput& picture,
                              const ShapeReader& reader) {
  Exported found;
  if (picture.batch) {
    SG_ASSIGN_OR_RETURN(found.at, reader.At(*picture.batch));
    if (!found.at.ok)
      return UserError(fmt::format("{}: its shapes do not fit together: node {}: {}", file.path(),
                                   found.at.node, found.at.why));
    found.batch = *picture.batch;
  } else {
    SG_ASSIGN_OR_RETURN(found, FindExportBatch(reader));
    if (found.batch == 0)
      return UserError(file.path() + ": its shapes fit together at no batch that was tried");
    SG_ASSIGN_OR_RETURN(const InferredShapes free, reader.At(kUnusualBatch));
    if (found.batch == 1 && free.ok) {
      BatchTrace trace = TraceBatch({file, free.shapes, kUnusualBatch});
      if (trace.findings.empty()) return Original{1, kUnusualBatch, std::move(trace)};
    }
  }
  return Original{found.batch, found.batch, TraceBatch({file, found.at.shapes, found.batch})};
}

Error NotProven(const std::string& path, const ProofRun& run,
                const std::vector<BatchFinding>& changed) {
  if (run.equal)
    return GateError(fmt::format(
        "{}: nothing is proven: all pictures gave the same outputs; name real ones with --frames",
        path));
  for (const BatchFinding& finding : changed) {
    if (finding.can_change) continue;
    return GateError(fmt::format("{}: its batch cannot be changed: {} {} ({})", path, finding.node,
                                 finding.why, run.failure));
  }
  std::vector<std::string> nodes;
  for (const BatchFinding& finding : changed) nodes.push_back(finding.node);
  return GateError(fmt::format(
      "{}: rewritten for another batch it is not the same: {}; rewritten: {}", path, run.failure,
      nodes.empty() ? "inputs and outputs only" : fmt::format("{}", fmt::join(nodes, ", "))));
}

Result<ProofRun> CompareRuns(const Json& reference, const ProofGraph& candidate,
                             const std::vector<int64_t>& picture, const ProofOptions& options) {
  Progress progress(options.progress, "running the graph");
  WorkerCall call;
  call.job = "onnx-compare";
  call.request = {{"reference", reference},
                  {"candidate", GraphJson(candidate)},
                  {"picture", picture},
                  {"pictures_path", options.pictures_path},
                  {"tolerance", options.tolerance}};
  call.request["candidate"]["batches"] = candidate.batches;
  if (options.net_scale_factor) call.request["net_scale_factor"] = *options.net_scale_factor;
  call.on_event = [&](const Json& event) {
    progress.Update(event.value("fraction", 0.0), event.value("note", ""));
  };
  SG_ASSIGN_OR_RETURN(const Json reply, CallWorker(call));
  ProofRun run;
  run.equal = true;
  run.different = reply.value("different", false);
  for (const Json& batch : reply.at("batches")) ReadRun(batch, &run);
  if (run.batches.empty())
    return EnvironmentError(candidate.path + ": too little memory is free to run it");
  run.json = reply;
  run.json.erase("event");
  return run;
}

}  // namespace

std::vector<int64_t> ProofBatches(int max_batch) {
  std::set<int64_t> batches = {1, 2, 3, 8};
  batches.insert(std::min(max_batch, 8));
  std::vector<int64_t> kept;
  for (const int64_t batch : batches) {
    if (batch <= max_batch) kept.push_back(batch);
  }
  return kept;
}

std::vector<int64_t> PictureInput::ChannelsFirst() const {
  if (!channels_last) return shape;
  return {shape[2], shape[0], shape[1]};
}

Result<PictureInput> FindPictureInput(const OnnxSummary& summary) {
  for (const OnnxTensor& input : summary.inputs) {
    if (input.dims.size() != 4) continue;
    PictureInput picture;
    picture.name = input.name;
    picture.batch = input.dims[0].value;
    picture.channels_last = input.dims[3].value == 3 && input.dims[1].value != 3;
    const size_t channels = picture.channels_last ? 3 : 1;
    for (size_t i = 1; i < 4; ++i) {
      // A free channel axis of a picture is three.
      if (!input.dims[i].value && i != channels) {
        return UnsupportedError(
            fmt::format("{}: the height or width of its input {} is free, so it cannot be run; "
                        "export it again with a fixed size",
                        summary.path, input.Text()));
      }
      picture.shape.push_back(input.dims[i].value.value_or(3));
    }
    return picture;
  }
  return UserError(fmt::format("{}: no input takes pictures [N,3,height,width]; its first is {}",
                               summary.path, summary.inputs.front().Text()));
}

Status CopyExternalData(const OnnxSummary& summary, const std::string& to_folder) {
  const std::string from_folder = AbsolutePath(ParentFolder(summary.path));
  if (from_folder == AbsolutePath(to_folder)) return OkStatus();
  for (const std::string& name : summary.external_files) {
    const std::string to = JoinPath(to_folder, name);
    SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(to)));
    SG_RETURN_IF_ERROR(CopyFileAtomic(JoinPath(from_folder, name), to));
  }
  return OkStatus();
}

Result<ProofRun> RunProof(const ProofGraph& reference, const ProofGraph& candidate,
                          const std::vector<int64_t>& picture, const ProofOptions& options) {
  Json json = GraphJson(reference);
  json["batch"] = reference.batches.at(0);
  return CompareRuns(json, candidate, picture, options);
}

Result<ProofRun> RunProof(const RecordedOutputs& reference, const ProofGraph& candidate,
                          const std::vector<int64_t>& picture, const ProofOptions& options) {
  Json recorded = {{"path", reference.path}, {"outputs", Json::array()}};
  for (const RecordedOutputs::Output& output : reference.outputs)
    recorded["outputs"].push_back({{"name", output.name}, {"shape", output.shape}});
  return CompareRuns({{"recorded", recorded}}, candidate, picture, options);
}

Result<BatchAudit> AuditBatch(const GraphFile& file, const OnnxSummary& summary,
                              const ProofOptions& options, bool run) {
  BatchAudit audit;
  SG_ASSIGN_OR_RETURN(const PictureInput picture, FindPictureInput(summary));
  audit.fixed_batch = picture.batch;
  SG_ASSIGN_OR_RETURN(const auto further,
                      KnownFurtherInputs(file, picture.name, picture.ChannelsFirst()));
  SG_ASSIGN_OR_RETURN(const ShapeReader reader, ShapeReader::Open(file, picture, further));
  const auto trace_at = [&](const InferredShapes& shapes, int64_t batch) {
    return TraceBatch({file, shapes.shapes, batch}).findings;
  };
  if (picture.batch) {
    audit.verdict = BatchAudit::Verdict::kFixed;
    SG_ASSIGN_OR_RETURN(const Original original, ReadOriginal(file, picture, reader));
    audit.findings = original.trace.findings;
    return audit;
  }
  SG_ASSIGN_OR_RETURN(const Exported exported, FindExportBatch(reader));
  SG_ASSIGN_OR_RETURN(const InferredShapes at_unusual, reader.At(kUnusualBatch));
  if (exported.batch > 0) audit.findings = trace_at(exported.at, exported.batch);
  if (exported.batch != 1 || !at_unusual.ok) {
    audit.verdict = BatchAudit::Verdict::kBroken;
    if (exported.batch == 1)
      audit.reason = fmt::format("at batch {} node {} does not work: {}", kUnusualBatch,
                                 at_unusual.node, at_unusual.why);
    else if (exported.batch > 1)
      audit.reason = fmt::format("its shapes fit together at batch {} only", exported.batch);
    else
      audit.reason = fmt::format("its shapes fit together at no batch: node {}: {}",
                                 at_unusual.node, at_unusual.why);
    return audit;
  }
  const bool suspicious = !trace_at(at_unusual, kUnusualBatch).empty();
  if (!run) {
    audit.reason = suspicious ? "the graph seems to hold a batch" : "its shapes follow the batch";
    if (!suspicious) audit.findings.clear();
    return audit;
  }
  const ProofGraph one{summary.path, picture.name, {1}, further};
  ProofGraph many = one;
  many.batches = ProofBatches(options.max_batch);
  if (many.batches.size() > 1) many.batches.erase(many.batches.begin());  // the reference itself
  SG_ASSIGN_OR_RETURN(audit.run, RunProof(one, many, picture.shape, options));
  if (!audit.run->equal) {
    audit.verdict = BatchAudit::Verdict::kBroken;
    audit.reason = audit.run->failure;
    return audit;
  }
  audit.findings.clear();
  audit.verdict =
      audit.run->different ? BatchAudit::Verdict::kProven : BatchAudit::Verdict::kUnproven;
  if (!audit.run->different) audit.reason = "all pictures gave the same outputs";
  return audit;
}

Result<Rebatched> Rebatch(const RebatchRequest& request) {
  SG_ASSIGN_OR_RETURN(GraphFile file, GraphFile::Open(request.from));
  SG_ASSIGN_OR_RETURN(const OnnxSummary summary, Summarize(file));
  SG_RETURN_IF_ERROR(CheckOperatorDomains(summary));
  SG_ASSIGN_OR_RETURN(const PictureInput picture, FindPictureInput(summary));
  Rebatched result;
  SG_ASSIGN_OR_RETURN(result.folded,
                      KnownFurtherInputs(file, picture.name, picture.ChannelsFirst()));
  SG_RETURN_IF_ERROR(FoldInputs(&file, result.folded, picture.name));
  SG_ASSIGN_OR_RETURN(const ShapeReader reader, ShapeReader::Open(file, picture, {}));
  SG_ASSIGN_OR_RETURN(const Original original, ReadOriginal(file, picture, reader));

  const std::string to_folder = ParentFolder(request.to);
  SG_RETURN_IF_ERROR(CheckWritable(to_folder, summary.size_bytes));
  SG_RETURN_IF_ERROR(MakeFolders(to_folder));
  SG_ASSIGN_OR_RETURN(const ScratchFolder scratch, ScratchFolder::Make(to_folder));
  SG_RETURN_IF_ERROR(CopyExternalData(summary, ParentFolder(scratch / "model.onnx")));
  const ProofGraph reference{request.from, picture.name, {original.batch}, result.folded};
  ProofGraph candidate{scratch / "model.onnx", picture.name, {}, {}};
  candidate.batches =
      request.batch ? std::vector<int64_t>{*request.batch} : ProofBatches(request.proof.max_batch);

  // A graph whose batch is free already may need no change; the run tells.
  std::vector<BatchTrace> attempts = {original.trace};
  if (!picture.batch && !original.trace.findings.empty())
    attempts.insert(attempts.begin(), BatchTrace{{}, {}, original.trace.batched_outputs});
  for (const BatchTrace& trace : attempts) {
    GraphFile rewritten = file;
    MakeBatchDynamic(&rewritten, trace, original.traced_batch, picture.name);
    if (request.batch) MakeBatchStatic(&rewritten, trace.batched_outputs, *request.batch);
    SG_ASSIGN_OR_RETURN(const std::string bytes, rewritten.WholeBytes());
    SG_RETURN_IF_ERROR(WriteFileAtomic(scratch / "model.onnx", bytes));
    SG_ASSIGN_OR_RETURN(result.run, RunProof(reference, candidate, picture.shape, request.proof));
    result.changed = trace.findings;
    if (result.run.equal && result.run.different) {
      SG_RETURN_IF_ERROR(CopyExternalData(summary, to_folder));
      SG_RETURN_IF_ERROR(RenameFile(scratch / "model.onnx", request.to));
      return result;
    }
  }
  return NotProven(request.from, result.run, result.changed);
}

}  // namespace sg
