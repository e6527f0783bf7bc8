#include "pipeline/gst/jobs.h"

#include "pipeline/gst/frames.h"
#include "pipeline/gst/pictures.h"
#include "pipeline/gst/probe.h"
#include "pipeline/gst/runner.h"

namespace sg {
namespace {

Result<std::string> TextOf(const Json& request, const char* field) {
  const auto value = request.find(field);
  if (value == request.end() || !value->is_string())
    return InternalError(std::string("request: \"") + field + "\" is not a text");
  return value->get<std::string>();
}

}  // namespace

Result<Json> ProbeJob(const Json& request, const std::function<void(const Json&)>&) {
  SG_ASSIGN_OR_RETURN(const std::string path, TextOf(request, "path"));
  SG_ASSIGN_OR_RETURN(const VideoInfo video, ProbeVideoHere(path));
  return Json{{"video", video.ToJson()}};
}

Result<Json> PipelineRunJob(const Json& request, const std::function<void(const Json&)>& emit) {
  SG_ASSIGN_OR_RETURN(const RunJob job, RunJob::FromJson(request));
  SG_ASSIGN_OR_RETURN(const RunOutcome outcome, RunPipelineHere(job, emit));
  return outcome.ToJson();
}

Result<Json> FramesJob(const Json& request, const std::function<void(const Json&)>&) {
  SG_ASSIGN_OR_RETURN(const std::string path, TextOf(request, "path"));
  SG_ASSIGN_OR_RETURN(const std::string folder, TextOf(request, "folder"));
  const auto count = request.find("count");
  if (count == request.end() || !count->is_number_integer())
    return InternalError("request: \"count\" is not a whole number");
  SG_ASSIGN_OR_RETURN(const ExtractedFrames frames,
                      ExtractFramesHere(path, folder, count->get<int>()));
  return Json{{"files", frames.files}, {"note", frames.note}};
}

Result<Json> PicturesJob(const Json& request, const std::function<void(const Json&)>&) {
  PicturesRequest pictures;
  SG_ASSIGN_OR_RETURN(const std::string path, TextOf(request, "path"));
  try {
    pictures.files = request.at("files").get<std::vector<std::string>>();
    const auto shape = request.at("shape").get<std::vector<int64_t>>();
    if (shape.size() != 3 || shape[0] != 3)
      return UnsupportedError("pictures have 3 channels, the network's input has another number");
    pictures.height = shape[1];
    pictures.width = shape[2];
    pictures.mean = request.value("mean", pictures.mean);
    pictures.deviation = request.value("deviation", pictures.deviation);
  } catch (const Json::exception& e) {
    return InternalError(std::string("pictures request: ") + e.what());
  }
  SG_RETURN_IF_ERROR(WritePictures(pictures, path));
  return Json{{"pictures", pictures.files.size()}};
}

}  // namespace sg
