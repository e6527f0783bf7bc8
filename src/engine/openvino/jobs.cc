#include "engine/openvino/jobs.h"

#include "engine/openvino/engine_file.h"
#include "engine/openvino/timing.h"

namespace sg::openvino {
namespace {

ProgressFn ProgressEvents(const std::function<void(const Json&)>& emit) {
  return [emit](double fraction, const std::string& note) {
    if (emit) emit({{"event", "progress"}, {"fraction", fraction}, {"note", note}});
  };
}

}  // namespace

Result<Json> EngineBuildJob(const Json& request, const std::function<void(const Json&)>& emit) {
  SG_ASSIGN_OR_RETURN(const EngineRequest build, EngineRequest::FromJson(request));
  SG_ASSIGN_OR_RETURN(const EngineArtifact artifact, BuildEngineFile(build, ProgressEvents(emit)));
  return artifact.ToJson();
}

Result<Json> EngineTimeJob(const Json& request, const std::function<void(const Json&)>& emit) {
  TimeRequest time;
  std::string path, onnx_sha256;
  try {
    path = request.at("path").get<std::string>();
    onnx_sha256 = request.value("onnx_sha256", "");
    time.batch = request.at("batch").get<int>();
    time.warmup_s = request.at("warmup_s").get<double>();
    time.seconds = request.at("seconds").get<double>();
    time.log_path = request.value("log_path", "");
    time.samples_path = request.value("samples_path", "");
    time.requests_in_flight = request.value("requests_in_flight", 0);
  } catch (const Json::exception& e) {
    return UserError(std::string("engine-time request: ") + e.what());
  }
  SG_ASSIGN_OR_RETURN(const auto engine, LoadedEngine::Load(path, onnx_sha256));
  SG_ASSIGN_OR_RETURN(const EngineTiming timing, TimeEngine(*engine, time, ProgressEvents(emit)));
  return timing.ToJson();
}

}  // namespace sg::openvino
