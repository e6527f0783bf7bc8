#include "gst/infer_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/files.h"

namespace sg {
namespace {

// Requests in flight for each stream of the engine: one runs while the next one is already there.
constexpr size_t kRequestsPerStream = 2;

/// Adds the time from construction to destruction.
class StopWatch {
 public:
  explicit StopWatch(std::atomic<uint64_t>* total_ns) : total_ns_(total_ns) {}
  ~StopWatch() {
    *total_ns_ += static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count());
  }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<uint64_t>* const total_ns_;
  const Clock::time_point start_ = Clock::now();
};

Status CheckSupported(const NvinferConfig& config) {
  if (config.network_type != 0) {
    return UnsupportedError(
        fmt::format("network-type={}: only detectors (0) are supported", config.network_type));
  }
  if (config.process_mode != 1) {
    return UnsupportedError(
        fmt::format("process-mode={}: only whole frames (1) are supported", config.process_mode));
  }
  if (config.model_color_format != 0 && config.model_color_format != 1) {
    return UnsupportedError(
        fmt::format("model-color-format={}: only RGB (0) and BGR (1) are supported",
                    config.model_color_format));
  }
  return OkStatus();
}

Status CheckInferDims(const NvinferConfig& config, const InferEngine& engine) {
  if (config.infer_dims.empty()) return OkStatus();
  const std::vector<int> have = {3, engine.input_height(), engine.input_width()};
  if (config.infer_dims == have) return OkStatus();
  return UserError(fmt::format("infer-dims={}, but the engine takes {}",
                               fmt::join(config.infer_dims, ";"), fmt::join(have, ";")));
}

ResizeMode ResizeModeOf(const NvinferConfig& config) {
  if (!config.maintain_aspect_ratio) return ResizeMode::kStretch;
  return config.symmetric_padding ? ResizeMode::kLetterboxCentre : ResizeMode::kLetterboxCorner;
}

}  // namespace

Result<std::string> EmbeddedEnginePath(const NvinferConfig& config) {
  if (config.model_engine_file.empty()) {
    return UserError("the config has no model-engine-file; `streamgauge import` writes one");
  }
  std::string path = config.model_engine_file;
  constexpr std::string_view kSuffix = ".engine";
  if (path.ends_with(kSuffix)) path.replace(path.size() - kSuffix.size(), kSuffix.size(), ".blob");
  if (!FileExists(path)) {
    return UserError(fmt::format(
        "{}: no such engine file; `streamgauge import` or `streamgauge engine build` makes it",
        path));
  }
  return path;
}

std::vector<int> SplitBatch(int frames, const std::vector<int>& engine_batches, int batch_size) {
  int largest = 1;
  for (int batch : engine_batches) {
    if (batch_size == 0 || batch <= batch_size) largest = std::max(largest, batch);
  }
  std::vector<int> sizes(frames / largest, largest);
  sizes.insert(sizes.end(), frames % largest, 1);
  return sizes;
}

InferCore::Flight::~Flight() {
  for (Part& part : parts_) {
    if (part.request == nullptr) continue;
    // What a flight that nobody wants would have failed with does not matter.
    (void)part.request->Wait().ok();
    core_->GiveBack(part.batch, std::move(part.request));
  }
}

InferCore::InferCore(std::unique_ptr<InferEngine> engine, const Preprocessor::Options& options,
                     Postprocessor postprocessor, int batch_size)
    : engine_(std::move(engine)),
      batch_size_(batch_size),
      preprocessor_(options),
      postprocessor_(std::move(postprocessor)) {
  for (int batch : engine_->batches()) {
    limits_[batch] = kRequestsPerStream * static_cast<size_t>(std::max(1, engine_->streams(batch)));
  }
}

Result<std::unique_ptr<InferCore>> InferCore::Create(const NvinferConfig& config,
                                                     std::unique_ptr<InferEngine> engine) {
  SG_RETURN_IF_ERROR(CheckSupported(config));
  SG_RETURN_IF_ERROR(CheckInferDims(config, *engine));
  SG_ASSIGN_OR_RETURN(Postprocessor postprocessor, Postprocessor::Create(config, *engine));
  const Preprocessor::Options options = {.network_width = engine->input_width(),
                                         .network_height = engine->input_height(),
                                         .resize = ResizeModeOf(config),
                                         .bgr = config.model_color_format == 1};
  return std::unique_ptr<InferCore>(
      new InferCore(std::move(engine), options, std::move(postprocessor), config.batch_size));
}

