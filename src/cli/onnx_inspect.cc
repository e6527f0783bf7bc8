#include "cli/onnx_inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sg {
namespace {

std::string Bytes(uint64_t bytes) {
  if (bytes < 10000) return fmt::format("{} bytes", bytes);
  if (bytes < 10000000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string Some(const std::vector<std::string>& names, size_t most) {
  const size_t shown = std::min(names.size(), most);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::string Line(const char* title, const std::string& text) {
  return fmt::format("{:<11}{}", title, text);
}

std::string WeightsText(const OnnxSummary& summary) {
  std::vector<std::string> parts;
  for (const auto& [type, bytes] : summary.weight_bytes)
    parts.push_back(fmt::format("{} {}", type, Bytes(bytes)));
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string OperatorsText(const OnnxSummary& summary) {
  std::vector<std::string> parts;
  int nodes = 0;
  for (const OnnxOperator& op : summary.operators) {
    nodes += op.count;
    const std::string domain = op.domain.empty() ? "" : fmt::format(" ({})", op.domain);
    parts.push_back(fmt::format("{} {}{}", op.count, op.type, domain));
  }
  return fmt::format("{} nodes: {}", nodes, fmt::join(parts, ", "));
}

std::string NmsText(const GraphAudit& audit) {
  if (audit.nms_nodes.empty()) return "none in the graph";
  return Some(audit.nms_nodes, 3) + (audit.nms_is_tensorrt
                                         ? ": a TensorRT plugin, runs nowhere else; boxes are final"
                                         : ": boxes are final");
}

std::vector<std::string> HalfLines(const Inspection& inspection) {
  const GraphAudit& audit = inspection.audit;
  std::vector<std::string> lines;
  if (!audit.exploded_layer_norms.empty()) {
    lines.push_back(fmt::format(
        "{} layer normalisation{} in parts may overflow ({}); opset {}: export at 17 or later",
        audit.exploded_layer_norms.size(), audit.exploded_layer_norms.size() == 1 ? "" : "s",
        Some(audit.exploded_layer_norms, 2), inspection.summary.opset));
  }
  std::vector<std::string> constants;
  for (const LargeConstant& constant : audit.large_constants)
    constants.push_back(fmt::format("'{}' {:.6g}", constant.name, constant.magnitude));
  if (!constants.empty())
    lines.push_back(fmt::format("{} constant{} beyond 65504: {}", constants.size(),
                                constants.size() == 1 ? "" : "s", Some(constants, 3)));
  if (lines.empty()) lines.push_back("no constant and no known pattern overflows");
  return lines;
}

const char* VerdictName(BatchAudit::Verdict verdict) {
  switch (verdict) {
    case BatchAudit::Verdict::kProven:
      return "proven";
    case BatchAudit::Verdict::kFixed:
      return "fixed";
    case BatchAudit::Verdict::kBroken:
      return "broken";
    case BatchAudit::Verdict::kUnproven:
      return "unproven";
    case BatchAudit::Verdict::kNotRun:
      break;
  }
  return "not run";
}

std::string FixedText(const BatchAudit& batch) {
  const auto blocked =
      std::find_if(batch.findings.begin(), batch.findings.end(),
                   [](const BatchFinding& finding) { return !finding.can_change; });
  if (blocked != batch.findings.end())
    return fmt::format("fixed to {}, and cannot be made free: {} {}", *batch.fixed_batch,
                       blocked->node, blocked->why);
  return fmt::format("fixed to {}; streamgauge onnx rebatch makes it free", *batch.fixed_batch);
}

std::string BatchText(const Inspection& inspection) {
  if (!inspection.batch) return "not run: " + inspection.no_batch_reason;
  const BatchAudit& batch = *inspection.batch;
  const std::string findings = batch.findings.empty() ? "" : "; " + FindingsText(batch.findings, 5);
  switch (batch.verdict) {
    case BatchAudit::Verdict::kProven:
      return "free, " + ProofText(*batch.run);
    case BatchAudit::Verdict::kFixed:
      return FixedText(batch);
    case BatchAudit::Verdict::kBroken:
      return "said to be free, and is not: " + batch.reason + findings;
    case BatchAudit::Verdict::kUnproven:
      return "unproven: " + batch.reason + "; name real ones with --frames";
    case BatchAudit::Verdict::kNotRun:
      break;
  }
  return "not run (--run does): " + batch.reason + findings;
}

Json TensorJson(const OnnxTensor& tensor) {
  Json dims = Json::array();
  for (const OnnxDim& dim : tensor.dims) {
    if (dim.value)
      dims.push_back(*dim.value);
    else
      dims.push_back(dim.symbol);
  }
  return {{"name", tensor.name},
          {"type", tensor.elem_type},
          {"shape", tensor.has_shape ? dims : Json()}};
}

Json BatchJson(const Inspection& inspection) {
  if (!inspection.batch) return {{"verdict", "not run"}, {"reason", inspection.no_batch_reason}};
  const BatchAudit& batch = *inspection.batch;
  Json json = {{"verdict", VerdictName(batch.verdict)}};
  json["fixed"] = batch.fixed_batch ? Json(*batch.fixed_batch) : Json();
  json["reason"] = batch.reason;
  json["findings"] = Json::array();
  for (const BatchFinding& finding : batch.findings)
    json["findings"].push_back(
        {{"node", finding.node}, {"why", finding.why}, {"can_change", finding.can_change}});
  json["run"] = batch.run ? batch.run->json : Json();
  return json;
}

std::string ResizeText(ResizeMode mode) {
  switch (mode) {
    case ResizeMode::kStretch:
      return "stretched";
    case ResizeMode::kLetterboxCorner:
      return "letterboxed, padded right and below";
    case ResizeMode::kLetterboxCentre:
      return "letterboxed, padded on both sides";
  }
  return "?";
}

std::string PreprocessingText(const ModelCard& card) {
  const Preprocessing& pre = card.preprocessing;
  return fmt::format(
      "{}x{} {}, {}, y = {:.9g} * (x{}) (from {})", card.input_width, card.input_height,
      pre.bgr ? "BGR" : "RGB", ResizeText(pre.resize), pre.net_scale_factor,
      pre.offsets.empty() ? "" : fmt::format(" - [{:g}]", fmt::join(pre.offsets, ", ")),
      pre.source);
}

/// What an import would make of the model: head, labels, preprocessing, each with what says so.
void AddCardLines(const Inspection& inspection, std::vector<std::string>* lines) {
  if (!inspection.card) {
    lines->push_back(Line("Card", "not complete: " + inspection.no_card_reason));
    return;
  }
  const ModelCard& card = *inspection.card;
  for (const HeadCandidate& candidate : card.head_candidates)
    lines->push_back(Line("Head", CandidateText(candidate)));
  if (card.head_candidates.size() > 1)
    lines->push_back(Line("",
                          "several heads fit; an import tries them on real pictures, or takes "
                          "the one that --head names"));
  lines->push_back(Line("Labels", fmt::format("{} from {}: {}", card.labels.size(),
                                              card.labels_source, Some(card.labels, 5))));
  lines->push_back(Line("Pictures", PreprocessingText(card)));
  lines->push_back(Line(
      "Threshold", fmt::format("{:g} ({})", card.score_threshold, card.score_threshold_source)));
}

Json HeadJson(const HeadCandidate& candidate) {
  Json json = {{"family", candidate.head.family},
               {"text", HeadText(candidate.head)},
               {"classes", candidate.head.num_classes},
               {"evidence", Json::array()}};
  for (const HeadEvidence& evidence : candidate.evidence)
    json["evidence"].push_back({{"text", evidence.text}, {"decides", evidence.decides}});
  return json;
}

Json CardJson(const Inspection& inspection) {
  if (!inspection.card) return {{"complete", false}, {"reason", inspection.no_card_reason}};
  const ModelCard& card = *inspection.card;
  Json json = {{"complete", true},
               {"heads", Json::array()},
               {"labels", card.labels},
               {"labels_source", card.labels_source},
               {"preprocessing", PreprocessingText(card)},
               {"score_threshold", card.score_threshold},
               {"score_threshold_source", card.score_threshold_source}};
  for (const HeadCandidate& candidate : card.head_candidates)
    json["heads"].push_back(HeadJson(candidate));
  return json;
}

}  // namespace

std::string FindingsText(const std::vector<BatchFinding>& findings, size_t most) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(findings.size(), most); ++i)
    parts.push_back(findings[i].node + " " + findings[i].why);
  std::string text = fmt::format("{}", fmt::join(parts, "; "));
  if (findings.size() > most) text += fmt::format("; and {} more", findings.size() - most);
  return text;
}

std::string ProofText(const ProofRun& run) {
  std::string text = fmt::format(
      "proven at batch {}: each picture as on its own (largest difference {:.3g}, tolerance {:g} "
      "of "
      "an output's largest value)",
      fmt::join(run.batches, ", "), run.max_difference, kOutputTolerance);
  if (run.moved_rows > 0) text += fmt::format("; {} rows changed places", run.moved_rows);
  if (run.json.value("limited_by_memory", false)) text += "; memory allowed no larger batch";
  return text;
}

std::vector<std::string> InspectionLines(const Inspection& inspection) {
  const OnnxSummary& summary = inspection.summary;
  const GraphAudit& audit = inspection.audit;
  std::vector<std::string> lines;
  lines.push_back(Line("File", fmt::format("{}, {}, SHA-256 {}", summary.path,
                                           Bytes(summary.size_bytes), summary.sha256)));
  lines.push_back(Line(
      "Producer",
      fmt::format("{}, IR {}, opset {}", summary.producer.empty() ? "unknown" : summary.producer,
                  summary.ir_version, summary.opset)));
  for (const OnnxTensor& input : summary.inputs) lines.push_back(Line("Input", input.Text()));
  for (const FoldedInput& input : inspection.further)
    lines.push_back(Line("", fmt::format("'{}' is fed with {}", input.name, input.meaning)));
  for (const OnnxTensor& output : summary.outputs) lines.push_back(Line("Output", output.Text()));
  lines.push_back(Line("Weights", WeightsText(summary)));
  if (summary.has_external_data)
    lines.push_back(
        Line("External", fmt::format("weights in {}", fmt::join(summary.external_files, ", "))));
  lines.push_back(Line("Operators", OperatorsText(summary)));
  if (!audit.tensorrt_plugins.empty())
    lines.push_back(Line(
        "TensorRT", fmt::format("only TensorRT runs {}", fmt::join(audit.tensorrt_plugins, ", "))));
  lines.push_back(Line("NMS", NmsText(audit)));
  lines.push_back(Line("Q/DQ", audit.quantize_nodes + audit.dequantize_nodes == 0
                                   ? "none"
                                   : fmt::format("{} quantize, {} dequantize", audit.quantize_nodes,
                                                 audit.dequantize_nodes)));
  std::string int64 = fmt::format("{} constants", audit.int64_constants);
  if (!audit.int64_outputs.empty())
    int64 += fmt::format("; output {} (int32 from TensorRT before 10)",
                         fmt::join(audit.int64_outputs, ", "));
  lines.push_back(Line("INT64", int64));
  for (const std::string& line : HalfLines(inspection)) lines.push_back(Line("fp16", line));
  lines.push_back(Line("Batch", BatchText(inspection)));
  AddCardLines(inspection, &lines);
  return lines;
}

Json InspectionJson(const Inspection& inspection) {
  const OnnxSummary& summary = inspection.summary;
  const GraphAudit& audit = inspection.audit;
  Json json = {{"path", summary.path},
               {"size_bytes", summary.size_bytes},
               {"sha256", summary.sha256},
               {"producer", summary.producer},
               {"ir_version", summary.ir_version},
               {"opset", summary.opset}};
  for (const char* key : {"inputs", "outputs", "operators", "further_inputs"})
    json[key] = Json::array();
  for (const OnnxTensor& input : summary.inputs) json["inputs"].push_back(TensorJson(input));
  for (const OnnxTensor& output : summary.outputs) json["outputs"].push_back(TensorJson(output));
  for (const OnnxOperator& op : summary.operators)
    json["operators"].push_back({{"domain", op.domain}, {"type", op.type}, {"count", op.count}});
  for (const FoldedInput& input : inspection.further)
    json["further_inputs"].push_back(
        {{"name", input.name}, {"shape", input.shape}, {"values", input.values}});
  json["weight_bytes"] = summary.weight_bytes;
  json["external_files"] = summary.external_files;
  json["unknown_operators"] = audit.unknown_operators;
  json["tensorrt_plugins"] = audit.tensorrt_plugins;
  json["nms"] = audit.nms_nodes;
  json["quantize_nodes"] = audit.quantize_nodes;
  json["dequantize_nodes"] = audit.dequantize_nodes;
  json["int64_constants"] = audit.int64_constants;
  json["int64_outputs"] = audit.int64_outputs;
  Json half = {{"exploded_layer_norms", audit.exploded_layer_norms},
               {"large_constants", Json::array()}};
  for (const LargeConstant& constant : audit.large_constants)
    half["large_constants"].push_back(
        {{"name", constant.name}, {"magnitude", constant.magnitude}, {"count", constant.count}});
  json["fp16"] = half;
  json["batch"] = BatchJson(inspection);
  json["card"] = CardJson(inspection);
  return json;
}

}  // namespace sg
