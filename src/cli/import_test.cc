#include <gtest/gtest.h>

#include "base/testing.h"
#include "cli/import_benchmark.h"
#include "cli/import_context.h"
#include "cli/import_engine.h"

namespace sg {
namespace {

TEST(PeakStreams, IsTheWholeStreamsThatFit) {
  EXPECT_EQ(PeakStreams(182.76, 30), 6);
  EXPECT_EQ(PeakStreams(180, 30), 6);
  EXPECT_EQ(PeakStreams(179.99, 30), 5);
  EXPECT_EQ(PeakStreams(29.9, 30), 0);
}

TEST(PowerOfTwoAtLeast, HoldsTheStreams) {
  EXPECT_EQ(PowerOfTwoAtLeast(0), 1);
  EXPECT_EQ(PowerOfTwoAtLeast(1), 1);
  EXPECT_EQ(PowerOfTwoAtLeast(5), 8);
  EXPECT_EQ(PowerOfTwoAtLeast(8), 8);
}

// pipeline, without inference, without decoding, cores used, cores allowed.
TEST(Limit, IsThePartWhoseRemovalHelpsMostWhileTheCoresAreBusy) {
  EXPECT_EQ(FindLimit({140, 1136, 183, 1.99, 2}).resource, "CPU time of the inference");
  EXPECT_EQ(FindLimit({140, 160, 900, 1.95, 2}).resource, "CPU time of the decoding");
}

TEST(Limit, IsNotNamedWhenTheCoresIdleOrASignalIsMissing) {
  EXPECT_EQ(FindLimit({30, 452, 33, 0.49, 2}).resource, "");
  EXPECT_EQ(FindLimit({140, 1136, 183, 1.99, 0}).resource, "");
  EXPECT_EQ(FindLimit({140, 0, 183, 1.99, 2}).resource, "");
  EXPECT_NE(FindLimit({30, 452, 33, 0.49, 2}).evidence.find("0.49 of 2 cores"), std::string::npos);
}

class Steps : public testing::Test {
 protected:
  /// Opens the folder as a new process would, and runs steps A and B; B's inputs are `b`.
  void Run(const std::string& a_outcome, int b) {
    a_runs_ = b_runs_ = 0;
    ImportContext context(options_, console_);
    ASSERT_TRUE(context.OpenFolder("model").ok());
    const auto step = [](int* runs, const Json& values) {
      return [runs, values]() -> Result<ImportContext::StepOutput> {
        ++*runs;
        return ImportContext::StepOutput{values, {}};
      };
    };
    ASSERT_TRUE(context.RunStep("A", {{"in", a_outcome}}, step(&a_runs_, a_outcome)).ok());
    ASSERT_TRUE(context.RunStep("B", {{"in", b}}, step(&b_runs_, b)).ok());
  }

  TempFolder folder_;
  ImportOptions options_ = [this] {
    ImportOptions options;
    options.out = folder_.path();
    options.common.json = true;
    return options;
  }();
  Console console_{options_.common};
  int a_runs_ = 0;
  int b_runs_ = 0;
};

TEST_F(Steps, AreNotRepeatedWhileNothingChanged) {
  Run("x", 1);
  EXPECT_EQ(a_runs_ + b_runs_, 2);
  Run("x", 1);
  EXPECT_EQ(a_runs_ + b_runs_, 0);
}

TEST_F(Steps, RunAgainWhenTheirInputsOrAnEarlierOutcomeChanged) {
  Run("x", 1);
  Run("x", 2);
  EXPECT_EQ(a_runs_, 0);
  EXPECT_EQ(b_runs_, 1);
  Run("y", 2);
  EXPECT_EQ(a_runs_, 1);
  EXPECT_EQ(b_runs_, 1);
}

TEST_F(Steps, AFailedStepIsNotRemembered) {
  {
    ImportContext context(options_, console_);
    ASSERT_TRUE(context.OpenFolder("model").ok());
    const auto failed = context.RunStep(
        "A", {{"in", "x"}}, []() -> Result<ImportContext::StepOutput> { return GateError("no"); });
    EXPECT_EQ(failed.error().kind, ErrorKind::kGate);
  }
  Run("x", 1);
  EXPECT_EQ(a_runs_, 1);
}

TEST_F(Steps, TheFolderBelongsToOneProcessAtATime) {
  ImportContext first(options_, console_), second(options_, console_);
  ASSERT_TRUE(first.OpenFolder("model").ok());
  EXPECT_EQ(second.OpenFolder("model").error().kind, ErrorKind::kEnvironment);
}

}  // namespace
}  // namespace sg
