// streamgauge doctor: what is installed, what is missing, how to get it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/files.h"
#include "base/log.h"
#include "base/subprocess.h"
#include "cli/command.h"
#include "deepstream/container.h"
#include "deepstream/symptoms.h"
#include "deepstream/toolset.h"

namespace sg {
namespace {

constexpr double kAnswerSeconds = 20;
constexpr uint64_t kNeededBytes = uint64_t{10} << 30;

struct DoctorOptions {
  CommonFlags common;
  bool setup = false;
  bool symptoms = false;
  std::string log;
  std::string image = kDeepStreamImage;
};

enum class Verdict { kPass, kFail, kWarn, kSkip };

/// One row of the table.
struct Check {
  std::string part;  ///< "embedded", "DeepStream", "container"
  std::string what;
  Verdict verdict = Verdict::kPass;
  std::string found;
  std::string remedy;        ///< of a FAIL or WARN
  std::string apt_packages;  ///< what --setup may install
};

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "PASS";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kWarn:
      return "WARN";
    case Verdict::kSkip:
      return "SKIP";
  }
  return "";
}

/// A program or element of the distribution.
struct Need {
  const char* name;
  const char* what_for;
  const char* package;  ///< empty: it is our own
};

constexpr Need kPrograms[] = {
    {"make", "compiling parsers", "build-essential"},
    {"g++", "compiling parsers", "build-essential"},
    {"cmark-gfm", "reports as HTML", "cmark-gfm"},
    {"gnuplot", "the report's charts", "gnuplot-nox"},
    {"weasyprint", "reports as PDF", "weasyprint"},
};
constexpr Need kElements[] = {
    {"sginfer", "inference (our plugin, with OpenVINO)", ""},
    {"sgmux", "batches (our plugin)", ""},
    {"avdec_h264", "decoding H.264", "gstreamer1.0-libav"},
    {"avdec_h265", "decoding HEVC", "gstreamer1.0-libav"},
    {"qtdemux", "MP4 files", "gstreamer1.0-plugins-good"},
    {"rtspsrc", "cameras", "gstreamer1.0-plugins-good"},
    {"h264parse", "H.264 streams", "gstreamer1.0-plugins-bad"},
    {"theoraenc", "the video with boxes", "gstreamer1.0-plugins-base"},
    {"oggmux", "the video with boxes", "gstreamer1.0-plugins-base"},
};

Check MissingOrFound(const Need& need, const std::string& part, const std::string& found) {
  Check check{part, fmt::format("{}: {}", need.name, need.what_for), Verdict::kPass, found, "", ""};
  if (!found.empty()) return check;
  check.verdict = Verdict::kFail;
  check.found = "not there";
  check.apt_packages = need.package;
  check.remedy = check.apt_packages.empty()
                     ? "install streamgauge whole: the plugin lies beside the program, in "
                       "../lib/gstreamer-1.0, and needs the OpenVINO runtime it was built with"
                     : "apt install " + check.apt_packages;
  return check;
}

/// "1.22.0" of the plugin that has the element; empty when there is none.
std::string ElementVersion(const std::string& inspect, const std::string& element) {
  std::string version;
  Subprocess process;
  process.argv = {inspect, element};
  process.environment["GST_PLUGIN_PATH"] = PluginFolder();
  process.deadline_s = kAnswerSeconds;
  process.on_stdout_line = [&](const std::string& line) {
    const size_t at = line.find("Version ");
    if (version.empty() && at != std::string::npos)
      version = line.substr(line.find_first_not_of(' ', at + 8));
  };
  process.on_stderr_line = [](const std::string&) {};
  const Result<SubprocessExit> exit = RunSubprocess(process);
  if (!exit.ok() || exit->code != 0) return "";
  return version.empty() ? "there" : version;
}

void CheckEmbedded(std::vector<Check>* checks) {
  for (const Need& need : kPrograms)
    checks->push_back(MissingOrFound(need, "embedded", FindProgram(need.name)));
  const std::string worker = JoinPath(ProgramFolder(), "streamgauge-worker");
  checks->push_back(MissingOrFound({"streamgauge-worker", "runs pipelines and engines", ""},
                                   "embedded", FileExists(worker) ? worker : ""));
  const std::string inspect = FindProgram("gst-inspect-1.0");
  checks->push_back(
      MissingOrFound({"gst-inspect-1.0", "GStreamer", "gstreamer1.0-tools"}, "embedded", inspect));
  for (const Need& need : kElements) {
    if (inspect.empty()) break;
    checks->push_back(MissingOrFound(need, "embedded", ElementVersion(inspect, need.name)));
  }
  const std::string here = AbsolutePath(".");
  const Status writable = CheckWritable(here, kNeededBytes);
  Check space{"embedded", "space for models here", Verdict::kPass, here, "", ""};
  if (!writable.ok()) {
    space.verdict = Verdict::kWarn;
    space.found = writable.error().message;
    space.remedy = "--out names another folder";
  }
  checks->push_back(space);
}

std::string Said(const Tool& tool) {
  if (tool.path.empty()) return "not there";
  if (!tool.problem.empty()) return tool.path + ": " + tool.problem;
  return tool.version.empty() ? tool.path : fmt::format("{} ({})", tool.path, tool.version);
}

