#include "engine/openvino/timing.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/process_sampler.h"
#include "base/processor.h"
#include "base/samples_writer.h"
#include "engine/openvino/compile.h"

namespace sg::openvino {
namespace {

using Clock = std::chrono::steady_clock;

/// Requests that wait while a stream works; with one alone each stream idles between two.
constexpr int kRequestsPerStream = 2;

double ProcessCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

struct Completed {
  Clock::time_point start;
  Clock::time_point end;
};

/// Requests that start again by themselves as they complete. Only a request's own callback touches
/// its slot, so slots need no lock; `mutex` guards `error`.
class RequestLoop {
 public:
  /// `samples` may be null.
  RequestLoop(ov::CompiledModel& compiled, int requests, SamplesWriter* samples)
      : samples_(samples) {
    std::mt19937 random(1);  // the same pictures each time
    for (int i = 0; i < requests; ++i) {
      auto slot = std::make_unique<Slot>();
      slot->request = compiled.create_infer_request();
      ov::Tensor input = slot->request.get_input_tensor();
      auto* pixels = input.data<uint8_t>();
      for (size_t k = 0; k < input.get_byte_size(); ++k) pixels[k] = static_cast<uint8_t>(random());
      slot->request.set_callback(
          [this, raw = slot.get()](const std::exception_ptr& failure) { OnDone(*raw, failure); });
      slots_.push_back(std::move(slot));
    }
  }
  /// Callbacks refer to this object, so it waits for them.
  ~RequestLoop() { Stop(); }

  void Start() {
    for (auto& slot : slots_) Launch(*slot);
  }

  void Stop() {
    stopping_ = true;
    for (auto& slot : slots_) {
      try {
        // A request that started itself again just before `stopping_` is waited for as well.
        while (slot->busy) slot->request.wait();
      } catch (const std::exception&) {
        // Its callback has recorded why.
      }
    }
  }

  uint64_t done() const { return done_; }
  void SampleSecond() const {
    if (samples_ != nullptr) samples_->AddSecond(SampleProcess(Nanoseconds(Clock::now())));
  }
  bool failed() const { return failed_; }
  std::string error() {
    std::lock_guard lock(mutex_);
    return error_;
  }

  /// REQUIRES: stopped.
  std::vector<Completed> CompletedWithin(Clock::time_point begin, Clock::time_point end) const {
    std::vector<Completed> all;
    for (const auto& slot : slots_) {
      for (const Completed& one : slot->completed) {
        if (one.end > begin && one.end <= end) all.push_back(one);
      }
    }
    return all;
  }

 private:
  struct Slot {
    ov::InferRequest request;
    Clock::time_point start;
    std::vector<Completed> completed;
    std::atomic<bool> busy{false};
  };

  void Launch(Slot& slot) {
    try {
      slot.busy = true;
      slot.start = Clock::now();
      slot.request.start_async();
    } catch (const std::exception& e) {
      slot.busy = false;
      Fail(e.what());
    }
  }

  void OnDone(Slot& slot, const std::exception_ptr& failure) {
    const Clock::time_point end = Clock::now();
    if (failure) {
      try {
        std::rethrow_exception(failure);
      } catch (const std::exception& e) {
        Fail(e.what());
      } catch (...) {
        Fail("unknown failure");
      }
    } else {
      slot.completed.push_back({slot.start, end});
      const uint64_t number = done_++;
      if (samples_ != nullptr)
        samples_->AddFrame({0, number, Nanoseconds(slot.start), Nanoseconds(end), 0});
    }
    if (failure || stopping_) {
      slot.busy = false;
    } else {
      Launch(slot);
    }
  }

  int64_t Nanoseconds(Clock::time_point at) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(at - created_).count();
  }

  void Fail(const std::string& why) {
    std::lock_guard lock(mutex_);
    if (!failed_) error_ = why;
    failed_ = true;
  }

