// The self-contained page. cmark-gfm turns the Markdown into HTML with raw HTML switched off; the
// pictures, the style and the frame around the answer are put in afterwards, here.
#include <fmt/format.h>

#include <array>

#include "base/files.h"
#include "base/subprocess.h"
#include "report/charts.h"
#include "report/report.h"
#include "report/style.h"
#include "report/text.h"

namespace sg {
namespace report {
namespace {

constexpr char kPngUri[] = "data:image/png";
constexpr size_t kFramesShown = 3;
constexpr uint64_t kLargestFrameBytes = 4 << 20;

std::string Base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t at) -> unsigned {
      return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
    };
    const unsigned group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    out += kDigits[group >> 18 & 63];
    out += kDigits[group >> 12 & 63];
    out += i + 1 < bytes.size() ? kDigits[group >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? kDigits[group & 63] : '=';
  }
  return out;
}

std::string EscapedHtml(const std::string& text) {
  std::string out;
  for (const char c : OneLine(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void ReplaceAll(std::string* text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size())
    text->replace(at, from.size(), to);
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

Result<std::string> MarkdownToHtml(const std::string& markdown) {
  Subprocess cmark;
  cmark.argv = {"cmark-gfm", "--extension", "table", "--to", "html"};
  cmark.stdin_text = markdown;
  cmark.deadline_s = 30;
  std::string html;
  cmark.on_stdout_line = [&html](const std::string& line) { html += line + "\n"; };
  SG_ASSIGN_OR_RETURN(const SubprocessExit exit, RunSubprocess(cmark));
  if (exit.interrupted) return InterruptedError();
  if (exit.code != 0)
    return EnvironmentError("cmark-gfm failed (exit code " + std::to_string(exit.code) +
                            "): " + OneLine(exit.stderr_tail));
  return html;
}

/// Up to three sample frames as JPEG data URIs; a frame that is not there is left out.
std::string SampleFrames(const Report& r, const std::string& model_folder) {
  std::string images;
  size_t shown = 0;
  for (const std::string& frame : r.single.frames) {
    if (shown == kFramesShown) break;
    const std::string path = JoinPath(model_folder, frame);
    const Result<uint64_t> size = FileSize(path);
    if (!size.ok() || *size > kLargestFrameBytes) continue;
    const Result<std::string> jpeg = ReadFile(path);
    if (!jpeg.ok() || jpeg->rfind("\xFF\xD8\xFF", 0) != 0) continue;
    images += fmt::format("<img alt=\"Sample frame {}\" src=\"data:image/jpeg;base64,{}\" />\n",
                          ++shown, Base64(*jpeg));
  }
  return images.empty() ? "" : "<div class=\"frames\">\n" + images + "</div>\n";
}

/// Numbers the sections' headings for links, frames the answer and its list of contents, and puts
/// the sample frames at the end of section 7.
Status AddStructure(const std::string& frames, std::string* body) {
  constexpr size_t kSections = 12;
  const size_t date_end = body->find("</p>\n");
  std::string contents = "<ul class=\"contents\">\n";
  size_t first_heading = std::string::npos;
  size_t at = 0;
  for (size_t section = 1; section <= kSections; ++section) {
    at = body->find("<h2>", at);
    const size_t end = at == std::string::npos ? at : body->find("</h2>", at);
    if (end == std::string::npos) return InternalError("the report's text lacks a section");
    const std::string title = body->substr(at + 4, end - at - 4);
    contents += fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", section, title);
    std::string heading = fmt::format("<h2 id=\"section-{}\">", section);
    if (section == 8) heading.insert(0, frames);
    body->replace(at, 4, heading);
    if (section == 1) first_heading = at;
    at += heading.size();
  }
  if (date_end > first_heading) return InternalError("the report's text lacks its date");
  body->insert(first_heading, contents + "</ul>\n</section>\n");
  body->insert(date_end + 5, "<section class=\"answer\">\n");
  return OkStatus();
}

Status InsertCharts(const Report& r, const std::string& charts_folder, std::string* html) {
  for (const ChartFile& chart : ChartFiles(r)) {
    const std::string link = "src=\"charts/" + chart.file + "\"";
    const size_t at = html->find(link);
    if (at == std::string::npos) return InternalError("the report's text lacks " + chart.file);
    SG_ASSIGN_OR_RETURN(const std::string png, ReadFile(JoinPath(charts_folder, chart.file)));
    html->replace(at, link.size(), fmt::format("src=\"{};base64,{}\"", kPngUri, Base64(png)));
  }
  return OkStatus();
}

}  // namespace
}  // namespace report

Result<std::string> ReportHtml(const Report& r, const std::string& reports_folder) {
  using namespace report;
  SG_ASSIGN_OR_RETURN(std::string body, MarkdownToHtml(ReportMarkdown(r)));
  std::string title = EscapedHtml(r.model.name.empty() ? "unknown" : r.model.name);
  // A foreign text that reads like a data URI must not be counted as a picture.
  for (std::string* text : {&title, &body}) ReplaceAll(text, kPngUri, "data&#58;image/png");

  SG_RETURN_IF_ERROR(AddStructure(SampleFrames(r, ParentFolder(reports_folder)), &body));
  SG_RETURN_IF_ERROR(InsertCharts(r, JoinPath(reports_folder, "charts"), &body));

  const std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'\" />\n"
      "<title>{} Benchmark "
      "Report</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      title, kStyle, body);
  if (const size_t count = Count(html, kPngUri); count != ChartFiles(r).size())
    return InternalError(
        fmt::format("the report's page has {} PNG pictures, not {}", count, ChartFiles(r).size()));
  return html;
}

}  // namespace sg
