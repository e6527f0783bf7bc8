// What holds for every head: the parser that is generated for it does what the reference decoder
// does on whatever an engine may give, and says no to outputs that are not the head's.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
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

/// The bytes of an output directly before memory that cannot be read.
class GuardedBytes {
 public:
  explicit GuardedBytes(const std::vector<float>& values) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = values.size() * sizeof(float);
    size_ = (bytes + page - 1) / page * page + page;
    start_ = static_cast<uint8_t*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(start_, MAP_FAILED);
    EXPECT_EQ(mprotect(start_ + size_ - page, page, PROT_NONE), 0);
    data_ = start_ + size_ - page - bytes;
    std::memcpy(data_, values.data(), bytes);
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { munmap(start_, size_); }
  const void* data() const { return data_; }

 private:
  uint8_t* start_;
  uint8_t* data_;
  size_t size_;
};

void ExpectAgreement(const ParserLibrary& library, const ModelCard& card) {
  int slots = 0;
  int boxes = 0;
  for (const float threshold : {0.0F, 0.25F, 0.6F}) {
    auto proof = ProveParser(library, card, ManyTensors(card.head, threshold), threshold);
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
  auto proof = ProveParser(library, card, batches, 0.3F);
  ASSERT_TRUE(proof.ok()) << "halves: " << proof.error().message;
  EXPECT_GT(proof->boxes, 0);
}

void ExpectNothingReadPastTheEnd(const ParserLibrary& library, const ModelCard& card) {
  const std::vector<float> thresholds(card.head.num_classes, 0.1F);
  const auto params = DetectionParams(thresholds, thresholds);
  std::vector<RecordedTensors> batches = ManyTensors(card.head, 0.1F);
  batches.resize(20);
  for (const RecordedTensors& batch : batches) {
    std::vector<std::unique_ptr<GuardedBytes>> bytes;
    std::vector<NvDsInferLayerInfo> layers;
    for (const RecordedOutput& output : batch.outputs) {
      const size_t size = output.values.size() / static_cast<size_t>(batch.batch);
      bytes.push_back(std::make_unique<GuardedBytes>(std::vector<float>(
          output.values.begin(), output.values.begin() + static_cast<ptrdiff_t>(size))));
      layers.push_back(DescribeOutput(
          {output.name.c_str(), output.dims, TensorType::kFloat, bytes.back()->data()}));
    }
    std::vector<Box> found;
    EXPECT_TRUE(library.Parse(layers, {kTestWidth, kTestHeight, 3}, params, &found));
  }
}

void ExpectRefusals(const ParserLibrary& library, const ModelCard& card) {
  const std::vector<float> thresholds(card.head.num_classes, 0.1F);
  const auto params = DetectionParams(thresholds, thresholds);
  const auto refused = [&](const std::vector<NvDsInferLayerInfo>& layers, const char* what) {
    std::vector<Box> found;
    testing::internal::CaptureStderr();
    EXPECT_FALSE(library.Parse(layers, {kTestWidth, kTestHeight, 3}, params, &found)) << what;
    EXPECT_NE(testing::internal::GetCapturedStderr(), "") << what;
    testing::internal::CaptureStderr();
    EXPECT_FALSE(library.Parse(layers, {kTestWidth, kTestHeight, 3}, params, &found)) << what;
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << what << " is said once";
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
    changed[i].inferDims.numElements = layers[i].inferDims.numElements /
                                       layers[i].inferDims.d[last] * changed[i].inferDims.d[last];
    if (card.head.outputs[i].dims.back() > 0) refused(changed, "axis");
    changed = layers;
    changed[i].inferDims.numDims = 9;
    refused(changed, "axes");
  }
}

TEST_P(HeadsTest, ParserDoesWhatTheReferenceDoesOnAThousandTensorsAndNothingElse) {
  const ModelCard card = CardOf(GetParam());
  auto library = Build(GenerateParser(card));
  ASSERT_TRUE(library.ok()) << library.error().message;
  ExpectAgreement(*library, card);
  ExpectNothingReadPastTheEnd(*library, card);
  ExpectRefusals(*library, card);
}

TEST_P(HeadsTest, SourceHasNoWarnings) {
  const ParserSource source = GenerateParser(CardOf(GetParam()));
  ASSERT_TRUE(WriteParser(source, folder_).ok());
  Subprocess compile;
  compile.argv = {"g++",     "-std=c++11",    "-Wall",
                  "-Wextra", "-Wshadow",      "-Wpedantic",
                  "-Werror", "-fsyntax-only", JoinPath(folder_, source.names.cpp_name)};
  compile.deadline_s = 60;
  auto exit = RunSubprocess(compile);
  ASSERT_TRUE(exit.ok()) << exit.error().message;
  EXPECT_EQ(exit->code, 0) << exit->stderr_tail;
}

/// Headers of the form that DeepStream's have, for a machine without it: the same names, the union
/// in the layer, and a macro that defines a function with a default argument.
constexpr const char kDeepStreamLikeHeader[] = R"header(#pragma once
#include <vector>
#include <NvInfer.h>
#include <NvOnnxParser.h>
extern "C" {
typedef struct { unsigned int numDims; unsigned int d[8]; unsigned int numElements; } NvDsInferDims;
typedef enum { FLOAT = 0, HALF = 1, INT8 = 2, INT32 = 3, INT64 = 4, UINT8 = 5 } NvDsInferDataType;
typedef struct {
  NvDsInferDataType dataType;
  union { NvDsInferDims inferDims; NvDsInferDims dims __attribute__((deprecated("use inferDims"))); };
  int bindingIndex; const char* layerName; void* buffer; int isInput;
} NvDsInferLayerInfo;
typedef struct { unsigned int width, height, channels; } NvDsInferNetworkInfo;
typedef struct {
  unsigned int classId; float left, top, width, height, detectionConfidence, rotation_angle;
} NvDsInferObjectDetectionInfo;
typedef struct {
  unsigned int numClassesConfigured;
  std::vector<float> perClassPreclusterThreshold, perClassPostclusterThreshold;
  std::vector<float>& perClassThreshold = perClassPreclusterThreshold;
} NvDsInferParseDetectionParams;
typedef bool (*NvDsInferParseCustomFunc)(std::vector<NvDsInferLayerInfo> const&,
    NvDsInferNetworkInfo const&, NvDsInferParseDetectionParams const&,
    std::vector<NvDsInferObjectDetectionInfo>&);
#define CHECK_CUSTOM_PARSE_FUNC_PROTOTYPE(name) \
  static void checkFunc_##name(NvDsInferParseCustomFunc func = name) { checkFunc_##name(); } \
  extern "C" bool name(std::vector<NvDsInferLayerInfo> const&, NvDsInferNetworkInfo const&, \
      NvDsInferParseDetectionParams const&, std::vector<NvDsInferObjectDetectionInfo>&)
}
)header";