  SamplesWriter* const samples_;
  const Clock::time_point created_ = Clock::now();
  std::vector<std::unique_ptr<Slot>> slots_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> done_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::string error_;
};

std::string LogText(const LoadedEngine& engine, const EngineTiming& timing, double warmup_s,
                    const std::vector<std::string>& seconds) {
  const EngineArtifact& artifact = engine.artifact();
  std::string text = fmt::format(
      "streamgauge engine time\n"
      "engine: {}\nonnx sha256: {}\nruntime: {} {}\ndevice: {} ({})\n"
      "precision: {} asked, {} used\nbatch: {}\nrequests in flight: {}\n"
      "warm-up: {:.1f} s\n\n",
      artifact.path, artifact.onnx_sha256, artifact.runtime, artifact.runtime_version,
      artifact.device, artifact.device_name, artifact.precision_asked, artifact.precision_used,
      timing.batch, timing.requests_in_flight, warmup_s);
  for (const std::string& line : seconds) text += line + "\n";
  text += fmt::format(
      "\nmeasured: {:.3f} s, {} inferences\nthroughput: {:.3f} qps, {:.3f} images/s\n"
      "latency: mean {:.3f} ms, p99 {:.3f} ms\ncpu: {:.3f} ms per image\n",
      timing.seconds, timing.inferences, timing.throughput_qps, timing.images_per_s,
      timing.latency_mean_ms, timing.latency_p99_ms, timing.cpu_ms_per_image);
  return text;
}

/// The value that 99 % of the latencies do not exceed (nearest rank).
double Percentile99(std::vector<double> values) {
  const auto rank = static_cast<size_t>(std::ceil(0.99 * static_cast<double>(values.size())));
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

void Summarise(const std::vector<Completed>& completed, double seconds, double cpu_seconds,
               EngineTiming* timing) {
  std::vector<double> latencies_ms;
  double sum_ms = 0;
  for (const Completed& one : completed) {
    latencies_ms.push_back(Seconds(one.end - one.start) * 1e3);
    sum_ms += latencies_ms.back();
  }
  const auto count = static_cast<double>(completed.size());
  timing->seconds = seconds;
  timing->inferences = completed.size();
  timing->throughput_qps = count / seconds;
  timing->images_per_s = timing->throughput_qps * timing->batch;
  timing->latency_mean_ms = sum_ms / count;
  timing->latency_p99_ms = Percentile99(std::move(latencies_ms));
  timing->cpu_ms_per_image = cpu_seconds * 1e3 / (count * timing->batch);
}

/// Lets `loop` run for a while and tells of it once a second.
class Watch {
 public:
  struct Span {
    double seconds = 0;
    uint64_t least_inferences = 0;  ///< goes on until there are as many
    double fraction_from = 0;       ///< what to tell of the whole step's progress
    double fraction_to = 1;
    const char* note = "";
  };

  Watch(const RequestLoop& loop, int batch, const ProgressFn& progress)
      : loop_(loop), batch_(batch), progress_(progress) {}

  /// Returns early on failure and Ctrl-C.
  void Run(const Span& span) {
    const Clock::time_point begin = Clock::now();
    const uint64_t done_before = loop_.done();
    double told_s = 0;
    uint64_t told_done = done_before;
    loop_.SampleSecond();
    while (!loop_.failed() && !Interrupted()) {
      const double elapsed_s = Seconds(Clock::now() - begin);
      const uint64_t done = loop_.done();
      const bool over = elapsed_s >= span.seconds && done - done_before >= span.least_inferences;
      if (over || elapsed_s - told_s >= 1) {
        Tell(span, elapsed_s, elapsed_s - told_s, done - told_done);
        loop_.SampleSecond();
        told_s = elapsed_s;
        told_done = done;
      }
      if (over) return;
      const double left_s = std::max(span.seconds, elapsed_s + kTickS) - elapsed_s;
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left_s, kTickS)));
    }
  }

  /// "3.0 s: 161.2 images/s", one for each second since the last call.
  std::vector<std::string> TakeLines() { return std::exchange(lines_, {}); }

 private:
  static constexpr double kTickS = 0.05;
  static constexpr double kShortestLineS = 0.2;

  void Tell(const Span& span, double elapsed_s, double length_s, uint64_t inferences) {
    if (length_s >= kShortestLineS)
      lines_.push_back(fmt::format("{:.1f} s: {:.1f} images/s", elapsed_s,
                                   static_cast<double>(inferences) * batch_ / length_s));
    if (progress_)
      progress_(span.fraction_from + (span.fraction_to - span.fraction_from) *
                                         std::min(1.0, elapsed_s / span.seconds),
                span.note);
  }

  const RequestLoop& loop_;
  const int batch_;
  const ProgressFn& progress_;
  std::vector<std::string> lines_;
};

