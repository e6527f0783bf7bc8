// Frames followed from their source to the sinks: how long each element kept them.
//
// A frame is known by its source's number and its own where sgmux gave it both, else by its PTS
// among the pads that lead to the sink. An element keeps a frame from the push that brings it in to
// the push that takes it out: this holds across threads, queues, decoders and muxers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace_reader.h"

namespace sg::trace {

struct Stay {
  uint32_t element = 0;
  uint64_t frames = 0;
  double mean_ms = 0;
  double p50_ms = 0;
  double p99_ms = 0;
};

/// One frame's way; the stays' sum is its latency.
struct FramePath {
  struct Step {
    uint32_t element = 0;
    double ms = 0;
  };
  double latency_ms = 0;
  uint64_t pts = 0;
  std::vector<Step> steps;  ///< in the order of time
};

struct SinkLatency {
  uint32_t sink = 0;
  uint64_t frames = 0;      ///< that could be followed to a source
  uint64_t unfollowed = 0;  ///< arrived without a PTS or number that a source gave
  bool by_capture =
      false;  ///< from the time a frame was due or entered sgmux, not from the first push
  double p50_ms = 0;
  double p95_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
  std::vector<Stay> stays;  ///< longest mean first
  FramePath middle;         ///< a frame of median latency
  FramePath late;           ///< one of the 99th percentile
};

std::vector<SinkLatency> FollowFrames(const TraceFile& trace);

}  // namespace sg::trace
