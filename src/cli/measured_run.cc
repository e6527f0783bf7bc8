#include "cli/measured_run.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "base/files.h"
#include "cli/version.h"
#include "hardware/machine.h"

namespace sg {

Result<MeasuredRun> MeasuredRun::Create(std::string folder, RunFolder run) {
  const std::tm now = fmt::gmtime(std::time(nullptr));
  run.created_at = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", now);
  run.tool_version = fmt::format("streamgauge {}", kVersion);
  run.machine = DescribeMachine().ToJson();
  if (folder.empty()) folder = fmt::format("runs/{}-{}-{:%Y%m%d-%H%M%S}", run.kind, run.name, now);
  if (FileExists(JoinPath(folder, kRunFile)))
    return UserError(folder + ": already holds a run; name another folder with --out");
  constexpr uint64_t kSpace = uint64_t{64} << 20;
  SG_RETURN_IF_ERROR(CheckWritable(folder, kSpace));
  SG_RETURN_IF_ERROR(MakeFolders(folder));
  MeasuredRun measured(AbsolutePath(folder), std::move(run));
  SG_RETURN_IF_ERROR(measured.Write());
  return measured;
}

Status MeasuredRun::Add(RunPart part) {
  const std::string samples = Path(part.samples);
  if (FileExists(samples)) {
    SG_ASSIGN_OR_RETURN(part.sha256, Sha256File(samples));
  }
  run_.parts.push_back(std::move(part));
  return Write();
}

Status MeasuredRun::AddNote(const std::string& note) {
  run_.notes.push_back(note);
  return Write();
}

std::string MeasuredRun::Path(const std::string& name) const { return JoinPath(folder_, name); }

Status MeasuredRun::Write() const {
  return WriteFileAtomic(Path(kRunFile), ToJsonText(run_.ToJson()));
}

Result<RunInput> DescribeInput(const std::string& role, const std::string& path) {
  RunInput input;
  input.role = role;
  input.path = path;
  SG_ASSIGN_OR_RETURN(input.sha256, Sha256File(path));
  SG_ASSIGN_OR_RETURN(input.size_bytes, FileSize(path));
  return input;
}

std::string ImportedModelName(const std::string& folder) {
  const std::string name = BaseName(AbsolutePath(folder));
  return FileExists(JoinPath(folder, "model/" + name + ".onnx")) ? name : "";
}

}  // namespace sg
