// benchmark_report.md. One function a section; the first one answers the question that the reader
// came with.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "report/charts.h"
#include "report/derived.h"
#include "report/report.h"
#include "report/text.h"

namespace sg {
namespace report {
namespace {

/// Rows of a table, already inert Markdown.
class Table {
 public:
  explicit Table(const std::vector<std::string>& header) : columns_(header.size()) {
    Add(header);
    text_ += "|";
    for (size_t i = 0; i < columns_; ++i) text_ += " --- |";
    text_ += "\n";
  }
  void Add(const std::vector<std::string>& cells) {
    text_ += "|";
    for (const std::string& cell : cells) text_ += " " + cell + " |";
    text_ += "\n";
  }
  /// A two-column row with its name in bold.
  void Row(const std::string& name, const std::string& value) { Add({"**" + name + "**", value}); }
  const std::string& text() const { return text_; }

 private:
  size_t columns_;
  std::string text_;
};

std::string Image(const ChartFile& chart) {
  return fmt::format("![{}](charts/{})\n\n", chart.caption, chart.file);
}

std::string Section(int number, const std::string& title) {
  return fmt::format("## {}. {}\n\n", number, title);
}

std::string Target(const Report& r) { return Shortest(r.target_fps); }

/// "140.2 fps (95 % interval 139.5–140.9)".
std::string Sum(const ReportRun& run) {
  std::string text = Figure(run.total_fps, 1, "fps");
  if (run.total_fps && run.total_fps_low && run.total_fps_high)
    text += fmt::format(" (95 % interval {}–{})", Figure(run.total_fps_low, 1),
                        Figure(run.total_fps_high, 1));
  return text;
}

std::string Streams(int count) {
  return fmt::format("{} {}", count, count == 1 ? "stream" : "streams");
}
std::string Streams(const std::optional<int>& count) {
  return count ? Streams(*count) : "unknown streams";
}

std::string MachineText(const ReportMachine& m) {
  std::string text = Inert(m.cpu_name);
  if (m.cpu_cores)
    text += fmt::format(", {} {}", *m.cpu_cores, *m.cpu_cores == 1 ? "core" : "cores");
  if (m.memory_bytes) text += ", " + Gibibytes(m.memory_bytes) + " memory";
  if (!m.gpu_name.empty())
    text += ", GPU " + Inert(m.gpu_name);
  else if (m.has_gpu && !*m.has_gpu)
    text += ", no GPU";
  return text;
}

std::string EngineText(const ReportEngine& e) {
  const std::string kind = e.kind == "deepstream" ? "DeepStream" : "embedded";
  std::string text = kind + ": " + Inert(e.runtime);
  if (!e.runtime_version.empty()) text += " " + Inert(e.runtime_version);
  return text + " on " + Inert(e.device);
}

std::string PrecisionText(const ReportEngine& e) {
  return fmt::format("asked {}, really used {}", Inert(e.precision_asked), Inert(e.precision_used));
}

std::string VideoSize(const ReportVideo& v) {
  if (!v.width || !v.height) return "unknown";
  return fmt::format("{}×{}", *v.width, *v.height);
}

constexpr char kSynthetic[] = "**synthetic clip (made with videotestsrc, not camera footage)**";

/// How many streams, at what rate, and whether that is real time.
std::string HowMany(const Report& r) {
  if (const ReportRun* best = BestRealTimeRun(r)) {
    return fmt::format(
        "**{} in real time.** This machine ran {} at {} together; the slowest stream ran at {} "
        "fps, "
        "so {} kept the {} fps of real time.",
        Streams(*best->streams), Streams(*best->streams), Sum(*best),
        FpsBesideTarget(DecidingFps(*best), r.target_fps), *best->streams == 1 ? "it" : "every one",
        Target(r));
  }
  const ReportRun& run = DecidingFps(r.run2) ? r.run2 : r.run1;
  if (!DecidingFps(run))
    return "**Unknown.** No benchmark run has a result, so this report cannot say how many streams "
           "this machine carries.";
  return fmt::format(
      "**No stream count reached real time.** With {} this machine ran at {} together; the slowest "
      "stream ran at {} fps, below the {} fps of real time.",
      Streams(run.streams), Sum(run), FpsBesideTarget(DecidingFps(run), r.target_fps), Target(r));
}

std::string LimitedBy(const Report& r) {
  std::string text = r.limiting_resource.empty() ? "What limits it was not determined"
                                                 : "It is limited by " + Inert(r.limiting_resource);
  if (!r.limiting_evidence.empty()) text += ": " + Inert(r.limiting_evidence);
  if (text.back() != '.') text += ".";
  return text;
}

std::string Answer(const Report& r) {
  std::string text = HowMany(r) + " " + LimitedBy(r) + "\n\n";
  if (r.single.kitti_passed && !*r.single.kitti_passed)
    text +=
        "**The detection gate said no** (section 7): check the boxes before trusting the "
        "rates.\n\n";
  if (r.video.synthetic)
    text += std::string("The figures are for a ") + kSynthetic +
            "; real footage may decode and detect differently.\n\n";
  Table table({"At a glance", "This run"});
  table.Row("Engine", EngineText(r.engine));
  table.Row("Precision", PrecisionText(r.engine));
  table.Row("Machine", MachineText(r.machine));
  table.Row("Target rate", Target(r) + " fps per stream (real time)");
  table.Row("Clip's own rate", Figure(r.video.fps, 2, "fps") +
                                   " (the benchmark plays the clip as fast as the machine can)");
  table.Row("Clip", Code(r.video.path) + ", " + VideoSize(r.video) +
                        (r.video.synthetic ? std::string(", ") + kSynthetic : ""));
  text += table.text() + "\n";
  for (const std::string& note : r.notes) text += InertItem(note);
  if (!r.notes.empty()) text += "\n";

  Table inputs({"Input", "File", "SHA-256"});
  for (const ReportInput& input : r.inputs)
    inputs.Add({"**" + Inert(input.role) + "**",
                Code(input.path) + " (" + Megabytes(input.size_bytes) + ")", Code(input.sha256)});
  if (r.inputs.empty()) inputs.Add({"unknown", "unknown", "unknown"});
  return text + inputs.text() + "\n";
}

std::string ThresholdText(const std::optional<double>& value, const std::string& source) {
  return Shortest(value) + " (from: " + Inert(source) + ")";
}

std::string ClusterText(const std::optional<int>& mode) {
  if (!mode) return "unknown";
  const char* meaning = *mode == 2 ? " (NMS)" : *mode == 4 ? " (none)" : "";
  return std::to_string(*mode) + meaning;
}

std::string DuplicateText(const ReportModel& m) {
  if (!m.duplicate_rate) return "not measured";
  std::string text = Percent(m.duplicate_rate, 2);
  if (m.duplicate_boxes) text += fmt::format(" of {} boxes", *m.duplicate_boxes);
  if (m.duplicate_iou) text += " overlap a better one by IoU > " + Shortest(m.duplicate_iou);
  return text;
}

std::string LabelsText(const ReportModel& m) {
  constexpr size_t kShown = 12;
  if (m.labels.empty()) return "unknown";
  std::string text = fmt::format("{}: ", m.labels.size());
  for (size_t i = 0; i < std::min(kShown, m.labels.size()); ++i)
    text += (i ? ", " : "") + Inert(m.labels[i]);
  if (m.labels.size() > kShown) text += fmt::format(" and {} more", m.labels.size() - kShown);
  return text + " (from: " + Inert(m.labels_source) + ")";
}

std::string ModelConfiguration(const Report& r) {
  const ReportModel& m = r.model;
  Table table({"Parameter", "Value"});
  table.Row("Model Name", Code(m.name));
  table.Row("Source", Code(m.source));
  table.Row("Architecture", Code(m.architecture));
  table.Row("Licence", Inert(m.licence));
  table.Row("ONNX Source",
            Code(m.onnx_path) + (m.opset ? fmt::format(", opset {}", *m.opset) : ""));
  table.Row("Input", Code(m.input_name) + " " + Inert(m.input_shape));
  std::string outputs;
  for (const ReportFact& output : m.outputs)
    outputs += (outputs.empty() ? "" : ", ") + Code(output.name) + " " + Inert(output.value);
  table.Row("Outputs", outputs.empty() ? "unknown" : outputs);
  table.Row("Classes", LabelsText(m));
  table.Row("Custom Parser", Code(m.parser_library));
  table.Row("Parser Function", Code(m.parser_function));
  table.Row("Cluster Mode", ClusterText(m.cluster_mode));
  table.Row("Cluster Mode Reason", Inert(m.cluster_mode_reason));
  table.Row("Duplicate Rate", DuplicateText(m));
  table.Row("Score Threshold", ThresholdText(m.score_threshold, m.score_threshold_source));
  table.Row("NMS IoU Threshold", ThresholdText(m.nms_iou_threshold, m.nms_iou_source));
  table.Row("Top K", Whole(m.topk));
  table.Row("Precision", PrecisionText(r.engine));
  table.Row("Engine Profile", Code(r.engine.profile));
  return Section(1, "Model Configuration") + table.text() + "\n";
}

std::string SystemConfiguration(const Report& r) {
  const ReportMachine& m = r.machine;
  const bool no_gpu = m.gpu_name.empty() && m.has_gpu && !*m.has_gpu;
  Table table({"Parameter", "Value"});
  table.Row("CPU", Inert(m.cpu_name));
  table.Row("Usable Cores", Whole(m.cpu_cores));
  table.Row("CPU Features", Inert(m.cpu_features));
  table.Row("Usable Memory", Gibibytes(m.memory_bytes));
  table.Row("GPU", no_gpu ? "none" : Inert(m.gpu_name));
  if (!no_gpu) {
    table.Row("VRAM", Gibibytes(m.gpu_memory_bytes));
    table.Row("Driver", Inert(m.driver));
  }
  table.Row("OS", Inert(m.os));
  table.Row("Kernel", Inert(m.kernel));
  for (const ReportFact& fact : m.software) table.Row(Inert(fact.name), Inert(fact.value));
  table.Row("Report Written By", Inert(r.tool_version));
  return Section(2, "System Configuration") + table.text() + "\n";
}

std::string Preprocessing(const Report& r) {
  const ReportPreprocessing& p = r.preprocessing;
  std::string offsets;
  for (const double offset : p.offsets) offsets += (offsets.empty() ? "" : ";") + Shortest(offset);
  Table table({"Parameter", "Value"});
  table.Row("net-scale-factor", Shortest(p.net_scale_factor));
  table.Row("offsets", offsets.empty() ? "none" : offsets);
  table.Row("Normalization", "y = net-scale-factor × (x − offset), x in 0–255");
  if (!p.in_graph.empty()) table.Row("Done In The Graph", Inert(p.in_graph));
  table.Row("Color Format", Inert(p.colour_format));
  table.Row("Resize", Inert(p.resize));
  table.Row("Input Resolution",
            p.width && p.height ? fmt::format("{}×{}", *p.width, *p.height) : "unknown");
  table.Row("Box Coordinates (mux)", p.mux_width && p.mux_height
                                         ? fmt::format("{}×{}", *p.mux_width, *p.mux_height)
                                         : "unknown");
  table.Row("Taken From", Inert(p.source));
  std::string text = Section(3, "Preprocessing") + table.text() + "\n";
  if (const std::string note = ScalingNote(r); !note.empty()) text += "> " + note + "\n\n";
  return text;
}

std::string DeviationText(const Report& r) {
  const ReportDeviation& d = r.engine.deviation;
  if (!d.max_box_px && !d.max_score)
    return "Deviation of the precision used from f32: not measured.\n\n";
  std::string text = fmt::format(
      "Deviation of {} from {} on the same frames: at most {} px in a box edge and {} in a score",
      Inert(d.compared), Inert(d.reference), Figure(d.max_box_px, 2), Figure(d.max_score, 4));
  if (d.boxes) text += fmt::format(", over {} matched boxes", *d.boxes);
  if (d.frames) text += fmt::format(" of {} frames", *d.frames);
  if (d.unmatched_boxes)
    text += fmt::format("; {} {} a partner on one side only", *d.unmatched_boxes,
                        *d.unmatched_boxes == 1 ? "box was without" : "boxes were without");
  return text + ".\n\n";
}

std::string EngineBuild(const Report& r) {
  const ReportEngine& e = r.engine;
  Table table({"Parameter", "Value"});
  table.Row("Source Format", "ONNX");
  table.Row("Conversion Path", Inert(e.conversion));
  table.Row("Engine File", Code(e.file));
  table.Row("Engine Size", Megabytes(e.size_bytes));
  table.Row("Device", Inert(e.device) + (e.device_name.empty() ? "" : ", " + Inert(e.device_name)));
  table.Row("Precision", PrecisionText(e));
  table.Row("MAX Batch Size", Whole(e.max_batch));
  table.Row("Build Time",
            Figure(e.build_s, 2, "s") +
                (e.reused ? " (when it was built; a whole, matching file was there already)" : ""));
  table.Row("Load Time", Figure(e.load_s, 2, "s"));
  if (!e.rebuild_reason.empty()) table.Row("Rebuilt Because", Inert(e.rebuild_reason));
  for (const ReportFact& fact : e.more) table.Row(Inert(fact.name), Inert(fact.value));
  return Section(4, "Engine Build Summary") + table.text() + "\n" + DeviationText(r);
}

std::string EngineResults(const Report& r) {
  const Names names = NamesOf(r);
  const ReportEngineTiming& b1 = r.engine_b1;
  const ReportEngineTiming& bmax = r.engine_bmax;
  const bool deepstream = r.engine.kind == "deepstream";
  Table table({"Metric", "BS=1", "BS=" + Whole(r.engine.max_batch)});
  const auto row = [&table](const std::string& name, const std::string& at1,
                            const std::string& at_max) {
    table.Add({"**" + name + "**", at1, at_max});
  };
  row("QPS (queries/s)", Figure(b1.qps, 2), Figure(bmax.qps, 2));
  row("Images/s", Figure(b1.images_per_s, 2), Figure(bmax.images_per_s, 2));
  row(names.compute + " Mean (ms)", Figure(b1.mean_ms, 2), Figure(bmax.mean_ms, 2));
  row(names.compute + " P99 (ms)", Figure(b1.p99_ms, 2), Figure(bmax.p99_ms, 2));
  if (!deepstream) {
    row("Requests in flight", Whole(b1.requests_in_flight), Whole(bmax.requests_in_flight));
    row("CPU time an image (ms)", Figure(b1.cpu_ms_per_image, 2), Figure(bmax.cpu_ms_per_image, 2));
  }
  row("Measured for (s)", Figure(b1.measured_s, 1), Figure(bmax.measured_s, 1));
  row("Log", Code(b1.log), Code(bmax.log));
  std::string text = Section(5, Inert(names.engine_alone) + " Results") + table.text() + "\n";
  text += deepstream ? "> GPU compute only (`--noDataTransfers`): copies between host and GPU are "
                       "left out, as "
                       "DeepStream keeps frames on the GPU.\n\n"
                     : "> The engine alone: inputs ready in memory, no decoding and no "
                       "preprocessing. A time is one "
                       "inference from start to completion with the requests in flight shown.\n\n";
  return text + Image(ChartFiles(r)[0]);
}

std::string PeakDerivation(const Report& r) {
  const auto block = [&r](const std::optional<double>& images, const std::optional<int>& batch,
                          const std::optional<int>& peak) {
    return fmt::format(
        "PEAK_GPU_STREAMS = floor(imgs_per_sec_at_MAX_BS / {0})\n"
        "                 = floor({1} / {0})      MAX_BS = {2}\n"
        "                 = {3}\n",
        Target(r), Figure(images, 2), Whole(batch), Streams(peak));
  };
  std::string blocks;
  for (const ReportPeakTry& earlier : r.peak_tries)
    blocks += block(earlier.images_per_s, earlier.max_batch, earlier.peak_streams) + "\n";
  blocks += block(r.engine_bmax.images_per_s, r.engine.max_batch, r.peak_streams);
  std::string text = Section(6, "PEAK_GPU_STREAMS Derivation") + Fenced(blocks, "text") + "\n";
  if (!r.peak_tries.empty())
    text += "The engine was built more than once: the last block is the one that counts.\n\n";
  return text + Image(ChartFiles(r)[1]);
}

std::string CaptureMode(const std::string& mode) {
  if (mode == "nvv4l2h264enc") return "nvv4l2h264enc MP4";
  if (mode == "theoraenc-fallback") return "theoraenc OGV (NVENC unavailable)";
  if (mode == "skipped") return "skipped (no encoder available)";
  return "unknown";
}

std::string GateText(const ReportSingleStream& s) {
  if (!s.kitti_passed) return "unknown";
  return *s.kitti_passed ? "PASS" : "FAIL";
}

std::string SingleStream(const Report& r) {
  constexpr size_t kTopClasses = 10;
  const ReportSingleStream& s = r.single;
  Table table({"Parameter", "Value"});
  std::string source = Code(r.video.path) + ", " + VideoSize(r.video) + ", " +
                       (r.video.codec.empty() ? "codec unknown" : Inert(r.video.codec)) +
                       ", own rate " + Figure(r.video.fps, 2, "fps");
  if (r.video.frames) source += fmt::format(", {} frames", *r.video.frames);
  if (r.video.duration_s) source += ", " + Figure(r.video.duration_s, 1, "s");
  if (r.video.synthetic) source += std::string(", ") + kSynthetic;
  table.Row("Video Source", source);
  table.Row("KITTI Output Dir", Code(s.kitti_folder));
  table.Row("Total Frames", Whole(s.kitti_frames));
  table.Row("Frames with Detections", Whole(s.kitti_frames_with_detections));
  table.Row("Detection Rate", Percent(DetectionRate(s), 2) + " (gate: at least 90 %)");
  table.Row("Visual Capture Mode", CaptureMode(s.mode));
  table.Row("Visual Capture Artifact", s.mode == "skipped" ? "none" : Code(s.output));
  table.Row("Validation Result", GateText(s));
  std::string text = Section(7, "Single-Stream Validation") + table.text() + "\n";
  if (s.detected_classes.empty()) return text + "Detected classes: unknown.\n\n";
  Table classes({"Detected class (most frequent first)", "Boxes"});
  for (size_t i = 0; i < std::min(kTopClasses, s.detected_classes.size()); ++i)
    classes.Add({Inert(s.detected_classes[i].first), std::to_string(s.detected_classes[i].second)});
  return text + classes.text() + "\n";
}

std::string RunTable(const Report& r, const ReportRun& run) {
  Table table({"Metric", "Value"});
  table.Row("Streams", Whole(run.streams));
  table.Row("Batch Size", Whole(run.batch));
  table.Row("FPS / Stream (mean)", Figure(run.fps_per_stream, 2));
  table.Row("FPS of the Worst Stream", Figure(run.worst_fps, 2));
  table.Row("Total Images/s", Figure(run.total_fps, 2));
  table.Row("95 % Interval of the Total",
            run.total_fps_low && run.total_fps_high
                ? Figure(run.total_fps_low, 2) + "–" + Figure(run.total_fps_high, 2)
                : "unknown");
  table.Row(fmt::format("Real-Time (≥ {} fps in every stream)", Target(r)),
            YesNo(RealTime(run, r.target_fps)));
  const std::string warmup =
      run.warmup_s ? ", after " + Figure(run.warmup_s, 1, "s") + " of warm-up" : "";
  table.Row("Measured for", Figure(run.measured_s, 1, "s") + warmup);
  table.Row("CPU Utilisation", Percent(run.cpu_utilisation));
  table.Row("Log", Code(run.log));
  if (!run.outcome.empty()) table.Row("Outcome", Inert(run.outcome));
  return table.text() + "\n";
}

std::string PipelineResults(const Report& r) {
  const Names names = NamesOf(r);
  std::string text = Section(8, names.pipeline + " Benchmark Results");
  text += fmt::format("### {} 1 — Calibration at PEAK_GPU_STREAMS ({})\n\n", names.run,
                      Streams(r.run1.streams));
  text += RunTable(r, r.run1);
  text += fmt::format("### {} 2 — Validation at RT_STREAMS ({})\n\n", names.run,
                      Streams(r.run2.streams));
  text += RunTable(r, r.run2);
  text += "### Every try\n\n";
  Table table(
      {"Run", "Streams", "Total fps (95 % interval)", "Worst stream fps", "Real-time", "Outcome"});
  const auto add = [&](const std::string& name, const ReportRun& run) {
    std::string total = Figure(run.total_fps, 2);
    if (run.total_fps_low && run.total_fps_high)
      total += " (" + Figure(run.total_fps_low, 2) + "–" + Figure(run.total_fps_high, 2) + ")";
    table.Add({name, Whole(run.streams), total, Figure(run.worst_fps, 2),
               YesNo(RealTime(run, r.target_fps)), run.outcome.empty() ? "—" : Inert(run.outcome)});
  };
  add("Run 1", r.run1);
  for (size_t i = 0; i < r.tries.size(); ++i) add(fmt::format("Try {}", i + 1), r.tries[i]);
  add("Run 2", r.run2);
  return text + table.text() + "\n" + Image(ChartFiles(r)[2]);
}

std::string Comparison(const Report& r) {
  const Names names = NamesOf(r);
  const std::string engine = Code(BaseName(r.engine.file));
  const std::string alone = Inert(names.engine_alone);
  Table table({"Metric", alone + " BS=" + Whole(r.engine.max_batch),
               fmt::format("{} 1 ({})", names.run, Streams(r.run1.streams)),
               fmt::format("{} 2 ({})", names.run, Streams(r.run2.streams))});
  const auto row = [&table](const std::string& name, std::vector<std::string> cells) {
    cells.insert(cells.begin(), "**" + name + "**");
    table.Add(cells);
  };
  const ReportEngineTiming& bmax = r.engine_bmax;
  std::optional<double> per_slot;
  if (bmax.images_per_s && r.engine.max_batch && *r.engine.max_batch > 0)
    per_slot = *bmax.images_per_s / *r.engine.max_batch;
  const std::optional<bool> alone_real_time = per_slot && std::isfinite(*per_slot)
                                                  ? std::optional<bool>(*per_slot >= r.target_fps)
                                                  : std::nullopt;
  row("Engine", {engine, engine, engine});
  row("Batch / Streams",
      {"BS=" + Whole(r.engine.max_batch), Streams(r.run1.streams), Streams(r.run2.streams)});
  row("Total imgs/s",
      {Figure(bmax.images_per_s, 2), Figure(r.run1.total_fps, 2), Figure(r.run2.total_fps, 2)});
  row("FPS / stream (mean)", {Figure(per_slot, 2) + " (÷ batch)", Figure(r.run1.fps_per_stream, 2),
                              Figure(r.run2.fps_per_stream, 2)});
  row("FPS of the worst stream", {"—", Figure(r.run1.worst_fps, 2), Figure(r.run2.worst_fps, 2)});
  row(fmt::format("Real-Time ≥ {} fps", Target(r)),
      {YesNo(alone_real_time), YesNo(RealTime(r.run1, r.target_fps)),
       YesNo(RealTime(r.run2, r.target_fps))});
  row(names.pipeline + " Efficiency",
      {"—", Percent(Efficiency(r, r.run1)), Percent(Efficiency(r, r.run2))});
  return Section(9, alone + " vs " + names.pipeline + " Comparison") + table.text() + "\n" +
         Image(ChartFiles(r)[3]);
}

std::string GapTable(const Report& r) {
  const ReportCosts& c = r.costs;
  if (!c.decode_ms && !c.preprocess_ms && !c.inference_ms && !c.pipeline_ms)
    return "Time per frame of the parts of the pipeline: not measured, so the gap cannot be split "
           "up.\n\n";
  const auto share = [&c](const std::optional<double>& part) {
    if (!part || !c.pipeline_ms || *c.pipeline_ms <= 0) return std::string("unknown");
    return Percent(*part / *c.pipeline_ms);
  };
  Table table({"Part, measured alone", "Time a frame (ms)", "Share of the pipeline"});
  std::optional<double> rest = c.pipeline_ms;
  std::string rest_parts;
  const auto add = [&](const std::string& part, const std::optional<double>& ms) {
    if (!ms) {
      rest_parts += part + ", ";
      return;
    }
    table.Add({part, Figure(ms, 2), share(ms)});
    if (rest) *rest -= *ms;
  };
  add("Decode", c.decode_ms);
  add("Preprocessing", c.preprocess_ms);
  add("Inference", c.inference_ms);
  table.Add(
      {rest_parts + (rest_parts.empty() ? "Mux" : "mux") + ", queues and the rest (difference)",
       Figure(rest, 2), share(rest)});
  table.Add({"**Whole pipeline**", Figure(c.pipeline_ms, 2), share(c.pipeline_ms)});
  return table.text() + "\n" + (c.source.empty() ? "" : "Source: " + Inert(c.source) + "\n\n");
}

std::string EfficiencyAnalysis(const Report& r) {
  const Names names = NamesOf(r);
  const auto line = [&r](int number, const ReportRun& run) {
    return fmt::format("Run {}: {} / {} × 100 = {}\n", number, Figure(run.total_fps, 2),
                       Figure(r.engine_bmax.images_per_s, 2), Percent(Efficiency(r, run)));
  };
  const std::string formula =
      fmt::format("{} efficiency = pipeline_imgs_per_sec / {}_imgs_per_sec × 100\n", names.pipeline,
                  OneLine(names.engine_alone));
  std::string text = Section(10, "Efficiency Analysis") +
                     Fenced(formula + line(1, r.run1) + line(2, r.run2), "text") + "\n";
  const double highest =
      std::max(Efficiency(r, r.run1).value_or(0), Efficiency(r, r.run2).value_or(0));
  if (highest > 1)
    text +=
        "Above 100 % is possible: the engine alone was timed at one batch size and number of "
        "requests in "
        "flight, and the pipeline keeps others in flight.\n\n";
  text += GapTable(r);
  text += "**Verdict:** " + LimitedBy(r) + "\n\n";
  return text + Image(ChartFiles(r)[4]);
}

std::string Timing(const Report& r) {
  const ReportTimes& t = r.times;
  const Names names = NamesOf(r);
  struct Line {
    std::string step;
    std::string description;
    ReportStepTime time;
  };
  const std::vector<Line> lines = {
      {"1-3", "Model acquire (read, check ONNX, labels)", t.acquire},
      {"4", "Engine build", t.build},
      {"5", fmt::format("{} BS=1 + BS={}", Inert(names.engine_alone), Whole(r.engine.max_batch)),
       t.timing},
      {"6", "Parser + config + visual validation + KITTI", t.validate},
      {"7 Run 1", fmt::format("{} calibration ({})", names.pipeline, Streams(r.run1.streams)),
       t.run1},
      {"7 Run 2", fmt::format("{} validation ({})", names.pipeline, Streams(r.run2.streams)),
       t.run2},
      {"8", "Report generation (charts, Markdown, HTML, PDF)", t.report}};
  Table table({"Step", "Description", "Duration"});
  std::optional<double> total = 0;
  bool reused = false;
  for (const Line& line : lines) {
    const bool known = line.time.seconds && std::isfinite(*line.time.seconds);
    if (!known || !total)
      total.reset();
    else
      *total += *line.time.seconds;
    reused = reused || line.time.reused;
    table.Add({line.step, line.description,
               Figure(line.time.seconds, 2, "s") + (line.time.reused ? " (done earlier)" : "")});
  }
  table.Add({"**Total**", "**End-to-end**", "**" + Figure(total, 2, "s") + "**"});
  std::string text = Section(11, "Pipeline Timing") + table.text() + "\n";
  if (reused)
    text +=
        "Steps marked \"done earlier\" were finished by an earlier call with the same inputs; "
        "their time is from then.\n\n";
  return text;
}

std::string Commands(const Report& r) {
  std::string text = Section(12, "Reference Commands");
  if (r.commands.empty()) return text + "Unknown.\n";
  for (const ReportCommand& command : r.commands) {
    const std::string language = command.language == "ini" ? "ini" : "bash";
    text += "### " + Inert(command.title) + "\n\n" + Fenced(command.text, language) + "\n";
  }
  return text;
}

}  // namespace
}  // namespace report

std::string ReportMarkdown(const Report& r) {
  using namespace report;
  std::string text = "# " + Inert(r.model.name) + " Benchmark Report\n\n";
  text += "Generated: " + Inert(r.generated_at) + "\n\n";
  text += Answer(r);
  for (const auto section : {ModelConfiguration, SystemConfiguration, Preprocessing, EngineBuild,
                             EngineResults, PeakDerivation, SingleStream, PipelineResults,
                             Comparison, EfficiencyAnalysis, Timing, Commands})
    text += section(r);
  return text;
}

}  // namespace sg
