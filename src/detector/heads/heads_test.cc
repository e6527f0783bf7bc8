// What holds for every head: the parser that is generated for it does what the reference decoder
// does on whatever an engine may give, and says no to outputs that are not the head's.
#include <gtest/gtest.h>

#include <memory>

#include "base/files.h"
#include "base/subprocess.h"
#include "detector/heads/family.h"
#include "detector/heads/test_heads.h"
#include "detector/parser_source.h"
#include "detector/proof_tensors.h"

namespace sg {
namespace {

class HeadsTest : public testing::TestWithParam<TestHead> {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "heads_test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { EXPECT_TRUE(RemoveAll(folder_).ok()); }

  Result<ParserLibrary> Build(const ParserSource& source) {
    SG_RETURN_IF_ERROR(WriteParser(source, folder_));
    SG_ASSIGN_OR_RETURN(const std::string path, CompileParser(folder_, source.names));
    return ParserLibrary::Load(path, source.names.function_name);
  }

  std::string folder_;
};

std::vector<RecordedTensors> ManyTensors(const Head& head, float threshold) {
  ProofTensorsRequest request;
  request.network_width = kTestWidth;
  request.network_height = kTestHeight;
  request.score_threshold = threshold;
  request.batches.assign(100, 4);
  return MakeProofTensors(head, request);
}

TEST_P(HeadsTest, ParserAgreesWithTheReferenceOnAThousandTensorsOfFloatsAndHalves) {
  const ModelCard card = CardOf(GetParam());
  auto library = Build(GenerateParser(card));
  ASSERT_TRUE(library.ok()) << library.error().message;
  int slots = 0;
  int boxes = 0;
  for (const float threshold : {0.0F, 0.25F, 0.6F}) {
    auto proof = ProveParser(*library, card, ManyTensors(card.head, threshold), threshold);
    ASSERT_TRUE(proof.ok()) << threshold << ": " << proof.error().message;
    slots += proof->slots;
    boxes += proof->boxes;
  }
  EXPECT_GE(slots, 1000);
  EXPECT_GE(boxes, slots);

  std::vector<RecordedTensors> batches = ManyTensors(card.head, 0.3F);
  batches.resize(10);
  for (RecordedTensors& batch : batches) {
    for (RecordedOutput& output : batch.outputs) {
      if (output.type == TensorType::kFloat) output.type = TensorType::kHalf;
    }
  }
  auto proof = ProveParser(*library, card, batches, 0.3F);
  ASSERT_TRUE(proof.ok()) << proof.error().message;
  EXPECT_GT(proof->boxes, 0);
}

TEST_P(HeadsTest, SourceHasNoWarningsInAnyStandard) {
  const ParserSource source = GenerateParser(CardOf(GetParam()));
  ASSERT_TRUE(WriteParser(source, folder_).ok());
  for (const char* standard : {"-std=c++11", "-std=c++20"}) {
    Subprocess compile;
    compile.argv = {"g++",     standard,        "-O3",
                    "-Wall",   "-Wextra",       "-Wshadow",
                    "-Werror", "-fsyntax-only", JoinPath(folder_, source.names.cpp_name)};
    compile.deadline_s = 60;
    auto exit = RunSubprocess(compile);
    ASSERT_TRUE(exit.ok()) << exit.error().message;
    EXPECT_EQ(exit->code, 0) << standard << exit->stderr_tail;
  }
}

TEST_P(HeadsTest, OutputsOfAnotherSizeOrTypeAreRefusedOnceAndNotRead) {
  const ModelCard card = CardOf(GetParam());
  auto library = Build(GenerateParser(card));
  ASSERT_TRUE(library.ok()) << library.error().message;
  const std::vector<float> thresholds(card.head.num_classes, 0.1F);
  const auto params = DetectionParams(thresholds, thresholds);
  const auto refused = [&](const std::vector<NvDsInferLayerInfo>& layers, const char* what) {
    std::vector<Box> found;
    testing::internal::CaptureStderr();
    EXPECT_FALSE(library->Parse(layers, {kTestWidth, kTestHeight, 3}, params, &found)) << what;
    const std::string first = testing::internal::GetCapturedStderr();
    EXPECT_NE(first, "") << what;
    testing::internal::CaptureStderr();
    EXPECT_FALSE(library->Parse(layers, {kTestWidth, kTestHeight, 3}, params, &found)) << what;
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << what;
  };
  const RecordedTensors tensors = ManyTensors(card.head, 0.1F)[0];
  std::vector<NvDsInferLayerInfo> layers;
  for (const RecordedOutput& output : tensors.outputs)
    layers.push_back(DescribeOutput(
        {output.name.c_str(), output.dims, TensorType::kFloat, output.values.data()}));
  for (size_t i = 0; i < layers.size(); ++i) {
    auto changed = layers;
    changed.erase(changed.begin() + static_cast<ptrdiff_t>(i));
    refused(changed, "missing");
    changed = layers;
    changed[i].buffer = nullptr;
    refused(changed, "no data");
    changed = layers;
    changed[i].dataType = UINT8;
    refused(changed, "type");
    changed = layers;
    changed[i].inferDims.numElements += 1;
    refused(changed, "numElements");
    const unsigned last = changed[i].inferDims.numDims - 1;
    changed[i].inferDims.d[last] += 1;
    changed[i].inferDims.numElements = changed[i].inferDims.numElements /
                                       layers[i].inferDims.d[last] * changed[i].inferDims.d[last];
    if (card.head.outputs[i].dims.back() > 0) refused(changed, "axis");
    changed = layers;
    changed[i].inferDims.numDims = 9;
    refused(changed, "axes");
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, HeadsTest, testing::ValuesIn(TestHeads()),
                         [](const testing::TestParamInfo<TestHead>& head) {
                           std::string name = head.param.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace sg
