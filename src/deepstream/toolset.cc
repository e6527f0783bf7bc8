#include "deepstream/toolset.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "base/files.h"
#include "base/subprocess.h"

namespace sg {
namespace {

struct Answer {
  std::string text;     ///< stdout and stderr, in the order of arrival
  std::string problem;  ///< empty: it ended well
};

Answer Ask(const std::vector<std::string>& argv, double deadline_s) {
  Answer answer;
  Subprocess process;
  process.argv = argv;
  process.deadline_s = deadline_s;
  process.grace_s = 1;
  const auto take = [&](const std::string& line) {
    if (answer.text.size() < 65536) answer.text += line + "\n";
  };
  process.on_stdout_line = take;
  process.on_stderr_line = take;
  const Result<SubprocessExit> exit = RunSubprocess(process);
  if (!exit.ok())
    answer.problem = exit.error().message;
  else if (exit->timed_out)
    answer.problem = fmt::format("gave no answer within {:g} s", deadline_s);
  else if (exit->code != 0)
    answer.problem = fmt::format("ended with exit code {}", exit->code);
  return answer;
}

std::string FirstFile(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (FileExists(path)) return path;
  }
  return "";
}

std::string OnPathOr(const std::string& program, const std::vector<std::string>& places) {
  const std::string found = FindProgram(program);
  return found.empty() ? FirstFile(places) : found;
}

/// The word behind `mark`, up to a blank or bracket.
std::string WordAfter(const std::string& text, const std::string& mark) {
  const size_t at = text.find(mark);
  if (at == std::string::npos) return "";
  const size_t from = text.find_first_not_of(" v", at + mark.size());
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_first_of(" \n\r],)", from) - from);
}

Tool FindTrtexec(const ToolsetSearch& search) {
  Tool tool;
  tool.path = OnPathOr("trtexec", {search.root + "/usr/src/tensorrt/bin/trtexec",
                                   search.root + "/opt/tensorrt/bin/trtexec",
                                   search.root + "/usr/local/tensorrt/bin/trtexec"});
  if (tool.path.empty()) return tool;
  // Its exit code without a model differs from version to version; the banner is what counts.
  const Answer answer = Ask({tool.path, "--help"}, search.deadline_s);
  tool.version = WordAfter(answer.text, "[TensorRT");
  if (tool.version.empty() && !answer.problem.empty()) tool.problem = answer.problem;
  return tool;
}

Tool FindDeepStreamApp(const ToolsetSearch& search, const std::string& folder) {
  Tool tool;
  tool.path = OnPathOr("deepstream-app", {folder + "/bin/deepstream-app"});
  if (tool.path.empty()) return tool;
  const Answer answer = Ask({tool.path, "--version-all"}, search.deadline_s);
  tool.version = WordAfter(answer.text, "DeepStreamSDK");
  if (tool.version.empty())
    tool.problem = answer.problem.empty() ? "does not say its version" : answer.problem;
  return tool;
}

Tool FindRuntime(const ToolsetSearch& search) {
  Tool tool;
  for (const char* name : {"docker", "podman"}) {
    tool.path = FindProgram(name);
    if (tool.path.empty()) continue;
    // "version" asks the daemon too: a client alone can run nothing.
    const Answer answer =
        Ask({tool.path, "version", "--format", "{{.Server.Version}}"}, search.deadline_s);
    tool.problem = answer.problem;
    tool.version = answer.text.substr(0, answer.text.find('\n'));
    if (tool.problem.empty()) return tool;
    const bool denied = answer.text.find("permission denied") != std::string::npos;
    if (denied) tool.problem = "permission denied to its socket: add the user to the group docker";
  }
  return tool;
}

std::string Trimmed(const std::string& text) {
  const size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

Json ToolJson(const Tool& tool) {
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  return {
      {"path", text(tool.path)}, {"version", text(tool.version)}, {"problem", text(tool.problem)}};
}

}  // namespace

int DriverMajor(const std::string& driver) {
  int major = 0;
  const auto [end, error] = std::from_chars(driver.data(), driver.data() + driver.size(), major);
  if (error != std::errc() || end == driver.data() + driver.size() || *end != '.') return 0;
  return major;
}

std::vector<GpuFacts> ParseGpuRows(const std::string& csv) {
  std::vector<GpuFacts> gpus;
  std::istringstream lines(csv);
  std::string line;
  while (std::getline(lines, line)) {
    std::vector<std::string> fields;
    std::istringstream cells(line);
    std::string cell;
    while (std::getline(cells, cell, ',')) fields.push_back(Trimmed(cell));
    // Warnings have fewer commas, and no version where the driver's stands.
    if (fields.size() != 4 || DriverMajor(fields[1]) == 0) continue;
    for (std::string& field : fields) {
      if (!field.empty() && field.front() == '[') field.clear();
    }
    gpus.push_back({fields[0], fields[1], fields[2], fields[3]});
  }
  return gpus;
}

Toolset FindToolset(const ToolsetSearch& search) {
  Toolset tools;
  tools.in_container =
      FileExists(search.root + "/.dockerenv") || FileExists(search.root + "/run/.containerenv");
  tools.nvidia_smi.path = FindProgram("nvidia-smi");
  if (!tools.nvidia_smi.path.empty()) {
    const Answer answer =
        Ask({tools.nvidia_smi.path, "--query-gpu=name,driver_version,memory.total,compute_cap",
             "--format=csv,noheader,nounits"},
            search.deadline_s);
    tools.gpus = ParseGpuRows(answer.text);
    tools.nvidia_smi.problem = answer.problem;
    if (tools.gpus.empty() && answer.problem.empty()) tools.nvidia_smi.problem = "names no GPU";
  }
  for (const char* folder :
       {"/opt/nvidia/deepstream/deepstream", "/opt/nvidia/deepstream/deepstream-9.1"}) {
    if (tools.deepstream_folder.empty() && FolderExists(search.root + folder))
      tools.deepstream_folder = search.root + folder;
  }
  tools.trtexec = FindTrtexec(search);
  tools.deepstream_app = FindDeepStreamApp(search, tools.deepstream_folder);
  tools.gst_launch.path = FindProgram("gst-launch-1.0");
  if (!tools.deepstream_folder.empty()) {
    tools.sample_video = FirstFile({tools.deepstream_folder + "/samples/streams/sample_720p.mp4"});
  }
  if (!tools.in_container) tools.container_runtime = FindRuntime(search);
  return tools;
}

Json Toolset::ToJson() const {
  Json gpu_rows = Json::array();
  for (const GpuFacts& gpu : gpus) {
    gpu_rows.push_back({{"name", gpu.name},
                        {"driver", gpu.driver},
                        {"memory_mib", gpu.memory_mib.empty() ? Json() : Json(gpu.memory_mib)},
                        {"compute_capability",
                         gpu.compute_capability.empty() ? Json() : Json(gpu.compute_capability)}});
  }
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  return {{"nvidia_smi", ToolJson(nvidia_smi)}, {"gpus", gpu_rows},
          {"trtexec", ToolJson(trtexec)},       {"deepstream_app", ToolJson(deepstream_app)},
          {"gst_launch", ToolJson(gst_launch)}, {"deepstream_folder", text(deepstream_folder)},
          {"sample_video", text(sample_video)}, {"container_runtime", ToolJson(container_runtime)},
          {"in_container", in_container}};
}

}  // namespace sg
