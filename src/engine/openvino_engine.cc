#include "base/worker_client.h"
#include "engine/engine.h"

namespace sg {
namespace {

class OpenVinoEngine : public Engine {
 public:
  std::string Name() const override { return "OpenVINO"; }

  Result<EngineArtifact> Build(const EngineRequest& request, const ProgressFn& progress) override {
    SG_ASSIGN_OR_RETURN(const Json result, Call("engine-build", request.ToJson(), progress));
    return EngineArtifact::FromJson(result);
  }

  Result<EngineTiming> Time(const EngineArtifact& artifact, int batch, double warmup_s,
                            double seconds, const std::string& log_path,
                            const ProgressFn& progress) override {
    const Json request = {{"path", artifact.path}, {"onnx_sha256", artifact.onnx_sha256},
                          {"batch", batch},        {"warmup_s", warmup_s},
                          {"seconds", seconds},    {"log_path", log_path}};
    SG_ASSIGN_OR_RETURN(const Json result, Call("engine-time", request, progress));
    return EngineTiming::FromJson(result);
  }

  Result<EngineTiming> Sample(const EngineArtifact& artifact, const SampledTiming& timing,
                              const ProgressFn& progress) override {
    const Json request = {{"path", artifact.path},
                          {"onnx_sha256", artifact.onnx_sha256},
                          {"batch", timing.batch},
                          {"warmup_s", 0},
                          {"seconds", timing.seconds},
                          {"requests_in_flight", timing.requests_in_flight},
                          {"samples_path", timing.samples_path}};
    SG_ASSIGN_OR_RETURN(const Json result, Call("engine-time", request, progress));
    return EngineTiming::FromJson(result);
  }

 private:
  static Result<Json> Call(const std::string& job, const Json& request,
                           const ProgressFn& progress) {
    WorkerCall call;
    call.job = job;
    call.request = request;
    call.on_event = [&progress](const Json& event) {
      if (progress && event.value("event", "") == "progress" && event.contains("fraction") &&
          event["fraction"].is_number())
        progress(event["fraction"].get<double>(), event.value("note", ""));
    };
    return CallWorker(call);
  }
};

}  // namespace

std::unique_ptr<Engine> MakeOpenVinoEngine() { return std::make_unique<OpenVinoEngine>(); }

}  // namespace sg
