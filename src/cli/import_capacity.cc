#include "cli/import_capacity.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/interrupt.h"
#include "cli/import_validation.h"
#include "measure/capacity.h"
#include "measure/samples.h"
#include "pipeline/launch.h"

namespace sg {
namespace {

/// Enough for a verdict; the confirming run takes as long as the other benchmark runs.
constexpr double kTrySeconds = 15;

Result<CapacitySearch::Outcome> OutcomeOf(const ImportContext& context, const PacedTry& paced) {
  if (!paced.failure.empty()) return CapacitySearch::Outcome::kFails;
  SG_ASSIGN_OR_RETURN(const RunRecord record, ReadSamples(context.folder.Path(paced.samples)));
  const Result<CapacityVerdict> verdict = JudgePacedRun(record, {});
  if (!verdict.ok()) return CapacitySearch::Outcome::kFails;
  if (verdict->holds) return CapacitySearch::Outcome::kHolds;
  return verdict->disturbed ? CapacitySearch::Outcome::kDisturbed : CapacitySearch::Outcome::kFails;
}

Result<PacedTry> RunTry(const ImportContext& context, int batch, const CapacitySearch::Try& next,
                        size_t number) {
  PacedTry paced;
  paced.streams = next.streams;
  paced.samples =
      fmt::format("benchmarks/ds/ds_s{}_paced{}.samples.jsonl", next.streams, number + 1);
  const std::string config = context.folder.Path(context.folder.BenchmarkInferConfig());
  LaunchPlan launch = MakeLaunchPlan(context, next.streams, config);
  launch.batch_size = batch;
  constexpr double kHalfPeriodUs = 0.5e6;
  launch.batched_push_timeout_us = static_cast<int64_t>(kHalfPeriodUs / context.options.target_fps);
  RunJob job;
  job.launch = LaunchString(launch);
  job.tap = "tap";
  job.samples_path = context.folder.Path(paced.samples);
  job.streams = next.streams;
  job.sources.assign(static_cast<size_t>(next.streams), context.video.path);
  job.loop = true;
  job.pace.fps = context.options.target_fps;
  job.measure_s =
      next.confirm ? context.options.measure_s : std::min(kTrySeconds, context.options.measure_s);
  const ProgressFn progress = context.ProgressLine(
      fmt::format("Paced: {} stream{}", next.streams, next.streams == 1 ? "" : "s"));
  const Result<RunOutcome> outcome = RunPipeline(
      job, [&](double elapsed_s, uint64_t) { progress(elapsed_s / job.measure_s, ""); });
  if (Interrupted()) return InterruptedError();
  if (!outcome.ok() && outcome.error().kind != ErrorKind::kUser) return outcome.error();
  if (!outcome.ok()) paced.failure = outcome.error().message;
  return paced;
}

}  // namespace

Result<std::vector<PacedTry>> SearchCapacity(const ImportContext& context, int batch, int first,
                                             int most) {
  std::vector<PacedTry> tries;
  CapacitySearch search(first, most);
  while (const auto next = search.Next()) {
    SG_ASSIGN_OR_RETURN(const PacedTry paced, RunTry(context, batch, *next, tries.size()));
    SG_ASSIGN_OR_RETURN(const CapacitySearch::Outcome outcome, OutcomeOf(context, paced));
    tries.push_back(paced);
    search.Tell(outcome);
  }
  return tries;
}

Result<Capacity> ReadCapacity(const ImportContext& context, const std::vector<PacedTry>& tries,
                              int first, int most) {
  CapacitySearch search(first, most);
  for (const PacedTry& paced : tries) {
    SG_ASSIGN_OR_RETURN(const CapacitySearch::Outcome outcome, OutcomeOf(context, paced));
    search.Tell(outcome);
  }
  Capacity capacity;
  const double target = context.options.target_fps;
  if (search.Next()) {
    capacity.words = "the capacity was not decided";
    return capacity;
  }
  capacity.streams = search.capacity();
  capacity.at_least = search.at_limit();
  capacity.words =
      *capacity.streams == 0
          ? fmt::format(
                "Capacity: not even one stream that is paced at {:g} fps, as a camera, is "
                "carried in time",
                target)
          : fmt::format(
                "Capacity: {}{} stream{} paced at {:g} fps, as cameras, each in time (at "
                "least 99 % of the rate, less than 1 % of the frames late, no backlog)",
                capacity.at_least ? "at least " : "", *capacity.streams,
                *capacity.streams == 1 ? "" : "s", target);
  return capacity;
}

}  // namespace sg
