#include "measure/capacity.h"

#include <gtest/gtest.h>

#include "measure/simulation_test.h"

namespace sg {
namespace {

using simulation::PacedServer;

CapacityVerdict Judge(const PacedServer& server, const CapacityLimits& limits = {}) {
  const Result<CapacityVerdict> verdict = JudgePacedRun(server.Run(), limits);
  EXPECT_TRUE(verdict.ok()) << (verdict.ok() ? "" : verdict.error().message);
  return verdict.ok() ? *verdict : CapacityVerdict();
}

const RuleOutcome& Rule(const CapacityVerdict& verdict, const std::string& begin) {
  for (const RuleOutcome& rule : verdict.rules)
    if (rule.rule.rfind(begin, 0) == 0) return rule;
  static const RuleOutcome none;
  ADD_FAILURE() << "no rule " << begin;
  return none;
}

TEST(Capacity, AServerWithRoomHolds) {
  const CapacityVerdict verdict = Judge({});
  EXPECT_TRUE(verdict.holds);
  EXPECT_NEAR(verdict.each[0].fps, 30, 0.2);
  EXPECT_NEAR(verdict.jain_index, 1, 1e-4);
  EXPECT_NEAR(verdict.each[3].latency_p99_ms.value, 2, 0.1);
}

TEST(Capacity, AServerThatIsTooSlowFails) {
  PacedServer server;
  server.service_s = 0.0085;  // 117.6 frames/s for 120 due
  const CapacityVerdict verdict = Judge(server);
  EXPECT_FALSE(verdict.holds);
  EXPECT_FALSE(Rule(verdict, "growth of the backlog").holds);
}

TEST(Capacity, AServerThatIsJustFastEnoughHolds) {
  PacedServer server;
  server.service_s = 0.0082;  // 121.9 frames/s for 120 due
  EXPECT_TRUE(Judge(server).holds);
}

TEST(Capacity, ASlowDriftThatFpsDoesNotShowIsABacklog) {
  PacedServer server;
  server.service_s = 1 / 119.4;  // half a percent short: within the 99 %
  server.seconds = 60;
  const CapacityVerdict verdict = Judge(server);
  EXPECT_TRUE(Rule(verdict, "fps of the worst stream").holds);
  EXPECT_FALSE(Rule(verdict, "growth of the backlog").holds);
}

TEST(Capacity, AStallShowsInItsStreamOnly) {
  PacedServer server;
  server.stalled_stream = 2;
  const CapacityVerdict verdict = Judge(server);
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.worst_stream, 2u);
  EXPECT_GT(verdict.each[2].latency_p99_ms.value, 1000);
  EXPECT_GT(verdict.each[2].late_share, 0.05);
  for (const size_t other : {0u, 1u, 3u}) {
    EXPECT_LT(verdict.each[other].latency_p50_ms.value, 10) << other;
    EXPECT_LT(verdict.each[other].late_share, 0.03) << other;
  }
  EXPECT_NE(Rule(verdict, "frames later").where.find("stream 2"), std::string::npos);
}

TEST(Capacity, AStallIsNeverTakenForTheWarmUp) {
  for (double from_s = 1.5; from_s < 12; from_s += 0.5) {
    for (const double length_s : {1.0, 2.5, 4.0}) {
      PacedServer server;
      server.seconds = 14;
      server.pace_fps = 10;
      server.stalled_stream = 2;
      server.stall_from_s = from_s;
      server.stall_s = length_s;
      const CapacityVerdict verdict = Judge(server);
      EXPECT_FALSE(verdict.holds) << from_s << " s, " << length_s << " s long";
      EXPECT_EQ(verdict.worst_stream, 2U) << from_s << " s, " << length_s << " s long";
    }
  }
}

TEST(Capacity, AServerThatStoodStillHasNotWarmedUp) {
  for (double from_s = 1.5; from_s < 9; from_s += 0.25) {
    for (const double length_s : {1.0, 2.0, 3.0}) {
      PacedServer server;
      server.seconds = 14;
      server.pace_fps = 10;
      server.throttle_from_s = from_s;
      server.throttle_s = length_s;
      EXPECT_FALSE(Judge(server).holds) << from_s << " s, " << length_s << " s long";
    }
  }
}

TEST(Capacity, AFrameThatComesALittleLaterIsNoBacklog) {
  PacedServer server;
  server.streams = 1;
  server.pace_fps = 10;
  server.seconds = 5;
  RunRecord record = server.Run();
  // 15 ms more each second: of a tenth of a second that a frame has.
  for (FrameSample& frame : record.frames)
    frame.arrival_ns += static_cast<uint64_t>(static_cast<double>(frame.arrival_ns) * 0.015);
  const auto verdict = JudgePacedRun(record, {});
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(Rule(*verdict, "growth of the backlog").holds);
}

TEST(Capacity, AStarvingStreamFailsAlthoughTheSumIsEnough) {
  PacedServer server;
  server.starving_stream = 1;
  const CapacityVerdict verdict = Judge(server);
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.worst_stream, 1u);
  EXPECT_NEAR(verdict.each[1].fps, 24, 0.5);
  EXPECT_GT(verdict.aggregate_fps, 110);
  EXPECT_LT(verdict.jain_index, 0.999);
}

