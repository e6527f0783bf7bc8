// The text of the generated parser for HeadKind::kDetrSigmoid. @MARKS@ are filled in by
// GenerateParser; the text is C++11, since people build it with DeepStream's own flags too.
#pragma once

namespace sg {

inline constexpr const char kParserAbiText[] = R"parser(
// DeepStream's own header where it and TensorRT's are installed, else the same declarations in
// short, so that this file builds anywhere and the library is the same to nvinfer.
#if defined(__has_include)
#if __has_include("nvdsinfer_custom_impl.h") && __has_include(<NvInfer.h>) && \
  __has_include(<NvOnnxParser.h>)
#define PARSER_HAS_DEEPSTREAM_HEADER 1
#endif
#endif

#ifdef PARSER_HAS_DEEPSTREAM_HEADER
#include "nvdsinfer_custom_impl.h"
#else
extern "C" {

typedef struct {
  unsigned int numDims;
  unsigned int d[8];         // without the batch axis
  unsigned int numElements;  // the product of d
} NvDsInferDims;

typedef enum { FLOAT = 0, HALF = 1, INT8 = 2, INT32 = 3, INT64 = 4, UINT8 = 5 } NvDsInferDataType;

typedef struct {
  NvDsInferDataType dataType;
  NvDsInferDims inferDims;
  int bindingIndex;
  const char* layerName;
  void* buffer;  // host memory of one frame's output
  int isInput;
} NvDsInferLayerInfo;

typedef struct {
  unsigned int width;
  unsigned int height;
  unsigned int channels;
} NvDsInferNetworkInfo;

typedef struct {
  unsigned int classId;
  float left, top, width, height;  // pixels of the network's input
  float detectionConfidence;
  float rotation_angle;
} NvDsInferObjectDetectionInfo;

}  // extern "C"

struct NvDsInferParseDetectionParams {
  unsigned int numClassesConfigured;
  std::vector<float> perClassPreclusterThreshold;
  std::vector<float> perClassPostclusterThreshold;
  std::vector<float>& perClassThreshold = perClassPreclusterThreshold;
};

typedef bool (*NvDsInferParseCustomFunc)(std::vector<NvDsInferLayerInfo> const&,
                                         NvDsInferNetworkInfo const&,
                                         NvDsInferParseDetectionParams const&,
                                         std::vector<NvDsInferObjectDetectionInfo>&);

#define CHECK_CUSTOM_PARSE_FUNC_PROTOTYPE(function)                                 \
  static_assert(std::is_same<decltype(&function), NvDsInferParseCustomFunc>::value, \
                "not the signature that nvinfer calls")
#endif

// What nvinfer and this file must agree on to the byte.
static_assert(sizeof(NvDsInferDims) == 40, "NvDsInferDims");
static_assert(sizeof(NvDsInferLayerInfo) == 72, "NvDsInferLayerInfo");
static_assert(sizeof(NvDsInferNetworkInfo) == 12, "NvDsInferNetworkInfo");
static_assert(sizeof(NvDsInferObjectDetectionInfo) == 28,
              "NvDsInferObjectDetectionInfo: is this DeepStream older than 9.1?");
static_assert(sizeof(NvDsInferParseDetectionParams) == 64, "NvDsInferParseDetectionParams");
)parser";

inline constexpr const char kDetrSigmoidText[] = R"parser(
namespace {

const char kScoresOutput[] = @SCORES@;  // [queries, classes], before the sigmoid
const char kBoxesOutput[] = @BOXES@;  // [queries, 4]: centre x, centre y, width, height in 0..1
const unsigned int kNumClasses = @CLASSES@;

void complain(const std::string& what) { std::fprintf(stderr, "@FUNCTION@: %s\n", what.c_str()); }

const NvDsInferLayerInfo* findLayer(std::vector<NvDsInferLayerInfo> const& layers,
                                    const char* name) {
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].layerName != nullptr && std::strcmp(layers[i].layerName, name) == 0) {
      return &layers[i];
    }
  }
  complain(std::string("the engine has no output named ") + name);
  return nullptr;
}

float halfToFloat(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int fraction = half & 1023;
  float value;
  if (exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<float>::infinity()
                          : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    value = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  return (half & 0x8000) != 0 ? -value : value;
}

// One output as floats, whatever the engine's precision.
class Tensor {
 public:
  explicit Tensor(const NvDsInferLayerInfo& layer)
      : floats_(layer.dataType == FLOAT ? static_cast<const float*>(layer.buffer) : nullptr),
        halves_(layer.dataType == HALF ? static_cast<const uint16_t*>(layer.buffer) : nullptr) {}
  bool valid() const { return floats_ != nullptr || halves_ != nullptr; }
  float at(size_t i) const { return floats_ != nullptr ? floats_[i] : halfToFloat(halves_[i]); }

 private:
  const float* floats_;
  const uint16_t* halves_;
};

// Checks that an output is [queries, axis] and tells the number of queries.
bool checkShape(const NvDsInferLayerInfo& layer, unsigned int axis, unsigned int* queries) {
  const NvDsInferDims& dims = layer.inferDims;
  const unsigned int last = dims.numDims > 0 && dims.numDims <= 8 ? dims.d[dims.numDims - 1] : 0;
  if (last != axis || dims.numElements % axis != 0) {
    complain(std::string(layer.layerName) + " has a last axis of " + std::to_string(last) +
             ", this parser was written for " + std::to_string(axis));
    return false;
  }
  *queries = dims.numElements / axis;
  return true;
}

struct Candidate {
  float score;
  unsigned int query;
  unsigned int classId;
};

bool betterScore(const Candidate& a, const Candidate& b) { return a.score > b.score; }

float clampTo(float value, float high) { return std::min(std::max(value, 0.0f), high); }

}  // namespace

