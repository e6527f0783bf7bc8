// The layout that nvinfer calls parsers with: sizes and offsets of NVIDIA's nvdsinfer.h and
// nvdsinfer_custom_impl.h of DeepStream 9.1 on a 64-bit machine, written down from the headers.
#include "detector/parser_abi.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace sg {
namespace {

TEST(ParserAbi, StructsHaveNvidiasSizesAndOffsets) {
  EXPECT_EQ(sizeof(NvDsInferDims), 40U);
  EXPECT_EQ(offsetof(NvDsInferDims, numDims), 0U);
  EXPECT_EQ(offsetof(NvDsInferDims, d), 4U);
  EXPECT_EQ(offsetof(NvDsInferDims, numElements), 36U);

  EXPECT_EQ(sizeof(NvDsInferLayerInfo), 72U);
  EXPECT_EQ(offsetof(NvDsInferLayerInfo, dataType), 0U);
  EXPECT_EQ(offsetof(NvDsInferLayerInfo, inferDims), 4U);
  EXPECT_EQ(offsetof(NvDsInferLayerInfo, bindingIndex), 44U);
  EXPECT_EQ(offsetof(NvDsInferLayerInfo, layerName), 48U);
  EXPECT_EQ(offsetof(NvDsInferLayerInfo, buffer), 56U);
  EXPECT_EQ(offsetof(NvDsInferLayerInfo, isInput), 64U);

  EXPECT_EQ(sizeof(NvDsInferNetworkInfo), 12U);
  EXPECT_EQ(offsetof(NvDsInferNetworkInfo, width), 0U);
  EXPECT_EQ(offsetof(NvDsInferNetworkInfo, height), 4U);
  EXPECT_EQ(offsetof(NvDsInferNetworkInfo, channels), 8U);

  EXPECT_EQ(sizeof(NvDsInferObjectDetectionInfo), 28U);
  EXPECT_EQ(offsetof(NvDsInferObjectDetectionInfo, classId), 0U);
  EXPECT_EQ(offsetof(NvDsInferObjectDetectionInfo, left), 4U);
  EXPECT_EQ(offsetof(NvDsInferObjectDetectionInfo, top), 8U);
  EXPECT_EQ(offsetof(NvDsInferObjectDetectionInfo, width), 12U);
  EXPECT_EQ(offsetof(NvDsInferObjectDetectionInfo, height), 16U);
  EXPECT_EQ(offsetof(NvDsInferObjectDetectionInfo, detectionConfidence), 20U);
  EXPECT_EQ(offsetof(NvDsInferObjectDetectionInfo, rotation_angle), 24U);
}

TEST(ParserAbi, ThresholdsLieWhereNvinferReadsThem) {
  EXPECT_EQ(sizeof(NvDsInferParseDetectionParams), 64U);
  std::vector<float> thresholds = {0.5F};
  const NvDsInferParseDetectionParams params{1, thresholds, thresholds};
  const auto* bytes = reinterpret_cast<const char*>(&params);
  const auto offset = [&](const void* member) { return static_cast<const char*>(member) - bytes; };
  EXPECT_EQ(offset(&params.numClassesConfigured), 0);
  EXPECT_EQ(offset(&params.perClassPreclusterThreshold), 8);
  EXPECT_EQ(offset(&params.perClassPostclusterThreshold), 32);
  EXPECT_EQ(&params.perClassThreshold, &params.perClassPreclusterThreshold);
}

TEST(ParserAbi, ElementTypesHaveNvidiasNumbers) {
  EXPECT_EQ(FLOAT, 0);
  EXPECT_EQ(HALF, 1);
  EXPECT_EQ(INT8, 2);
  EXPECT_EQ(INT32, 3);
  EXPECT_EQ(INT64, 4);
  EXPECT_EQ(UINT8, 5);
  EXPECT_EQ(sizeof(NvDsInferDataType), 4U);
}

TEST(ParserAbi, TheFunctionTakesReferencesInNvidiasOrder) {
  using Wanted =
      bool (*)(const std::vector<NvDsInferLayerInfo>&, const NvDsInferNetworkInfo&,
               const NvDsInferParseDetectionParams&, std::vector<NvDsInferObjectDetectionInfo>&);
  EXPECT_TRUE((std::is_same_v<NvDsInferParseCustomFunc, Wanted>));
}

}  // namespace
}  // namespace sg
