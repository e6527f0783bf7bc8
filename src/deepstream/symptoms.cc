#include "deepstream/symptoms.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace sg {
namespace {

std::vector<Symptom> Catalogue() {
  return {
      // The machine and its driver.
      {"No CUDA device",
       "driver",
       {{"no CUDA-capable device is detected"}, {"CUDA_ERROR_NO_DEVICE"}, {"cudaErrorNoDevice"}},
       "the process sees no GPU",
       "in a container start it with --gpus all (or the CDI device nvidia.com/gpu=all); check "
       "CUDA_VISIBLE_DEVICES and nvidia-smi"},
      {"Driver too old",
       "driver",
       {{"CUDA driver version is insufficient for CUDA runtime version"},
        {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
        {"forward compatibility was attempted on non supported HW"},
        {"unsatisfied condition: cuda>="}},
       "the driver is older than this CUDA needs",
       "DeepStream 9.1 needs driver 595 or newer; update the host's driver, a container cannot "
       "bring its own"},
      {"Driver and library disagree",
       "driver",
       {{"Driver/library version mismatch"}},
       "the driver was updated and the old kernel module is still loaded",
       "restart the machine"},
      {"Driver does not answer",
       "driver",
       {{"couldn't communicate with the NVIDIA driver"}, {"Failed to initialize NVML"}},
       "the driver is not loaded, or the container lost its devices",
       "install or load the driver; in a container whose host reloaded systemd, start it again"},
      {"No decoder library",
       "driver",
       {{"libnvcuvid.so"}},
       "the container has no 'video' capability, so the decoder's library is not in it",
       "set NVIDIA_DRIVER_CAPABILITIES=all (or compute,utility,video)"},

      // The container.
      {"Docker's socket is closed to this user",
       "container",
       {{"permission denied", "docker"}},
       "this user may not talk to the Docker daemon",
       "add the user to the group docker and log in again, or use podman"},
      {"Docker is not running",
       "container",
       {{"Cannot connect to the Docker daemon"}},
       "the Docker daemon is not running",
       "start it (systemctl start docker; Docker Desktop on Windows)"},
      {"Docker knows no GPU",
       "container",
       {{"could not select device driver", "gpu"},
        {"unknown or invalid runtime name: nvidia"},
        {"unresolvable CDI devices nvidia.com/gpu"}},
       "the NVIDIA container toolkit is missing or not configured",
       "install nvidia-container-toolkit, run nvidia-ctk runtime configure (or nvidia-ctk cdi "
       "generate), restart the daemon"},
      {"Image not allowed",
       "container",
       {{"nvcr.io", "unauthorized"}, {"nvcr.io", "denied"}},
       "the registry refuses this account",
       "docker login nvcr.io with the user $oauthtoken and an NGC key as the password"},
      {"Shared memory too small",
       "container",
       {{"Bus error"}, {"No space left on device", "/dev/shm"}},
       "the container's /dev/shm is too small",
       "start it with --shm-size=16g"},

      // trtexec.
      {"GPU memory ran out",
       "trtexec",
       {{"OutOfMemory"},
        {"out of memory"},
        {"Requested amount of GPU memory", "could not be allocated"},
        {"cudaErrorMemoryAllocation"}},
       "the GPU's memory ran out; TensorRT may word what follows as an operator without "
       "implementation",
       "end other programs on the GPU, or use a smaller --max-batch"},
      {"Workspace of a few bytes",
       "trtexec",
       {{"Memory Pools: workspace: 0.03"}},
       "the workspace's size was given as MiB, which trtexec reads as bytes",
       "write --memPoolSize=workspace:32768M, with M"},
      {"Workspace too small",
       "trtexec",
       {{"insufficient workspace"}},
       "the builder's workspace is too small for this network at this batch",
       "raise --memPoolSize=workspace:…M, or use a smaller --max-batch"},
      {"ForeignNode without implementation",
       "trtexec",
       {{"Could not find any implementation for node", "ForeignNode"}},
       "TensorRT fused a part of the graph (often DETR's mask) into a node that it cannot run",
       "export with dynamo, or work the constants out first: streamgauge onnx simplify"},
      {"Static model with shapes",
       "trtexec",
       {{"Static model does not take explicit shapes"}},
       "the ONNX has a fixed batch and was given --minShapes/--optShapes/--maxShapes",
       "make its batch free: streamgauge onnx rebatch"},
      {"Operator unknown to TensorRT",
       "trtexec",
       {{"No importer registered for op"},
        {"Cannot find plugin:"},
        {"getPluginCreator could not find plugin"}},
       "the graph has an operator that this TensorRT does not know",
       "export for opset 16 or newer (GridSample), load the plugin's library, or use a newer "
       "TensorRT"},
      {"Reshape changes the volume",
       "trtexec",
       {{"reshape would change volume"}, {"reshape changes volume"}},
       "a constant in the graph holds the batch that it was exported with",
       "streamgauge onnx inspect names the node, onnx rebatch mends it"},
      {"Negative dimensions",
       "trtexec",
       {{"setDimensions", "negative"}, {"dimensions", "have negative"}},
       "nvinfer was not told the network's size",
       "infer-dims=3;H;W in the nvinfer config"},
      {"External weights missing",
       "trtexec",
       {{"Failed to open file", ".onnx_data"}, {"Failed to open file", ".data"}},
       "the ONNX keeps its weights in a second file that is not beside it",
       "copy the .onnx_data or .data file too"},

      // Engines.
      {"Engine of another GPU",
       "DeepStream",
       {{"generated on an incompatible device"}, {"engine plan file", "not compatible", "device"}},
       "the engine was built on a GPU of another kind",
       "build it again on this machine"},
      {"Engine of another TensorRT",
       "DeepStream",
       {{"Version tag does not match"},
        {"Serialization assertion", "Version"},
        {"deserialize", "failed", "engine"},
        {"engine plan file is not compatible with this version of TensorRT"}},
       "the engine was built by another version of TensorRT",
       "build it again with the TensorRT that DeepStream uses (the same image)"},
      {"Batch larger than the engine's",
       "DeepStream",
       {{"Backend has maxBatchSize", "whereas"}},
       "the config's batch-size is larger than the engine was built for",
       "build with a larger --max-batch, from an ONNX with a free batch"},
      {"Engine built again at every start",
       "DeepStream",
       {{"deserialize backend context from engine from file", "failed"},
        {"Trying to create engine from model files"}},
       "model-engine-file does not lead to the engine; it counts from the config's folder",
       "correct model-engine-file, or let import write the config"},

      // nvinfer, boxes, files.
      {"Default parser",
       "DeepStream",
       {{"Could not find output coverage layer"}},
       "no parser is named, so nvinfer looks for DetectNet's layers",
       "set parse-bbox-func-name and custom-lib-path"},
      {"Parser's library not found",
       "DeepStream",
       {{"Could not open custom lib"}, {"Failed to load", "nvdsinfer_", ".so"}},
       "custom-lib-path leads to no library that can be loaded",
       "compile the parser (make in parser/); the path counts from the config's folder"},
      {"Parser's function not found",
       "DeepStream",
       {{"Could not find parse func"}, {"undefined symbol", "NvDsInferParse"}},
       "the library does not have the function that parse-bbox-func-name names",
       "compare the name with nm -D --defined-only LIBRARY"},
      {"Number of classes differs",
       "DeepStream",
       {{"Num classes mismatch"}},
       "num-detected-classes is not the number that the head has",
       "set it to the head's number; choose classes with filter-out-class-ids (import --classes)"},
      {"Config cannot be read",
       "DeepStream",
       {{"Failed to parse config file"},
        {"Error while parsing config"},
        {"NVDSINFER_CONFIG_FAILED"}},
       "a config has a key or value that DeepStream does not take",
       "streamgauge inspect CONFIG names the line"},
      {"Unknown key",
       "DeepStream",
       {{"Unknown or legacy key specified"}},
       "a key is misspelt or of another version",
       "streamgauge inspect CONFIG names the nearest one",
       true},
      {"No NVENC",
       "DeepStream",
       {{"v4l2-nvenc", "failed"},
        {"Could not open device", "nvenc"},
        {"no element \"nvv4l2h264enc\""}},
       "this GPU has no video encoder",
       "the video with boxes is written by theoraenc into .ogv; the benchmark needs none"},
      {"No display",
       "DeepStream",
       {{"Failed to create EGL"},
        {"eglGetDisplay"},
        {"nveglglessink", "No EGL"},
        {"unable to open display"}},
       "a sink wants a screen",
       "use fakesink (type=1) with sync=0 for benchmarks"},
      {"Element missing",
       "DeepStream",
       {{"no element \""}, {"No such element"}, {"erroneous pipeline: no element"}},
       "a GStreamer plugin is not installed or not found",
       "streamgauge doctor lists what is missing; rm -r ~/.cache/gstreamer-1.0 when a plugin was "
       "added later"},
      {"Buffers of mixed kinds",
       "DeepStream",
       {{"nvbufsurface", "mapping"},
        {"NvBufSurfTransform failed"},
        {"gst_nvvideoconvert", "failed"}},
       "buffers of different memory kinds, or of another GPU, meet",
       "nvbuf-memory-type=0 and the same gpu-id throughout"},
      {"Clip cannot be opened",
       "DeepStream",
       {{"Resource not found"}, {"No such file", ".mp4"}},
       "a source's file is not there (in a container: not under the mounted folder)",
       "correct the path; inside the container the working folder is /work"},
      {"Killed for memory",
       "container",
       {{"Killed process"}, {"oom-kill"}, {"exit code 137"}},
       "the host's memory ran out",
       "fewer streams, or more memory for the container"},

      // Harmless.
      {"INT64 weights",
       "trtexec",
       {{"INT64 weights"}, {"cast down to INT32"}},
       "exporters write shapes as INT64",
       "nothing to do when the run ends with PASSED",
       true},
      {"Missing timing cache",
       "trtexec",
       {{"timing cache", "not found"}, {"Could not read timing cache"}},
       "there is no timing cache yet; the first build writes it",
       "nothing to do",
       true},
  };
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), Lower);
  return lowered;
}

