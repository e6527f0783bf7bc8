// The report's files, in the order they depend on each other.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "base/files.h"
#include "base/subprocess.h"
#include "report/report.h"
#include "report/text.h"

namespace sg {
namespace report {
namespace {

struct Tool {
  const char* program;
  const char* debian_package;
};
constexpr Tool kTools[] = {
    {"gnuplot", "gnuplot-nox"}, {"cmark-gfm", "cmark-gfm"}, {"weasyprint", "weasyprint"}};

/// A name that is a file name and nothing else.
bool IsPlainName(const std::string& name) {
  constexpr char kAllowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && name.find_first_not_of(kAllowed) == std::string::npos && name != "." &&
         name != "..";
}

/// Prints the page to `pdf_path`. The page has no link to anything outside itself.
Status WritePdf(const std::string& html, const std::string& pdf_path) {
  const std::string part = fmt::format("{}.part.{}", pdf_path, ::getpid());
  Subprocess weasyprint;
  weasyprint.argv = {"weasyprint", "--encoding", "utf-8", "-", AbsolutePath(part)};
  weasyprint.stdin_text = html;
  weasyprint.deadline_s = 120;
  // Fonts get the time of embedding otherwise, and two PDFs of one report would differ.
  weasyprint.environment = {{"SOURCE_DATE_EPOCH", "0"}};
  const Result<SubprocessExit> exit = RunSubprocess(weasyprint);
  Status status = exit.status();
  if (status.ok() && exit->interrupted) status = InterruptedError();
  if (status.ok()) {
    const Result<std::string> pdf = ReadFile(part);
    if (exit->code != 0 || !pdf.ok() || pdf->rfind("%PDF-", 0) != 0)
      status = EnvironmentError(fmt::format("{}: weasyprint did not write it (exit code {}): {}",
                                            pdf_path, exit->code, OneLine(exit->stderr_tail)));
    else
      status = WriteFileAtomic(pdf_path, *pdf);
  }
  (void)RemoveAll(part).ok();
  return status;
}

/// Everything but the charts and the data.
Status WritePages(const Report& r, const std::string& reports_folder) {
  SG_RETURN_IF_ERROR(
      WriteFileAtomic(JoinPath(reports_folder, "benchmark_report.md"), ReportMarkdown(r)));
  SG_ASSIGN_OR_RETURN(const std::string html, ReportHtml(r, reports_folder));
  SG_RETURN_IF_ERROR(WriteFileAtomic(JoinPath(reports_folder, "benchmark_report.html"), html));
  return WritePdf(html,
                  JoinPath(reports_folder, fmt::format("benchmark_report_{}.pdf", r.model.name)));
}

}  // namespace
}  // namespace report

Status CheckReportTools() {
  for (const report::Tool& tool : report::kTools)
    if (FindProgram(tool.program).empty())
      return EnvironmentError(fmt::format(
          "{} is not installed, and the report needs it; install it with: apt-get install {}",
          tool.program, tool.debian_package));
  return OkStatus();
}

Status WriteReport(const Report& given, const std::string& reports_folder) {
  using Clock = std::chrono::steady_clock;
  if (!report::IsPlainName(given.model.name))
    return InternalError("the report's model name is not a file name: " +
                         report::OneLine(given.model.name));
  SG_RETURN_IF_ERROR(CheckReportTools());
  SG_RETURN_IF_ERROR(MakeFolders(reports_folder));

  // From the recorded form, so that a report written again from its data is the same bytes.
  const Clock::time_point start = Clock::now();
  SG_ASSIGN_OR_RETURN(const Json recorded, ParseJson(ToJsonText(given.ToJson()), "report"));
  SG_ASSIGN_OR_RETURN(Report r, Report::FromJson(recorded));
  SG_RETURN_IF_ERROR(WriteCharts(r, JoinPath(reports_folder, "charts")));
  SG_RETURN_IF_ERROR(report::WritePages(r, reports_folder));
  if (!r.times.report.seconds) {
    // The pages state how long they took, so they are written once for the time and once with it.
    r.times.report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    SG_RETURN_IF_ERROR(report::WritePages(r, reports_folder));
  }
  return WriteFileAtomic(JoinPath(reports_folder, "benchmark_data.json"),
                         ToJsonText(BenchmarkDataJson(r)));
}

}  // namespace sg
