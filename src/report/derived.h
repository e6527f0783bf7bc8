// What follows from a Report's figures: pure functions shared by the text, the charts and the data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace sg::report {

/// The names that differ between the two engines.
struct Names {
  std::string engine_alone;  ///< "trtexec", "OpenVINO": titles of sections 5 and 9
  std::string pipeline;      ///< "DeepStream", "Embedded": titles of sections 8 and 9
  std::string run;           ///< "DS Run", "Embedded Run"
  std::string compute;       ///< what the engine's milliseconds are: "GPU Compute", "Inference"
  std::string unit;          ///< whose throughput it is: "GPU", "Engine"
};
Names NamesOf(const Report& report);

/// The fps that decides about real time: the slowest stream's, else the mean.
std::optional<double> DecidingFps(const ReportRun& run);
/// Whether every stream reaches the target; empty when that is not known.
std::optional<bool> RealTime(const ReportRun& run, double target_fps);
/// The run with the most streams of which every one reaches the target; null when there is none.
const ReportRun* BestRealTimeRun(const Report& report);
/// The pipeline's throughput ÷ the engine's alone; can be above 1.
std::optional<double> Efficiency(const Report& report, const ReportRun& run);
/// Frames with detections ÷ frames.
std::optional<double> DetectionRate(const ReportSingleStream& single);
/// "YES", "NO" or "unknown".
std::string YesNo(const std::optional<bool>& value);
/// fps with as few decimals (one to three) as tell it from the target when it is not the target.
std::string FpsBesideTarget(const std::optional<double>& fps, double target_fps);
/// Where the clip's shape makes DeepStream scale twice or distort; empty when it does neither.
std::string ScalingNote(const Report& report);

}  // namespace sg::report
