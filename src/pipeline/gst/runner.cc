#include "pipeline/gst/runner.h"

#include <fmt/format.h>
#include <gst/pbutils/missing-plugins.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <future>
#include <optional>
#include <thread>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/process_sampler.h"
#include "base/processor.h"
#include "base/samples_writer.h"
#include "pipeline/gst/batch_meta.h"
#include "pipeline/gst/gst_error.h"
#include "pipeline/gst/pipeline_shape.h"
#include "pipeline/gst/source_branches.h"
#include "pipeline/gst/tap.h"

namespace sg {
namespace {

constexpr GstClockTime kTick = 20 * GST_MSECOND;
constexpr int64_t kNsPerS = 1'000'000'000;
constexpr std::chrono::seconds kStopWithin{3};
constexpr size_t kMaxWarnings = 20;

double Seconds(int64_t ns) { return static_cast<double>(ns) / kNsPerS; }
int64_t Nanoseconds(double seconds) { return static_cast<int64_t>(seconds * kNsPerS); }

/// Changes the state on a thread of its own, because an element may block in it for ever (a file on
/// a dead network mount). The thread is abandoned when that happens.
class StateChange {
 public:
  StateChange(GstElement* pipeline, GstState state) {
    std::packaged_task<GstStateChangeReturn()> task(
        [owned = GST_ELEMENT(gst_object_ref(pipeline)), state] {
          const GstStateChangeReturn result = gst_element_set_state(owned, state);
          gst_object_unref(owned);
          return result;
        });
    result_ = task.get_future();
    std::thread(std::move(task)).detach();
  }
  bool DoneWithin(std::chrono::milliseconds wait) {
    return result_.wait_for(wait) == std::future_status::ready;
  }
  bool failed() { return result_.get() == GST_STATE_CHANGE_FAILURE; }

 private:
  std::future<GstStateChangeReturn> result_;
};

/// Members in the order they come into play.
class Run {
 public:
  Run(const RunJob& job, const std::function<void(const Json&)>& emit) : job_(job), emit_(emit) {}

  Result<RunOutcome> Go();
  /// Call once, after Go.
  void Stop();
  /// The pipeline did not stop: its threads go on using this object.
  bool abandoned() const { return abandoned_; }

 private:
  Status Prepare();
  /// Plays until one of the ends; returns RunOutcome::ended_by.
  Result<std::string> Play();
  Result<RunOutcome> Finish(const std::string& ended_by);
  int64_t NowNs() const { return static_cast<int64_t>(MonotonicNs() - start_ns_); }
  Status OpenSamples();
  /// Reads the bus for at most one tick; true at the end of all streams.
  Result<bool> ReadBus();
  Error WithMissingPlugin(Error error) const;
  std::string EosReason() const;
  /// The name of what ended the run by now; empty while it goes on.
  std::string EndReached() const;
  Status CheckHealth();
  Error StallError() const;
  void SampleSecond();
  /// Warns of a source that gives nothing while others go on.
  void WarnOfStarvedSources(int64_t now_ns);
  void Warn(const std::string& line);

