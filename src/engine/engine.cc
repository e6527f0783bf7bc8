#include "engine/engine.h"

#include <fmt/format.h>

#include "base/files.h"

namespace sg {
namespace {

/// Runs `read`, which may throw on a missing key or a wrong type.
template <typename T, typename Read>
Result<T> FromJsonObject(const Json& json, const char* what, Read read) {
  try {
    T value;
    read(json, &value);
    return value;
  } catch (const Json::exception& e) {
    std::string why = e.what();
    if (const size_t bracket = why.find("] "); bracket != std::string::npos)
      why.erase(0, bracket + 2);
    return UserError(std::string(what) + ": " + why);
  }
}

Json TensorToJson(const EngineTensor& tensor) {
  return {{"name", tensor.name}, {"type", tensor.type}, {"shape", tensor.shape}};
}

EngineTensor TensorFromJson(const Json& json) {
  return {json.at("name").get<std::string>(), json.at("type").get<std::string>(),
          json.at("shape").get<std::vector<size_t>>()};
}

/// "AMD EPYC (avx2+avx512f)": what an engine file is tied to.
std::string DeviceText(const std::string& name, const std::string& features) {
  return name + " (" + features + ")";
}

}  // namespace

const char* PrecisionName(Precision precision) {
  return precision == Precision::kFp32 ? "fp32" : "fp16";
}

Result<Precision> PrecisionFromName(const std::string& name) {
  if (name == "fp32") return Precision::kFp32;
  if (name == "fp16") return Precision::kFp16;
  return UserError("precision \"" + name + "\": the embedded engine knows fp32 and fp16");
}

Json EngineRequest::ToJson() const {
  return {{"onnx_path", onnx_path},
          {"external_data_paths", external_data_paths},
          {"engines_folder", engines_folder},
          {"model_file_stem", model_file_stem},
          {"max_batch", max_batch},
          {"precision", PrecisionName(precision)},
          {"net_scale_factor", net_scale_factor},
          {"offsets", offsets}};
}

Result<EngineRequest> EngineRequest::FromJson(const Json& json) {
  SG_ASSIGN_OR_RETURN(
      EngineRequest request,
      (FromJsonObject<EngineRequest>(json, "engine request", [](const Json& j, EngineRequest* r) {
        r->onnx_path = j.at("onnx_path").get<std::string>();
        r->external_data_paths = j.at("external_data_paths").get<std::vector<std::string>>();
        r->engines_folder = j.at("engines_folder").get<std::string>();
        r->model_file_stem = j.at("model_file_stem").get<std::string>();
        r->max_batch = j.at("max_batch").get<int>();
        r->net_scale_factor = j.at("net_scale_factor").get<double>();
        r->offsets = j.at("offsets").get<std::vector<double>>();
        // Checked here so that reading the name below cannot throw.
        (void)j.at("precision").get<std::string>();
      })));
  SG_ASSIGN_OR_RETURN(request.precision, PrecisionFromName(json["precision"].get<std::string>()));
  return request;
}

Json EngineArtifact::ToJson() const {
  Json outputs_json = Json::array();
  for (const EngineTensor& output : outputs) outputs_json.push_back(TensorToJson(output));
  return {{"path", path},
          {"onnx_sha256", onnx_sha256},
          {"external_data_sha256", external_data_sha256},
          {"device", device},
          {"device_name", device_name},
          {"cpu_features", cpu_features},
          {"runtime", runtime},
          {"runtime_version", runtime_version},
          {"precision_asked", precision_asked},
          {"precision_used", precision_used},
          {"max_batch", max_batch},
          {"net_scale_factor", net_scale_factor},
          {"offsets", offsets},
          {"input", TensorToJson(input)},
          {"outputs", outputs_json},
          {"size_bytes", size_bytes},
          {"sha256", sha256},
          {"build_s", build_s},
          {"load_s", load_s},
          {"reused", reused},
          {"rebuild_reason", rebuild_reason}};
}

Result<EngineArtifact> EngineArtifact::FromJson(const Json& json) {
  return FromJsonObject<EngineArtifact>(json, "engine", [](const Json& j, EngineArtifact* a) {
    a->path = j.at("path").get<std::string>();
    a->onnx_sha256 = j.at("onnx_sha256").get<std::string>();
    a->external_data_sha256 = j.at("external_data_sha256").get<std::string>();
    a->device = j.at("device").get<std::string>();
    a->device_name = j.at("device_name").get<std::string>();
    a->cpu_features = j.at("cpu_features").get<std::string>();
    a->runtime = j.at("runtime").get<std::string>();
    a->runtime_version = j.at("runtime_version").get<std::string>();
    a->precision_asked = j.at("precision_asked").get<std::string>();
    a->precision_used = j.at("precision_used").get<std::string>();
    a->max_batch = j.at("max_batch").get<int>();
    a->net_scale_factor = j.at("net_scale_factor").get<double>();
    a->offsets = j.at("offsets").get<std::vector<double>>();
    a->input = TensorFromJson(j.at("input"));
    for (const Json& output : j.at("outputs")) a->outputs.push_back(TensorFromJson(output));
    a->size_bytes = j.at("size_bytes").get<uint64_t>();
    a->sha256 = j.at("sha256").get<std::string>();
    a->build_s = j.at("build_s").get<double>();
    a->load_s = j.at("load_s").get<double>();
    a->reused = j.at("reused").get<bool>();
    a->rebuild_reason = j.at("rebuild_reason").get<std::string>();
  });
}

Json EngineTiming::ToJson() const {
  return {{"batch", batch},
          {"seconds", seconds},
          {"inferences", inferences},
          {"throughput_qps", throughput_qps},
          {"images_per_s", images_per_s},
          {"latency_mean_ms", latency_mean_ms},
          {"latency_p99_ms", latency_p99_ms},
          {"requests_in_flight", requests_in_flight},
          {"cpu_ms_per_image", cpu_ms_per_image},
          {"log_path", log_path}};
}

Result<EngineTiming> EngineTiming::FromJson(const Json& json) {
  return FromJsonObject<EngineTiming>(json, "engine timing", [](const Json& j, EngineTiming* t) {
    t->batch = j.at("batch").get<int>();
    t->seconds = j.at("seconds").get<double>();
    t->inferences = j.at("inferences").get<uint64_t>();
    t->throughput_qps = j.at("throughput_qps").get<double>();
    t->images_per_s = j.at("images_per_s").get<double>();
    t->latency_mean_ms = j.at("latency_mean_ms").get<double>();
    t->latency_p99_ms = j.at("latency_p99_ms").get<double>();
    t->requests_in_flight = j.at("requests_in_flight").get<int>();
    t->cpu_ms_per_image = j.at("cpu_ms_per_image").get<double>();
    t->log_path = j.at("log_path").get<std::string>();
  });
}

Result<std::string> HashOfAll(const std::vector<std::string>& paths) {
  std::string hashes;
  for (const std::string& path : paths) {
    SG_ASSIGN_OR_RETURN(const std::string sha256, Sha256File(path));
    hashes += sha256 + " " + BaseName(path) + "\n";
  }
  return hashes.empty() ? "" : Sha256(hashes);
}

std::string ArtifactMismatch(const EngineArtifact& have, const EngineArtifact& wanted) {
  if (have.onnx_sha256 != wanted.onnx_sha256)
    return fmt::format("the ONNX changed (hash {}, the engine was built from {})",
                       wanted.onnx_sha256.substr(0, 12), have.onnx_sha256.substr(0, 12));
  if (have.external_data_sha256 != wanted.external_data_sha256)
    return "the weights beside the ONNX changed";
  if (have.runtime_version != wanted.runtime_version)
    return fmt::format("built by {} {}, this is {}", wanted.runtime, have.runtime_version,
                       wanted.runtime_version);
  if (have.device_name != wanted.device_name || have.cpu_features != wanted.cpu_features)
    return fmt::format("built for {} {}, this is {}", wanted.device,
                       DeviceText(have.device_name, have.cpu_features),
                       DeviceText(wanted.device_name, wanted.cpu_features));
  if (have.precision_asked != wanted.precision_asked)
    return fmt::format("precision {} was asked, it holds {}", wanted.precision_asked,
                       have.precision_asked);
  if (have.max_batch != wanted.max_batch)
    return fmt::format("max batch {} was asked, it holds {}", wanted.max_batch, have.max_batch);
  if (have.net_scale_factor != wanted.net_scale_factor || have.offsets != wanted.offsets)
    return fmt::format(
        "preprocessing changed (net-scale-factor {}, offsets {}; it holds {}, offsets {})",
        wanted.net_scale_factor, Json(wanted.offsets).dump(), have.net_scale_factor,
        Json(have.offsets).dump());
  return "";
}

std::string OpenVinoEnginePath(const EngineRequest& request) {
  return JoinPath(request.engines_folder, request.model_file_stem + "_dynamic_b" +
                                              std::to_string(request.max_batch) + ".blob");
}

Result<EngineArtifact> ReadSidecar(const std::string& engine_path) {
  const std::string path = engine_path + ".json";
  SG_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  auto artifact = EngineArtifact::FromJson(json);
  if (!artifact.ok()) return UserError(path + ": " + artifact.error().message);
  artifact->path = engine_path;  // the folder may have moved since
  return artifact;
}

}  // namespace sg
