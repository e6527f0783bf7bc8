// The example of each element's documentation is read from its file and run.
#include "base/files.h"
#include "gst/element_test.h"

namespace sg {
namespace {

class LaunchLineTest : public ElementTest, public testing::WithParamInterface<const char*> {};

// The launch line between |[ and ]|, without the program's name and the comment's marks.
std::string LaunchLineOf(const std::string& file) {
  const Result<std::string> source = ReadFile(SG_SOURCE_DIR "/gst/" + file + ".cc");
  if (!source.ok()) return "";
  const size_t begin = source->find("|[");
  const size_t end = source->find("]|");
  if (begin == std::string::npos || end == std::string::npos) return "";
  std::string line;
  for (size_t i = begin + 2; i < end; ++i) {
    const char c = (*source)[i];
    if (source->compare(i, 3, "\n *") == 0) {
      i += 2;
    } else if (c != '\\' && c != '\n') {
      line += c;
    }
  }
  const std::string program = "gst-launch-1.0 ";
  const size_t start = line.find(program);
  return start == std::string::npos ? "" : line.substr(start + program.size());
}

TEST_P(LaunchLineTest, OfTheDocumentationRunsToItsEnd) {
  const std::string line = LaunchLineOf(GetParam());
  ASSERT_NE(line, "");
  EXPECT_EQ(RunToEnd(line), "") << line;
}

INSTANTIATE_TEST_SUITE_P(Elements, LaunchLineTest, testing::Values("mux", "demux", "osd", "kitti"),
                         [](const auto& element) { return std::string(element.param); });

}  // namespace
}  // namespace sg
