// The binary interface between nvinfer and a custom bounding box parser, declared in our own words.
//
// DeepStream's nvinfer (and our sginfer) loads a library with dlopen and calls the function that
// `parse-bbox-func-name` names. Its types are C and std::vector, so the layout below must equal the
// one of NVIDIA's nvdsinfer.h and nvdsinfer_custom_impl.h of DeepStream 9.1 byte for byte; the
// static_asserts hold it. Names are NVIDIA's, since generated parsers compile against either
// header.
#pragma once

#include <cstddef>
#include <vector>

extern "C" {

inline constexpr unsigned kNvDsInferMaxDims = 8;

typedef struct {
  unsigned int numDims;
  unsigned int d[kNvDsInferMaxDims];  ///< without the batch axis
  unsigned int numElements;
} NvDsInferDims;

typedef enum { FLOAT = 0, HALF = 1, INT8 = 2, INT32 = 3, INT64 = 4, UINT8 = 5 } NvDsInferDataType;

typedef struct {
  NvDsInferDataType dataType;
  NvDsInferDims inferDims;
  int bindingIndex;
  const char* layerName;
  void* buffer;  ///< host memory of one frame's output
  int isInput;
} NvDsInferLayerInfo;

typedef struct {
  unsigned int width;
  unsigned int height;
  unsigned int channels;
} NvDsInferNetworkInfo;

/// A box in pixels of the network's input.
typedef struct {
  unsigned int classId;
  float left;
  float top;
  float width;
  float height;
  float detectionConfidence;
  float rotation_angle;  ///< radians; 0 for upright boxes
} NvDsInferObjectDetectionInfo;

}  // extern "C"

/// Thresholds are indexed by class. The reference member is part of NVIDIA's layout.
struct NvDsInferParseDetectionParams {
  unsigned int numClassesConfigured;
  std::vector<float> perClassPreclusterThreshold;
  std::vector<float> perClassPostclusterThreshold;
  std::vector<float>& perClassThreshold = perClassPreclusterThreshold;
};

typedef bool (*NvDsInferParseCustomFunc)(std::vector<NvDsInferLayerInfo> const& outputLayersInfo,
                                         NvDsInferNetworkInfo const& networkInfo,
                                         NvDsInferParseDetectionParams const& detectionParams,
                                         std::vector<NvDsInferObjectDetectionInfo>& objectList);

static_assert(sizeof(NvDsInferDims) == 40);
static_assert(sizeof(NvDsInferLayerInfo) == 72);
static_assert(offsetof(NvDsInferLayerInfo, layerName) == 48);
static_assert(offsetof(NvDsInferLayerInfo, buffer) == 56);
static_assert(sizeof(NvDsInferNetworkInfo) == 12);
static_assert(sizeof(NvDsInferObjectDetectionInfo) == 28);
static_assert(sizeof(NvDsInferParseDetectionParams) == 64);