Check CheckDriver(const Toolset& tools) {
  Check check{"DeepStream", "GPU and driver", Verdict::kPass, "", "", ""};
  if (tools.gpus.empty()) {
    check.verdict = Verdict::kFail;
    check.found = tools.nvidia_smi.path.empty() ? "no nvidia-smi" : Said(tools.nvidia_smi);
    check.remedy = "an NVIDIA GPU with driver 595 or newer is needed for DeepStream 9.1";
    return check;
  }
  const GpuFacts& gpu = tools.gpus.front();
  check.found = fmt::format("{}, driver {}", gpu.name, gpu.driver);
  if (tools.gpus.size() > 1) check.found += fmt::format(", {} GPUs", tools.gpus.size());
  if (DriverMajor(gpu.driver) < kLeastDriver) {
    check.verdict = Verdict::kFail;
    check.remedy = fmt::format(
        "DeepStream 9.1's CUDA 13 needs driver {} or newer, and a container cannot bring its own: "
        "update the host's",
        kLeastDriver);
  }
  return check;
}

Check ToolCheck(const Tool& tool, const std::string& what, const std::string& remedy) {
  Check check{"DeepStream", what, Verdict::kPass, Said(tool), "", ""};
  if (tool.answers()) return check;
  check.verdict = Verdict::kFail;
  check.remedy = remedy;
  return check;
}

void CheckDeepStream(const Toolset& tools, std::vector<Check>* checks) {
  checks->push_back(CheckDriver(tools));
  const std::string get =
      fmt::format("use the container, or install DeepStream 9.1 ({})", kDeepStreamImage);
  checks->push_back(ToolCheck(tools.trtexec, "trtexec", get));
  checks->push_back(ToolCheck(tools.deepstream_app, "deepstream-app", get));
  Check clip{"DeepStream", "sample_720p.mp4", Verdict::kPass, tools.sample_video, "", ""};
  if (clip.found.empty()) {
    clip.verdict = Verdict::kWarn;
    clip.found = "not there";
    clip.remedy = "name a clip with --video or DS_VIDEO";
  }
  checks->push_back(clip);
  const std::string inspect = FindProgram("gst-inspect-1.0");
  Check encoder{"DeepStream", "nvv4l2h264enc: the video with boxes", Verdict::kPass, "", "", ""};
  if (!inspect.empty() && !tools.deepstream_folder.empty())
    encoder.found = ElementVersion(inspect, "nvv4l2h264enc");
  if (encoder.found.empty()) {
    encoder.verdict = Verdict::kWarn;
    encoder.found = "not there";
    encoder.remedy = "theoraenc writes an .ogv instead; some GPUs have no encoder";
  }
  checks->push_back(encoder);
}

void CheckContainer(const Toolset& tools, const std::string& image, std::vector<Check>* checks) {
  Check check{"container", "docker or podman", Verdict::kPass, Said(tools.container_runtime), "",
              ""};
  if (tools.in_container) {
    check.found = "this is a container already";
    check.verdict = Verdict::kSkip;
  } else if (!tools.container_runtime.answers()) {
    check.verdict = Verdict::kFail;
    check.remedy = "install docker (docker.io) with nvidia-container-toolkit, or podman";
  }
  checks->push_back(check);
  if (image.find("samples-multiarch") != std::string::npos) {
    checks->push_back({"container", "image", Verdict::kWarn, image,
                       "*-samples-multiarch images have no NVTX injector, so profiles stay without "
                       "ranges: take the -triton-multiarch one",
                       ""});
  }
}

bool AllPass(const std::vector<Check>& checks, const std::string& part) {
  bool pass = true;
  for (const Check& check : checks)
    pass = pass && (check.part != part || check.verdict != Verdict::kFail);
  return pass;
}

Json CheckJson(const Check& check) {
  return {{"part", check.part},
          {"what", check.what},
          {"verdict", VerdictName(check.verdict)},
          {"found", check.found},
          {"remedy", check.remedy.empty() ? Json() : Json(check.remedy)}};
}

/// The engine that `auto` takes here; empty: none.
std::string UsableEngine(const Toolset& tools, const std::vector<Check>& checks) {
  if (tools.IsNative()) return "deepstream";
  if (tools.CanContain()) return "deepstream in a container";
  return AllPass(checks, "embedded") ? "embedded" : "";
}

