// Everything an import's report says, as plain values, and the files made of it.
//
// The report is a pure function of this value: the same Report gives the same bytes. Unknown is an
// empty string, an empty optional or an empty list; it reads "unknown" in text and null in JSON. A
// figure that is not finite counts as unknown. Texts may hold anything (they come from foreign
// files); they are made inert where they are written. Paths are written as they are given here:
// relative to the model's folder (models/NAME) unless said otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace sg {

/// One line of a table that the report adds as it is.
struct ReportFact {
  std::string name;
  std::string value;
};

/// A file that the figures depend on.
struct ReportInput {
  std::string role;  ///< "ONNX model", "Video", "nvinfer config", "Labels", …
  std::string path;
  std::string sha256;
  std::optional<uint64_t> size_bytes;
};

/// Section 1, and what section 7 needs of the model.
struct ReportModel {
  std::string name;          ///< of models/NAME; also names the PDF
  std::string source;        ///< folder, file, Hugging Face id@revision or NGC URL
  std::string architecture;  ///< "RTDetrForObjectDetection"
  std::string licence;       ///< of the model's card
  std::string onnx_path;     ///< model/NAME.onnx
  std::optional<int> opset;
  std::string input_name;
  std::string input_shape;                ///< "N x 3 x 320 x 320"
  std::vector<ReportFact> outputs;        ///< name, shape
  std::vector<std::string> labels;        ///< index = class id
  std::string labels_source;              ///< "config.json id2label"
  std::string parser_library;             ///< parser/libnvdsinfer_x_parser.so
  std::string parser_function;            ///< NvDsInferParseCustomX
  std::optional<double> score_threshold;  ///< pre-cluster-threshold
  std::string score_threshold_source;
  std::optional<double> nms_iou_threshold;
  std::string nms_iou_source;
  std::optional<int> topk;
  std::optional<int> cluster_mode;  ///< 2: NMS; 4: none
  std::string cluster_mode_reason;
  std::optional<double> duplicate_rate;     ///< 0–1: boxes that overlap a better one ÷ all boxes
  std::optional<double> duplicate_iou;      ///< the overlap from which a box counts as a duplicate
  std::optional<uint64_t> duplicate_boxes;  ///< boxes looked at
};

/// Section 2.
struct ReportMachine {
  std::string cpu_name;
  std::optional<int> cpu_cores;          ///< that this process may use
  std::string cpu_features;              ///< those that matter: "AVX-512, AMX bf16"
  std::optional<uint64_t> memory_bytes;  ///< usable (the cgroup's limit counts)
  std::string gpu_name;                  ///< empty with has_gpu unset: unknown
  std::optional<bool> has_gpu;           ///< false: "none" instead of "unknown"
  std::optional<uint64_t> gpu_memory_bytes;
  std::string driver;
  std::string os;
  std::string kernel;
  std::vector<ReportFact> software;  ///< name and version: OpenVINO, GStreamer, CUDA, TensorRT, …
};

/// Section 3.
struct ReportPreprocessing {
  std::optional<double> net_scale_factor;
  std::vector<double> offsets;  ///< empty: none
  std::string colour_format;    ///< "RGB"
  std::string resize;           ///< "stretch", "letterbox, padded right and below", …
  std::string in_graph;      ///< what the graph's front does, which nvinfer cannot; empty: nothing
  std::string source;        ///< the file that says so
  std::optional<int> width;  ///< of the network's input
  std::optional<int> height;
  std::optional<int> mux_width;  ///< the boxes' coordinate space
  std::optional<int> mux_height;
  bool mux_padding = false;  ///< enable-padding of the muxer
};

/// The benchmark's clip.
struct ReportVideo {
  std::string path;
  std::string codec;
  std::optional<int> width;
  std::optional<int> height;
  std::optional<double> fps;  ///< the clip's own rate
  std::optional<uint64_t> frames;
  std::optional<double> duration_s;
  bool synthetic = false;  ///< made with videotestsrc: shown in bold
};

/// How far the half type's results are from f32's, on the same frames.
struct ReportDeviation {
  std::string reference;  ///< "f32"
  std::string compared;   ///< "bf16"
  std::optional<uint64_t> frames;
  std::optional<uint64_t> boxes;  ///< matched pairs
  std::optional<double> max_box_px;
  std::optional<double> max_score;
  std::optional<uint64_t> unmatched_boxes;
};

/// Section 4.
struct ReportEngine {
  std::string kind;     ///< "embedded" or "deepstream": decides the titles
  std::string runtime;  ///< "OpenVINO", "TensorRT"
  std::string runtime_version;
  std::string device;  ///< "CPU", "GPU 0"
  std::string device_name;
  std::string file;  ///< benchmarks/engines/x_dynamic_b4.blob
  std::optional<uint64_t> size_bytes;
  std::optional<int> max_batch;
  std::string profile;          ///< "min=1x3x320x320 opt=4x3x320x320 max=4x3x320x320"
  std::string precision_asked;  ///< "fp16"
  std::string precision_used;   ///< "bf16"
  std::string conversion;       ///< "ONNX (dynamic batch) -> compiled model"
  std::optional<double> build_s;
  std::optional<double> load_s;
  bool reused = false;           ///< a whole, matching file was there already
  std::string rebuild_reason;    ///< why an existing file was not used
  std::vector<ReportFact> more;  ///< timing cache, workspace, optimisation level, …
  ReportDeviation deviation;     ///< all empty: not measured
};