  RunJob job_;  ///< with the tap and the streams found
  const std::function<void(const Json&)>& emit_;
  const uint64_t start_ns_ = MonotonicNs();
  GstOwned<GstElement> pipeline_;
  GstOwned<GstBus> bus_;
  std::vector<std::string> clock_paced_sinks_;
  std::unique_ptr<SamplesWriter> samples_;
  std::unique_ptr<Tap> tap_;
  std::unique_ptr<SourceBranches> branches_;
  std::unique_ptr<StateChange> starting_;
  int64_t playing_ns_ = 0;
  int64_t next_second_ns_ = 0;
  std::string missing_plugin_;
  struct Progress {
    uint64_t frames = 0;
    int64_t since_ns = 0;
  };
  std::vector<Progress> progress_;  ///< per stream: what its branch had delivered, and since when
  std::vector<std::string> warnings_;
  bool running_ = false;
  bool abandoned_ = false;
};

Result<RunOutcome> Run::Go() {
  SG_RETURN_IF_ERROR(Prepare());
  SG_ASSIGN_OR_RETURN(const std::string ended_by, Play());
  return Finish(ended_by);
}

Status Run::Prepare() {
  SG_ASSIGN_OR_RETURN(pipeline_, ParsePipeline(job_.launch));
  bus_.reset(gst_element_get_bus(pipeline_.get()));
  GstBin* bin = GST_BIN(pipeline_.get());
  const GstOwned<GstElement> mux(FindMux(bin));
  SG_ASSIGN_OR_RETURN(const GstOwned<GstElement> tapped, FindTap(bin, job_.tap));
  if (job_.tap.empty()) job_.tap = GST_OBJECT_NAME(tapped.get());
  if (job_.streams == 0) job_.streams = CountSources(mux.get(), job_.launch);
  job_.NameStreams();
  clock_paced_sinks_ = ClockPacedSinks(bin);
  if (!job_.samples_path.empty()) SG_RETURN_IF_ERROR(OpenSamples());
  tap_ = std::make_unique<Tap>(job_.streams, start_ns_, samples_.get());
  if (!tap_->Attach(tapped.get()))
    return UserError("pipeline: \"" + job_.tap + "\" has no sink pad to count frames at");
  if (mux != nullptr) {
    branches_ = std::make_unique<SourceBranches>(
        job_.streams, BranchOptions{job_.loop, job_.max_frames, job_.pace});
    branches_->Attach(mux.get());
  } else if (job_.loop || job_.max_frames > 0 || job_.pace.fps > 0) {
    return UserError(
        "pipeline: has no sgmux and no element named \"mux\", so its sources cannot be started "
        "again, limited or paced");
  }
  return OkStatus();
}

Status Run::OpenSamples() {
  std::vector<std::string> streams;
  for (const std::string& source : job_.sources) streams.push_back(MaskSecrets(source));
  const std::string launch = MaskSecrets(job_.launch);
  SG_ASSIGN_OR_RETURN(
      samples_,
      SamplesWriter::Open(job_.samples_path,
                          {{"streams", streams},
                           {"clock", "CLOCK_MONOTONIC, nanoseconds since the run's start"},
                           {"launch", launch},
                           {"launch_sha256", Sha256(launch)},
                           {"tap", job_.tap},
                           {"loop", job_.loop},
                           {"warmup_s", job_.warmup_s},
                           {"measure_s", job_.measure_s},
                           {"max_frames", job_.max_frames},
                           {"pace_fps", job_.pace.fps},
                           {"jitter_ms", job_.pace.jitter_ms},
                           {"seed", job_.pace.seed},
                           {"clock_paced_sinks", clock_paced_sinks_},
                           {"cores", UsableCores()}}));
  return OkStatus();
}

Result<std::string> Run::Play() {
  running_ = true;
  SampleSecond();
  starting_ = std::make_unique<StateChange>(pipeline_.get(), GST_STATE_PLAYING);
  while (true) {
    SG_ASSIGN_OR_RETURN(const bool eos, ReadBus());
    if (starting_ != nullptr && starting_->DoneWithin(std::chrono::milliseconds(0))) {
      const bool failed = starting_->failed();
      starting_.reset();
      playing_ns_ = NowNs();
      if (failed) {
        SG_ASSIGN_OR_RETURN([[maybe_unused]] const bool late_eos, ReadBus());
        return InternalError("pipeline: could not be started, and no element said why");
      }
    }
    if (eos) return EosReason();
    if (const std::string end = EndReached(); !end.empty()) return end;
    SG_RETURN_IF_ERROR(CheckHealth());
    if (NowNs() >= next_second_ns_) SampleSecond();
  }
}

Result<bool> Run::ReadBus() {
  const auto wanted = static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING |
                                                  GST_MESSAGE_EOS | GST_MESSAGE_ELEMENT);
  GstClockTime wait = kTick;
  while (GstMessage* message = gst_bus_timed_pop_filtered(bus_.get(), wait, wanted)) {
    wait = 0;
    std::optional<Error> error;
    bool eos = false;
    switch (GST_MESSAGE_TYPE(message)) {
      case GST_MESSAGE_ERROR:
        error = WithMissingPlugin(ErrorFromMessage(message));
        break;
      case GST_MESSAGE_WARNING:
        Warn(WarningFromMessage(message));
        break;
      case GST_MESSAGE_EOS:
        eos = true;
        break;
      default:
        if (gst_is_missing_plugin_message(message)) {
          gchar* description = gst_missing_plugin_message_get_description(message);
          missing_plugin_ = description;
          g_free(description);
        }
    }
    gst_message_unref(message);
    if (error) return *error;
    if (eos) return true;
  }
  return false;
}

Error Run::WithMissingPlugin(Error error) const {
  if (missing_plugin_.empty()) return error;
  return EnvironmentError(error.message + "; missing: " + missing_plugin_ +
                          "; apt install gstreamer1.0-libav gstreamer1.0-plugins-bad");
}

std::string Run::EosReason() const {
  for (int i = 0; branches_ != nullptr && i < job_.streams; ++i)
    if (branches_->ended_by_limit(i)) return "frames";
  return "eos";
}

std::string Run::EndReached() const {
  if (Interrupted()) return "interrupt";
  const int64_t first_ns = tap_->first_arrival_ns();
  if (job_.measure_s > 0 && first_ns >= 0 &&
      NowNs() >= first_ns + Nanoseconds(job_.warmup_s + job_.measure_s))
    return "duration";
  return "";
}

Status Run::CheckHealth() {
  if (samples_ != nullptr && !samples_->ok()) return samples_->Close("error");
  for (int i = 0; branches_ != nullptr && i < job_.streams; ++i)
    if (const std::string failure = branches_->failure(i); !failure.empty())
      return UserError(MaskSecrets(job_.sources[static_cast<size_t>(i)]) + ": " + failure);
  if (NowNs() - std::max(tap_->last_arrival_ns(), playing_ns_) > Nanoseconds(job_.stall_s))
    return StallError();
  return OkStatus();
}

Error Run::StallError() const {
  const std::string waited = fmt::format("for {:g} s", job_.stall_s);
  if (starting_ != nullptr)
    return EnvironmentError("pipeline: is still starting after " + waited.substr(4) +
                            "; a source may be a device or a network file that does not answer");
  if (branches_ == nullptr)
    return EnvironmentError("pipeline: no frame reached \"" + job_.tap + "\" " + waited);
  // A stream whose frames all came through is waiting for its source; if none is, the frames are
  // stuck behind the mux.
  for (int i = 0; i < job_.streams; ++i) {
    if (branches_->ended(i) || branches_->frames(i) > tap_->frames(i)) continue;
    return UserError(MaskSecrets(job_.sources[static_cast<size_t>(i)]) + ": stalled: " +
                     fmt::format("no frame {} after {} frames", waited, branches_->frames(i)));
  }
  return EnvironmentError("pipeline: frames are stuck between \"mux\" and \"" + job_.tap + "\" " +
                          waited);
}

void Run::SampleSecond() {
  const int64_t now_ns = NowNs();
  next_second_ns_ = now_ns + kNsPerS;
  if (samples_ != nullptr) samples_->AddSecond(SampleProcess(now_ns));
  WarnOfStarvedSources(now_ns);
  const int64_t first_ns = tap_->first_arrival_ns();
  emit_({{"event", "second"},
         {"elapsed_s", first_ns < 0 ? 0.0 : Seconds(now_ns - first_ns)},
         {"frames", tap_->total_frames()}});
}

void Run::WarnOfStarvedSources(int64_t now_ns) {
  if (branches_ == nullptr) return;
  progress_.resize(static_cast<size_t>(job_.streams), {0, now_ns});
  for (int i = 0; i < job_.streams; ++i) {
    Progress& progress = progress_[static_cast<size_t>(i)];
    const uint64_t frames = branches_->frames(i);
    if (frames != progress.frames || branches_->ended(i)) progress = {frames, now_ns};
    if (now_ns - progress.since_ns <= Nanoseconds(job_.stall_s)) continue;
    Warn(fmt::format("{}: stalled: no frame for {:g} s after {} frames, while others went on",
                     MaskSecrets(job_.sources[static_cast<size_t>(i)]), job_.stall_s, frames));
  }
}

void Run::Warn(const std::string& line) {
  if (warnings_.size() >= kMaxWarnings) return;
  if (std::find(warnings_.begin(), warnings_.end(), line) == warnings_.end())
    warnings_.push_back(line);
}

void Run::Stop() {
  if (!running_) return;
  running_ = false;
  SampleSecond();
  if (branches_ != nullptr) branches_->BeginStop();
  StateChange stopping(pipeline_.get(), GST_STATE_NULL);
  if (stopping.DoneWithin(kStopWithin)) return;
  Warn("the pipeline did not stop within 3 s and was left behind");
  abandoned_ = true;
}

Result<RunOutcome> Run::Finish(const std::string& ended_by) {
  RunOutcome outcome;
  outcome.ended_by = ended_by;
  const int64_t first_ns = tap_->first_arrival_ns();
  const bool by_clock = ended_by == "duration" || ended_by == "interrupt";
  const int64_t end_ns = by_clock ? NowNs() : tap_->last_arrival_ns();
  outcome.wall_s = first_ns < 0 ? 0 : Seconds(end_ns - first_ns);
  Stop();
  for (int i = 0; i < job_.streams; ++i) {
    outcome.frames.push_back(tap_->frames(i));
    if (outcome.frames.back() == 0)
      Warn(MaskSecrets(job_.sources[static_cast<size_t>(i)]) + ": gave no frame");
  }
  if (const uint64_t strangers = tap_->strangers(); strangers > 0)
    Warn(fmt::format("{} frames were of streams that the job does not have", strangers));
  if (samples_ != nullptr) SG_RETURN_IF_ERROR(samples_->Close(ended_by));
  if (tap_->total_frames() == 0 && ended_by != "interrupt")
    return UserError(MaskSecrets(job_.sources[0]) + ": ended without a single frame");
  outcome.warnings = warnings_;
  return outcome;
}

}  // namespace

Result<RunOutcome> RunPipelineHere(const RunJob& job,
                                   const std::function<void(const Json&)>& emit) {
  auto run = std::make_unique<Run>(job, emit);
  Result<RunOutcome> outcome = run->Go();
  run->Stop();
  if (run->abandoned()) {
    static auto* const left_behind = new std::vector<std::unique_ptr<Run>>();
    left_behind->push_back(std::move(run));
  }
  return outcome;
}

}  // namespace sg
