// streamgauge frame: pulls still pictures out of a video.
#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/command.h"
#include "pipeline/run_job.h"

namespace sg {
namespace {

struct FrameOptions {
  CommonFlags common;
  std::string video;
  std::string folder = ".";
  int count = 3;
};

Status Frame(const FrameOptions& options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  SG_ASSIGN_OR_RETURN(const VideoInfo video, ProbeVideo(options.video));
  if (options.common.dry_run) {
    console.Say(fmt::format("would write {} frames of {} ({} x {}) to {}", options.count,
                            video.path, video.width, video.height, options.folder));
    return OkStatus();
  }
  SG_RETURN_IF_ERROR(CheckWritable(options.folder, uint64_t{16} << 20));
  SG_RETURN_IF_ERROR(MakeFolders(options.folder));
  SG_ASSIGN_OR_RETURN(const ExtractedFrames frames,
                      ExtractFrames(options.video, options.folder, options.count));
  for (const std::string& file : frames.files) console.Say(file);
  if (!frames.note.empty()) console.Say(frames.note);
  if (options.common.json)
    std::fputs(ToJsonText({{"video", video.ToJson()}, {"frames", frames.files}}).c_str(), stdout);
  return OkStatus();
}

}  // namespace

void AddFrameCommand(CLI::App* app, CommandRun* run) {
  auto options = std::make_shared<FrameOptions>();
  CLI::App* command = app->add_subcommand("frame", "Pull frames out of a video as JPEG files");
  command->add_option("video", options->video, "The video file")->required();
  command->add_option("--out", options->folder, "Folder for frame_0001.jpg, frame_0002.jpg, …")
      ->capture_default_str();
  command->add_option("-n,--count", options->count, "How many, spread over the clip")
      ->check(CLI::Range(1, 9999))
      ->capture_default_str();
  AddCommonFlags(command, &options->common);
  command->callback([options, run] { *run = [options] { return Frame(*options); }; });
}

}  // namespace sg
