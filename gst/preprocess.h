// One pass from a decoded picture to the network's input: resize and colour conversion together,
// straight into the input tensor. Knows nothing of GStreamer or OpenVINO.
//
// What it computes (docs/formats.md, "Network input", gives it in full, so that a reference can be
// written from it): the picture in RGB at its own size with chroma samples replicated, resized by a
// separable triangle filter. Since all of that is linear, it is done the cheap way round: each
// plane is resized on its own, with the replication of chroma folded into its filter, and only the
// small picture is converted. Integer arithmetic throughout: every machine gives the same bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "detector/model_card.h"

namespace sg {

enum class PixelFormat { kI420, kNv12, kBgrx, kRgba, kRgb };
enum class ColourMatrix { kBt601, kBt709 };

/// A decoded picture. Planes are borrowed; packed formats use the first one.
struct Picture {
  PixelFormat format = PixelFormat::kI420;
  int width = 0;
  int height = 0;
  std::array<const uint8_t*, 3> planes = {};
  std::array<ptrdiff_t, 3> strides = {};       ///< bytes from a row to the next one
  ColourMatrix matrix = ColourMatrix::kBt601;  ///< of the YUV formats
  bool full_range = false;                     ///< of the YUV formats
};

enum class ResizeFilter {
  kBilinear,           ///< two taps per axis whatever the scale, as OpenCV's INTER_LINEAR
  kBilinearAntialias,  ///< the triangle widens with the scale, as Pillow's BILINEAR
};

/// Where a picture lies in the network's input, in pixels of it.
struct Placement {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
};

/// REQUIRES: all sizes > 0. With the aspect ratio kept, the shorter side is rounded down as nvinfer
/// does, to at least one pixel.
Placement PlacePicture(int picture_width, int picture_height, int network_width, int network_height,
                       ResizeMode mode);

/// The network's input for one picture after another. One thread at a time.
class Preprocessor {
 public:
  struct Options {
    int network_width = 0;
    int network_height = 0;
    ResizeMode resize = ResizeMode::kStretch;
    ResizeFilter filter = ResizeFilter::kBilinearAntialias;
    bool bgr = false;
  };
  explicit Preprocessor(const Options& options) : options_(options) {}

  /// Bytes that Run writes: rows of network_width × 3, no gaps.
  size_t OutputBytes() const;

  /// Fills `output`; what the picture does not cover becomes 0. Returns where the picture lies.
  /// REQUIRES: picture.width, picture.height > 0 and planes that hold them.
  Placement Run(const Picture& picture, uint8_t* output);

  /// Filter taps of one axis, for each output position: the first source sample and the weights
  /// (sum kWeightOne), padded with zeros to `padded_taps`.
  struct Axis {
    int source_size = 0;
    int taps = 0;
    int padded_taps = 0;  ///< a multiple of 8
    std::vector<int> first;
    std::vector<int16_t> weights;         ///< output × padded_taps
    std::vector<int16_t> paired_weights;  ///< the same, in the order the wide code reads them
  };
  static constexpr int kWeightOne = 1 << 14;

 private:
  struct Plan {
    PixelFormat format = PixelFormat::kI420;
    int width = 0;
    int height = 0;
    Placement placement;
    Axis x;  ///< luma, or the components of packed formats
    Axis y;
    Axis chroma_x;  ///< YUV formats only
    Axis chroma_y;
  };
  const Plan& PlanFor(const Picture& picture);
  void RunYuv(const Picture& picture, const Plan& plan, uint8_t* output);
  void RunPacked(const Picture& picture, const Plan& plan, uint8_t* output);

  const Options options_;
  std::list<Plan> plans_;  ///< most recently used first; sources of a batch may differ in size
  std::vector<int16_t> vertical_;                   ///< one row after the vertical pass
  std::array<std::vector<int16_t>, 3> components_;  ///< that row, one component each
  std::array<std::vector<int16_t>, 3> resized_;     ///< after the horizontal pass
};

}  // namespace sg
