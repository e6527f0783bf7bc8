#include "engine/openvino/engine_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/processor.h"
#include "engine/openvino/compile.h"

namespace sg::openvino {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One for the process: loading the device plugin takes tens of milliseconds.
ov::Core& Core() {
  static ov::Core core;
  return core;
}

std::string OpenVinoVersion() { return ov::get_openvino_version().buildNumber; }

/// What a file built now for `request` would say of itself, as far as that is known beforehand.
Result<EngineArtifact> Wanted(const EngineRequest& request) {
  EngineArtifact wanted;
  wanted.path = OpenVinoEnginePath(request);
  SG_ASSIGN_OR_RETURN(wanted.onnx_sha256, Sha256File(request.onnx_path));
  SG_ASSIGN_OR_RETURN(wanted.external_data_sha256, HashOfAll(request.external_data_paths));
  wanted.device = "CPU";
  wanted.cpu_features = ThisProcessor().FeatureKey();
  wanted.runtime = "OpenVINO";
  wanted.runtime_version = OpenVinoVersion();
  wanted.precision_asked = PrecisionName(request.precision);
  wanted.max_batch = request.max_batch;
  wanted.net_scale_factor = request.net_scale_factor;
  wanted.offsets = request.offsets;
  try {
    wanted.device_name = Core().get_property("CPU", ov::device::full_name);
  } catch (const std::exception& e) {
    return EnvironmentError("OpenVINO's CPU device does not start: " + MeaningfulLine(e.what()));
  }
  return wanted;
}

/// The file at `wanted.path` loaded, if it is whole and the wanted one; else `reason` says why not.
std::optional<EngineArtifact> Reuse(const EngineArtifact& wanted, std::string* reason) {
  auto sidecar = ReadSidecar(wanted.path);
  if (!sidecar.ok()) {
    *reason = FileExists(wanted.path + ".json") ? "its sidecar cannot be read" : "no sidecar";
    return std::nullopt;
  }
  *reason = ArtifactMismatch(*sidecar, wanted);
  if (!reason->empty()) return std::nullopt;
  auto sha256 = Sha256File(wanted.path);
  if (!sha256.ok() || *sha256 != sidecar->sha256) {
    // Opening it names the part; a file that opens is whole, and belongs to another sidecar.
    auto file = MappedEngineFile::Open(wanted.path);
    *reason = fmt::format("the file is damaged ({})",
                          file.ok() ? "not the one its sidecar describes" : file.error().message);
    return std::nullopt;
  }
  const Clock::time_point start = Clock::now();
  auto loaded = LoadedEngine::Load(wanted.path, wanted.onnx_sha256);
  if (!loaded.ok()) {
    *reason = "the file is damaged (" + loaded.error().message + ")";
    return std::nullopt;
  }
  sidecar->load_s = SecondsSince(start);
  sidecar->reused = true;
  sidecar->rebuild_reason.clear();
  return *sidecar;
}

/// Files that a killed build left beside the engine.
void RemoveParts(const EngineArtifact& wanted) {
  auto names = ListFolder(ParentFolder(wanted.path));
  if (!names.ok()) return;
  const std::string stem = BaseName(wanted.path);
  for (const std::string& name : *names) {
    if (name.rfind(stem + ".part.", 0) == 0 || name.rfind(stem + ".json.part.", 0) == 0)
      (void)RemoveAll(JoinPath(ParentFolder(wanted.path), name)).ok();
  }
}

Result<ExportedModel> Export(ov::CompiledModel& compiled, int batch) {
  std::ostringstream stream;
  try {
    compiled.export_model(stream);
  } catch (const std::exception& e) {
    return InternalError("OpenVINO does not export the compiled model: " +
                         MeaningfulLine(e.what()));
  }
  return ExportedModel{batch, std::move(stream).str()};
}

/// Compiles at each batch. Fills what only the compiled network knows.
Result<std::vector<ExportedModel>> CompileAll(const EngineRequest& request,
                                              EngineArtifact* artifact,
                                              const ProgressFn& progress) {
  progress(0.05, "reading the ONNX");
  SG_ASSIGN_OR_RETURN(const Network network, Network::Read(Core(), request));
  artifact->input = network.input();
  artifact->outputs = network.outputs();
  std::vector<int> batches = {1};
  if (request.max_batch > 1) batches.push_back(request.max_batch);
  std::vector<ExportedModel> parts;
  for (const int batch : batches) {
    if (Interrupted()) return InterruptedError();
    progress(batch == 1 ? 0.15 : 0.45, fmt::format("compiling at batch {}", batch));
    SG_ASSIGN_OR_RETURN(ov::CompiledModel compiled, network.Compile(Core(), batch));
    artifact->precision_used = PrecisionUsed(compiled);
    SG_ASSIGN_OR_RETURN(ExportedModel part, Export(compiled, batch));
    parts.push_back(std::move(part));
  }
  if (Interrupted()) return InterruptedError();
  return parts;
}

}  // namespace