Result<std::unique_ptr<InferCore::Flight>> InferCore::Submit(
    const std::vector<InferFrame>& frames) {
  std::unique_ptr<Flight> flight(new Flight(this));
  flight->spaces_.resize(frames.size());
  std::vector<size_t> usable;
  for (size_t i = 0; i < frames.size(); ++i) {
    flight->spaces_[i].mux_width = frames[i].mux_width;
    flight->spaces_[i].mux_height = frames[i].mux_height;
    if (frames[i].picture.has_value()) usable.push_back(i);
  }
  frames_ += frames.size();
  unusable_ += frames.size() - usable.size();
  const std::vector<int> sizes =
      SplitBatch(static_cast<int>(usable.size()), engine_->batches(), batch_size_);
  auto next = usable.begin();
  for (int size : sizes) {
    Flight::Part part;
    part.batch = size;
    part.frames.assign(next, next + size);
    next += size;
    SG_RETURN_IF_ERROR(StartPart(frames, sizes.size(), &part, &flight->spaces_));
    flight->parts_.push_back(std::move(part));
  }
  return flight;
}

Status InferCore::StartPart(const std::vector<InferFrame>& frames, size_t needed,
                            Flight::Part* part, std::vector<FrameSpace>* spaces) {
  SG_ASSIGN_OR_RETURN(part->request, Take(part->batch, needed));
  {
    const StopWatch watch(&preprocess_ns_);
    for (size_t slot = 0; slot < part->frames.size(); ++slot) {
      const size_t frame = part->frames[slot];
      (*spaces)[frame].placement =
          preprocessor_.Run(*frames[frame].picture, part->request->Input(slot));
    }
  }
  Status started = part->request->Start();
  if (!started.ok()) GiveBack(part->batch, std::move(part->request));
  return started;
}

Result<std::vector<FrameResult>> InferCore::Collect(Flight& flight) {
  std::vector<FrameResult> results(flight.spaces_.size());
  std::vector<const void*> outputs(engine_->outputs().size());
  for (Flight::Part& part : flight.parts_) {
    {
      const StopWatch watch(&wait_ns_);
      SG_RETURN_IF_ERROR(part.request->Wait());
    }
    {
      const StopWatch watch(&postprocess_ns_);
      for (size_t slot = 0; slot < part.frames.size(); ++slot) {
        const size_t frame = part.frames[slot];
        for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = part.request->Output(i, slot);
        SG_ASSIGN_OR_RETURN(results[frame].boxes,
                            postprocessor_.Run(outputs, flight.spaces_[frame]));
        results[frame].inferred = true;
      }
    }
    inferences_ += part.frames.size();
    GiveBack(part.batch, std::move(part.request));
  }
  return results;
}

Result<std::unique_ptr<InferRequest>> InferCore::Take(int batch, size_t needed) {
  const size_t limit = std::max(limits_[batch], 2 * needed);
  {
    const StopWatch watch(&submit_wait_ns_);
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [&] { return stopped_ || out_ < limit; });
    if (stopped_) return InterruptedError();
    ++out_;
    auto& free = pool_[batch];
    if (!free.empty()) {
      std::unique_ptr<InferRequest> request = std::move(free.back());
      free.pop_back();
      return request;
    }
  }
  auto made = engine_->NewRequest(batch);
  if (!made.ok()) GiveBack(batch, nullptr);
  return made;
}

void InferCore::GiveBack(int batch, std::unique_ptr<InferRequest> request) {
  {
    const std::lock_guard lock(mutex_);
    --out_;
    if (request != nullptr) pool_[batch].push_back(std::move(request));
  }
  given_back_.notify_one();
}

void InferCore::SetStopped(bool stopped) {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = stopped;
  }
  given_back_.notify_all();
}

InferStats InferCore::stats() const {
  InferStats stats = {.frames = frames_,
                      .inferences = inferences_,
                      .unusable = unusable_,
                      .preprocess_ns = preprocess_ns_,
                      .submit_wait_ns = submit_wait_ns_,
                      .wait_ns = wait_ns_,
                      .postprocess_ns = postprocess_ns_};
  const std::lock_guard lock(mutex_);
  stats.requests_in_flight = out_;
  return stats;
}

size_t InferCore::FlightsInFlight(size_t frames) {
  const std::vector<int> sizes =
      SplitBatch(static_cast<int>(frames), engine_->batches(), batch_size_);
  if (sizes.empty()) return 2;
  return std::max<size_t>(2, (limits_[sizes.front()] + sizes.size() - 1) / sizes.size());
}

}  // namespace sg
