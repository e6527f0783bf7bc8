// The text that every generated parser shares: the ABI, the outputs as floats, the boxes, and the
// function that nvinfer calls. @MARKS@ are filled in by GenerateParser; the text is C++11, since
// people build it with DeepStream's own flags too.
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

inline constexpr const char kParserCommonText[] = R"parser(
namespace {

const unsigned int kNumClasses = @CLASSES@;

typedef std::vector<NvDsInferLayerInfo> Layers;

// Says a thing once, however many frames it is true of. Always false.
bool complain(const std::string& what) {
  static std::mutex mutex;
  static std::vector<std::string> said;
  std::lock_guard<std::mutex> lock(mutex);
  if (said.size() < 64 && std::find(said.begin(), said.end(), what) == said.end()) {
    said.push_back(what);
    std::fprintf(stderr, "@FUNCTION@: %s\n", what.c_str());
  }
  return false;
}

float halfToFloat(uint16_t half) {
  const uint32_t magnitude = half & 0x7fffu;
  uint32_t bits = magnitude << 13;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  value *= 5.192296858534828e33f;  // 2^112, between the two exponents' biases
  std::memcpy(&bits, &value, sizeof bits);
  if (magnitude >= 0x7c00u) bits |= 0x7f800000u;  // infinities and NaN
  bits |= static_cast<uint32_t>(half & 0x8000u) << 16;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// One output of a frame as floats, whatever type the engine gives it. Not copied when it is FLOAT.
class Tensor {
 public:
  // Takes the output `name` if it has the axes `wanted` (0: any number); else false, and says why.
  bool open(Layers const& layers, const char* name, std::initializer_list<unsigned int> wanted) {
    size_t at = 0;
    while (at < layers.size() &&
           (layers[at].layerName == nullptr || std::strcmp(layers[at].layerName, name) != 0)) {
      ++at;
    }
    if (at == layers.size()) return complain(std::string("the engine has no output named ") + name);
    const NvDsInferLayerInfo& layer = layers[at];
    if (!takeDims(layer.inferDims, wanted)) {
      return complain(std::string(name) + " is " + text(layer.inferDims) +
                      ", this parser was written for " + text(wanted));
    }
    if (size() > 0 && layer.buffer == nullptr) return complain(std::string(name) + " has no data");
    switch (layer.dataType) {
      case FLOAT:
        data_ = static_cast<const float*>(layer.buffer);
        return true;
      case HALF:
        return convert(static_cast<const uint16_t*>(layer.buffer), halfToFloat);
      case INT32:
        return convert(static_cast<const int32_t*>(layer.buffer), toFloat<int32_t>);
      case INT64:
        return convert(static_cast<const int64_t*>(layer.buffer), toFloat<int64_t>);
      default:
        return complain(std::string(name) + " must be FLOAT, HALF, INT32 or INT64");
    }
  }
  const float* data() const { return data_; }
  float operator[](size_t i) const { return data_[i]; }
  size_t dim(size_t axis) const { return dims_[axis]; }
  size_t size() const {
    size_t product = 1;
    for (size_t i = 0; i < dims_.size(); ++i) product *= dims_[i];
    return product;
  }

 private:
  template <typename Number>
  static float toFloat(Number number) {
    return static_cast<float>(number);
  }
  template <typename Number, typename Function>
  bool convert(const Number* from, Function function) {
    copy_.resize(size());
    for (size_t i = 0; i < copy_.size(); ++i) copy_[i] = function(from[i]);
    data_ = copy_.data();
    return true;
  }
  // Engines add axes of 1 in front and leave them out.
  bool takeDims(const NvDsInferDims& dims, std::initializer_list<unsigned int> wanted) {
    if (dims.numDims > 8) return false;
    dims_.assign(dims.d, dims.d + dims.numDims);
    if (size() != dims.numElements) return false;
    while (dims_.size() > wanted.size() && dims_.front() == 1) dims_.erase(dims_.begin());
    while (dims_.size() < wanted.size()) dims_.insert(dims_.begin(), 1);
    if (dims_.size() != wanted.size()) return false;
    for (size_t i = 0; i < dims_.size(); ++i) {
      const unsigned int axis = wanted.begin()[i];
      if (axis != 0 && axis != dims_[i]) return false;
    }
    return true;
  }
  static std::string text(std::initializer_list<unsigned int> dims) {
    std::string all;
    for (const unsigned int* axis = dims.begin(); axis != dims.end(); ++axis) {
      all += (all.empty() ? "" : ",") + (*axis == 0 ? std::string("any") : std::to_string(*axis));
    }
    return "[" + all + "]";
  }
  static std::string text(const NvDsInferDims& dims) {
    std::string all;
    for (unsigned int i = 0; i < dims.numDims && i < 8; ++i) {
      all += (i == 0 ? "" : ",") + std::to_string(dims.d[i]);
    }
    return "[" + all + "] of " + std::to_string(dims.numElements);
  }

  std::vector<size_t> dims_;
  const float* data_ = nullptr;
  std::vector<float> copy_;
};

// Takes the boxes of a frame, in pixels of the network's input.
class Boxes {
 public:
  Boxes(NvDsInferNetworkInfo const& network, std::vector<float> const& classThresholds,
        std::vector<NvDsInferObjectDetectionInfo>& objects)
      : width(static_cast<float>(network.width)),
        height(static_cast<float>(network.height)),
        thresholds(classThresholds.data()),
        objects_(objects) {}

  // Clamped to the network's input, and kept: a box outside lies flat at the edge.
  void add(float left, float top, float right, float bottom, unsigned int classId, float score) {
    if (!std::isfinite(left) || !std::isfinite(top) || !std::isfinite(right) ||
        !std::isfinite(bottom)) {
      return;
    }
    NvDsInferObjectDetectionInfo obj = {};  // rotation_angle must not be left to chance
    obj.classId = classId;
    obj.left = clamp(left, width);
    obj.top = clamp(top, height);
    obj.width = std::max(clamp(right, width) - obj.left, 0.0f);
    obj.height = std::max(clamp(bottom, height) - obj.top, 0.0f);
    obj.detectionConfidence = score;
    objects_.push_back(obj);
  }

  const float width;
  const float height;
  const float* const thresholds;  // by class

 private:
  static float clamp(float value, float size) {
    return std::min(std::max(value, 0.0f), size - 1.0f);
  }
  std::vector<NvDsInferObjectDetectionInfo>& objects_;
};
)parser";

/// Of heads whose scores want a sigmoid.
inline constexpr const char kParserSigmoidText[] = R"parser(
float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

// No x below this has a sigmoid of `threshold`: most scores are told apart without an exp().
float beforeSigmoid(float threshold) {
  if (threshold <= 0.0f) return -std::numeric_limits<float>::infinity();
  if (threshold >= 1.0f) return 15.0f;
  return std::log(threshold / (1.0f - threshold)) - 0.01f;
}
)parser";