Status InstallPackages(const std::vector<Check>& checks, const DoctorOptions& options,
                       const Console& console) {
  std::vector<std::string> argv = {"apt-get", "install", "-y", "--no-install-recommends"};
  const size_t plain = argv.size();
  for (const Check& check : checks) {
    if (check.verdict != Verdict::kFail || check.apt_packages.empty()) continue;
    if (std::find(argv.begin(), argv.end(), check.apt_packages) == argv.end())
      argv.push_back(check.apt_packages);
  }
  if (argv.size() == plain) {
    console.Say("Nothing that apt could install is missing.");
    return OkStatus();
  }
  if (getuid() != 0) argv.insert(argv.begin(), "sudo");
  console.Say((options.common.dry_run ? "Would run: " : "Runs: ") + ShellQuoted(argv));
  if (options.common.dry_run) return OkStatus();
  if (!options.common.yes)
    return UserError(
        "doctor --setup installs packages: give --yes, or run the line above yourself");
  Subprocess apt;
  apt.argv = argv;
  apt.environment["DEBIAN_FRONTEND"] = "noninteractive";
  apt.on_stdout_line = [](const std::string&) {};
  SG_ASSIGN_OR_RETURN(const SubprocessExit exit, RunSubprocess(apt));
  if (exit.interrupted) return InterruptedError();
  if (exit.code != 0)
    return EnvironmentError(
        fmt::format("{} ended with exit code {}: {}", argv[0], exit.code, exit.stderr_tail));
  return OkStatus();
}

Status PullImage(const Toolset& tools, const DoctorOptions& options, const Console& console) {
  if (!tools.CanContain()) return OkStatus();
  const std::vector<std::string> argv = {tools.container_runtime.path, "pull", options.image};
  console.Say((options.common.dry_run ? "Would run: " : "Runs: ") + ShellQuoted(argv));
  if (options.common.dry_run || !options.common.yes) return OkStatus();
  Subprocess pull;
  pull.argv = argv;
  pull.on_stdout_line = [&](const std::string& line) { console.Say(line); };
  SG_ASSIGN_OR_RETURN(const SubprocessExit exit, RunSubprocess(pull));
  if (exit.interrupted) return InterruptedError();
  if (exit.code == 0) return OkStatus();
  const std::string why = ExplainLog(exit.stderr_tail);
  return EnvironmentError(fmt::format("{} ended with exit code {}: {}", ShellQuoted(argv),
                                      exit.code, why.empty() ? exit.stderr_tail : why));
}

Status ExplainFile(const std::string& path, const Console& console) {
  SG_ASSIGN_OR_RETURN(const std::string log, ReadFile(path));
  const auto symptoms = FindSymptoms(log);
  for (const Symptom* symptom : symptoms) {
    console.Say(fmt::format("{}{}\n  why:  {}\n  help: {}", symptom->title,
                            symptom->harmless ? " (harmless)" : "", symptom->cause,
                            symptom->remedy));
  }
  if (symptoms.empty()) console.Say("Nothing that is known stands in it.");
  return OkStatus();
}

std::vector<Check> AllChecks(const Toolset& tools, const std::string& image) {
  std::vector<Check> checks;
  CheckEmbedded(&checks);
  CheckDeepStream(tools, &checks);
  CheckContainer(tools, image, &checks);
  return checks;
}

Status Doctor(const DoctorOptions& options) {
  SetUpLog(options.common.verbose);
  const Console console(options.common);
  if (options.symptoms) {
    std::fputs(TroubleshootingPage().c_str(), stdout);
    return OkStatus();
  }
  if (!options.log.empty()) return ExplainFile(options.log, console);

  const Toolset tools = FindToolset({});
  std::vector<Check> checks = AllChecks(tools, options.image);
  if (options.setup) {
    SG_RETURN_IF_ERROR(InstallPackages(checks, options, console));
    SG_RETURN_IF_ERROR(PullImage(tools, options, console));
    if (!options.common.dry_run) checks = AllChecks(tools, options.image);
  }
  Json rows = Json::array();
  for (const Check& check : checks) {
    rows.push_back(CheckJson(check));
    console.Say(fmt::format("{}  {:<10}  {}: {}", VerdictName(check.verdict), check.part,
                            check.what, check.found));
    if (!check.remedy.empty()) console.Say("                  -> " + check.remedy);
  }
  const std::string engine = UsableEngine(tools, checks);
  console.Say(engine.empty() ? "No engine can run here." : "Engine that is taken here: " + engine);
  if (options.common.json) {
    const Json json = {{"checks", rows},
                       {"engine", engine.empty() ? Json() : Json(engine)},
                       {"deepstream", tools.ToJson()}};
    std::fputs((ToJsonText(json) + "\n").c_str(), stdout);
  }
  const bool wanted_deepstream = options.common.engine == "deepstream";
  if (wanted_deepstream && !tools.IsNative() && !tools.CanContain())
    return EnvironmentError("DeepStream cannot run here: see the FAIL lines");
  if (engine.empty()) return EnvironmentError("no engine can run here: see the FAIL lines");
  return OkStatus();
}

}  // namespace

void AddDoctorCommand(CLI::App* app, CommandRun* run) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command =
      app->add_subcommand("doctor", "What is installed, what is missing, how to get it");
  command->add_flag(
      "--setup", options->setup,
      "Install what is missing by apt, and fetch DeepStream's image (asks for --yes)");
  command->add_option("--log", options->log, "Look a log of trtexec, DeepStream or docker up");
  command->add_flag("--symptoms", options->symptoms, "Print the whole list of known errors");
  command->add_option("--image", options->image, "DeepStream's image")->capture_default_str();
  AddCommonFlags(command, &options->common);
  command->callback([options, run] { *run = [options] { return Doctor(*options); }; });
}

}  // namespace sg