int RequestsInFlight(LoadedEngine& engine, int batch) {
  const int streams = engine.compiled(batch).get_property(ov::num_streams).num;
  return std::max(engine.optimal_requests(batch), kRequestsPerStream * std::max(1, streams));
}

Result<std::unique_ptr<SamplesWriter>> OpenSamples(const LoadedEngine& engine,
                                                   const TimeRequest& request, int requests) {
  return SamplesWriter::Open(
      request.samples_path,
      {{"streams", {fmt::format("batch {}", request.batch)}},
       {"clock", "CLOCK_MONOTONIC, nanoseconds since the run's start"},
       {"launch", fmt::format("{} batch {} requests {}", BaseName(engine.artifact().path),
                              request.batch, requests)},
       {"tap", "inference"},
       {"images_per_line", request.batch},
       {"warmup_s", request.warmup_s},
       {"measure_s", request.seconds},
       {"cores", UsableCores()}});
}

/// Warm-up, then the measurement. May throw what OpenVINO throws.
Result<std::vector<std::string>> Measure(LoadedEngine& engine, const TimeRequest& request,
                                         const ProgressFn& progress, EngineTiming* timing) {
  std::unique_ptr<SamplesWriter> samples;
  if (!request.samples_path.empty()) {
    SG_ASSIGN_OR_RETURN(samples, OpenSamples(engine, request, timing->requests_in_flight));
  }
  RequestLoop loop(engine.compiled(request.batch), timing->requests_in_flight, samples.get());
  Watch watch(loop, request.batch, progress);
  const double warm_fraction = request.warmup_s / (request.warmup_s + request.seconds);
  loop.Start();
  if (request.warmup_s > 0)
    watch.Run({request.warmup_s, static_cast<uint64_t>(timing->requests_in_flight), 0,
               warm_fraction, "warm-up"});
  watch.TakeLines();
  const Clock::time_point begin = Clock::now();
  const double cpu_begin_s = ProcessCpuSeconds();
  watch.Run({request.seconds, kMinInferences, warm_fraction, 1, "timing"});
  const Clock::time_point end = Clock::now();
  const double cpu_s = ProcessCpuSeconds() - cpu_begin_s;
  loop.Stop();
  if (loop.failed()) return InternalError("inference failed: " + MeaningfulLine(loop.error()));
  if (samples != nullptr)
    SG_RETURN_IF_ERROR(samples->Close(Interrupted() ? "interrupt" : "duration"));
  if (Interrupted()) return InterruptedError();
  Summarise(loop.CompletedWithin(begin, end), Seconds(end - begin), cpu_s, timing);
  return watch.TakeLines();
}

}  // namespace

Result<EngineTiming> TimeEngine(LoadedEngine& engine, const TimeRequest& request,
                                const ProgressFn& progress) {
  const auto& batches = engine.batches();
  if (std::find(batches.begin(), batches.end(), request.batch) == batches.end())
    return UserError(fmt::format("{}: holds batch {}, and batch {} was asked for",
                                 engine.artifact().path, fmt::join(batches, " and "),
                                 request.batch));
  if (!(request.seconds > 0 && request.warmup_s >= 0))
    return UserError(
        fmt::format("the time to measure ({} s) must be above 0, and the warm-up ({} s) "
                    "not below",
                    request.seconds, request.warmup_s));
  EngineTiming timing;
  timing.batch = request.batch;
  timing.log_path = request.log_path;
  try {
    timing.requests_in_flight = request.requests_in_flight > 0
                                    ? request.requests_in_flight
                                    : RequestsInFlight(engine, request.batch);
    SG_ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                        Measure(engine, request, progress, &timing));
    if (!request.log_path.empty())
      SG_RETURN_IF_ERROR(
          WriteFileAtomic(request.log_path, LogText(engine, timing, request.warmup_s, lines)));
  } catch (const std::exception& e) {
    return InternalError("timing the engine: " + MeaningfulLine(e.what()));
  }
  return timing;
}

}  // namespace sg::openvino
