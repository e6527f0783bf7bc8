#include "report/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <regex>

#include "base/files.h"
#include "base/subprocess.h"
#include "report/charts.h"
#include "report/derived.h"
#include "report/text.h"

namespace sg {
namespace {

std::string TestData(const std::string& name) {
  return std::string(SG_SOURCE_DIR) + "/src/report/testdata/" + name;
}

Report Recorded(const std::string& name) {
  const Result<Json> json = ReadJsonFile(TestData(name));
  EXPECT_TRUE(json.ok()) << json.status().error().message;
  const Result<Report> report = Report::FromJson(*json);
  EXPECT_TRUE(report.ok()) << report.status().error().message;
  return *report;
}

/// A folder of its own for one test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    path_ = testing::TempDir() + "report.XXXXXX";
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~TemporaryFolder() { EXPECT_TRUE(RemoveAll(path_).ok()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

#define ASSERT_TOOLS() \
  if (!CheckReportTools().ok()) GTEST_SKIP() << CheckReportTools().error().message

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

std::vector<std::string> Headings(const std::string& markdown) {
  std::vector<std::string> headings;
  for (size_t at = 0; (at = markdown.find("\n## ", at)) != std::string::npos; ++at)
    headings.push_back(markdown.substr(at + 4, markdown.find('\n', at + 1) - at - 4));
  return headings;
}

void ExpectGolden(const std::string& name) {
  const std::string markdown = ReportMarkdown(Recorded(name + ".json"));
  const Result<std::string> golden = ReadFile(TestData(name + ".md"));
  if (golden.ok() && markdown == *golden) return;
  const std::string actual = testing::TempDir() + name + ".actual.md";
  ASSERT_TRUE(WriteFileAtomic(actual, markdown).ok());
  FAIL() << "the Markdown differs from testdata/" << name << ".md; see " << actual;
}

TEST(ReportMarkdownTest, IsTheGoldenTextForTheEmbeddedEngine) { ExpectGolden("embedded_report"); }
TEST(ReportMarkdownTest, IsTheGoldenTextForDeepStream) { ExpectGolden("deepstream_report"); }

TEST(ReportMarkdownTest, IsTheSameUnderACommaLocale) {
  const std::string before = ReportMarkdown(Recorded("embedded_report.json"));
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) GTEST_SKIP() << "no locale de_DE.UTF-8";
  const std::string under_comma = ReportMarkdown(Recorded("embedded_report.json"));
  const std::string script = report::ChartScript(Recorded("embedded_report.json"), 4);
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(under_comma, before);
  EXPECT_EQ(script, report::ChartScript(Recorded("embedded_report.json"), 4));
}

TEST(ReportMarkdownTest, HasTheTwelveSectionsInOrder) {
  const std::vector<std::string> embedded = {"1. Model Configuration",
                                             "2. System Configuration",
                                             "3. Preprocessing",
                                             "4. Engine Build Summary",
                                             "5. OpenVINO Results",
                                             "6. PEAK_GPU_STREAMS Derivation",
                                             "7. Single-Stream Validation",
                                             "8. Embedded Benchmark Results",
                                             "9. OpenVINO vs Embedded Comparison",
                                             "10. Efficiency Analysis",
                                             "11. Pipeline Timing",
                                             "12. Reference Commands"};
  EXPECT_EQ(Headings(ReportMarkdown(Recorded("embedded_report.json"))), embedded);
  std::vector<std::string> deepstream = embedded;
  deepstream[4] = "5. trtexec Results";
  deepstream[7] = "8. DeepStream Benchmark Results";
  deepstream[8] = "9. trtexec vs DeepStream Comparison";
  EXPECT_EQ(Headings(ReportMarkdown(Recorded("deepstream_report.json"))), deepstream);
}

TEST(ReportMarkdownTest, HasTheTimingRowsInOrder) {
  const std::string markdown = ReportMarkdown(Recorded("embedded_report.json"));
  const std::string section = markdown.substr(markdown.find("## 11. "));
  size_t at = 0;
  for (const char* row : {"| 1-3 |", "| 4 |", "| 5 |", "| 6 |", "| 7 Run 1 |", "| 7 Run 2 |",
                          "| 8 |", "| **Total** |"}) {
    const size_t found = section.find(row);
    ASSERT_NE(found, std::string::npos) << row;
    EXPECT_GT(found, at) << row;
    at = found;
  }
  EXPECT_NE(section.find("**183.68 s**"), std::string::npos);
}

TEST(ReportMarkdownTest, AnswersWithTheLargestRealTimeRun) {
  Report r = Recorded("embedded_report.json");
  const std::string answer = ReportMarkdown(r);
  EXPECT_NE(answer.find("**4 streams in real time.**"), std::string::npos);
  EXPECT_NE(answer.find("limited by CPU time of inference"), std::string::npos);
  r.run1.worst_fps = 30.0;
  EXPECT_NE(ReportMarkdown(r).find("**5 streams in real time.**"), std::string::npos);
}

TEST(ReportMarkdownTest, SaysWhenNoStreamCountReachedRealTime) {
  Report r = Recorded("embedded_report.json");
  r.run2.worst_fps = 29.96;
  const std::string text = ReportMarkdown(r);
  EXPECT_NE(text.find("**No stream count reached real time.**"), std::string::npos);
  EXPECT_NE(text.find("the slowest stream ran at 29.96 fps"), std::string::npos)
      << "29.96 must not be rounded up to the target that it missed";
}

TEST(ReportMarkdownTest, FlagsASyntheticClipInBold) {
  Report r = Recorded("embedded_report.json");
  EXPECT_EQ(ReportMarkdown(r).find("synthetic"), std::string::npos);
  r.video.synthetic = true;
  EXPECT_NE(ReportMarkdown(r).find("**synthetic clip"), std::string::npos);
}

TEST(ReportMarkdownTest, NotesWhereDeepStreamScalesTwice) {
  Report r = Recorded("embedded_report.json");
  EXPECT_NE(report::ScalingNote(r).find("768×576 → 1280×720"), std::string::npos);
  EXPECT_NE(report::ScalingNote(r).find("4:3 into 16:9"), std::string::npos);
  r.video.width = 1920;
  r.video.height = 1080;
  EXPECT_NE(report::ScalingNote(r), "");
  EXPECT_EQ(report::ScalingNote(r).find("distort"), std::string::npos);
  r.video.width = 1280;
  r.video.height = 720;
  EXPECT_EQ(report::ScalingNote(r), "");
}

TEST(ReportMarkdownTest, AnEmptyReportSaysUnknownAndNeverNan) {
  Report r;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  r.run1.total_fps = nan;
  r.run1.worst_fps = nan;
  r.engine_bmax.images_per_s = std::numeric_limits<double>::infinity();
  r.engine.max_batch = 0;
  r.single.kitti_frames = 0;
  r.single.kitti_frames_with_detections = 0;
  const std::string text = ReportMarkdown(r) + report::ChartScript(r, 0) +
                           report::ChartScript(r, 2) + report::ChartScript(r, 4);
  EXPECT_EQ(Headings(ReportMarkdown(r)).size(), 12u);
  EXPECT_GT(Count(text, "unknown"), 60u);
  EXPECT_FALSE(std::regex_search(text, std::regex("\\b-?(nan|inf)\\b", std::regex::icase)));
  EXPECT_EQ(text.find("(fill"), std::string::npos);
}

TEST(ReportMarkdownTest, PutsPartsWithoutAFigureIntoTheDifference) {
  Report r = Recorded("embedded_report.json");
  EXPECT_NE(ReportMarkdown(r).find("| Mux, queues and the rest (difference) | 0.43 | 3.1 % |"),
            std::string::npos);
  r.costs.preprocess_ms.reset();
  EXPECT_NE(ReportMarkdown(r).find(
                "| Preprocessing, mux, queues and the rest (difference) | 0.75 | 5.4 % |"),
            std::string::npos);
}

TEST(ReportMarkdownTest, GivesTheEvidenceEvenWhenNothingIsNamed) {
  Report r = Recorded("embedded_report.json");
  r.limiting_resource.clear();
  r.limiting_evidence = "the two signals disagree";
  EXPECT_NE(ReportMarkdown(r).find("What limits it was not determined: the two signals disagree."),
            std::string::npos);
}

TEST(ReportMarkdownTest, NamesTheCaptureModeInFixedWords) {
  Report r = Recorded("embedded_report.json");
  EXPECT_NE(ReportMarkdown(r).find("| theoraenc OGV (NVENC unavailable) |"), std::string::npos);
  r.single.mode = "nvv4l2h264enc";
  EXPECT_NE(ReportMarkdown(r).find("| nvv4l2h264enc MP4 |"), std::string::npos);
  r.single.mode = "skipped";
  EXPECT_NE(ReportMarkdown(r).find("| skipped (no encoder available) |"), std::string::npos);
}

TEST(ReportJsonTest, ComesBackAsItWas) {
  for (const char* name : {"embedded_report.json", "deepstream_report.json"}) {
    const Report r = Recorded(name);
    const Result<Report> again = Report::FromJson(BenchmarkDataJson(r));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(ToJsonText(again->ToJson()), ToJsonText(r.ToJson()));
    EXPECT_EQ(ReportMarkdown(*again), ReportMarkdown(r));
  }
}

TEST(ReportJsonTest, HasTheFixedKeys) {
  const Json json = BenchmarkDataJson(Recorded("embedded_report.json"));
  EXPECT_EQ(json["model_name"], "pedestrian-rtdetr");
  EXPECT_EQ(json["engine"], "benchmarks/engines/model_dynamic_b8.blob");
  EXPECT_EQ(json["max_bs"], 8);
  EXPECT_EQ(json["trtexec"]["bs1"]["qps"], 145.21);
  EXPECT_EQ(json["trtexec"]["bs1"]["gpu_mean_ms"], 13.74);
  EXPECT_EQ(json["trtexec"]["bsmax"]["qps"], 21.04);
  EXPECT_EQ(json["trtexec"]["bsmax"]["gpu_mean_ms"], 94.92);
  EXPECT_EQ(json["trtexec"]["bsmax"]["p99_ms"], 102.3);
  EXPECT_EQ(json["trtexec"]["bsmax"]["imgs_per_sec"], 168.32);
  EXPECT_EQ(json["peak_gpu_streams"], 5);
  EXPECT_EQ(json["deepstream"]["run1"]["streams"], 5);
  EXPECT_EQ(json["deepstream"]["run2"]["total_fps"], 140.2);
  EXPECT_EQ(json["deepstream"]["run2"]["fps_per_stream"], 35.05);
}

TEST(ReportJsonTest, UnknownIsNull) {
  Report r;
  r.engine_b1.qps = std::numeric_limits<double>::quiet_NaN();
  const Json json = BenchmarkDataJson(r);
  for (const char* pointer :
       {"/model_name", "/engine", "/max_bs", "/trtexec/bs1/qps", "/trtexec/bsmax/p99_ms",
        "/peak_gpu_streams", "/deepstream/run1/streams", "/deepstream/run2/fps_per_stream",
        "/report/engine_b1/qps", "/report/single/kitti_passed"}) {
    const Json::json_pointer at(pointer);
    ASSERT_TRUE(json.contains(at)) << pointer;
    EXPECT_TRUE(json.at(at).is_null()) << pointer;
  }
}

TEST(ReportJsonTest, NamesTheKeyOfAWrongType) {
  Json json = Recorded("embedded_report.json").ToJson();
  json["run1"]["streams"] = "five";
  const Result<Report> wrong_type = Report::FromJson(json);
  ASSERT_FALSE(wrong_type.ok());
  EXPECT_EQ(wrong_type.error().kind, ErrorKind::kUser);
  EXPECT_NE(wrong_type.error().message.find("report.run1.streams"), std::string::npos);
  json["run1"]["streams"] = 1e300;
  EXPECT_FALSE(Report::FromJson(json).ok());
  EXPECT_FALSE(Report::FromJson(Json::array()).ok());
}

/// Texts that would do something if any step took them for its own language.
Report Hostile(const std::string& pwned) {
  Report r = Recorded("embedded_report.json");
  const std::string evil = "</code></script><img src=x onerror=alert(1)> | `touch " + pwned +
                           "` \"q\" 'q' \\| [x](javascript:alert(1)) ![p](charts/"
                           "chart_efficiency.png) **b** $(touch " +
                           pwned + ")\n# heading\n'\nsystem('touch " + pwned +
                           "')\n data:image/png;base64,AAAA %s %d \x1b[31m \xff\xfe \u202Egnp.exe";
  r.model.name = evil;
  r.model.source = r.model.architecture = r.model.licence = r.model.labels_source = evil;
  r.model.cluster_mode_reason = r.model.score_threshold_source = evil;
  r.model.labels = {evil, "# x", "- y", "1. z"};
  r.engine.runtime = r.engine.file = r.engine.profile = evil;
  r.machine.cpu_name = evil;
  r.machine.software.push_back({evil, evil});
  r.video.path = r.video.codec = evil;
  r.inputs.push_back({evil, evil, evil, 1});
  r.run2.outcome = r.limiting_resource = r.limiting_evidence = evil;
  r.single.detected_classes.insert(r.single.detected_classes.begin(), {evil, 1});
  r.commands.push_back({evil, "bash\" onload=x", "```\n</pre><script>alert(1)</script>\n````"});
  r.notes = {evil, "# a heading", "1. a list", "- a list", "> a quote", "```"};
  r.single.frames = {"../../../etc/passwd", evil};
  return r;
}

/// The first 200 bytes of each tag of a page.
std::vector<std::string> Tags(const std::string& html) {
  std::vector<std::string> tags;
  for (size_t at = 0; (at = html.find('<', at)) != std::string::npos; ++at)
    tags.push_back(html.substr(at, std::min<size_t>(200, html.find('>', at) - at + 1)));
  return tags;
}

TEST(ReportHostileTest, MarkdownKeepsItsShape) {
  const std::string markdown = ReportMarkdown(Hostile("/nonexistent/pwned"));
  EXPECT_EQ(Headings(markdown).size(), 12u);
  EXPECT_EQ(Count(markdown, "\n# "), 0u);
  EXPECT_EQ(markdown.find('\x1b'), std::string::npos);
  EXPECT_EQ(markdown.find("\u202E"), std::string::npos);
  EXPECT_EQ(markdown.find('\xff'), std::string::npos);
}

TEST(ReportHostileTest, PageHoldsNothingThatActs) {
  ASSERT_TOOLS();
  const TemporaryFolder folder;
  const std::string pwned = folder.path() + "/pwned";
  const Report r = Hostile(pwned);
  const Status charts = WriteCharts(r, folder.path() + "/charts");
  ASSERT_TRUE(charts.ok()) << charts.error().message;
  EXPECT_FALSE(FileExists(pwned));
  const Result<std::string> html = ReportHtml(r, folder.path());
  ASSERT_TRUE(html.ok()) << html.status().error().message;
  EXPECT_EQ(Count(*html, "<script"), 0u);
  EXPECT_EQ(Count(*html, "<img "), 5u);
  EXPECT_EQ(Count(*html, "data:image/png"), 5u);
  for (const std::string& tag : Tags(*html)) {
    EXPECT_FALSE(std::regex_search(tag, std::regex("\\son[a-z]+="))) << tag;
    EXPECT_FALSE(std::regex_search(tag, std::regex("(href|src)=\"(?!#section-|data:image/png)")))
        << tag;
  }
  EXPECT_EQ(Count(*html, "<h1>"), 1u);
  EXPECT_EQ(Count(*html, "<ol>"), 0u);
  EXPECT_EQ(Count(*html, "<ul>"), 1u) << "the notes are one flat list";
  EXPECT_EQ(Count(*html, "<h2 id="), 12u);
  EXPECT_NE(html->find("&lt;img src=x onerror=alert(1)&gt;"), std::string::npos)
      << "the text itself must be readable";
}

TEST(ReportHostileTest, AModelNameThatIsAPathIsRefused) {
  ASSERT_TOOLS();
  const TemporaryFolder folder;
  Report r = Recorded("embedded_report.json");
  for (const char* name : {"", ".", "..", "a/b", "-x y"}) {
    r.model.name = name;
    EXPECT_FALSE(WriteReport(r, folder.path()).ok()) << name;
  }
}

/// Width and height out of a PNG's header.
std::pair<uint32_t, uint32_t> PngSize(const std::string& png) {
  const auto number = [&png](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(png.at(at + i));
    return value;
  };
  return {number(16), number(20)};
}

TEST(ReportChartsTest, FiveOf1500By900ForEveryReport) {
  ASSERT_TOOLS();
  for (const Report& r :
       {Recorded("embedded_report.json"), Recorded("deepstream_report.json"), Report()}) {
    const TemporaryFolder folder;
    const Status status = WriteCharts(r, folder.path());
    ASSERT_TRUE(status.ok()) << status.error().message;
    const Result<std::vector<std::string>> names = ListFolder(folder.path());
    ASSERT_TRUE(names.ok());
    EXPECT_EQ(*names,
              (std::vector<std::string>{"chart_ds_streams_vs_fps.png", "chart_efficiency.png",
                                        "chart_trt_vs_ds.png", "chart_trtexec_bs1_vs_bsmax.png",
                                        "chart_trtexec_throughput.png"}));
    for (const std::string& name : *names) {
      const Result<std::string> png = ReadFile(folder.path() + "/" + name);
      ASSERT_TRUE(png.ok());
      EXPECT_EQ(PngSize(*png), (std::pair<uint32_t, uint32_t>{1500, 900})) << name;
    }
  }
}

TEST(ReportChartsTest, DrawTheDashedLinesOfTheirFigures) {
  const Report r = Recorded("embedded_report.json");
  EXPECT_NE(report::ChartScript(r, 1).find("150 with lines dashtype"), std::string::npos);
  EXPECT_NE(report::ChartScript(r, 2).find("30 with lines dashtype"), std::string::npos);
  EXPECT_NE(report::ChartScript(r, 4).find("100 with lines dashtype"), std::string::npos);
}

TEST(ReportToolsTest, AMissingToolIsNamedWithItsPackage) {
  const TemporaryFolder folder;
  const char* own_path = std::getenv("PATH");
  const std::string path = own_path == nullptr ? "" : own_path;
  ::setenv("PATH", folder.path().c_str(), 1);
  const Status status = CheckReportTools();
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::kEnvironment);
  EXPECT_NE(status.error().message.find("apt-get install gnuplot-nox"), std::string::npos);
}

class ReportFilesTest : public testing::Test {
 protected:
  /// Every file of the report, by name.
  static std::map<std::string, std::string> Files(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const std::string& sub : {std::string(), std::string("charts")}) {
      const std::string path = sub.empty() ? folder : JoinPath(folder, sub);
      const Result<std::vector<std::string>> names = ListFolder(path);
      EXPECT_TRUE(names.ok());
      for (const std::string& name : *names) {
        if (FolderExists(JoinPath(path, name))) continue;
        const Result<std::string> bytes = ReadFile(JoinPath(path, name));
        EXPECT_TRUE(bytes.ok());
        files[sub + "/" + name] = *bytes;
      }
    }
    return files;
  }
  static std::string OutputOf(const std::vector<std::string>& argv) {
    Subprocess job;
    job.argv = argv;
    std::string out;
    job.on_stdout_line = [&out](const std::string& line) { out += line + "\n"; };
    const Result<SubprocessExit> exit = RunSubprocess(job);
    EXPECT_TRUE(exit.ok() && exit->code == 0) << argv[0];
    return out;
  }
};

TEST_F(ReportFilesTest, AReportWrittenAgainFromItsDataIsTheSameBytes) {
  ASSERT_TOOLS();
  const TemporaryFolder model;
  // Without a time for step 8: the first writing measures it.
  Report r = Recorded("deepstream_report.json");
  r.machine.kernel = "bytes \xff\xc0 that are not UTF-8";
  const std::string first_folder = model.path() + "/reports";
  const Status first = WriteReport(r, first_folder);
  ASSERT_TRUE(first.ok()) << first.error().message;
  const Result<Json> data = ReadJsonFile(first_folder + "/benchmark_data.json");
  ASSERT_TRUE(data.ok());
  const Result<Report> recorded = Report::FromJson(*data);
  ASSERT_TRUE(recorded.ok());
  EXPECT_TRUE(recorded->times.report.seconds.has_value());
  const std::string second_folder = model.path() + "/again";
  ASSERT_TRUE(WriteReport(*recorded, second_folder).ok());

  const std::map<std::string, std::string> files = Files(first_folder);
  EXPECT_EQ(files.size(), 9u);
  EXPECT_TRUE(files.count("/benchmark_report_rtdetr_r50vd.pdf"));
  for (const auto& [name, bytes] : Files(second_folder)) {
    ASSERT_TRUE(files.count(name)) << name;
    EXPECT_TRUE(files.at(name) == bytes) << name << " differs";
  }
}

TEST_F(ReportFilesTest, ThePdfHoldsEverySectionAndTheFiveCharts) {
  ASSERT_TOOLS();
  for (const char* tool : {"pdftotext", "pdfimages"})
    if (FindProgram(tool).empty()) GTEST_SKIP() << tool << " is not installed (poppler-utils)";
  const TemporaryFolder model;
  const std::string folder = model.path() + "/reports";
  const Status status = WriteReport(Recorded("embedded_report.json"), folder);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const std::string pdf = folder + "/benchmark_report_pedestrian-rtdetr.pdf";
  EXPECT_EQ(Count(OutputOf({"pdfimages", "-list", pdf}), " 1500   900 "), 5u);
  const std::string text = OutputOf({"pdftotext", "-layout", pdf, "-"});
  for (const std::string& heading : Headings(ReportMarkdown(Recorded("embedded_report.json"))))
    EXPECT_NE(text.find(heading), std::string::npos) << heading;
  EXPECT_TRUE(std::regex_search(text, std::regex("1 ?/ ?[0-9]"))) << "page numbers";
}

TEST(ReportTextTest, FiguresAreNeverNegativeZeroOrNotANumber) {
  EXPECT_EQ(report::Figure(-0.001, 2), "0.00");
  EXPECT_EQ(report::Figure(-1.5, 1), "-1.5");
  EXPECT_EQ(report::Figure(std::nullopt, 1), "unknown");
  EXPECT_EQ(report::Figure(std::numeric_limits<double>::infinity(), 1, "s"), "unknown");
  EXPECT_EQ(report::Shortest(30.0), "30");
}

TEST(ReportTextTest, FpsIsNotRoundedAcrossTheTarget) {
  EXPECT_EQ(report::FpsBesideTarget(34.87, 30), "34.9");
  EXPECT_EQ(report::FpsBesideTarget(29.96, 30), "29.96");
  EXPECT_EQ(report::FpsBesideTarget(29.996, 30), "29.996");
  EXPECT_EQ(report::FpsBesideTarget(30.0, 30), "30.0");
}

TEST(ReportTextTest, ShortenedCutsBetweenCharacters) {
  EXPECT_EQ(report::Shortened("abcdefghij", 5), "ab…ij");
  EXPECT_EQ(report::Shortened("ääääääääää", 5), "ää…ää");
  EXPECT_EQ(report::Shortened("short", 5), "short");
}

TEST(ReportTextTest, OnlyWhatMarkdownWouldReadIsEscaped) {
  EXPECT_EQ(report::Inert("rtdetr_r50vd 2026.4.0"), "rtdetr_r50vd 2026.4.0");
  EXPECT_EQ(report::Inert("_a_ *b* `c` | <d> & [e] \\"),
            "\\_a\\_ \\*b\\* &#96;c&#96; &#124; &lt;d&gt; &amp; \\[e\\] \\\\");
  EXPECT_EQ(report::InertItem("1. x"), "- 1\\. x\n");
  EXPECT_EQ(report::InertItem("# x"), "- \\# x\n");
  EXPECT_EQ(report::Code("a|b"), "a&#124;b");
  EXPECT_EQ(report::Code("a/b_c"), "`a/b_c`");
}

TEST(ReportTextTest, FencesAreLongerThanAnyInside) {
  EXPECT_EQ(report::Fenced("a ```` b", "text"), "`````text\na ```` b\n`````\n");
}

}  // namespace
}  // namespace sg