Result<EngineArtifact> BuildEngineFile(const EngineRequest& request, const ProgressFn& progress) {
  const ProgressFn report = progress ? progress : [](double, const std::string&) {};
  if (request.max_batch < 1)
    return UserError(fmt::format("max batch {}: must be at least 1", request.max_batch));
  report(0, "checking the engine that is there");
  SG_ASSIGN_OR_RETURN(EngineArtifact artifact, Wanted(request));
  SG_RETURN_IF_ERROR(MakeFolders(request.engines_folder));
  RemoveParts(artifact);
  if (FileExists(artifact.path)) {
    if (auto reused = Reuse(artifact, &artifact.rebuild_reason)) return *reused;
  }

  const Clock::time_point start = Clock::now();
  SG_ASSIGN_OR_RETURN(std::vector<ExportedModel> parts, CompileAll(request, &artifact, report));
  artifact.build_s = SecondsSince(start);
  report(0.8, "writing " + BaseName(artifact.path));
  const std::string bytes = EngineFileBytes(artifact, std::move(parts));
  artifact.size_bytes = bytes.size();
  artifact.sha256 = Sha256(bytes);
  // The sidecar vouches for the file, so it is never there before the file it describes.
  SG_RETURN_IF_ERROR(RemoveAll(artifact.path + ".json"));
  SG_RETURN_IF_ERROR(WriteFileAtomic(artifact.path, bytes));

  report(0.9, "loading it back");
  const Clock::time_point load_start = Clock::now();
  SG_ASSIGN_OR_RETURN(const auto loaded, LoadedEngine::Load(artifact.path, artifact.onnx_sha256));
  artifact.load_s = SecondsSince(load_start);
  EngineArtifact described = artifact;
  described.path = BaseName(artifact.path);
  SG_RETURN_IF_ERROR(WriteFileAtomic(artifact.path + ".json", ToJsonText(described.ToJson())));
  report(1, "built");
  return artifact;
}

Result<std::unique_ptr<LoadedEngine>> LoadedEngine::Load(const std::string& path,
                                                         const std::string& expect_onnx_sha256) {
  constexpr char kRemedy[] = "; build it again with `streamgauge engine build`";
  if (!FileExists(path)) return UserError(path + ": no such engine file" + kRemedy);
  auto file = MappedEngineFile::Open(path);
  if (!file.ok())
    return UserError(path + ": the engine file is damaged (" + file.error().message + ")" +
                     kRemedy);
  const EngineArtifact& artifact = file->artifact();
  if (!expect_onnx_sha256.empty() && artifact.onnx_sha256 != expect_onnx_sha256)
    return UserError(path + ": built from another ONNX (hash " +
                     artifact.onnx_sha256.substr(0, 12) + ", expected " +
                     expect_onnx_sha256.substr(0, 12) + ")" + kRemedy);
  if (artifact.runtime_version != OpenVinoVersion())
    return EnvironmentError(path + ": built by OpenVINO " + artifact.runtime_version +
                            ", this is " + OpenVinoVersion() + kRemedy);
  const std::string features = ThisProcessor().FeatureKey();
  if (artifact.cpu_features != features)
    return EnvironmentError(fmt::format("{}: built for CPU {} ({}), this one has {}{}", path,
                                        artifact.device_name, artifact.cpu_features, features,
                                        kRemedy));
  std::unique_ptr<LoadedEngine> engine(new LoadedEngine(std::move(*file)));
  if (Status imported = engine->Import(); !imported.ok())
    return UserError(path + ": " + imported.error().message + kRemedy);
  return engine;
}

Status LoadedEngine::Import() {
  const EngineArtifact& described = artifact();
  if (described.input.shape.size() != 3) return UserError("its header gives no input size");
  for (const EngineTensor& output : described.outputs)
    outputs_.push_back({output.name, ov::element::Type(output.type), output.shape});
  // As it was compiled: the device then picks the same type, which is checked below.
  const ov::AnyMap settings =
      DeviceSettings(described.precision_asked == "fp32" ? ov::element::f32 : ov::element::dynamic);
  for (const MappedEngineFile::Part& part : file_.parts()) {
    try {
      // OpenVINO takes the memory as not const, and only reads it.
      const ov::Tensor bytes(ov::element::u8, ov::Shape{part.size_bytes},
                             const_cast<char*>(part.data));
      compiled_.push_back(Core().import_model(bytes, "CPU", settings));
    } catch (const std::exception& e) {
      return UserError(fmt::format("OpenVINO does not load the model at batch {}: {}", part.batch,
                                   MeaningfulLine(e.what())));
    }
    batches_.push_back(part.batch);
  }
  if (const std::string used = PrecisionUsed(compiled_.front()); used != described.precision_used)
    return UserError("it was built to run in " + described.precision_used +
                     ", and OpenVINO would run it in " + used);
  return OkStatus();
}

ov::CompiledModel& LoadedEngine::compiled(int batch) {
  const auto found = std::find(batches_.begin(), batches_.end(), batch);
  SG_CHECK(found != batches_.end());
  return compiled_[static_cast<size_t>(found - batches_.begin())];
}

int LoadedEngine::optimal_requests(int batch) {
  return static_cast<int>(compiled(batch).get_property(ov::optimal_number_of_infer_requests));
}

}  // namespace sg::openvino
