// streamgauge-worker JOB: one job in a process of its own. Reads one JSON request on stdin, writes
// JSON lines on stdout (docs/formats.md, "Worker protocol").
#include <cstdio>
#include <string>

#include "base/interrupt.h"
#include "base/json.h"
#include "base/log.h"
#include "base/status.h"
#include "engine/openvino/constants_job.h"
#include "engine/openvino/graph_jobs.h"
#include "engine/openvino/jobs.h"
#include "pipeline/gst/jobs.h"
#include "worker/event_channel.h"
#include "worker/gst_setup.h"

namespace sg {
namespace {

using Emit = std::function<void(const Json&)>;

struct Job {
  const char* name;
  Result<Json> (*run)(const Json& request, const Emit& emit);
  bool uses_gstreamer;
};
constexpr Job kJobs[] = {{"probe", ProbeJob, true},
                         {"run", PipelineRunJob, true},
                         {"frames", FramesJob, true},
                         {"pictures", PicturesJob, true},
                         {"engine-build", openvino::EngineBuildJob, false},
                         {"engine-time", openvino::EngineTimeJob, false},
                         {"onnx-shapes", openvino::OnnxShapesJob, false},
                         {"onnx-compare", openvino::OnnxCompareJob, false},
                         {"onnx-run", openvino::OnnxRunJob, false},
                         {"onnx-constants", openvino::OnnxConstantsJob, false}};

const Job* FindJob(const std::string& name) {
  for (const Job& job : kJobs)
    if (name == job.name) return &job;
  return nullptr;
}

Result<Json> RunNamedJob(const std::string& name, const Emit& emit) {
  const Job* job = FindJob(name);
  if (job == nullptr) return InternalError("streamgauge-worker: no job \"" + name + "\"");
  SG_ASSIGN_OR_RETURN(const std::string text, ReadStandardInput());
  SG_ASSIGN_OR_RETURN(const Json request, ParseJson(text, "request"));
  if (job->uses_gstreamer) {
    const auto trace = request.find("trace_path");
    const bool traces = trace != request.end() && trace->is_string();
    SG_RETURN_IF_ERROR(SetUpGStreamer(traces ? trace->get<std::string>() : ""));
  }
  return job->run(request, emit);
}

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("streamgauge-worker does one job for streamgauge; run streamgauge instead\n",
               stderr);
    return static_cast<int>(ErrorKind::kUser);
  }
  SetUpLog(/*verbose=*/false);
  InstallInterruptHandler();
  EventChannel events;
  const Result<Json> result = RunNamedJob(argv[1], [&](const Json& event) { events.Send(event); });
  if (!result.ok()) {
    events.Send({{"event", "error"},
                 {"kind", ErrorKindName(result.error().kind)},
                 {"message", result.error().message}});
    return static_cast<int>(result.error().kind);
  }
  Json event = {{"event", "result"}};
  event.update(*result);
  if (Interrupted()) event["interrupted"] = true;
  events.Send(event);
  return 0;
}

}  // namespace
}  // namespace sg

int main(int argc, char** argv) {
  const int code = sg::Main(argc, argv);
  // Not exit(): a pipeline that does not stop may still run, and destructors would race with it.
  std::fflush(nullptr);
  std::_Exit(code);
}
