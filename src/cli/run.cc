// streamgauge run: runs a pipeline and measures it: unpaced, paced like cameras, or searching for
// the most streams that hold.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <set>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/measured_run.h"
#include "cli/run_output.h"
#include "engine/engine.h"
#include "measure/run_result.h"
#include "pipeline/launch.h"
#include "pipeline/run_job.h"
#include "trace/element_times.h"
#include "trace/trace_reader.h"
#include "trace/trace_views.h"

namespace sg {
namespace {

constexpr double kEngineSeconds = 5;

struct RunOptions {
  CommonFlags common;
  std::string pipeline;
  std::string out;
  std::vector<std::string> videos;
  std::string tap;
  int streams = 1;
  int batch = 0;  ///< 0: the engine's MAX
  int starts = 3;
  bool loop = false;
  bool trace = false;
  bool capacity = false;
  int max_streams = 256;
  PaceOptions pace;
  double time_limit_s = 60;
  double try_s = 15;
  double soak_min = 0;
  double late_after_ms = 0;
  std::optional<double> latency_p99_ms;
};

/// An imported model, as what its streams run through.
struct Model {
  std::string name;
  std::string infer_config;
  std::string engine_file;
  int max_batch = 1;
};

/// A part to run; the job's launch, streams and sources depend on it.
struct PartPlan {
  RunPart part;
  double seconds = 0;
  bool until_precise = false;
  std::string title;
};

class Session {
 public:
  Session(const RunOptions& options, const Console& console)
      : options_(options), console_(console) {}

  Status Prepare();
  void SayPlan() const;
  Status Open();
  Status Measure();
  const std::string& folder() const { return run_->folder(); }

 private:
  Status FindModel();
  Status ReadLaunch();
  Status AddInputs(RunFolder* run) const;
  RunJob JobOf(const PartPlan& plan) const;
  LaunchPlan LaunchOf(const RunPart& part) const;
  /// Beside the part's samples: part01_peak.sgtrace.
  std::string TracePathOf(const RunPart& part) const {
    return run_->Path(part.samples.substr(0, part.samples.find('.')) + ".sgtrace");
  }
  Status SayTrace(const RunPart& part);
  Status RunOne(const PartPlan& plan);
  Status MeasurePeak(int starts);
  Status MeasureEngine();
  Status MeasurePaced(int streams, double seconds, const std::string& role);
  Status SearchCapacity();

