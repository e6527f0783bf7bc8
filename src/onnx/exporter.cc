#include "onnx/exporter.h"

#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <fstream>

#include "base/files.h"
#include "base/subprocess.h"
#include "onnx/export/embedded.h"

namespace sg {
namespace {

constexpr double kExportDeadline_s = 3600;

Json RequestJson(const ExportRequest& request) {
  return {{"folder", AbsolutePath(request.folder)},
          {"output", AbsolutePath(request.output)},
          {"backend", request.backend},
          {"opset", request.opset},
          {"width", request.width},
          {"height", request.height},
          {"pictures", {{"path", request.pictures_path}, {"count", request.pictures}}},
          {"recorded", {{"path", request.recorded_path}}},
          {"prompt", request.prompt},
          {"trust", request.trust}};
}

/// "['batch', 3, 640, 640]", as Python writes it.
std::string ShapeText(const Json& shape) {
  std::string text;
  for (const Json& dim : shape) {
    text += text.empty() ? "[" : ", ";
    text += dim.is_string() ? "'" + dim.get<std::string>() + "'" : dim.dump();
  }
  return text + "]";
}

Result<ExportedModel> ReadAnswer(const Json& answer, const ExportRequest& request) {
  try {
    if (answer.at("event") == "error") {
      return UnsupportedError(fmt::format(
          "{}; all of it is in {}", answer.at("message").get<std::string>(), request.log_path));
    }
    ExportedModel model;
    model.opset = answer.at("opset").get<int>();
    const Json& input = answer.at("inputs").at(0);
    model.input = fmt::format("{} shape={}", input.at("name").get<std::string>(),
                              ShapeText(input.at("shape")));
    model.has_free_batch = input.at("shape").at(0).is_string();
    model.labels = answer.at("labels").get<std::vector<std::string>>();
    model.recorded.path = request.recorded_path;
    for (const Json& output : answer.at("recorded")) {
      model.recorded.outputs.push_back(
          {output.at("name").get<std::string>(), output.at("shape").get<std::vector<int64_t>>()});
    }
    return model;
  } catch (const Json::exception& e) {
    return InternalError(std::string("the exporter's answer: ") + e.what());
  }
}

std::optional<int64_t> PositiveNumber(const std::string& text) {
  int64_t value = 0;
  const auto end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || value < 1 || value > 16384) return std::nullopt;
  return value;
}

/// "size" as transformers' image processors write it.
std::optional<NetworkSize> SizeOf(const Json& size) {
  const auto number = [&](const char* key) -> int64_t {
    const auto value = size.find(key);
    return value != size.end() && value->is_number_integer() ? value->get<int64_t>() : 0;
  };
  NetworkSize chosen;
  if (size.is_number_integer()) {
    chosen.width = chosen.height = size.get<int64_t>();
  } else if (size.is_array() && size.size() == 2 && size[0].is_number_integer() &&
             size[1].is_number_integer()) {
    chosen.height = size[0].get<int64_t>();
    chosen.width = size[1].get<int64_t>();
  } else if (size.is_object()) {
    chosen.height = number("height");
    chosen.width = number("width");
    if (chosen.height == 0) chosen.height = number("max_height");
    if (chosen.width == 0) chosen.width = number("max_width");
    if (chosen.height == 0 && chosen.width == 0) {
      chosen.height = number("shortest_edge");
      chosen.width = number("longest_edge");
      if (chosen.width == 0) chosen.width = chosen.height;
    }
  }
  if (chosen.width < 1 || chosen.height < 1) return std::nullopt;
  return chosen;
}

/// The value of the first of the keys that the file's object, or the object inside it, has.
std::optional<NetworkSize> SizeInFile(const std::string& folder, const char* file,
                                      const std::vector<std::string>& pointers) {
  const std::string path = JoinPath(folder, file);
  if (!FileExists(path)) return std::nullopt;
  const Result<Json> json = ReadJsonFile(path);
  if (!json.ok()) return std::nullopt;
  for (const std::string& pointer : pointers) {
    const Json::json_pointer at(pointer);
    if (!json->contains(at)) continue;
    std::optional<NetworkSize> size = SizeOf(json->at(at));
    if (!size) continue;
    size->source = std::string(file) + " " + pointer.substr(1);
    return size;
  }
  return std::nullopt;
}

}  // namespace

std::string ExporterVersion() {
  return Sha256(std::string(kExportProgram) + kExportRequirements).substr(0, 16);
}

Result<ExportedModel> RunExporter(const std::string& venv, const ExportRequest& request) {
  const std::string program = JoinPath(venv, "streamgauge_export_model.py");
  SG_RETURN_IF_ERROR(WriteFileAtomic(program, kExportProgram));
  SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(request.log_path)));
  std::ofstream log(request.log_path, std::ios::app);
  if (!log) return EnvironmentError(request.log_path + ": cannot be written");
  Subprocess process;
  process.argv = {JoinPath(venv, "bin/python"), "-I", "-u", program};
  process.stdin_text = RequestJson(request).dump();
  process.deadline_s = kExportDeadline_s;
  // The exporter fetches nothing, so it has no use for the user's tokens.
  for (const char* secret :
       {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "NGC_API_KEY", "NGC_CLI_API_KEY"})
    process.environment[secret] = "";
  Json answer;
  process.on_stdout_line = [&](const std::string& line) {
    answer = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  };
  process.on_stderr_line = [&](const std::string& line) { log << line << '\n'; };
  SG_ASSIGN_OR_RETURN(const SubprocessExit exit, RunSubprocess(process));
  log.flush();
  if (exit.interrupted) return InterruptedError();
  if (exit.timed_out) return UnsupportedError("the export took longer than an hour; given up");
  if (exit.code == 128 + SIGKILL) {
    return EnvironmentError(
        "the export was killed by the system, most likely because memory ran out");
  }
  if (!answer.is_object()) {
    return UnsupportedError(fmt::format("torch ended with exit code {}; its last words are in {}",
                                        exit.code, request.log_path));
  }
  return ReadAnswer(answer, request);
}

Result<NetworkSize> ChooseNetworkSize(const std::string& folder, const std::string& image_size) {
  if (!image_size.empty()) {
    const size_t x = image_size.find('x');
    const auto width = PositiveNumber(image_size.substr(0, x));
    const auto height = x == std::string::npos ? width : PositiveNumber(image_size.substr(x + 1));
    if (!width || !height) {
      return UserError(image_size + ": --image-size is one number or WIDTHxHEIGHT");
    }
    return NetworkSize{*width, *height, "--image-size"};
  }
  for (const char* file : {"preprocessor_config.json", "processor_config.json"}) {
    if (auto size = SizeInFile(
            folder, file,
            {"/pad_size", "/size", "/image_processor/pad_size", "/image_processor/size"}))
      return *size;
  }
  if (auto size = SizeInFile(folder, "config.json",
                             {"/image_size", "/anchor_image_size", "/eval_size",
                              "/vision_config/image_size", "/backbone_config/image_size"}))
    return *size;
  return UserError(fmt::format(
      "{}: neither preprocessor_config.json nor config.json says the size of the network's input; "
      "say it with --image-size",
      folder));
}

}  // namespace sg
