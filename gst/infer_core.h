// sginfer without GStreamer: pictures in, boxes out, several requests in flight.
//
// Two threads: one submits, the other collects, each flight once and in the order of submission.
//
//  1. A request belongs to the pool, or to exactly one flight. Only the submitting thread takes
//     requests from the pool; whoever holds the flight gives them back.
//  2. A flight's requests are given back one by one as they are collected, or all by its
//  destructor,
//     which waits for those that run. So a request in the pool never runs.
//  3. Submit waits for requests, not for flights: never more than `limit` are out, and limit is at
//     least twice what a batch needs, so that the flights already handed over suffice to go on.
//  4. No lock is held while a request is waited for, preprocessed or parsed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "deepstream/nvinfer_config.h"
#include "gst/infer_engine.h"
#include "gst/infer_postprocess.h"
#include "gst/preprocess.h"

namespace sg {

/// The engine file that the config's model-engine-file stands for: X.engine → X.blob, any other
/// name as it is. kUser when there is none or it does not exist.
Result<std::string> EmbeddedEnginePath(const NvinferConfig& config);

/// The sizes of the requests that `frames` frames run as: as many of the largest batch as are full,
/// the rest one by one (which run side by side). Batches above `batch_size` are not used; 0: all.
std::vector<int> SplitBatch(int frames, const std::vector<int>& engine_batches, int batch_size);

/// Every (interval + 1)-th batch is inferred, the first one included.
class IntervalCounter {
 public:
  explicit IntervalCounter(unsigned interval) : interval_(interval) {}
  bool Next() {
    const bool infer = skipped_ == interval_ || first_;
    skipped_ = infer ? 0 : skipped_ + 1;
    first_ = false;
    return infer;
  }

 private:
  unsigned interval_;
  unsigned skipped_ = 0;
  bool first_ = true;
};

struct InferStats {
  uint64_t frames = 0;      ///< submitted, skipped ones and those without a picture included
  uint64_t inferences = 0;  ///< frames that were inferred
  uint64_t unusable = 0;    ///< frames without a picture
  uint64_t requests_in_flight = 0;
  uint64_t preprocess_ns = 0;   ///< wall time of the submitting thread, preprocessing
  uint64_t submit_wait_ns = 0;  ///< the same, waiting for a free request
  uint64_t wait_ns = 0;         ///< wall time of the collecting thread, waiting for inference
  uint64_t postprocess_ns = 0;  ///< the same, parsing and clustering
};

struct InferFrame {
  /// None: the frame passes without boxes.
  std::optional<Picture> picture;
  int mux_width = 0;
  int mux_height = 0;
};

struct FrameResult {
  bool inferred = false;
  std::vector<Box> boxes;  ///< in the mux space
};

class InferCore {
 public:
  /// A batch on its way. May be destroyed by any thread, before the core.
  class Flight {
   public:
    ~Flight();
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

   private:
    friend class InferCore;
    struct Part {
      int batch = 0;
      std::unique_ptr<InferRequest> request;  ///< null once given back
      std::vector<size_t> frames;             ///< index of each slot's frame
    };
    explicit Flight(InferCore* core) : core_(core) {}

    InferCore* const core_;
    std::vector<FrameSpace> spaces_;  ///< of each frame
    std::vector<Part> parts_;
  };

  /// `config` names what is done; see EmbeddedEnginePath for the engine.
  static Result<std::unique_ptr<InferCore>> Create(const NvinferConfig& config,
                                                   std::unique_ptr<InferEngine> engine);

  /// Preprocesses and starts the frames; their planes are not read after the call. Waits while too
  /// many requests are out. kInterrupted while stopped.
  Result<std::unique_ptr<Flight>> Submit(const std::vector<InferFrame>& frames);

  /// Counts a frame that is passed on without Submit.
  void CountSkipped(size_t frames) { frames_ += frames; }

  /// Waits for the flight's results: one for each frame, in their order.
  Result<std::vector<FrameResult>> Collect(Flight& flight);

  /// While stopped, Submit returns at once, also one that waits now.
  void SetStopped(bool stopped);

  InferStats stats() const;
  const std::vector<std::string>& labels() const { return postprocessor_.labels(); }
  /// Batches of `frames` frames that can be in flight at the same time, at least 2.
  size_t FlightsInFlight(size_t frames);

 private:
  InferCore(std::unique_ptr<InferEngine> engine, const Preprocessor::Options& options,
            Postprocessor postprocessor, int batch_size);
  Result<std::unique_ptr<InferRequest>> Take(int batch, size_t needed);
  void GiveBack(int batch, std::unique_ptr<InferRequest> request);
  Status StartPart(const std::vector<InferFrame>& frames, size_t needed, Flight::Part* part,
                   std::vector<FrameSpace>* spaces);

  const std::unique_ptr<InferEngine> engine_;  ///< outlives all requests
  const int batch_size_;
  std::map<int, size_t> limits_;  ///< batch → requests wanted in flight
  Preprocessor preprocessor_;     ///< submitting thread
  Postprocessor postprocessor_;   ///< collecting thread

  mutable std::mutex mutex_;
  std::condition_variable given_back_;
  std::map<int, std::vector<std::unique_ptr<InferRequest>>> pool_;  ///< by batch
  size_t out_ = 0;                                                  ///< requests with flights
  bool stopped_ = false;

  std::atomic<uint64_t> frames_ = 0;
  std::atomic<uint64_t> inferences_ = 0;
  std::atomic<uint64_t> unusable_ = 0;
  std::atomic<uint64_t> preprocess_ns_ = 0;
  std::atomic<uint64_t> submit_wait_ns_ = 0;
  std::atomic<uint64_t> wait_ns_ = 0;
  std::atomic<uint64_t> postprocess_ns_ = 0;
};

}  // namespace sg
