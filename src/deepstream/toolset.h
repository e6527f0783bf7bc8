// What of DeepStream is on this machine: its programs with their versions, the GPU and its driver,
// the sample clip, a container runtime. Everything is looked up; what is not found is empty.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace sg {

/// The oldest driver that DeepStream 9.1 runs with.
inline constexpr int kLeastDriver = 595;

struct Tool {
  std::string path;     ///< empty: not found
  std::string version;  ///< as it says itself; empty: it did not say
  std::string problem;  ///< why it is there and does not answer
  bool answers() const { return !path.empty() && problem.empty(); }
};

struct GpuFacts {
  std::string name;
  std::string driver;              ///< "595.45.04"
  std::string memory_mib;          ///< as nvidia-smi says it; empty: unknown
  std::string compute_capability;  ///< "9.0"; empty: unknown
};

struct Toolset {
  Tool nvidia_smi;
  std::vector<GpuFacts> gpus;
  Tool trtexec;
  Tool deepstream_app;
  Tool gst_launch;
  std::string deepstream_folder;  ///< /opt/nvidia/deepstream/deepstream
  std::string sample_video;       ///< sample_720p.mp4
  Tool container_runtime;         ///< docker, else podman
  bool in_container = false;      ///< this process runs in one

  /// DeepStream can be run here as it is.
  bool IsNative() const { return trtexec.answers() && deepstream_app.answers() && !gpus.empty(); }
  /// It can be run in a container.
  bool CanContain() const { return container_runtime.answers() && !gpus.empty() && !in_container; }
  Json ToJson() const;
};

struct ToolsetSearch {
  std::string root;        ///< put before every fixed place; for tests
  double deadline_s = 10;  ///< of each program that is asked
};

/// Looks on PATH and in the places where NVIDIA's packages put things; asks each program for its
/// version within the deadline. Never fails: a driver that hangs is a problem of its tool.
Toolset FindToolset(const ToolsetSearch& search);

/// The rows of `nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap
/// --format=csv,noheader,nounits`. Warnings in front of them and fields such as "[N/A]" are known.
std::vector<GpuFacts> ParseGpuRows(const std::string& csv);

/// 595 of "595.45.04"; 0 when it is no version.
int DriverMajor(const std::string& driver);

}  // namespace sg
