#include "cli/import_context.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>

#include "base/files.h"
#include "base/interrupt.h"
#include "cli/version.h"

namespace sg {
namespace {

constexpr const char* kFolders[] = {
    "model",         "parser",        "config",         "scripts", "benchmarks/engines",
    "benchmarks/b1", "benchmarks/ds", "reports/charts", "samples"};

}  // namespace

ImportContext::~ImportContext() {
  if (lock_ >= 0) close(lock_);
}

Status ImportContext::OpenFolder(const std::string& name) {
  folder = ModelFolder(JoinPath(AbsolutePath(options.out), name), name);
  SG_RETURN_IF_ERROR(MakeFolders(folder.root()));
  lock_ = open(folder.Path(".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  if (lock_ < 0 || flock(lock_, LOCK_EX | LOCK_NB) != 0)
    return EnvironmentError(folder.root() + ": another streamgauge is at work in this folder");
  for (const char* relative : kFolders) SG_RETURN_IF_ERROR(MakeFolders(folder.Path(relative)));
  SG_RETURN_IF_ERROR(RemoveAll(folder.Path(folder.Staging())));
  SG_ASSIGN_OR_RETURN(journal_, Journal::Open(folder.root()));
  key_ = kVersion;
  return OkStatus();
}

Result<ImportContext::StepResult> ImportContext::RunStep(
    const std::string& name, const Json& inputs, const std::function<Result<StepOutput>()>& run) {
  key_ = Sha256(key_ + "\n" + name + "\n" + ToJsonLine(inputs));
  if (const auto done = journal_->Find(name, key_)) {
    SayStepDone(console, name, done->seconds, true);
    key_ = Sha256(key_ + "\n" + done->digest);
    return StepResult{done->values, done->seconds, true};
  }
  if (Interrupted()) return InterruptedError();
  const auto start = std::chrono::steady_clock::now();
  SG_RETURN_IF_ERROR(MakeFolders(folder.Path(folder.Staging())));
  Result<StepOutput> output = run();
  const Status cleaned = RemoveAll(folder.Path(folder.Staging()));
  if (!output.ok()) return output.error();
  SG_RETURN_IF_ERROR(cleaned);
  StepResult result;
  result.values = output->values;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  SG_ASSIGN_OR_RETURN(
      const JournalRecord record,
      journal_->Append({name, key_, output->values, result.seconds, output->files, ""}));
  key_ = Sha256(key_ + "\n" + record.digest);
  SayStepDone(console, name, result.seconds, false);
  return result;
}

ProgressFn ImportContext::ProgressLine(const std::string& title) const {
  auto progress = std::make_shared<Progress>(console.progress_mode(), title);
  return [progress](double fraction, const std::string& note) { progress->Update(fraction, note); };
}

void SayStepDone(const Console& console, const std::string& name, double seconds, bool reused) {
  console.Say(fmt::format("[Step {}] completed in {:.2f}s{}", name, seconds,
                          reused ? " (earlier; nothing it depends on has changed)" : ""));
}

}  // namespace sg
