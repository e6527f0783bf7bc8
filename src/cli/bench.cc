// streamgauge bench: the engine alone at batch 1, 2, 4, …: images/s, latency, and the plateau.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/measured_run.h"
#include "cli/run_output.h"
#include "engine/engine.h"
#include "hardware/machine.h"
#include "measure/bench_result.h"
#include "measure/memory.h"
#include "onnx/onnx_file.h"

namespace sg {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchOptions {
  CommonFlags common;
  std::string model;
  std::string out;
  std::string precision;  ///< empty: as the import built it, else fp16
  std::vector<int> batches = {1, 2, 4, 8, 16, 32};
  double seconds = 3;  ///< of each start
  int max_rounds = 20;
  double time_limit_s = 600;
};

/// Everything that is the same for all batches.
struct Bench {
  const BenchOptions& options;
  const Console& console;
  std::unique_ptr<Engine> engine;
  EngineRequest request;
  MeasuredRun run;
  std::map<int, EngineArtifact> engines;  ///< by batch
  Clock::time_point start = Clock::now();

  double Elapsed() const { return std::chrono::duration<double>(Clock::now() - start).count(); }
  ProgressFn Line(const std::string& title) const {
    auto progress = std::make_shared<Progress>(console.progress_mode(), title);
    return
        [progress](double fraction, const std::string& note) { progress->Update(fraction, note); };
  }
};

/// What to build: from models/NAME with the preprocessing and precision of its engine, or a file.
Result<EngineRequest> MakeRequest(const BenchOptions& options) {
  EngineRequest request;
  std::string precision = options.precision;
  if (FolderExists(options.model)) {
    const std::string name = ImportedModelName(options.model);
    if (name.empty())
      return UserError(options.model +
                       ": is not a folder that streamgauge import made (no model/NAME.onnx in it); "
                       "name one, or an .onnx file");
    request.onnx_path = JoinPath(options.model, "model/" + name + ".onnx");
    request.model_file_stem = name;
    const std::string engines = JoinPath(options.model, "benchmarks/engines");
    const Result<std::vector<std::string>> files = ListFolder(engines);
    for (const std::string& file : files.ok() ? *files : std::vector<std::string>()) {
      const Result<EngineArtifact> built = ReadSidecar(JoinPath(engines, file));
      if (!built.ok()) continue;
      request.net_scale_factor = built->net_scale_factor;
      request.offsets = built->offsets;
      if (precision.empty()) precision = built->precision_asked;
    }
  } else if (FileExists(options.model)) {
    request.onnx_path = options.model;
    request.model_file_stem = BaseName(options.model);
    if (request.model_file_stem.ends_with(".onnx"))
      request.model_file_stem.resize(request.model_file_stem.size() - 5);
  } else {
    return UserError(options.model +
                     ": does not exist; name a models/NAME folder or an .onnx file");
  }
  SG_ASSIGN_OR_RETURN(const OnnxSummary onnx, ReadOnnxFile(request.onnx_path));
  for (const std::string& file : onnx.external_files)
    request.external_data_paths.push_back(JoinPath(ParentFolder(request.onnx_path), file));
  SG_ASSIGN_OR_RETURN(request.precision, PrecisionFromName(precision.empty() ? "fp16" : precision));
  return request;
}

/// Resident bytes that a batch needs, from the batches measured so far; nothing while they say
/// nothing.
std::optional<double> MemoryNeeded(const std::map<int, uint64_t>& rss, int batch) {
  std::vector<MemoryPoint> points;
  for (const auto& [measured, bytes] : rss)
    points.push_back({measured, static_cast<double>(bytes)});
  const auto fit = FitMemory(points);
  if (!fit) return std::nullopt;
  return fit->base_bytes + fit->bytes_per_stream.value * batch;
}

Result<EngineTiming> MeasurePart(Bench* bench, RunPart part, const std::string& title) {
  SampledTiming timing;
  timing.batch = part.batch;
  timing.requests_in_flight = part.requests;
  timing.seconds = bench->options.seconds;
  timing.samples_path = bench->run.Path(part.samples);
  const Result<EngineTiming> result =
      bench->engine->Sample(bench->engines.at(part.batch), timing, bench->Line(title));
  if (!result.ok()) return result.error();
  part.requests = result->requests_in_flight;
  SG_RETURN_IF_ERROR(bench->run.Add(part));
  return result;
}

/// Builds the engine of a batch and sweeps the requests in flight: 1, what the device takes at its
/// best, and twice that.
Status SweepRequests(Bench* bench, int batch, std::map<int, int>* chosen,
                     std::map<int, uint64_t>* rss) {
  EngineRequest request = bench->request;
  request.max_batch = batch;
  request.engines_folder = bench->run.Path("engines");
  SG_ASSIGN_OR_RETURN(
      bench->engines[batch],
      bench->engine->Build(request, bench->Line(fmt::format("Batch {}: building", batch))));
  std::vector<RequestsTried> tried;
  int best = 0;
  for (const int step : {0, 1, 2}) {  // the device's own number is only known once it was used
    RunPart part;
    part.role = "sweep";
    part.batch = batch;
    part.requests = step == 0 ? 0 : step == 1 ? 1 : 2 * best;
    part.samples = fmt::format("b{}_sweep{}.samples.jsonl", batch, step);
    if (step == 1 && best == 1) continue;
    SG_ASSIGN_OR_RETURN(
        const EngineTiming timing,
        MeasurePart(bench, part, fmt::format("Batch {}: requests in flight", batch)));
    if (step == 0) best = timing.requests_in_flight;
    SG_ASSIGN_OR_RETURN(const RunRecord record, ReadSamples(bench->run.Path(part.samples)));
    const EnginePart measured = MeasureEnginePart(record);
    tried.push_back({timing.requests_in_flight, measured.images_per_s});
    (*rss)[batch] = std::max((*rss)[batch], measured.rss_bytes);
  }
  (*chosen)[batch] = ChooseRequests(tried);
  return OkStatus();
}

/// Chooses the requests in flight of every batch that fits into memory and can be built.
Result<std::map<int, int>> SweepBatches(Bench* bench) {
  std::map<int, int> chosen;
  std::map<int, uint64_t> rss;
  for (const int batch : bench->options.batches) {
    if (Interrupted()) return InterruptedError();
    const auto need = MemoryNeeded(rss, batch);
    const auto available = DescribeMachine().memory_available_bytes;
    constexpr double kShare = 0.9;
    if (need && available && *need > kShare * static_cast<double>(*available)) {
      SG_RETURN_IF_ERROR(bench->run.AddNote(fmt::format(
          "batch {} and above were left out: about {:.1f} GiB are needed and {:.1f} GiB are free",
          batch, *need / (1 << 30), static_cast<double>(*available) / (1 << 30))));
      break;
    }
    const Status status = SweepRequests(bench, batch, &chosen, &rss);
    if (status.ok()) continue;
    if (chosen.empty() || status.error().kind == ErrorKind::kInterrupted) return status.error();
    SG_RETURN_IF_ERROR(bench->run.AddNote(
        fmt::format("batch {} and above were left out: {}", batch, status.error().message)));
    break;
  }
  for (const std::string& note : bench->run.run().notes) bench->console.Say("Note: " + note);
  return chosen;
}

/// Every batch once; each second round backwards, so that a drift of the machine hits all alike.
Status MeasureRound(Bench* bench, const std::map<int, int>& requests, int round) {
  std::vector<int> order;
  for (const auto& [batch, unused] : requests) order.push_back(batch);
  if (round % 2 == 0) std::reverse(order.begin(), order.end());
  for (const int batch : order) {
    if (Interrupted()) return InterruptedError();
    RunPart part;
    part.role = "round";
    part.batch = batch;
    part.requests = requests.at(batch);
    part.round = round;
    part.samples = fmt::format("b{}_round{}.samples.jsonl", batch, round);
    SG_RETURN_IF_ERROR(
        MeasurePart(bench, part, fmt::format("Round {}: batch {}", round, batch)).status());
  }
  return OkStatus();
}

/// Rounds until the plateau is decided, at the looks only, or no time is left.
Status MeasureRounds(Bench* bench, const std::map<int, int>& requests) {
  const std::vector<int> looks = RoundLooks(bench->options.max_rounds);
  for (int round = 1; round <= bench->options.max_rounds; ++round) {
    const double round_start_s = bench->Elapsed();
    SG_RETURN_IF_ERROR(MeasureRound(bench, requests, round));
    const double round_s = bench->Elapsed() - round_start_s;
    const bool no_time = bench->Elapsed() + round_s > bench->options.time_limit_s;
    if (no_time) return OkStatus();
    if (std::find(looks.begin(), looks.end(), round) == looks.end()) continue;
    SG_ASSIGN_OR_RETURN(const LoadedRun loaded, LoadRun(bench->run.folder()));
    const BenchResult result = EvaluateBench(loaded);
    bench->console.Say(fmt::format("After {} rounds: {}", round, result.plateau.Words()));
    if (result.plateau.state != Plateau::State::kUndecided) return OkStatus();
  }
  return OkStatus();
}

Status CheckOptions(BenchOptions* options) {
  std::sort(options->batches.begin(), options->batches.end());
  options->batches.erase(std::unique(options->batches.begin(), options->batches.end()),
                         options->batches.end());
  if (options->common.engine == "deepstream")
    return UnsupportedError("--engine deepstream: this version measures the embedded engine only");
  return OkStatus();
}

Status RunBench(BenchOptions options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  SG_RETURN_IF_ERROR(CheckOptions(&options));
  SG_ASSIGN_OR_RETURN(const EngineRequest request, MakeRequest(options));
  if (options.common.dry_run) {
    console.Say(fmt::format("would measure {} ({}) at batch {}, {:g} s a start, at most {} rounds",
                            request.onnx_path, PrecisionName(request.precision),
                            fmt::join(options.batches, ", "), options.seconds, options.max_rounds));
    return OkStatus();
  }
  RunFolder description;
  description.kind = "bench";
  description.name = request.model_file_stem;
  description.options = {{"batches", options.batches},
                         {"seconds", options.seconds},
                         {"max_rounds", options.max_rounds},
                         {"time_limit_s", options.time_limit_s},
                         {"precision", PrecisionName(request.precision)}};
  SG_ASSIGN_OR_RETURN(const RunInput onnx, DescribeInput("ONNX model", request.onnx_path));
  description.inputs.push_back(onnx);
  SG_ASSIGN_OR_RETURN(MeasuredRun run, MeasuredRun::Create(options.out, description));
  Bench bench{options, console, MakeOpenVinoEngine(), request, std::move(run), {}};
  const Result<std::map<int, int>> requests = SweepBatches(&bench);
  const Status measured =
      requests.ok() ? MeasureRounds(&bench, *requests) : Status(requests.error());
  SG_RETURN_IF_ERROR(RemoveAll(bench.run.Path("engines")));
  const bool interrupted = !measured.ok() && measured.error().kind == ErrorKind::kInterrupted;
  if (!measured.ok() && !interrupted) return measured;
  SG_RETURN_IF_ERROR(WriteResults(bench.run.folder(), console, options.common.json));
  return measured;
}

}  // namespace

void AddBenchCommand(CLI::App* app, CommandRun* run) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app->add_subcommand(
      "bench", "The engine alone over batch sizes: images/s, latency, the plateau batch");
  command->add_option("model", options->model, "models/NAME or an .onnx file")->required();
  command->add_option("--out", options->out, "Run folder (default: runs/bench-NAME-TIME)");
  command->add_option("--batches", options->batches, "Batch sizes, ascending by doubling")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Measured seconds of each start")
      ->check(CLI::Range(0.5, 600.0))
      ->capture_default_str();
  command->add_option("--max-rounds", options->max_rounds, "Rounds after which it stays undecided")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--time-limit", options->time_limit_s, "Seconds after which no round is begun")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  command
      ->add_option("--precision", options->precision,
                   "fp32 or fp16 (default: what the import built, else fp16)")
      ->check(CLI::IsMember({"fp16", "fp32"}));
  AddCommonFlags(command, &options->common);
  command->callback([options, run] { *run = [options] { return RunBench(*options); }; });
}

}  // namespace sg
