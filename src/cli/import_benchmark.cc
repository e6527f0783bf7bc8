#include "cli/import_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/interrupt.h"
#include "hardware/machine.h"
#include "measure/samples.h"
#include "pipeline/launch.h"

namespace sg {
namespace {

constexpr double kDecodeOnlySeconds = 5;
constexpr double kDecodeOnlyWarmupSeconds = 1;

/// The run's log, in plain text: what ran, each second, each stream.
std::string LogText(const BenchmarkRun& run, const RunRecord& record, const std::string& command) {
  const Window window = MeasuredWindow(record);
  std::string text = fmt::format("streams={} batch={} warmup={:.1f}s measured={:.1f}s\n{}\n\n",
                                 run.streams, run.streams, run.warmup_s, run.measured_s, command);
  const std::vector<double> seconds = FramesPerSecond(record, window.from_s, window.to_s);
  for (size_t i = 0; i < seconds.size(); ++i)
    text += fmt::format("second {:>3}  {:.0f} frames\n", i + 1, seconds[i]);
  text += "\n";
  for (size_t i = 0; i < run.fps.stream_fps.size(); ++i)
    text += fmt::format("stream {:>3}  {:.2f} fps  {} frames\n", i, run.fps.stream_fps[i],
                        run.fps.stream_frames[i]);
  text += fmt::format(
      "\ntotal {:.2f} fps (95 % interval {:.2f} to {:.2f})\nworst stream {} {:.2f} fps\n",
      run.fps.aggregate_fps, run.fps.aggregate_low_fps, run.fps.aggregate_high_fps,
      run.fps.worst_stream, run.fps.worst_fps);
  return text;
}

struct RunPlan {
  int streams = 1;
  std::string infer_config;  ///< empty: no inference
  double warmup_s = 0;
  double measure_s = 0;
  std::string samples;  ///< absolute
  std::string title;
};

/// Runs N looping streams, batch == N, and reads the samples back.
Result<RunRecord> Measure(const ImportContext& context, const RunPlan& plan) {
  const LaunchPlan launch = MakeLaunchPlan(context, plan.streams, plan.infer_config);
  RunJob job;
  job.launch = LaunchString(launch);
  job.tap = "tap";
  job.samples_path = plan.samples;
  job.streams = plan.streams;
  job.sources.assign(static_cast<size_t>(plan.streams), context.video.path);
  job.loop = true;
  job.warmup_s = plan.warmup_s;
  job.measure_s = plan.measure_s;
  const double whole_s = plan.warmup_s + plan.measure_s;
  const ProgressFn progress = context.ProgressLine(plan.title);
  SG_ASSIGN_OR_RETURN(
      const RunOutcome outcome, RunPipeline(job, [&](double elapsed_s, uint64_t frames) {
        progress(elapsed_s / whole_s, fmt::format("{:.0f} fps", static_cast<double>(frames) /
                                                                    std::max(elapsed_s, 1e-3)));
      }));
  if (outcome.ended_by == "interrupt" || Interrupted()) return InterruptedError();
  for (const std::string& warning : outcome.warnings) context.console.Say("Warning: " + warning);
  return ReadSamples(plan.samples);
}

/// One benchmark run; its log and samples get `log_stem` as their name.
Result<BenchmarkRun> RunStreams(const ImportContext& context, int streams,
                                const std::string& log_stem, const std::string& title) {
  BenchmarkRun run;
  run.streams = streams;
  run.warmup_s = context.options.warmup_s;
  run.measured_s = context.options.measure_s;
  run.log = "benchmarks/ds/" + log_stem + ".log";
  run.samples = "benchmarks/ds/" + log_stem + ".samples.jsonl";
  RunPlan plan;
  plan.streams = streams;
  plan.infer_config = context.folder.Path(context.folder.BenchmarkInferConfig());
  plan.warmup_s = run.warmup_s;
  plan.measure_s = run.measured_s;
  plan.samples = context.folder.Path(run.samples);
  plan.title = fmt::format("{}: {} stream{}", title, streams, streams == 1 ? "" : "s");
  SG_ASSIGN_OR_RETURN(const RunRecord record, Measure(context, plan));
  const Window window = MeasuredWindow(record);
  SG_ASSIGN_OR_RETURN(run.fps, Summarise(record, window.from_s, window.to_s));
  const std::string command =
      LaunchShellLine(MakeLaunchPlan(context, streams, plan.infer_config), "");
  SG_RETURN_IF_ERROR(WriteFileAtomic(context.folder.Path(run.log), LogText(run, record, command)));
  return run;
}

/// The journal keeps what cannot be derived; the figures come from the samples again.
Json ToJson(const BenchmarkRun& run) {
  return {{"streams", run.streams}, {"warmup_s", run.warmup_s}, {"measured_s", run.measured_s},
          {"log", run.log},         {"samples", run.samples},   {"outcome", run.outcome}};
}

Result<BenchmarkRun> ReadRun(const ImportContext& context, const Json& json) {
  BenchmarkRun run;
  run.streams = json.at("streams").get<int>();
  run.warmup_s = json.at("warmup_s").get<double>();
  run.measured_s = json.at("measured_s").get<double>();
  run.log = json.at("log").get<std::string>();
  run.samples = json.at("samples").get<std::string>();
  run.outcome = json.at("outcome").get<std::string>();
  SG_ASSIGN_OR_RETURN(const RunRecord record, ReadSamples(context.folder.Path(run.samples)));
  const Window window = MeasuredWindow(record);
  SG_ASSIGN_OR_RETURN(run.fps, Summarise(record, window.from_s, window.to_s));
  return run;
}

Result<ImportContext::StepOutput> RunAtPeak(const ImportContext& context, int streams) {
  SG_ASSIGN_OR_RETURN(BenchmarkRun run,
                      RunStreams(context, streams, fmt::format("ds_s{}_run1", streams), "Run 1"));
  run.outcome = "peak streams";
  RunPlan plan;
  plan.streams = streams;
  plan.warmup_s = kDecodeOnlyWarmupSeconds;
  plan.measure_s = kDecodeOnlySeconds;
  plan.samples = context.folder.Path("benchmarks/ds/decode_only.samples.jsonl");
  plan.title = "Decoding alone";
  SG_ASSIGN_OR_RETURN(const RunRecord decode, Measure(context, plan));
  return ImportContext::StepOutput{
      ToJson(run), {run.log, run.samples, "benchmarks/ds/decode_only.samples.jsonl"}};
}

/// One stream more than full speed allows is the most that is worth a try.
int MostPaced(const ImportContext& context, double full_speed_fps) {
  return std::max(1, static_cast<int>(std::floor(full_speed_fps / context.options.target_fps)) + 1);
}

/// The most streams that keep the target rate. The logs of the tries that do not hold get names of
/// their own; ds_s{N}_run2.log is the one that counts.
Result<ImportContext::StepOutput> RunAtTarget(const ImportContext& context, int first_streams) {
  const double target = context.options.target_fps;
  Json tries = Json::array();
  std::vector<std::string> files;
  for (int streams = first_streams;; --streams) {
    SG_ASSIGN_OR_RETURN(BenchmarkRun run,
                        RunStreams(context, streams, fmt::format("ds_s{}_run2", streams), "Run 2"));
    const bool holds = run.fps.worst_fps >= target;
    if (!holds && streams > 1) {
      run.outcome =
          fmt::format("the worst stream had {:.1f} fps, below {:g}", run.fps.worst_fps, target);
      for (std::string* path : {&run.log, &run.samples}) {
        std::string renamed = *path;
        renamed.replace(renamed.find("_run2"), 5, fmt::format("_try{}", tries.size() + 1));
        SG_RETURN_IF_ERROR(RenameFile(context.folder.Path(*path), context.folder.Path(renamed)));
        *path = renamed;
        files.push_back(renamed);
      }
      context.console.Say(
          fmt::format("{} streams: {}; trying {}", streams, run.outcome, streams - 1));
      tries.push_back(ToJson(run));
      continue;
    }
    run.outcome =
        holds ? fmt::format("every stream keeps {:g} fps", target)
              : fmt::format("one stream reaches {:.1f} fps, below {:g}", run.fps.worst_fps, target);
    files.push_back(run.log);
    files.push_back(run.samples);
    return ImportContext::StepOutput{{{"run", ToJson(run)}, {"tries", tries}}, files};
  }
}

/// Run 2, and behind it the search for the capacity from its number of streams on.
Result<ImportContext::StepOutput> WithCapacity(const ImportContext& context, int batch, int most,
                                               Result<ImportContext::StepOutput> run2) {
  if (!run2.ok()) return run2;
  const int first = run2->values["run"]["streams"].get<int>();
  SG_ASSIGN_OR_RETURN(const std::vector<PacedTry> tries,
                      SearchCapacity(context, batch, first, most));
  Json paced = Json::array();
  for (const PacedTry& one : tries) {
    paced.push_back({{"streams", one.streams}, {"samples", one.samples}, {"failure", one.failure}});
    if (FileExists(context.folder.Path(one.samples))) run2->files.push_back(one.samples);
  }
  run2->values["paced"] = paced;
  return run2;
}

}  // namespace

Result<Benchmark> RunBenchmark(ImportContext* context, const TimedEngine& engine) {
  const int max_batch = engine.artifact.max_batch;
  const Json inputs = {{"measure_s", context->options.measure_s},
                       {"warmup_s", context->options.warmup_s}};
  Benchmark benchmark;
  const int peak = std::max(1, std::min(engine.peak_streams, max_batch));
  SG_ASSIGN_OR_RETURN(
      const ImportContext::StepResult run1,
      context->RunStep("7 Run 1", inputs, [&] { return RunAtPeak(*context, peak); }));
  SG_ASSIGN_OR_RETURN(benchmark.run1, ReadRun(*context, run1.values));
  benchmark.run1_seconds = run1.seconds;
  benchmark.run1_reused = run1.reused;
  SG_ASSIGN_OR_RETURN(const RunRecord decode,
                      ReadSamples(context->folder.Path("benchmarks/ds/decode_only.samples.jsonl")));
  const Window window = MeasuredWindow(decode);
  SG_ASSIGN_OR_RETURN(const FpsSummary decode_fps, Summarise(decode, window.from_s, window.to_s));
  benchmark.decode_only_fps = decode_fps.aggregate_fps;
  benchmark.decode_cpu_ms = decode_fps.cpu_ms_per_frame;

  const int real_time =
      static_cast<int>(std::floor(benchmark.run1.fps.aggregate_fps / context->options.target_fps));
  const int first = std::max(1, std::min(real_time, max_batch));
  const int most_paced = MostPaced(*context, benchmark.run1.fps.aggregate_fps);
  SG_ASSIGN_OR_RETURN(
      const ImportContext::StepResult run2, context->RunStep("7 Run 2", inputs, [&] {
        return WithCapacity(*context, max_batch, most_paced, RunAtTarget(*context, first));
      }));
  SG_ASSIGN_OR_RETURN(benchmark.run2, ReadRun(*context, run2.values["run"]));
  for (const Json& item : run2.values["tries"]) {
    SG_ASSIGN_OR_RETURN(BenchmarkRun run, ReadRun(*context, item));
    benchmark.tries.push_back(std::move(run));
  }
  std::vector<PacedTry> paced;
  for (const Json& item : run2.values["paced"])
    paced.push_back({item.at("streams").get<int>(), item.at("samples").get<std::string>(),
                     item.at("failure").get<std::string>()});
  SG_ASSIGN_OR_RETURN(benchmark.capacity,
                      ReadCapacity(*context, paced, benchmark.run2.streams, most_paced));
  benchmark.run2_seconds = run2.seconds;
  benchmark.run2_reused = run2.reused;
  return benchmark;
}

Limit FindLimit(const LimitSignals& s) {
  // Cores count as busy from nine tenths on: below that, something else makes frames wait.
  constexpr double kBusyShare = 0.9;
  const double busy = s.cores_allowed > 0 ? s.cores_used / s.cores_allowed : 0;
  const std::string figures = fmt::format(
      "the pipeline reaches {:.0f} fps; with inference taken out {:.0f} fps, with decoding taken "
      "out {:.0f} fps; {:.2f} of {:g} cores were busy",
      s.pipeline_fps, s.without_inference_fps, s.without_decoding_fps, s.cores_used,
      s.cores_allowed);
  if (s.pipeline_fps <= 0 || s.without_inference_fps <= 0 || s.without_decoding_fps <= 0 ||
      busy < kBusyShare)
    return {"", figures};
  return {s.without_inference_fps > s.without_decoding_fps ? "CPU time of the inference"
                                                           : "CPU time of the decoding",
          figures};
}

}  // namespace sg
