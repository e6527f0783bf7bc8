#include "deepstream/symptoms.h"

#include <gtest/gtest.h>

#include <set>

#include "base/files.h"

namespace sg {
namespace {

std::string First(const std::string& log) {
  const auto symptoms = FindSymptoms(log);
  return symptoms.empty() ? "" : symptoms.front()->title;
}

TEST(Symptoms, RealLinesFindTheirCause) {
  EXPECT_EQ(
      First("[E] Error[2]: [defaultAllocator.cpp::allocateAsync::48] Error Code 1: Cuda Runtime "
            "(out of memory)\n"
            "[E] Error[10]: Could not find any implementation for node {ForeignNode[a...b]}.\n"),
      "GPU memory ran out");
  EXPECT_EQ(
      First("[E] Error[10]: Could not find any implementation for node {ForeignNode[a...b]}.\n"),
      "ForeignNode without implementation");
  EXPECT_EQ(First("Could not find any implementation for node {ForeignNode[a]} due to insufficient "
                  "workspace."),
            "Workspace too small");
  EXPECT_EQ(First("[E] Static model does not take explicit shapes since the shape of inference "
                  "tensors will be "
                  "determined by the model itself"),
            "Static model with shapes");
  EXPECT_EQ(First("NvDsInferContext[UID 1]: Warning from "
                  "NvDsInferContextImpl::checkBackendParams() <...>[UID = 1]: "
                  "Backend has maxBatchSize 1 whereas 2 has been requested"),
            "Batch larger than the engine's");
  EXPECT_EQ(First("docker: Error response from daemon: could not select device driver \"\" with "
                  "capabilities: [[gpu]]."),
            "Docker knows no GPU");
  EXPECT_EQ(First("ERROR: [TRT]: 6: The engine plan file is generated on an incompatible device, "
                  "expecting compute 8.6 "
                  "got compute 7.5, please rebuild."),
            "Engine of another GPU");
  EXPECT_EQ(
      First("0:00:01 ERROR nvinfer: Could not find output coverage layer for parsing objects"),
      "Default parser");
}

TEST(Symptoms, HarmlessOnesAreNamedAndExplainNothing) {
  const std::string log =
      "[W] [TRT] Your ONNX model has been generated with INT64 weights\n&&&& PASSED\n";
  ASSERT_EQ(FindSymptoms(log).size(), 1U);
  EXPECT_EQ(ExplainLog(log), "");
  EXPECT_EQ(FindSymptoms(log + "OutOfMemory\n").front()->harmless, false);
}

TEST(Symptoms, OrdinaryLogsAreNoSymptoms) {
  for (const char* log :
       {"", "all is well", "Pipeline running", "permission denied", "denied", "Killed",
        "[I] Memory Pools: workspace: 32768 MiB", "docker run --gpus all"}) {
    EXPECT_TRUE(FindSymptoms(log).empty()) << log;
  }
}

TEST(Symptoms, TextsOfDifferentLinesAreNoPattern) {
  EXPECT_TRUE(FindSymptoms("permission denied\nthe docker image is here").empty());
}

TEST(Symptoms, EveryOneIsWholeAndHasATitleOfItsOwn) {
  std::set<std::string> titles;
  for (const Symptom& symptom : Symptoms()) {
    EXPECT_TRUE(titles.insert(symptom.title).second) << symptom.title;
    ASSERT_FALSE(symptom.lines.empty());
    std::string line;
    for (const char* text : symptom.lines.front()) line += std::string(text) + " ";
    const auto found = FindSymptoms(line);
    EXPECT_TRUE(std::find(found.begin(), found.end(), &symptom) != found.end()) << symptom.title;
    EXPECT_STRNE(symptom.cause, "");
    EXPECT_STRNE(symptom.remedy, "");
  }
}

TEST(Symptoms, ThePageIsTheCatalogue) {
  const auto page = ReadFile(SG_DOCS_FOLDER "/troubleshooting.md");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(*page, TroubleshootingPage())
      << "streamgauge doctor --symptoms > docs/troubleshooting.md";
}

}  // namespace
}  // namespace sg
