// A program under the injected library.
#include <gtest/gtest.h>

#include <map>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/testing.h"
#include "trace/time_tables.h"
#include "trace/trace_reader.h"

namespace sg::trace {
namespace {

Result<SubprocessExit> RunUnder(const std::string& file, std::string* printed) {
  Subprocess process;
  process.argv = {SG_BINARY_DIR "/bin/nvtx_program"};
  process.environment = {{"NVTX_INJECTION64_PATH", SG_COLLECTOR}, {"SGCOLLECT_FILE", file}};
  process.deadline_s = 30;
  process.on_stdout_line = [printed](const std::string& line) { *printed += line; };
  return RunSubprocess(process);
}

TEST(Collector, RecordsEveryKindOfRange) {
  const TempFolder folder;
  std::string printed;
  const Result<SubprocessExit> exit = RunUnder(folder / "a.sgtrace", &printed);
  ASSERT_TRUE(exit.ok());
  ASSERT_EQ(exit->code, 0);
  // NVTX_NO_PUSH_POP_TRACKING: there was nothing to pop.
  EXPECT_EQ(printed, "-2");
  const Result<TraceFile> trace = TraceFile::Open(folder / "a.sgtrace");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  std::map<std::string, TimeRow> rows;
  for (const TimeRow& row : RangeFamilies(TablesOfTrace(*trace).ranges)) rows[row.name] = row;
  constexpr int64_t kMs = 1'000'000;
  EXPECT_EQ(rows["outer"].count, 1u);
  EXPECT_GE(rows["outer"].total_ns, 10 * kMs);
  EXPECT_EQ(rows["wide é€"].count, 1u);
  EXPECT_GE(rows["wide é€"].total_ns, 5 * kMs);
  EXPECT_LT(rows["wide é€"].total_ns, rows["outer"].total_ns);
  EXPECT_EQ(rows["registered"].count, 1000u);
  EXPECT_EQ(rows["registered"].domain, "planted");
  EXPECT_EQ(rows["started"].count, 1u);
  EXPECT_GE(rows["started"].total_ns, 5 * kMs);
  EXPECT_EQ(rows["step Frame=N"].count, 3u);
  EXPECT_EQ(rows.count("left open"), 0u);
  EXPECT_EQ(rows.count("mark"), 0u);
}

TEST(Collector, AFileThatCannotBeMadeLeavesTheProgramAlone) {
  std::string printed;
  const Result<SubprocessExit> exit = RunUnder("/proc/none/a.sgtrace", &printed);
  ASSERT_TRUE(exit.ok());
  EXPECT_EQ(exit->code, 0);
  EXPECT_NE(exit->stderr_tail.find("sgcollect: /proc/none/a.sgtrace"), std::string::npos);
}

}  // namespace
}  // namespace sg::trace
