// Report to JSON and back. Each struct's fields are listed once, and both directions walk that
// list.
#include <cmath>
#include <type_traits>

#include "report/report.h"

namespace sg {
namespace {

template <class V>
void Fields(V& v, ReportFact& f) {
  v("name", f.name);
  v("value", f.value);
}

template <class V>
void Fields(V& v, ReportInput& f) {
  v("role", f.role);
  v("path", f.path);
  v("sha256", f.sha256);
  v("size_bytes", f.size_bytes);
}

template <class V>
void Fields(V& v, ReportModel& f) {
  v("name", f.name);
  v("source", f.source);
  v("architecture", f.architecture);
  v("licence", f.licence);
  v("onnx_path", f.onnx_path);
  v("opset", f.opset);
  v("input_name", f.input_name);
  v("input_shape", f.input_shape);
  v("outputs", f.outputs);
  v("labels", f.labels);
  v("labels_source", f.labels_source);
  v("parser_library", f.parser_library);
  v("parser_function", f.parser_function);
  v("score_threshold", f.score_threshold);
  v("score_threshold_source", f.score_threshold_source);
  v("nms_iou_threshold", f.nms_iou_threshold);
  v("nms_iou_source", f.nms_iou_source);
  v("topk", f.topk);
  v("cluster_mode", f.cluster_mode);
  v("cluster_mode_reason", f.cluster_mode_reason);
  v("duplicate_rate", f.duplicate_rate);
  v("duplicate_iou", f.duplicate_iou);
  v("duplicate_boxes", f.duplicate_boxes);
}

template <class V>
void Fields(V& v, ReportMachine& f) {
  v("cpu_name", f.cpu_name);
  v("cpu_cores", f.cpu_cores);
  v("cpu_features", f.cpu_features);
  v("memory_bytes", f.memory_bytes);
  v("gpu_name", f.gpu_name);
  v("has_gpu", f.has_gpu);
  v("gpu_memory_bytes", f.gpu_memory_bytes);
  v("driver", f.driver);
  v("os", f.os);
  v("kernel", f.kernel);
  v("software", f.software);
}

template <class V>
void Fields(V& v, ReportPreprocessing& f) {
  v("net_scale_factor", f.net_scale_factor);
  v("offsets", f.offsets);
  v("colour_format", f.colour_format);
  v("resize", f.resize);
  v("in_graph", f.in_graph);
  v("source", f.source);
  v("width", f.width);
  v("height", f.height);
  v("mux_width", f.mux_width);
  v("mux_height", f.mux_height);
  v("mux_padding", f.mux_padding);
}

template <class V>
void Fields(V& v, ReportVideo& f) {
  v("path", f.path);
  v("codec", f.codec);
  v("width", f.width);
  v("height", f.height);
  v("fps", f.fps);
  v("frames", f.frames);
  v("duration_s", f.duration_s);
  v("synthetic", f.synthetic);
}

template <class V>
void Fields(V& v, ReportDeviation& f) {
  v("reference", f.reference);
  v("compared", f.compared);
  v("frames", f.frames);
  v("boxes", f.boxes);
  v("max_box_px", f.max_box_px);
  v("max_score", f.max_score);
  v("unmatched_boxes", f.unmatched_boxes);
}

template <class V>
void Fields(V& v, ReportEngine& f) {
  v("kind", f.kind);
  v("runtime", f.runtime);
  v("runtime_version", f.runtime_version);
  v("device", f.device);
  v("device_name", f.device_name);
  v("file", f.file);
  v("size_bytes", f.size_bytes);
  v("max_batch", f.max_batch);
  v("profile", f.profile);
  v("precision_asked", f.precision_asked);
  v("precision_used", f.precision_used);
  v("conversion", f.conversion);
  v("build_s", f.build_s);
  v("load_s", f.load_s);
  v("reused", f.reused);
  v("rebuild_reason", f.rebuild_reason);
  v("more", f.more);
  v("deviation", f.deviation);
}

template <class V>
void Fields(V& v, ReportEngineTiming& f) {
  v("batch", f.batch);
  v("qps", f.qps);
  v("images_per_s", f.images_per_s);
  v("mean_ms", f.mean_ms);
  v("p99_ms", f.p99_ms);
  v("requests_in_flight", f.requests_in_flight);
  v("cpu_ms_per_image", f.cpu_ms_per_image);
  v("measured_s", f.measured_s);
  v("log", f.log);
}

template <class V>
void Fields(V& v, ReportPeakTry& f) {
  v("max_batch", f.max_batch);
  v("images_per_s", f.images_per_s);
  v("peak_streams", f.peak_streams);
}

template <class V>
void Fields(V& v, std::pair<std::string, uint64_t>& f) {
  v("label", f.first);
  v("boxes", f.second);
}

template <class V>
void Fields(V& v, ReportSingleStream& f) {
  v("mode", f.mode);
  v("output", f.output);
  v("frames", f.frames);
  v("kitti_folder", f.kitti_folder);
  v("kitti_frames", f.kitti_frames);
  v("kitti_frames_with_detections", f.kitti_frames_with_detections);
  v("kitti_passed", f.kitti_passed);
  v("detected_classes", f.detected_classes);
}

template <class V>
void Fields(V& v, ReportRun& f) {
  v("streams", f.streams);
  v("batch", f.batch);
  v("total_fps", f.total_fps);
  v("total_fps_low", f.total_fps_low);
  v("total_fps_high", f.total_fps_high);
  v("fps_per_stream", f.fps_per_stream);
  v("worst_fps", f.worst_fps);
  v("warmup_s", f.warmup_s);
  v("measured_s", f.measured_s);
  v("cpu_utilisation", f.cpu_utilisation);
  v("log", f.log);
  v("outcome", f.outcome);
}

template <class V>
void Fields(V& v, ReportCosts& f) {
  v("decode_ms", f.decode_ms);
  v("preprocess_ms", f.preprocess_ms);
  v("inference_ms", f.inference_ms);
  v("pipeline_ms", f.pipeline_ms);
  v("source", f.source);
}

template <class V>
void Fields(V& v, ReportStepTime& f) {
  v("seconds", f.seconds);
  v("reused", f.reused);
}

template <class V>
void Fields(V& v, ReportTimes& f) {
  v("acquire", f.acquire);
  v("build", f.build);
  v("timing", f.timing);
  v("validate", f.validate);
  v("run1", f.run1);
  v("run2", f.run2);
  v("report", f.report);
}

template <class V>
void Fields(V& v, ReportCommand& f) {
  v("title", f.title);
  v("language", f.language);
  v("text", f.text);
}

template <class V>
void Fields(V& v, Report& f) {
  v("generated_at", f.generated_at);
  v("tool_version", f.tool_version);
  v("target_fps", f.target_fps);
  v("model", f.model);
  v("machine", f.machine);
  v("inputs", f.inputs);
  v("preprocessing", f.preprocessing);
  v("video", f.video);
  v("engine", f.engine);
  v("engine_b1", f.engine_b1);
  v("engine_bmax", f.engine_bmax);
  v("peak_tries", f.peak_tries);
  v("peak_streams", f.peak_streams);
  v("single", f.single);
  v("run1", f.run1);
  v("run2", f.run2);
  v("tries", f.tries);
  v("costs", f.costs);
  v("limiting_resource", f.limiting_resource);
  v("limiting_evidence", f.limiting_evidence);
  v("times", f.times);
  v("commands", f.commands);
  v("notes", f.notes);
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

class Writer {
 public:
  template <class T>
  void operator()(const char* key, T& value) {
    json_[key] = ValueOf(value);
  }
  Json Take() { return std::move(json_); }

 private:
  template <class T>
  static Json ValueOf(T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      return value.empty() ? Json() : Json(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::isfinite(value) ? Json(value) : Json();
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else if constexpr (IsOptional<T>::value) {
      return value ? ValueOf(*value) : Json();
    } else if constexpr (IsVector<T>::value) {
      Json array = Json::array();
      for (auto& item : value) array.push_back(ValueOf(item));
      return array;
    } else {
      Writer writer;
      Fields(writer, value);
      return writer.Take();
    }
  }

  Json json_ = Json::object();
};

class Reader {
 public:
  Reader(const Json& json, std::string where, std::string* error)
      : json_(json), where_(std::move(where)), error_(error) {}

  template <class T>
  void operator()(const char* key, T& value) {
    const auto found = json_.find(key);
    if (found != json_.end()) Read(*found, where_ + "." + key, value);
  }

 private:
  void Expect(bool ok, const std::string& where, const char* what) {
    if (!ok && error_->empty()) *error_ = where + ": expected " + what;
  }

  template <class T>
  void Read(const Json& json, const std::string& where, T& value) {
    if (json.is_null()) return;
    if constexpr (std::is_same_v<T, std::string>) {
      Expect(json.is_string(), where, "a text");
      if (json.is_string()) value = json.template get<std::string>();
    } else if constexpr (std::is_same_v<T, bool>) {
      Expect(json.is_boolean(), where, "true or false");
      if (json.is_boolean()) value = json.template get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      const bool ok = json.is_number_integer() && InRange<T>(json);
      Expect(ok, where, "a whole number in range");
      if (ok) value = json.template get<T>();
    } else if constexpr (std::is_floating_point_v<T>) {
      Expect(json.is_number(), where, "a number");
      if (json.is_number()) value = json.template get<T>();
    } else if constexpr (IsOptional<T>::value) {
      Read(json, where, value.emplace());
    } else if constexpr (IsVector<T>::value) {
      Expect(json.is_array(), where, "a list");
      if (!json.is_array()) return;
      value.clear();
      for (size_t i = 0; i < json.size(); ++i)
        Read(json[i], where + "[" + std::to_string(i) + "]", value.emplace_back());
    } else {
      Expect(json.is_object(), where, "an object");
      if (!json.is_object()) return;
      Reader reader(json, where, error_);
      Fields(reader, value);
    }
  }

  template <class T>
  static bool InRange(const Json& json) {
    if (json.is_number_unsigned()) return std::in_range<T>(json.get<uint64_t>());
    return std::in_range<T>(json.get<int64_t>());
  }

  const Json& json_;
  const std::string where_;
  std::string* error_;
};

Json Number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}
Json Number(const std::optional<int>& value) { return value ? Json(*value) : Json(); }
Json Text(const std::string& value) { return value.empty() ? Json() : Json(value); }

Json RunJson(const ReportRun& run) {
  return {{"streams", Number(run.streams)},
          {"total_fps", Number(run.total_fps)},
          {"fps_per_stream", Number(run.fps_per_stream)},
          {"worst_fps", Number(run.worst_fps)}};
}

}  // namespace

Json Report::ToJson() const {
  Report copy = *this;  // the field lists take references that can be written
  Writer writer;
  Fields(writer, copy);
  return writer.Take();
}

Result<Report> Report::FromJson(const Json& json) {
  const Json* object = &json;
  if (json.is_object() && json.contains("report")) object = &json["report"];
  if (!object->is_object()) return UserError("report: expected an object");
  Report report;
  std::string error;
  Reader reader(*object, "report", &error);
  Fields(reader, report);
  if (!error.empty()) return UserError(error);
  return report;
}

Json BenchmarkDataJson(const Report& report) {
  const ReportEngineTiming& b1 = report.engine_b1;
  const ReportEngineTiming& bmax = report.engine_bmax;
  Json json;
  json["model_name"] = Text(report.model.name);
  json["engine"] = Text(report.engine.file);
  json["max_bs"] = Number(report.engine.max_batch);
  json["trtexec"] = {{"bs1", {{"qps", Number(b1.qps)}, {"gpu_mean_ms", Number(b1.mean_ms)}}},
                     {"bsmax",
                      {{"qps", Number(bmax.qps)},
                       {"gpu_mean_ms", Number(bmax.mean_ms)},
                       {"p99_ms", Number(bmax.p99_ms)},
                       {"imgs_per_sec", Number(bmax.images_per_s)}}}};
  json["peak_gpu_streams"] = Number(report.peak_streams);
  json["deepstream"] = {{"run1", RunJson(report.run1)}, {"run2", RunJson(report.run2)}};
  json["format"] = "streamgauge-report-1";
  json["report"] = report.ToJson();
  return json;
}

}  // namespace sg
