// Pictures to run a network on when nobody handed any in, and numbers in and out of tensors.
#pragma once

#include <cstdint>
#include <openvino/openvino.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg::openvino {

/// Which pictures go into the slots of a batch.
struct Slots {
  int64_t first;
  int64_t count;
};

/// What a graph is given of a picture.
struct PictureFeed {
  /// Of whole grey levels: values are round(255 × picture) × this. nullopt: pictures as they are,
  /// and 255 × as much for bytes.
  std::optional<double> net_scale_factor;
  std::vector<double> mean;  ///< then (x − mean[c]) ÷ std[c]; empty: none
  std::vector<double> std;
  bool channels_last = false;  ///< written as [H,W,C]
};

class TestPictures {
 public:
  /// `count` pictures of `shape` [C,H,W], values 0 to 1. From `path`, a file of whole pictures as
  /// f32 (kUser when it holds none or a part of one); with an empty path made from a fixed seed:
  /// smooth colour, rectangles and noise, no two alike and without the flat areas whose scores tie.
  static Result<TestPictures> Make(const std::vector<int64_t>& shape, int64_t count,
                                   const std::string& path);

  int64_t count() const { return count_; }
  /// Writes the slots' pictures, starting again with the first after the last.
  void Fill(Slots slots, const PictureFeed& feed, ov::Tensor* tensor) const;

 private:
  std::vector<float> values_;
  int64_t count_ = 0;
  size_t size_ = 0;    ///< of one picture
  size_t planes_ = 0;  ///< of one picture
};

/// Writes one number into a tensor of any numeric type. Throws ov::Exception for other types.
void StoreNumber(double value, size_t index, ov::Tensor* tensor);
/// All numbers of a tensor.
std::vector<double> NumbersOf(const ov::Tensor& tensor);

}  // namespace sg::openvino