/// The catalogue's texts in small letters, once.
struct Pattern {
  const Symptom* symptom;
  std::vector<std::vector<std::string>> lines;
};

std::vector<Pattern> Patterns() {
  std::vector<Pattern> patterns;
  for (const Symptom& symptom : Symptoms()) {
    Pattern pattern{&symptom, {}};
    for (const auto& line : symptom.lines) {
      pattern.lines.emplace_back();
      for (const char* text : line) pattern.lines.back().push_back(Lowered(text));
    }
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

bool Fits(const Pattern& pattern, const std::string& line) {
  return std::any_of(pattern.lines.begin(), pattern.lines.end(), [&](const auto& texts) {
    return std::all_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return line.find(text) != std::string::npos;
    });
  });
}

}  // namespace

const std::vector<Symptom>& Symptoms() {
  static const std::vector<Symptom> kCatalogue = Catalogue();
  return kCatalogue;
}

std::vector<const Symptom*> FindSymptoms(const std::string& log) {
  static const std::vector<Pattern> kPatterns = Patterns();
  std::vector<bool> found(kPatterns.size());
  const std::string lowered = Lowered(log);
  for (size_t at = 0; at < lowered.size();) {
    const size_t end = std::min(lowered.find('\n', at), lowered.size());
    const std::string line = lowered.substr(at, end - at);
    at = end + 1;
    for (size_t i = 0; i < kPatterns.size(); ++i) found[i] = found[i] || Fits(kPatterns[i], line);
  }
  std::vector<const Symptom*> symptoms;
  for (const bool harmless : {false, true}) {
    for (size_t i = 0; i < kPatterns.size(); ++i) {
      if (found[i] && kPatterns[i].symptom->harmless == harmless)
        symptoms.push_back(kPatterns[i].symptom);
    }
  }
  return symptoms;
}