  const RunOptions& options_;
  const Console& console_;
  std::optional<Model> model_;
  std::string launch_;  ///< without a model
  std::vector<VideoInfo> videos_;
  std::optional<MeasuredRun> run_;
  int parts_ = 0;
};

Status Session::Prepare() {
  const bool is_model = FolderExists(options_.pipeline);
  SG_RETURN_IF_ERROR(is_model ? FindModel() : ReadLaunch());
  if (!is_model && options_.capacity)
    return UserError(
        "--capacity needs models/NAME: a pipeline's text has its own number of sources; ask with "
        "--pace whether it holds");
  if (is_model && options_.videos.empty())
    return UserError("name the clip that the streams play: --video FILE");
  for (const std::string& video : options_.videos) {
    SG_ASSIGN_OR_RETURN(const VideoInfo info, ProbeVideo(video));
    videos_.push_back(info);
  }
  return OkStatus();
}

Status Session::FindModel() {
  Model model;
  model.name = ImportedModelName(options_.pipeline);
  const std::string folder = AbsolutePath(options_.pipeline);
  model.infer_config = JoinPath(folder, "benchmarks/ds/config_infer_ds_" + model.name + ".txt");
  if (model.name.empty() || !FileExists(model.infer_config))
    return UserError(options_.pipeline +
                     ": is not a folder that streamgauge import finished; name one, or give a "
                     "pipeline's text or a file with it");
  SG_ASSIGN_OR_RETURN(const std::string config, ReadFile(model.infer_config));
  const std::string mark = model.name + "_dynamic_b";
  const size_t at = config.find(mark);
  if (at == std::string::npos)
    return UserError(model.infer_config + ": names no engine " + mark +
                     "…; import the model again");
  const char* digits = config.data() + at + mark.size();
  std::from_chars(digits, config.data() + config.size(), model.max_batch);
  model.engine_file =
      JoinPath(folder, fmt::format("benchmarks/engines/{}{}.blob", mark, model.max_batch));
  if (!FileExists(model.engine_file))
    return UserError(model.engine_file + ": is missing; import the model again");
  model_ = model;
  return OkStatus();
}

Status Session::ReadLaunch() {
  launch_ = options_.pipeline;
  if (FileExists(options_.pipeline)) {
    SG_ASSIGN_OR_RETURN(launch_, ReadFile(options_.pipeline));
    std::replace(launch_.begin(), launch_.end(), '\n', ' ');
  } else if (launch_.find('!') == std::string::npos) {
    return UserError(
        options_.pipeline +
        ": is neither a file, nor a models/NAME folder, nor a pipeline's text (a ! b)");
  }
  if (!options_.videos.empty())
    return UserError("--video goes with models/NAME; a pipeline's text has its own sources");
  return OkStatus();
}

void Session::SayPlan() const {
  const std::string what = model_ ? options_.pipeline : launch_;
  if (options_.capacity)
    console_.Say(fmt::format("would search for the most streams of {} that hold {:g} fps", what,
                             options_.pace.fps));
  else
    console_.Say(fmt::format("would run {}{}", MaskSecrets(what),
                             options_.pace.fps > 0
                                 ? fmt::format(", paced at {:g} fps", options_.pace.fps)
                                 : " as fast as it goes"));
}

Status Session::AddInputs(RunFolder* run) const {
  if (model_) {
    for (const auto& [role, path] :
         {std::pair<std::string, std::string>("nvinfer config", model_->infer_config),
          std::pair<std::string, std::string>("engine", model_->engine_file)}) {
      SG_ASSIGN_OR_RETURN(const RunInput input, DescribeInput(role, path));
      run->inputs.push_back(input);
    }
  } else {
    const std::string masked = MaskSecrets(launch_);
    run->inputs.push_back({"pipeline", masked, Sha256(masked), masked.size()});
  }
  for (const std::string& video : options_.videos) {
    SG_ASSIGN_OR_RETURN(const RunInput input, DescribeInput("video", video));
    run->inputs.push_back(input);
  }
  return OkStatus();
}

Status Session::Open() {
  RunFolder description;
  description.kind = "run";
  description.name = model_ ? model_->name : "pipeline";
  description.options = {
      {"streams", options_.streams},
      {"batch", options_.batch},
      {"pace_fps", options_.pace.fps},
      {"jitter_ms", options_.pace.jitter_ms},
      {"seed", options_.pace.seed},
      {"time_limit_s", options_.time_limit_s},
      {"try_s", options_.try_s},
      {"starts", options_.starts},
      {"search", options_.capacity},
      {"most_streams", options_.max_streams},
      {"first_streams", 1},
      {"late_after_ms", options_.late_after_ms},
      {"latency_p99_ms", options_.latency_p99_ms ? Json(*options_.latency_p99_ms) : Json()},
      {"soak_min", options_.soak_min}};
  SG_RETURN_IF_ERROR(AddInputs(&description));
  SG_ASSIGN_OR_RETURN(MeasuredRun run, MeasuredRun::Create(options_.out, description));
  run_.emplace(std::move(run));
  return OkStatus();
}

LaunchPlan Session::LaunchOf(const RunPart& part) const {
  LaunchPlan launch;
  for (int i = 0; i < part.streams; ++i)
    launch.sources.push_back(videos_[static_cast<size_t>(i) % videos_.size()]);
  launch.batch_size = part.batch;
  launch.infer_config_path = model_->infer_config;
  // Cameras do not wait for each other: half a period, then the batch goes with what is there.
  constexpr double kHalfPeriodUs = 0.5e6;
  if (part.pace_fps > 0)
    launch.batched_push_timeout_us = static_cast<int64_t>(kHalfPeriodUs / part.pace_fps);
  return launch;
}

RunJob Session::JobOf(const PartPlan& plan) const {
  RunJob job;
  job.samples_path = run_->Path(plan.part.samples);
  if (options_.trace) job.trace_path = TracePathOf(plan.part);
  job.measure_s = plan.seconds;
  job.pace = options_.pace;
  job.pace.fps = plan.part.pace_fps;
  if (model_) {
    const LaunchPlan launch = LaunchOf(plan.part);
    job.launch = LaunchString(launch);
    job.tap = "tap";
    job.streams = plan.part.streams;
    for (const VideoInfo& video : launch.sources) job.sources.push_back(video.path);
    job.loop = true;
  } else {
    job.launch = launch_;
    job.tap = options_.tap;
    job.streams = 0;
    job.loop = options_.loop;
  }
  return job;
}

/// Runs one start and adds it to the folder. A pipeline that stalls after its first frames is a
/// result; any other failure is an error.
Status Session::RunOne(const PartPlan& plan) {
  if (Interrupted()) return InterruptedError();
  PartPlan named = plan;
  RunPart& part = named.part;
  part.samples = fmt::format("part{:02}_{}.samples.jsonl", ++parts_, part.role);
  const RunJob job = JobOf(named);
  const PeakRules rules = PeakRulesOf(run_->run());
  Progress progress(console_.progress_mode(), plan.title);
  double looked_s = 0;
  const Result<RunOutcome> outcome = RunPipelineWhile(job, [&](double elapsed_s, uint64_t frames) {
    progress.Update(
        elapsed_s / plan.seconds,
        fmt::format("{:.0f} fps", static_cast<double>(frames) / std::max(elapsed_s, 1e-3)));
    if (!plan.until_precise || elapsed_s < looked_s + 1) return true;
    looked_s = elapsed_s;
    const auto looks = LookTimes(static_cast<double>(rules.least_windows), rules.time_limit_s);
    const bool due = std::any_of(looks.begin(), looks.end(), [&](double look_s) {
      return look_s <= elapsed_s && look_s > elapsed_s - 2;
    });
    if (!due) return true;
    const Result<RunRecord> record = ReadSamples(job.samples_path);
    return !record.ok() || !AskPeakStart(*record, rules, elapsed_s).now;
  });
  if (!outcome.ok()) {
    const Result<RunRecord> record = ReadSamples(job.samples_path);
    const bool began = record.ok() && !record->frames.empty();
    if (outcome.error().kind != ErrorKind::kUser || !began) return outcome.error();
    part.failure = outcome.error().message;
  } else {
    part.warnings = outcome->warnings;
    part.streams = static_cast<int>(outcome->frames.size());
  }
  SG_RETURN_IF_ERROR(run_->Add(part));
  if (options_.trace) SG_RETURN_IF_ERROR(SayTrace(part));
  return Interrupted() ? Status(InterruptedError()) : OkStatus();
}

/// The elements that held their threads most, on the terminal and in run.json.
Status Session::SayTrace(const RunPart& part) {
  constexpr size_t kElements = 3;
  const std::string path = TracePathOf(part);
  const Result<trace::TraceFile> file = trace::TraceFile::Open(path);
  if (!file.ok())
    return run_->AddNote(fmt::format("{} has no trace: {}", part.samples, file.error().message));
  const trace::ElementTimes times = trace::MeasureElements(*file);
  for (const std::string& line : trace::TopElements(times, kElements)) {
    console_.Say("  " + line);
    SG_RETURN_IF_ERROR(run_->AddNote(BaseName(path) + ": " + line));
  }
  console_.Say("  more: streamgauge trace " + path);
  return OkStatus();
}

Status Session::MeasurePeak(int starts) {
  for (int i = 1; i <= starts; ++i) {
    PartPlan plan;
    plan.part.role = "peak";
    plan.part.streams = options_.streams;
    plan.part.batch = model_ ? (options_.batch > 0 ? options_.batch : model_->max_batch) : 0;
    // As fast as they go, more sources than a batch holds only wait.
    if (options_.capacity) plan.part.streams = plan.part.batch;
    plan.part.round = i;
    plan.seconds = options_.time_limit_s;
    plan.until_precise = true;
    plan.title = fmt::format("Unpaced, start {} of {}", i, starts);
    SG_RETURN_IF_ERROR(RunOne(plan));
  }
  return OkStatus();
}

Status Session::MeasureEngine() {
  RunPart part;
  part.role = "engine";
  part.batch = model_->max_batch;
  part.samples = fmt::format("part{:02}_engine.samples.jsonl", ++parts_);
  SG_ASSIGN_OR_RETURN(const EngineArtifact artifact, ReadSidecar(model_->engine_file));
  SampledTiming timing;
  timing.batch = part.batch;
  timing.seconds = kEngineSeconds;
  timing.samples_path = run_->Path(part.samples);
  EngineArtifact here = artifact;
  here.path = model_->engine_file;
  Progress progress(console_.progress_mode(), "The engine alone");
  SG_ASSIGN_OR_RETURN(
      const EngineTiming timed,
      MakeOpenVinoEngine()->Sample(here, timing, [&](double fraction, const std::string& note) {
        progress.Update(fraction, note);
      }));
  part.requests = timed.requests_in_flight;
  return run_->Add(part);
}

Status Session::MeasurePaced(int streams, double seconds, const std::string& role) {
  PartPlan plan;
  plan.part.role = role;
  plan.part.streams = streams;
  plan.part.batch = model_ ? (options_.batch > 0 ? options_.batch : model_->max_batch) : 0;
  plan.part.pace_fps = options_.pace.fps;
  plan.seconds = seconds;
  plan.title =
      fmt::format("{} stream{}{}", streams, streams == 1 ? "" : "s",
                  options_.pace.fps > 0 ? fmt::format(" at {:g} fps", options_.pace.fps) : "");
  return RunOne(plan);
}

/// The tries so far are judged from their samples each time, so that `report` finds the same.
Status Session::SearchCapacity() {
  while (true) {
    SG_ASSIGN_OR_RETURN(const LoadedRun loaded, LoadRun(folder()));
    const auto next = ReplaySearch(loaded).Next();
    if (!next) return OkStatus();
    SG_RETURN_IF_ERROR(MeasurePaced(next->streams,
                                    next->confirm ? options_.time_limit_s : options_.try_s,
                                    next->confirm ? "confirm" : "try"));
    SG_ASSIGN_OR_RETURN(const LoadedRun after, LoadRun(folder()));
    SG_ASSIGN_OR_RETURN(const RunResult result, EvaluateRun(after));
    const PacedPart& last = result.paced.back();
    const bool holds = last.verdict && last.verdict->holds;
    std::string why = last.failure;
    if (last.verdict)
      for (const RuleOutcome& rule : last.verdict->rules)
        if (!rule.holds && why.empty())
          why = fmt::format("{} is {:.4g} {}, limit {:.4g} ({})", rule.rule, rule.value, rule.unit,
                            rule.limit, rule.where);
    console_.Say(fmt::format("{} streams: {}{}", next->streams,
                             holds ? "hold" : "do not hold: ", holds ? "" : why));
  }
}

Status Session::Measure() {
  if (options_.capacity) {
    SG_RETURN_IF_ERROR(MeasureEngine());
    SG_RETURN_IF_ERROR(MeasurePeak(1));
    SG_RETURN_IF_ERROR(SearchCapacity());
  } else if (options_.pace.fps > 0 && options_.soak_min <= 0) {
    SG_RETURN_IF_ERROR(MeasurePaced(options_.streams, options_.time_limit_s, "fixed"));
  } else if (options_.soak_min <= 0) {
    SG_RETURN_IF_ERROR(MeasurePeak(options_.starts));
  }
  if (options_.soak_min <= 0) return OkStatus();
  constexpr double kSPerMin = 60;
  int streams = options_.streams;
  if (options_.capacity) {
    SG_ASSIGN_OR_RETURN(const LoadedRun loaded, LoadRun(folder()));
    streams = std::max(1, ReplaySearch(loaded).capacity());
  }
  return MeasurePaced(streams, kSPerMin * options_.soak_min, "soak");
}

Status RunAndMeasure(RunOptions options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  if (options.common.engine == "deepstream")
    return UnsupportedError("--engine deepstream: this version runs the embedded engine only");
  constexpr double kRealTime = 30;
  if (options.capacity && options.pace.fps <= 0) options.pace.fps = kRealTime;
  if (options.pace.fps <= 0 && (options.latency_p99_ms || options.late_after_ms > 0))
    return UserError("--latency-p99 and --late need frames that are due: add --pace FPS");
  Session session(options, console);
  SG_RETURN_IF_ERROR(session.Prepare());
  if (options.common.dry_run) {
    session.SayPlan();
    return OkStatus();
  }
  SG_RETURN_IF_ERROR(session.Open());
  const Status measured = session.Measure();
  const bool interrupted = !measured.ok() && measured.error().kind == ErrorKind::kInterrupted;
  if (!measured.ok() && !interrupted) return measured;
  SG_RETURN_IF_ERROR(WriteResults(session.folder(), console, options.common.json));
  if (interrupted) return measured;
  SG_ASSIGN_OR_RETURN(const LoadedRun loaded, LoadRun(session.folder()));
  SG_ASSIGN_OR_RETURN(const RunResult result, EvaluateRun(loaded));
  return result.holds ? OkStatus() : Status(GateError(result.verdict));
}

void AddSourceOptions(CLI::App* command, RunOptions* options) {
  command
      ->add_option("pipeline", options->pipeline,
                   "A gst-launch text, a file with one, or models/NAME")
      ->required();
  command->add_option("--video", options->videos, "Clip of the streams of models/NAME; repeatable");
  command->add_option("--streams", options->streams, "Streams of models/NAME")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--batch", options->batch, "Batch of models/NAME (default: its MAX)")
      ->check(CLI::Range(1, 1024));
  command->add_option("--tap", options->tap,
                      "Element where frames are counted (default: the sink)");
  command->add_flag("--loop", options->loop,
                    "Sources of a pipeline's text start again at their end");
  command->add_flag("--trace", options->trace,
                    "Record where the time of every element goes, and say the first three");
  command->add_option("--out", options->out, "Run folder (default: runs/run-NAME-TIME)");
}

void AddMeasureOptions(CLI::App* command, RunOptions* options) {
  command->add_option("--pace", options->pace.fps, "Each source gives so many frames a second")
      ->check(CLI::Range(0.1, 1000.0));
  command->add_option("--jitter", options->pace.jitter_ms, "ms that frames may be due off schedule")
      ->check(CLI::Range(0.0, 10000.0));
  command->add_option("--seed", options->pace.seed, "Of the jitter")->capture_default_str();
  command->add_flag("--capacity", options->capacity,
                    "Search for the most streams that hold the pace (default 30 fps)");
  command->add_option("--max-streams", options->max_streams, "Where the search ends")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command
      ->add_option("--latency-p99", options->latency_p99_ms,
                   "ms that the 99th percentile of every stream must keep")
      ->check(CLI::Range(0.1, 1e6));
  command
      ->add_option("--late", options->late_after_ms,
                   "ms after which a frame is late (default: three frame periods)")
      ->check(CLI::Range(0.1, 1e6));
  command
      ->add_option("--duration", options->time_limit_s,
                   "Seconds of a paced run, and at most of an unpaced start")
      ->check(CLI::Range(3.0, 86400.0))
      ->capture_default_str();
  command->add_option("--try", options->try_s, "Seconds of each try of the search")
      ->check(CLI::Range(3.0, 86400.0))
      ->capture_default_str();
  command->add_option("--starts", options->starts, "Unpaced starts; compare needs three or more")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--soak", options->soak_min, "Minutes of a run that tests memory for growth")
      ->check(CLI::Range(0.5, 10080.0));
}

}  // namespace

void AddRunCommand(CLI::App* app, CommandRun* run) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app->add_subcommand(
      "run", "Run a pipeline and measure it: fps per stream, latency, capacity");
  AddSourceOptions(command, options.get());
  AddMeasureOptions(command, options.get());
  AddCommonFlags(command, &options->common);
  command->callback([options, run] { *run = [options] { return RunAndMeasure(*options); }; });
}

}  // namespace sg