TEST(Capacity, AStreamWithoutAnyFrameFails) {
  PacedServer server;
  server.starving_stream = 0;
  server.starving_share = 0;
  const CapacityVerdict verdict = Judge(server);
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.worst_stream, 0u);
  EXPECT_EQ(verdict.each[0].late_share, 1);
}

TEST(Capacity, AStallAtTheEndIsNotOverlooked) {
  PacedServer server;
  server.throttle_from_s = 16;
  server.throttle_s = 60;
  const CapacityVerdict verdict = Judge(server);
  EXPECT_FALSE(verdict.holds);
  EXPECT_GT(verdict.each[0].late_share, 0.1);
}

TEST(Capacity, AThrottledServerIsDisturbed) {
  PacedServer server;
  server.throttle_from_s = 8;
  server.throttle_s = 1.5;
  const CapacityVerdict verdict = Judge(server);
  EXPECT_FALSE(verdict.holds);
  EXPECT_TRUE(verdict.disturbed);
  ASSERT_FALSE(verdict.taints.causes.empty());
  EXPECT_EQ(verdict.taints.causes[0].cause, Disturbance::kThrottled);
}

TEST(Capacity, ABimodalServiceFailsTheLatencyLimitOnly) {
  PacedServer server;
  server.streams = 1;
  server.slow_every = 40;
  server.slow_service_s = 0.09;
  EXPECT_TRUE(Judge(server).holds);
  CapacityLimits limits;
  limits.latency_p99_ms = 50;
  const CapacityVerdict verdict = Judge(server, limits);
  EXPECT_FALSE(verdict.holds);
  EXPECT_FALSE(Rule(verdict, "99th percentile").holds);
  EXPECT_NEAR(Rule(verdict, "99th percentile").value, 90, 5);
}

TEST(Capacity, RefusesARunWithoutASchedule) {
  RunRecord record = PacedServer().Run();
  record.pace_fps = 0;
  EXPECT_EQ(JudgePacedRun(record, {}).error().kind, ErrorKind::kUser);
  PacedServer brief;
  brief.seconds = 1.5;
  EXPECT_NE(JudgePacedRun(brief.Run(), {}).error().message.find("too short"), std::string::npos);
}

TEST(Jain, IsOneForEqualsAndOneOverNForOne) {
  EXPECT_DOUBLE_EQ(JainIndex({5, 5, 5}), 1);
  EXPECT_DOUBLE_EQ(JainIndex({9, 0, 0}), 1.0 / 3);
  EXPECT_DOUBLE_EQ(JainIndex({0, 0}), 1);
}

/// Searches against a machine that carries `truth` streams; returns the tries.
std::vector<int> Search(int truth, int first, int most, int* capacity) {
  CapacitySearch search(first, most);
  std::vector<int> tries;
  while (const auto next = search.Next()) {
    tries.push_back(next->streams);
    search.Tell(next->streams <= truth ? CapacitySearch::Outcome::kHolds
                                       : CapacitySearch::Outcome::kFails);
    if (tries.size() > 100) break;
  }
  *capacity = search.capacity();
  return tries;
}

TEST(CapacitySearch, FindsEveryTruthFromEveryStart) {
  for (int truth = 0; truth <= 70; ++truth)
    for (const int first : {1, 3, 8, 64}) {
      int capacity = -1;
      const auto tries = Search(truth, first, 64, &capacity);
      EXPECT_EQ(capacity, std::min(truth, 64)) << truth << " from " << first;
      EXPECT_LE(tries.size(), 15u) << truth << " from " << first;
    }
}

TEST(CapacitySearch, ConfirmsTheLastOne) {
  CapacitySearch search(1, 8);
  search.Tell(CapacitySearch::Outcome::kHolds);  // 1
  search.Tell(CapacitySearch::Outcome::kHolds);  // 2
  search.Tell(CapacitySearch::Outcome::kFails);  // 4
  search.Tell(CapacitySearch::Outcome::kHolds);  // 3
  ASSERT_TRUE(search.Next().has_value());
  EXPECT_TRUE(search.Next()->confirm);
  EXPECT_EQ(search.Next()->streams, 3);
  search.Tell(CapacitySearch::Outcome::kFails);  // luck, the first time
  EXPECT_EQ(search.Next()->streams, 2);
  EXPECT_TRUE(search.Next()->confirm);
  search.Tell(CapacitySearch::Outcome::kHolds);
  EXPECT_FALSE(search.Next().has_value());
  EXPECT_EQ(search.capacity(), 2);
  EXPECT_FALSE(search.at_limit());
}

TEST(CapacitySearch, TriesADisturbedOneOnceMore) {
  CapacitySearch search(1, 1);
  search.Tell(CapacitySearch::Outcome::kDisturbed);
  EXPECT_EQ(search.Next()->streams, 1);
  search.Tell(CapacitySearch::Outcome::kDisturbed);
  EXPECT_FALSE(search.Next().has_value());
  EXPECT_EQ(search.capacity(), 0);
}

}  // namespace
}  // namespace sg