std::string ExplainLog(const std::string& log) {
  const auto symptoms = FindSymptoms(log);
  if (symptoms.empty() || symptoms.front()->harmless) return "";
  return fmt::format("{}; {}", symptoms.front()->cause, symptoms.front()->remedy);
}

std::string TroubleshootingPage() {
  std::string page =
      "# Troubleshooting\n\n"
      "What logs of TensorRT, DeepStream and containers say, why, and what helps. `streamgauge "
      "doctor --log FILE`\n"
      "looks a log up in this list; every failed step does so by itself. Written by `streamgauge "
      "doctor --symptoms`.\n\n"
      "| what | in the log of | it says | why | what helps |\n|---|---|---|---|---|\n";
  for (const Symptom& symptom : Symptoms()) {
    std::string says;
    for (const auto& line : symptom.lines) {
      if (!says.empty()) says += " or ";
      for (size_t i = 0; i < line.size(); ++i)
        says += fmt::format("{}`{}`", i == 0 ? "" : " … ", line[i]);
    }
    page += fmt::format("| {}{} | {} | {} | {} | {} |\n", symptom.title,
                        symptom.harmless ? " (harmless)" : "", symptom.tool, says, symptom.cause,
                        symptom.remedy);
  }
  return page;
}

}  // namespace sg