extern "C" bool @FUNCTION@(std::vector<NvDsInferLayerInfo> const& outputLayersInfo,
                            NvDsInferNetworkInfo const& networkInfo,
                            NvDsInferParseDetectionParams const& detectionParams,
                            std::vector<NvDsInferObjectDetectionInfo>& objectList);

extern "C" bool @FUNCTION@(std::vector<NvDsInferLayerInfo> const& outputLayersInfo,
                            NvDsInferNetworkInfo const& networkInfo,
                            NvDsInferParseDetectionParams const& detectionParams,
                            std::vector<NvDsInferObjectDetectionInfo>& objectList) {
  const NvDsInferLayerInfo* scoresLayer = findLayer(outputLayersInfo, kScoresOutput);
  const NvDsInferLayerInfo* boxesLayer = findLayer(outputLayersInfo, kBoxesOutput);
  if (scoresLayer == nullptr || boxesLayer == nullptr) return false;

  unsigned int queries = 0;
  unsigned int boxRows = 0;
  if (!checkShape(*scoresLayer, kNumClasses, &queries) || !checkShape(*boxesLayer, 4, &boxRows)) {
    return false;
  }
  if (queries != boxRows) {
    complain("scores for " + std::to_string(queries) + " queries, boxes for " +
             std::to_string(boxRows));
    return false;
  }
  if (detectionParams.numClassesConfigured != kNumClasses ||
      detectionParams.perClassPreclusterThreshold.size() != kNumClasses) {
    complain("num-detected-classes is " + std::to_string(detectionParams.numClassesConfigured) +
             ", the model has " + std::to_string(kNumClasses) + " classes");
    return false;
  }
  if (queries == 0) return true;
  const Tensor logits(*scoresLayer);
  const Tensor boxes(*boxesLayer);
  if (!logits.valid() || !boxes.valid()) {
    complain("outputs must be FLOAT or HALF in host memory");
    return false;
  }

  // Every (query, class) that reaches its class's threshold counts, as in the model's own
  // post-processing; at most as many as there are queries.
  std::vector<Candidate> candidates;
  for (unsigned int query = 0; query < queries; ++query) {
    for (unsigned int classId = 0; classId < kNumClasses; ++classId) {
      const float logit = logits.at(static_cast<size_t>(query) * kNumClasses + classId);
      if (!std::isfinite(logit)) continue;
      const float score = 1.0f / (1.0f + std::exp(-logit));
      if (score < detectionParams.perClassPreclusterThreshold[classId]) continue;
      const Candidate candidate = {score, query, classId};
      candidates.push_back(candidate);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), betterScore);
  if (candidates.size() > queries) candidates.resize(queries);

  const float width = static_cast<float>(networkInfo.width);
  const float height = static_cast<float>(networkInfo.height);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const size_t row = static_cast<size_t>(candidates[i].query) * 4;
    const float cx = boxes.at(row);
    const float cy = boxes.at(row + 1);
    const float w = boxes.at(row + 2);
    const float h = boxes.at(row + 3);
    if (!std::isfinite(cx) || !std::isfinite(cy) || !std::isfinite(w) || !std::isfinite(h)) {
      continue;
    }
    const float left = clampTo((cx - w / 2) * width, width - 1);
    const float top = clampTo((cy - h / 2) * height, height - 1);
    const float right = clampTo((cx + w / 2) * width, width - 1);
    const float bottom = clampTo((cy + h / 2) * height, height - 1);

    NvDsInferObjectDetectionInfo obj = {};  // rotation_angle must not be left to chance
    obj.classId = candidates[i].classId;
    obj.left = left;
    obj.top = top;
    obj.width = std::max(right - left, 0.0f);
    obj.height = std::max(bottom - top, 0.0f);
    obj.detectionConfidence = candidates[i].score;
    objectList.push_back(obj);
  }
  return true;
}

CHECK_CUSTOM_PARSE_FUNC_PROTOTYPE(@FUNCTION@);
)parser";

inline constexpr const char kMakefileText[] =
    "# Builds @LIBRARY@: make\n"
    "# DeepStream's headers are used where they are; nothing of it is linked.\n"
    "DEEPSTREAM_DIR ?= /opt/nvidia/deepstream/deepstream\n"
    "CUDA_VER ?= 12.8\n"
    "CXXFLAGS ?= -O2\n"
    "PARSER_FLAGS := -std=c++14 -Wall -Wextra -fPIC -shared\n"
    "INCLUDES := -isystem \"$(DEEPSTREAM_DIR)/sources/includes\" "
    "-isystem \"/usr/local/cuda-$(CUDA_VER)/include\"\n"
    "\n"
    "SRCFILES := @SOURCE@\n"
    "TARGET_LIB := @LIBRARY@\n"
    "\n"
    "all: $(TARGET_LIB)\n"
    "\n"
    "# Made under another name first: a library that is half written is never loaded.\n"
    "$(TARGET_LIB): $(SRCFILES) Makefile\n"
    "\t$(CXX) $(CXXFLAGS) $(PARSER_FLAGS) $(INCLUDES) $(SRCFILES) -o $@.tmp$$$$ "
    "&& mv -f $@.tmp$$$$ $@\n"
    "\n"
    "clean:\n"
    "\trm -f $(TARGET_LIB) $(TARGET_LIB).tmp*\n"
    "\n"
    ".PHONY: all clean\n";

}  // namespace sg