inline constexpr const char kParserFunctionText[] = R"parser(
}  // namespace

extern "C" bool @FUNCTION@(std::vector<NvDsInferLayerInfo> const& outputLayersInfo,
                            NvDsInferNetworkInfo const& networkInfo,
                            NvDsInferParseDetectionParams const& detectionParams,
                            std::vector<NvDsInferObjectDetectionInfo>& objectList);

extern "C" bool @FUNCTION@(std::vector<NvDsInferLayerInfo> const& outputLayersInfo,
                            NvDsInferNetworkInfo const& networkInfo,
                            NvDsInferParseDetectionParams const& detectionParams,
                            std::vector<NvDsInferObjectDetectionInfo>& objectList) {
  if (detectionParams.numClassesConfigured != kNumClasses ||
      detectionParams.perClassPreclusterThreshold.size() != kNumClasses) {
    return complain("num-detected-classes is " +
                    std::to_string(detectionParams.numClassesConfigured) + ", the model has " +
                    std::to_string(kNumClasses) + " classes");
  }
  Boxes boxes(networkInfo, detectionParams.perClassPreclusterThreshold, objectList);
  return decode(outputLayersInfo, boxes);
}

CHECK_CUSTOM_PARSE_FUNC_PROTOTYPE(@FUNCTION@);
)parser";

inline constexpr const char kMakefileText[] =
    "# Builds @LIBRARY@: make\n"
    "# DeepStream's headers are used where they are; nothing of it is linked.\n"
    "DEEPSTREAM_DIR ?= /opt/nvidia/deepstream/deepstream\n"
    "CUDA_VER ?= 12.8\n"
    "CXXFLAGS ?= -O3\n"
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
