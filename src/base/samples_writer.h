// Writes samples.jsonl (docs/formats.md, "Samples file") while a run goes on. measure/samples.h
// reads it.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace sg {

inline constexpr char kSamplesFormat[] = "streamgauge-samples";
inline constexpr int kSamplesVersion = 1;

/// One frame as it arrived at the tap. Times are nanoseconds since the run's start.
struct FrameSample {
  int stream = 0;
  uint64_t frame = 0;  ///< number in its stream, from 0
  /// When it was due, in a paced run; else when it entered the mux; -1: the pipeline does not carry
  /// it.
  int64_t capture_ns = -1;
  int64_t arrival_ns = 0;  ///< when it reached the tap
  int boxes = 0;
};

/// The process and the machine, about once a second. What the machine does not tell has no value.
struct SecondSample {
  int64_t time_ns = 0;  ///< since the run's start
  double cpu_s = 0;     ///< user + system time of the whole process so far
  uint64_t rss_bytes = 0;
  std::optional<double>
      machine_cpu_s;                  ///< busy time of all cores since boot, this process included
  std::optional<double> steal_s;      ///< time the hypervisor kept cores from us since boot
  std::optional<double> throttled_s;  ///< time the control group's quota stopped its tasks so far
  std::optional<double> cpu_mhz;      ///< mean over the cores
  std::optional<double> gpu_mhz;      ///< SM clock, of the slowest GPU
  std::optional<double> gpu_percent;  ///< SM utilisation, mean over the GPUs
  std::optional<double> decoder_percent;
  std::optional<double> gpu_memory_bytes;  ///< used, all GPUs
};

struct SecondField {
  const char* name;  ///< in the samples file
  std::optional<double> SecondSample::*member;
};
inline constexpr std::array<SecondField, 8> kOptionalSecondFields = {
    {{"machine_cpu_s", &SecondSample::machine_cpu_s},
     {"steal_s", &SecondSample::steal_s},
     {"throttled_s", &SecondSample::throttled_s},
     {"cpu_mhz", &SecondSample::cpu_mhz},
     {"gpu_mhz", &SecondSample::gpu_mhz},
     {"gpu_percent", &SecondSample::gpu_percent},
     {"decoder_percent", &SecondSample::decoder_percent},
     {"gpu_memory_bytes", &SecondSample::gpu_memory_bytes}}};

/// Add* may be called from any thread and only enqueue; a thread of its own formats and writes,
/// several times a second, so that a killed process leaves all but its last moments.
class SamplesWriter {
 public:
  /// Creates or empties the file and writes its header line: `header` with format and version in
  /// front. kEnvironment when that is not possible.
  static Result<std::unique_ptr<SamplesWriter>> Open(const std::string& path, const Json& header);

  /// Ends the file without an end line, unless Close was called.
  ~SamplesWriter();
  SamplesWriter(const SamplesWriter&) = delete;
  SamplesWriter& operator=(const SamplesWriter&) = delete;

  void AddFrame(const FrameSample& sample);
  void AddSecond(const SecondSample& sample);

  /// False from the first failed write on; Close tells why.
  bool ok() const;

  /// Writes what is queued and the end line. kEnvironment when anything could not be written.
  Status Close(const std::string& ended_by);

 private:
  SamplesWriter(std::string path, int fd);
  void Run();
  void Stop();
  /// Writes all of `text`; keeps the first error.
  void Write(const std::string& text);

  const std::string path_;
  int fd_;

  mutable std::mutex mutex_;  ///< guards all below
  std::condition_variable wake_;
  std::vector<FrameSample> frames_;
  std::vector<SecondSample> seconds_;
  bool stopping_ = false;
  std::string error_;

  std::thread thread_;
};

}  // namespace sg