/// Section 5: the engine alone, inputs ready in memory.
struct ReportEngineTiming {
  std::optional<int> batch;
  std::optional<double> qps;           ///< inferences/s
  std::optional<double> images_per_s;  ///< qps × batch
  std::optional<double> mean_ms;       ///< TensorRT: GPU compute; OpenVINO: one inference
  std::optional<double> p99_ms;
  std::optional<int> requests_in_flight;
  std::optional<double> cpu_ms_per_image;
  std::optional<double> measured_s;
  std::string log;
};

/// One engine that was built on the way to the last MAX (section 6).
struct ReportPeakTry {
  std::optional<int> max_batch;
  std::optional<double> images_per_s;
  std::optional<int> peak_streams;
};

/// Section 7.
struct ReportSingleStream {
  std::string mode;                 ///< "nvv4l2h264enc", "theoraenc-fallback" or "skipped"
  std::string output;               ///< samples/NAME_output.ogv; empty when skipped
  std::vector<std::string> frames;  ///< samples/frame_0001.jpg …: the first 3 go into the HTML
  std::string kitti_folder;
  std::optional<uint64_t> kitti_frames;  ///< looked at by the gate
  std::optional<uint64_t> kitti_frames_with_detections;
  std::optional<bool> kitti_passed;                                ///< the gate's answer
  std::vector<std::pair<std::string, uint64_t>> detected_classes;  ///< most frequent first
};

/// One multi-stream run (section 8): both final ones and every try.
struct ReportRun {
  std::optional<int> streams;
  std::optional<int> batch;
  std::optional<double> total_fps;      ///< the sum over the streams
  std::optional<double> total_fps_low;  ///< 95 % interval of the sum
  std::optional<double> total_fps_high;
  std::optional<double> fps_per_stream;  ///< the mean
  std::optional<double> worst_fps;       ///< of the slowest stream
  std::optional<double> warmup_s;
  std::optional<double> measured_s;
  std::optional<double> cpu_utilisation;  ///< 0–1 of the cores that may be used
  std::string log;                        ///< benchmarks/ds/ds_s4_run1.log
  std::string outcome;                    ///< why it was kept or not, one clause
};

/// CPU (or device) time a frame of each part, measured alone; sections 9 and 10.
struct ReportCosts {
  std::optional<double> decode_ms;
  std::optional<double> preprocess_ms;
  std::optional<double> inference_ms;
  std::optional<double> pipeline_ms;  ///< the whole pipeline's, in the run named by `source`
  std::string source;                 ///< how they were measured
};

/// Section 11. Seconds as measured when the step ran; `reused`: in an earlier call of import.
struct ReportStepTime {
  std::optional<double> seconds;
  bool reused = false;
};
struct ReportTimes {
  ReportStepTime acquire;   ///< steps 1–3
  ReportStepTime build;     ///< step 4
  ReportStepTime timing;    ///< step 5
  ReportStepTime validate;  ///< step 6
  ReportStepTime run1;      ///< step 7, run 1
  ReportStepTime run2;      ///< step 7, run 2
  ReportStepTime report;    ///< step 8; WriteReport measures it when it is unknown
};

/// Section 12: one block to paste.
struct ReportCommand {
  std::string title;
  std::string language;  ///< "bash" or "ini"
  std::string text;
};

struct Report {
  std::string generated_at;  ///< "2026-01-31 14:05:09 UTC"
  std::string tool_version;  ///< "streamgauge 0.1.0"
  double target_fps = 30;
  ReportModel model;
  ReportMachine machine;
  std::vector<ReportInput> inputs;
  ReportPreprocessing preprocessing;
  ReportVideo video;
  ReportEngine engine;
  ReportEngineTiming engine_b1;
  ReportEngineTiming engine_bmax;
  std::vector<ReportPeakTry> peak_tries;  ///< earlier ones first; the last one is not repeated here
  std::optional<int> peak_streams;        ///< floor(images/s at MAX ÷ target)
  ReportSingleStream single;
  ReportRun run1;                ///< at peak streams
  ReportRun run2;                ///< at real-time streams
  std::vector<ReportRun> tries;  ///< other stream counts tried, in order
  ReportCosts costs;
  std::string limiting_resource;  ///< "CPU time of inference"; empty: not determined
  std::string limiting_evidence;  ///< the figures behind it, one or two sentences
  ReportTimes times;
  std::vector<ReportCommand> commands;
  std::vector<std::string> notes;  ///< shown under the answer, one bullet each

  Json ToJson() const;
  /// Reads what ToJson wrote. Keys that are missing are unknown; kUser for a value of a wrong type.
  static Result<Report> FromJson(const Json& json);
};

/// benchmark_data.json: the fixed keys, and the whole Report under "report".
Json BenchmarkDataJson(const Report& report);

/// benchmark_report.md: the answer in plain words, then the twelve sections.
std::string ReportMarkdown(const Report& report);

/// kEnvironment naming the Debian package when gnuplot, cmark-gfm or weasyprint is missing.
Status CheckReportTools();

/// Draws the five charts into `charts_folder`. kEnvironment when gnuplot is missing or fails.
Status WriteCharts(const Report& report, const std::string& charts_folder);

/// The self-contained page: the Markdown's content, the five charts (which must be in
/// `reports_folder`/charts) as PNG data URIs, up to three sample frames as JPEG ones.
/// kInternal unless exactly five PNG data URIs are in it.
Result<std::string> ReportHtml(const Report& report, const std::string& reports_folder);

/// Writes benchmark_data.json, charts/, benchmark_report.md, .html and benchmark_report_NAME.pdf,
/// each whole or not at all. `reports_folder` is models/NAME/reports.
Status WriteReport(const Report& report, const std::string& reports_folder);

}  // namespace sg
