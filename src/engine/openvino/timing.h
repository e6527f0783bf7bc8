// How fast an engine is on its own: requests in flight all the time, inputs ready in memory.
#pragma once

#include "engine/openvino/engine_file.h"

namespace sg::openvino {

struct TimeRequest {
  int batch = 1;
  double warmup_s = 0;
  double seconds = 0;
  std::string log_path;        ///< empty: no log
  int requests_in_flight = 0;  ///< 0: kRequestsPerStream for each of the device's streams
  std::string samples_path = {};  ///< every inference goes here as it ends; empty: nowhere
};

/// Engine::Time on a loaded engine, in this process. The measured time is longer than asked for
/// when fewer than kMinInferences fit into it.
Result<EngineTiming> TimeEngine(LoadedEngine& engine, const TimeRequest& request,
                                const ProgressFn& progress);

inline constexpr uint64_t kMinInferences = 10;

}  // namespace sg::openvino
