#include "report/derived.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>

#include "report/text.h"

namespace sg::report {
namespace {

bool Known(const std::optional<double>& value) { return value && std::isfinite(*value); }

std::string Size(int width, int height) { return fmt::format("{}×{}", width, height); }

std::string Ratio(int width, int height) {
  const int divisor = std::gcd(width, height);
  return fmt::format("{}:{}", width / divisor, height / divisor);
}

}  // namespace

Names NamesOf(const Report& report) {
  if (report.engine.kind == "deepstream")
    return {"trtexec", "DeepStream", "DS Run", "GPU Compute", "GPU"};
  const std::string runtime = report.engine.runtime.empty() ? "Engine" : report.engine.runtime;
  return {runtime, "Embedded", "Embedded Run", "Inference", "Engine"};
}

std::optional<double> DecidingFps(const ReportRun& run) {
  if (Known(run.worst_fps)) return run.worst_fps;
  if (Known(run.fps_per_stream)) return run.fps_per_stream;
  return std::nullopt;
}

std::optional<bool> RealTime(const ReportRun& run, double target_fps) {
  const std::optional<double> fps = DecidingFps(run);
  if (!fps) return std::nullopt;
  return *fps >= target_fps;
}

const ReportRun* BestRealTimeRun(const Report& report) {
  std::vector<const ReportRun*> runs = {&report.run2, &report.run1};
  for (const ReportRun& run : report.tries) runs.push_back(&run);
  const ReportRun* best = nullptr;
  for (const ReportRun* run : runs) {
    if (!run->streams || !RealTime(*run, report.target_fps).value_or(false)) continue;
    if (best == nullptr || *run->streams > *best->streams) best = run;
  }
  return best;
}

std::optional<double> Efficiency(const Report& report, const ReportRun& run) {
  const std::optional<double>& alone = report.engine_bmax.images_per_s;
  if (!Known(run.total_fps) || !Known(alone) || *alone <= 0) return std::nullopt;
  return *run.total_fps / *alone;
}

std::optional<double> DetectionRate(const ReportSingleStream& single) {
  if (!single.kitti_frames || !single.kitti_frames_with_detections || *single.kitti_frames == 0)
    return std::nullopt;
  return static_cast<double>(*single.kitti_frames_with_detections) /
         static_cast<double>(*single.kitti_frames);
}

std::string YesNo(const std::optional<bool>& value) {
  if (!value) return "unknown";
  return *value ? "YES" : "NO";
}

std::string FpsBesideTarget(const std::optional<double>& fps, double target_fps) {
  if (!Known(fps)) return Figure(fps, 1);
  for (const int decimals : {1, 2}) {
    const double rounded = std::round(*fps * std::pow(10, decimals)) / std::pow(10, decimals);
    if ((rounded >= target_fps) == (*fps >= target_fps)) return Figure(fps, decimals);
  }
  return Figure(fps, 3);
}

std::string ScalingNote(const Report& report) {
  const ReportVideo& video = report.video;
  const ReportPreprocessing& p = report.preprocessing;
  if (!video.width || !video.height || !p.mux_width || !p.mux_height) return "";
  const int clip_w = *video.width, clip_h = *video.height;
  const int mux_w = *p.mux_width, mux_h = *p.mux_height;
  if (clip_w <= 0 || clip_h <= 0 || mux_w <= 0 || mux_h <= 0) return "";
  if (clip_w == mux_w && clip_h == mux_h) return "";

  const std::string network =
      p.width && p.height ? Size(*p.width, *p.height) : std::string("the network's size");
  std::string note = fmt::format(
      "DeepStream would scale each frame twice: {} → {} in the muxer, then → {} for the network.",
      Size(clip_w, clip_h), Size(mux_w, mux_h), network);
  const double scale_x = static_cast<double>(mux_w) / clip_w;
  const double scale_y = static_cast<double>(mux_h) / clip_h;
  const bool same_shape = std::abs(scale_x / scale_y - 1) < 0.005;
  if (!same_shape && p.mux_padding)
    note += fmt::format(" Its muxer would pad the {} picture to {}, so the network sees borders.",
                        Ratio(clip_w, clip_h), Ratio(mux_w, mux_h));
  else if (!same_shape)
    note += fmt::format(
        " Its muxer would also distort the picture: {} into {} (× {} across, × {} down).",
        Ratio(clip_w, clip_h), Ratio(mux_w, mux_h), Figure(scale_x, 3), Figure(scale_y, 3));
  if (report.engine.kind == "deepstream")
    note += " Set the muxer's width and height to the clip's to avoid that.";
  else
    note +=
        " The embedded engine scales the pixels once, from the clip to the network, and gives "
        "boxes "
        "in the muxer's coordinates.";
  return note;
}

}  // namespace sg::report