TEST_P(HeadsTest, SourceCompilesWithHeadersOfDeepStreamsFormToTheSameFunction) {
  const ModelCard card = CardOf(GetParam());
  const ParserSource source = GenerateParser(card);
  ASSERT_TRUE(WriteParser(source, folder_).ok());
  const std::string includes = JoinPath(folder_, "sources/includes");
  ASSERT_TRUE(MakeFolders(includes).ok());
  ASSERT_TRUE(
      WriteFileAtomic(JoinPath(includes, "nvdsinfer_custom_impl.h"), kDeepStreamLikeHeader).ok());
  ASSERT_TRUE(WriteFileAtomic(JoinPath(includes, "NvInfer.h"), "").ok());
  ASSERT_TRUE(WriteFileAtomic(JoinPath(includes, "NvOnnxParser.h"), "").ok());
  Subprocess make;
  make.argv = {"make", "-C", folder_, "DEEPSTREAM_DIR=" + folder_, "CXXFLAGS=-O1 -Werror"};
  make.deadline_s = 60;
  auto exit = RunSubprocess(make);
  ASSERT_TRUE(exit.ok()) << exit.error().message;
  ASSERT_EQ(exit->code, 0) << exit->stderr_tail;
  auto library =
      ParserLibrary::Load(JoinPath(folder_, source.names.library_name), source.names.function_name);
  ASSERT_TRUE(library.ok()) << library.error().message;
  std::vector<RecordedTensors> batches = ManyTensors(card.head, 0.25F);
  batches.resize(5);
  auto proof = ProveParser(*library, card, batches, 0.25F);
  EXPECT_TRUE(proof.ok()) << proof.error().message;
}

INSTANTIATE_TEST_SUITE_P(Heads, HeadsTest, testing::ValuesIn(TestHeads()),
                         [](const testing::TestParamInfo<TestHead>& head) {
                           std::string name = head.param.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace sg
