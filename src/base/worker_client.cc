#include "base/worker_client.h"

#include "base/files.h"
#include "base/subprocess.h"

namespace sg {
namespace {

std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t newline = text.rfind('\n');
  return newline == std::string::npos ? text : text.substr(newline + 1);
}

}  // namespace

Result<Json> CallWorker(const WorkerCall& call) {
  Json result;
  std::optional<Error> error;
  Subprocess process;
  process.argv = {JoinPath(ProgramFolder(), "streamgauge-worker"), call.job};
  process.stdin_text = ToJsonLine(call.request) + "\n";
  process.deadline_s = call.deadline_s;
  process.on_stderr_line = call.on_log_line;
  process.stop_now = call.stop_now;
  process.on_stdout_line = [&](const std::string& line) {
    const Json event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    const std::string kind = event.is_object() ? event.value("event", "") : "";
    if (kind == "result") {
      result = event;
    } else if (kind == "error") {
      error = Error{ErrorKindFromName(event.value("kind", "")), event.value("message", "")};
    } else if (!kind.empty() && call.on_event) {
      call.on_event(event);
    }
  };
  SG_ASSIGN_OR_RETURN(const SubprocessExit exit, RunSubprocess(process));
  if (exit.interrupted && result.is_null()) return InterruptedError();
  if (error) return *error;
  if (exit.timed_out)
    return EnvironmentError("streamgauge-worker " + call.job + ": still not done after " +
                            std::to_string(static_cast<int>(call.deadline_s)) + " s; ended");
  if (exit.code != 0 || result.is_null())
    return InternalError("streamgauge-worker " + call.job + " ended with code " +
                         std::to_string(exit.code) + ": " + LastLine(exit.stderr_tail));
  return result;
}

}  // namespace sg
