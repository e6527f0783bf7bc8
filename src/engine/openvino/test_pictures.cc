#include "engine/openvino/test_pictures.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/files.h"

namespace sg::openvino {
namespace {

/// The same numbers on every machine (the standard's distributions are not).
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : engine_(seed) {}
  /// 0 to 1.
  float Next() { return static_cast<float>(engine_() >> 8) / 16777216.0F; }
  int64_t Below(int64_t limit) {
    return std::min<int64_t>(limit - 1, static_cast<int64_t>(Next() * static_cast<float>(limit)));
  }

 private:
  std::mt19937 engine_;
};

void PaintPicture(const std::vector<int64_t>& shape, uint32_t seed, float* values) {
  Numbers numbers(seed);
  const int64_t height = shape[1];
  const int64_t width = shape[2];
  for (int64_t channel = 0; channel < shape[0]; ++channel) {
    float* plane = values + channel * height * width;
    const float level = 0.2F + 0.5F * numbers.Next();
    const float waves_x = 1 + 4 * numbers.Next();
    const float waves_y = 1 + 4 * numbers.Next();
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const float u = static_cast<float>(x) / static_cast<float>(width);
        const float v = static_cast<float>(y) / static_cast<float>(height);
        plane[y * width + x] = level + 0.15F * std::sin(6.2832F * waves_x * u) +
                               0.15F * std::cos(6.2832F * waves_y * v);
      }
    }
  }
  for (int box = 0; box < 12; ++box) {
    const int64_t w = std::max<int64_t>(1, numbers.Below(std::max<int64_t>(2, width / 3)));
    const int64_t h = std::max<int64_t>(1, numbers.Below(std::max<int64_t>(2, height / 3)));
    const int64_t left = numbers.Below(width);
    const int64_t top = numbers.Below(height);
    for (int64_t channel = 0; channel < shape[0]; ++channel) {
      const float color = numbers.Next();
      for (int64_t y = top; y < std::min(height, top + h); ++y)
        for (int64_t x = left; x < std::min(width, left + w); ++x)
          values[(channel * height + y) * width + x] = color;
    }
  }
  const int64_t size = shape[0] * height * width;
  for (int64_t i = 0; i < size; ++i)
    values[i] = std::min(1.0F, std::max(0.0F, values[i] + 0.1F * (numbers.Next() - 0.5F)));
}

template <typename T>
std::vector<double> Numbers64(const ov::Tensor& tensor) {
  const T* data = tensor.data<T>();
  std::vector<double> numbers(tensor.get_size());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(data[i]);
  return numbers;
}

}  // namespace

Result<TestPictures> TestPictures::Make(const std::vector<int64_t>& shape, int64_t count,
                                        const std::string& path) {
  TestPictures pictures;
  if (shape.size() != 3 || shape[0] < 1 || shape[1] < 1 || shape[2] < 1)
    return UserError("a picture is [channels, height, width]");
  pictures.size_ = static_cast<size_t>(shape[0] * shape[1] * shape[2]);
  pictures.planes_ = static_cast<size_t>(shape[0]);
  if (path.empty()) {
    pictures.count_ = count;
    pictures.values_.resize(pictures.size_ * static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      PaintPicture(shape, static_cast<uint32_t>(1000 + i),
                   pictures.values_.data() + static_cast<size_t>(i) * pictures.size_);
    }
    return pictures;
  }
  SG_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  const size_t picture_bytes = pictures.size_ * sizeof(float);
  if (bytes.empty() || bytes.size() % picture_bytes != 0)
    return UserError(fmt::format("{}: {} bytes are not whole pictures of {}", path, bytes.size(),
                                 picture_bytes));
  pictures.count_ = static_cast<int64_t>(bytes.size() / picture_bytes);
  pictures.values_.resize(bytes.size() / sizeof(float));
  std::memcpy(pictures.values_.data(), bytes.data(), bytes.size());
  return pictures;
}

void TestPictures::Fill(Slots slots, const PictureFeed& feed, ov::Tensor* tensor) const {
  const size_t plane = size_ / planes_;
  const bool as_they_are = !feed.net_scale_factor && feed.mean.empty() && !feed.channels_last;
  const bool is_byte = tensor->get_element_type() == ov::element::u8;
  const auto value_of = [&](double value, size_t channel) {
    if (feed.net_scale_factor) value = std::round(value * 255) * *feed.net_scale_factor;
    if (!feed.net_scale_factor && is_byte) value *= 255;
    return feed.mean.empty() ? value : (value - feed.mean[channel]) / feed.std[channel];
  };
  for (int64_t slot = 0; slot < slots.count; ++slot) {
    const auto picture = static_cast<size_t>((slots.first + slot) % count_);
    const float* from = values_.data() + picture * size_;
    const size_t to = static_cast<size_t>(slot) * size_;
    if (as_they_are && tensor->get_element_type() == ov::element::f32) {
      std::memcpy(tensor->data<float>() + to, from, size_ * sizeof(float));
      continue;
    }
    for (size_t i = 0; i < size_; ++i) {
      const size_t channel = i / plane;
      const size_t at = feed.channels_last ? i % plane * planes_ + channel : i;
      StoreNumber(value_of(from[i], channel), to + at, tensor);
    }
  }
}

void StoreNumber(double value, size_t index, ov::Tensor* tensor) {
  switch (tensor->get_element_type()) {
    case ov::element::f32:
      tensor->data<float>()[index] = static_cast<float>(value);
      return;
    case ov::element::f16:
      tensor->data<ov::float16>()[index] = static_cast<float>(value);
      return;
    case ov::element::f64:
      tensor->data<double>()[index] = value;
      return;
    case ov::element::i64:
      tensor->data<int64_t>()[index] = static_cast<int64_t>(value);
      return;
    case ov::element::i32:
      tensor->data<int32_t>()[index] = static_cast<int32_t>(value);
      return;
    case ov::element::u8:
      tensor->data<uint8_t>()[index] = static_cast<uint8_t>(value);
      return;
    case ov::element::boolean:
      tensor->data<char>()[index] = value != 0;
      return;
    default:
      OPENVINO_THROW("an input of type ", tensor->get_element_type(), " is not supported");
  }
}

std::vector<double> NumbersOf(const ov::Tensor& tensor) {
  switch (tensor.get_element_type()) {
    case ov::element::f32:
      return Numbers64<float>(tensor);
    case ov::element::f16:
      return Numbers64<ov::float16>(tensor);
    case ov::element::bf16:
      return Numbers64<ov::bfloat16>(tensor);
    case ov::element::f64:
      return Numbers64<double>(tensor);
    case ov::element::i64:
      return Numbers64<int64_t>(tensor);
    case ov::element::i32:
      return Numbers64<int32_t>(tensor);
    case ov::element::u8:
      return Numbers64<uint8_t>(tensor);
    case ov::element::i8:
      return Numbers64<int8_t>(tensor);
    case ov::element::boolean:
      return Numbers64<char>(tensor);
    default:
      OPENVINO_THROW("an output of type ", tensor.get_element_type(), " is not supported");
  }
}

}  // namespace sg::openvino
