#include "cli/import_engine.h"

#include "cli/import_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"

namespace sg {
namespace {

constexpr double kProbeSeconds = 2;
constexpr double kTimingWarmupSeconds = 1;

EngineRequest MakeRequest(const ImportContext& context, const AcquiredModel& model, int max_batch) {
  EngineRequest request;
  request.onnx_path = context.folder.Path(context.folder.OnnxFile());
  request.engines_folder = context.folder.Path("benchmarks/engines");
  request.model_file_stem = context.folder.name();
  request.max_batch = max_batch;
  request.precision = context.options.precision == "fp32" ? Precision::kFp32 : Precision::kFp16;
  request.net_scale_factor = model.card.preprocessing.net_scale_factor;
  request.offsets = model.card.preprocessing.offsets;
  for (const std::string& name : model.onnx.external_files)
    request.external_data_paths.push_back(context.folder.Path("model/" + name));
  return request;
}

/// The artifact's file is where the folder is now, wherever it was when the step ran.
Result<EngineArtifact> ReadArtifact(const ImportContext& context, const Json& json) {
  SG_ASSIGN_OR_RETURN(EngineArtifact artifact, EngineArtifact::FromJson(json));
  artifact.path = context.folder.Path("benchmarks/engines/" + BaseName(artifact.path));
  return artifact;
}

std::vector<std::string> ArtifactFiles(const EngineArtifact& artifact) {
  const std::string file = "benchmarks/engines/" + BaseName(artifact.path);
  return {file, file + ".json"};
}

/// Builds at batch 1 out of sight and times it briefly: images/s decide MAX.
Result<int> ChooseMaxBatch(const ImportContext& context, const AcquiredModel& model) {
  EngineRequest request = MakeRequest(context, model, 1);
  request.engines_folder = context.folder.Path(context.folder.Staging());
  SG_ASSIGN_OR_RETURN(const EngineArtifact probe,
                      context.engine->Build(request, context.ProgressLine("Probing the engine")));
  SG_ASSIGN_OR_RETURN(
      const EngineTiming timing,
      context.engine->Time(probe, 1, kTimingWarmupSeconds, kProbeSeconds,
                           context.folder.Path(context.folder.Staging() + "/probe.log"),
                           context.ProgressLine("Probing the engine")));
  const int peak = PeakStreams(timing.images_per_s, context.options.target_fps);
  return std::min(PowerOfTwoAtLeast(peak), context.options.max_batch);
}

Result<EngineTiming> TimeAt(const ImportContext& context, const EngineArtifact& artifact,
                            int batch) {
  const std::string folder = fmt::format("benchmarks/b{}", batch);
  SG_RETURN_IF_ERROR(MakeFolders(context.folder.Path(folder)));
  const std::string log = fmt::format("{}/openvino_b{}.log", folder, batch);
  Result<EngineTiming> timing = context.engine->Time(
      artifact, batch, kTimingWarmupSeconds, context.options.timing_s, context.folder.Path(log),
      context.ProgressLine(fmt::format("Timing batch {}", batch)));
  if (timing.ok()) timing->log_path = log;
  return timing;
}

}  // namespace

int PeakStreams(double images_per_s, double target_fps) {
  return std::max(0, static_cast<int>(std::floor(images_per_s / target_fps)));
}

int PowerOfTwoAtLeast(int value) {
  int power = 1;
  while (power < value) power *= 2;
  return power;
}

Result<BuiltEngine> BuildEngine(ImportContext* context, const AcquiredModel& model) {
  const Json inputs = {{"onnx", model.onnx.sha256},
                       {"request", MakeRequest(*context, model, 0).ToJson()},
                       {"target_fps", context->options.target_fps},
                       {"max_batch", context->options.max_batch}};
  SG_ASSIGN_OR_RETURN(
      const ImportContext::StepResult step,
      context->RunStep("4", inputs, [&]() -> Result<ImportContext::StepOutput> {
        SG_ASSIGN_OR_RETURN(const int max_batch, ChooseMaxBatch(*context, model));
        SG_ASSIGN_OR_RETURN(
            const std::string proof,
            ProveGraphBatch(model.onnx.path, context->options.max_batch, context->console));
        context->console.Say(proof);
        SG_ASSIGN_OR_RETURN(const EngineArtifact artifact,
                            context->engine->Build(MakeRequest(*context, model, max_batch),
                                                   context->ProgressLine("Building the engine")));
        if (!artifact.rebuild_reason.empty())
          context->console.Say("Engine built again: " + artifact.rebuild_reason);
        return ImportContext::StepOutput{{{"artifact", artifact.ToJson()}, {"batch_proof", proof}},
                                         ArtifactFiles(artifact)};
      }));
  BuiltEngine built;
  SG_ASSIGN_OR_RETURN(built.artifact, ReadArtifact(*context, step.values["artifact"]));
  built.batch_proof = step.values["batch_proof"].get<std::string>();
  built.seconds = step.seconds;
  built.reused = step.reused;
  return built;
}

Result<TimedEngine> TimeEngine(ImportContext* context, const AcquiredModel& model,
                               const BuiltEngine& built) {
  const auto run = [&]() -> Result<ImportContext::StepOutput> {
    EngineArtifact artifact = built.artifact;
    SG_ASSIGN_OR_RETURN(const EngineTiming batch_1, TimeAt(*context, artifact, 1));
    Json tries = Json::array();
    while (true) {
      EngineTiming batch_max = batch_1;
      if (artifact.max_batch > 1) {
        SG_ASSIGN_OR_RETURN(batch_max, TimeAt(*context, artifact, artifact.max_batch));
      }
      const int peak = PeakStreams(batch_max.images_per_s, context->options.target_fps);
      if (peak <= artifact.max_batch || artifact.max_batch * 2 > context->options.max_batch) {
        const std::vector<std::string> engine_files = ArtifactFiles(artifact);
        return ImportContext::StepOutput{
            {{"artifact", artifact.ToJson()},
             {"batch_1", batch_1.ToJson()},
             {"batch_max", batch_max.ToJson()},
             {"peak_streams", peak},
             {"tries", tries}},
            {engine_files[0], engine_files[1], batch_1.log_path, batch_max.log_path}};
      }
      tries.push_back({{"max_batch", artifact.max_batch},
                       {"images_per_s", batch_max.images_per_s},
                       {"peak_streams", peak}});
      context->console.Say(fmt::format("{} streams are more than batch {} holds: MAX becomes {}",
                                       peak, artifact.max_batch, artifact.max_batch * 2));
      SG_ASSIGN_OR_RETURN(
          artifact, context->engine->Build(MakeRequest(*context, model, artifact.max_batch * 2),
                                           context->ProgressLine("Building the engine")));
    }
  };
  const Json inputs = {{"timing_s", context->options.timing_s}};
  SG_ASSIGN_OR_RETURN(const ImportContext::StepResult step, context->RunStep("5", inputs, run));

  TimedEngine timed;
  SG_ASSIGN_OR_RETURN(timed.artifact, ReadArtifact(*context, step.values["artifact"]));
  SG_ASSIGN_OR_RETURN(timed.batch_1, EngineTiming::FromJson(step.values["batch_1"]));
  SG_ASSIGN_OR_RETURN(timed.batch_max, EngineTiming::FromJson(step.values["batch_max"]));
  timed.peak_streams = step.values["peak_streams"].get<int>();
  for (const Json& item : step.values["tries"])
    timed.tries.push_back({item["max_batch"].get<int>(), item["images_per_s"].get<double>(),
                           item["peak_streams"].get<int>()});
  timed.seconds = step.seconds;
  timed.reused = step.reused;
  return timed;
}

}  // namespace sg
