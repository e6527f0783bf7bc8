#include "gst/preprocess.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

#include "gst/resample.h"

namespace sg {
namespace {

/// A picture with memory of its own; rows are `gap` bytes longer than they need be.
struct OwnedPicture {
  Picture picture;
  std::vector<std::vector<uint8_t>> planes;
};

int BytesPerPixel(PixelFormat format) {
  if (format == PixelFormat::kRgb) return 3;
  return format == PixelFormat::kI420 || format == PixelFormat::kNv12 ? 1 : 4;
}

OwnedPicture MakePicture(PixelFormat format, int width, int height, int gap, unsigned seed) {
  OwnedPicture owned;
  owned.picture.format = format;
  owned.picture.width = width;
  owned.picture.height = height;
  const int chroma_width = (width + 1) / 2;
  const int chroma_height = (height + 1) / 2;
  std::vector<std::pair<int, int>> sizes = {{width * BytesPerPixel(format), height}};
  if (format == PixelFormat::kI420) {
    sizes.push_back({chroma_width, chroma_height});
    sizes.push_back({chroma_width, chroma_height});
  } else if (format == PixelFormat::kNv12) {
    sizes.push_back({2 * chroma_width, chroma_height});
  }
  std::mt19937 random(seed);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto [row, rows] = sizes[i];
    owned.planes.emplace_back(static_cast<size_t>(row + gap) * rows, 0xEE);
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < row; ++x) {
        owned.planes[i][static_cast<size_t>(y) * (row + gap) + x] = random() % 180 + 40;
      }
    }
    owned.picture.planes[i] = owned.planes[i].data();
    owned.picture.strides[i] = row + gap;
  }
  return owned;
}

std::array<double, 3> PixelAt(const Picture& picture, int x, int y) {
  const auto at = [&](int plane, int column, int row) -> double {
    return picture.planes[plane][row * picture.strides[plane] + column];
  };
  switch (picture.format) {
    case PixelFormat::kRgb:
      return {at(0, 3 * x, y), at(0, 3 * x + 1, y), at(0, 3 * x + 2, y)};
    case PixelFormat::kRgba:
      return {at(0, 4 * x, y), at(0, 4 * x + 1, y), at(0, 4 * x + 2, y)};
    case PixelFormat::kBgrx:
      return {at(0, 4 * x + 2, y), at(0, 4 * x + 1, y), at(0, 4 * x, y)};
    default:
      break;
  }
  const bool nv12 = picture.format == PixelFormat::kNv12;
  const double cb = (nv12 ? at(1, x / 2 * 2, y / 2) : at(1, x / 2, y / 2)) - 128;
  const double cr = (nv12 ? at(1, x / 2 * 2 + 1, y / 2) : at(2, x / 2, y / 2)) - 128;
  const bool bt601 = picture.matrix == ColourMatrix::kBt601;
  const double kr = bt601 ? 0.299 : 0.2126;
  const double kb = bt601 ? 0.114 : 0.0722;
  const double luma = picture.full_range ? at(0, x, y) : (at(0, x, y) - 16) * 255 / 219;
  const double range = picture.full_range ? 1 : 255.0 / 224;
  const double r = luma + range * 2 * (1 - kr) * cr;
  const double b = luma + range * 2 * (1 - kb) * cb;
  return {r, (luma - kr * r - kb * b) / (1 - kr - kb), b};
}

/// The definition, in floating point and in the order of its words: RGB at full size, then resize.
std::vector<double> ReferenceStretch(const Picture& picture, int width, int height,
                                     ResizeFilter filter) {
  const auto weigh = [&](int from, int to, int output, int i) {
    const double scale = static_cast<double>(from) / to;
    const double support = filter == ResizeFilter::kBilinear ? 1 : std::max(1.0, scale);
    return std::max(0.0, 1 - std::abs(i + 0.5 - (output + 0.5) * scale) / support);
  };
  std::vector<double> out;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      std::array<double, 3> sum = {};
      double total = 0;
      for (int sy = 0; sy < picture.height; ++sy) {
        const double wy = weigh(picture.height, height, y, sy);
        if (wy == 0) continue;
        for (int sx = 0; sx < picture.width; ++sx) {
          const double w = wy * weigh(picture.width, width, x, sx);
          if (w == 0) continue;
          const auto pixel = PixelAt(picture, sx, sy);
          for (int c = 0; c < 3; ++c) sum[c] += w * pixel[c];
          total += w;
        }
      }
      for (int c = 0; c < 3; ++c) out.push_back(std::clamp(sum[c] / total, 0.0, 255.0));
    }
  }
  return out;
}

std::vector<uint8_t> Preprocessed(const Picture& picture, const Preprocessor::Options& options,
                                  Placement* place = nullptr) {
  Preprocessor preprocessor(options);
  std::vector<uint8_t> out(preprocessor.OutputBytes() + 16, 0xAB);
  const Placement result = preprocessor.Run(picture, out.data());
  for (size_t i = preprocessor.OutputBytes(); i < out.size(); ++i) {
    EXPECT_EQ(out[i], 0xAB) << "written past the end";
  }
  out.resize(preprocessor.OutputBytes());
  if (place != nullptr) *place = result;
  return out;
}

using Case = std::tuple<PixelFormat, int, int, ResizeFilter>;
class PreprocessFormats : public testing::TestWithParam<Case> {};

TEST_P(PreprocessFormats, EqualsFloatDefinitionWithinOneLevel) {
  const auto [format, width, height, filter] = GetParam();
  const OwnedPicture owned = MakePicture(format, width, height, 7, 1);
  const std::vector<uint8_t> out =
      Preprocessed(owned.picture, {.network_width = 37, .network_height = 29, .filter = filter});
  const std::vector<double> want = ReferenceStretch(owned.picture, 37, 29, filter);
  ASSERT_EQ(out.size(), want.size());
  double worst = 0;
  for (size_t i = 0; i < out.size(); ++i) worst = std::max(worst, std::abs(out[i] - want[i]));
  EXPECT_LT(worst, 0.55);
}

INSTANTIATE_TEST_SUITE_P(
    All, PreprocessFormats,
    testing::Combine(testing::Values(PixelFormat::kI420, PixelFormat::kNv12, PixelFormat::kBgrx,
                                     PixelFormat::kRgba, PixelFormat::kRgb),
                     testing::Values(1, 2, 37, 101, 320), testing::Values(1, 3, 29, 240),
                     testing::Values(ResizeFilter::kBilinear, ResizeFilter::kBilinearAntialias)));

TEST(Preprocess, ColourStandardsFollowTheirDefinition) {
  for (const ColourMatrix matrix : {ColourMatrix::kBt601, ColourMatrix::kBt709}) {
    for (const bool full_range : {false, true}) {
      OwnedPicture owned = MakePicture(PixelFormat::kI420, 64, 48, 0, 2);
      owned.picture.matrix = matrix;
      owned.picture.full_range = full_range;
      const auto out = Preprocessed(owned.picture, {.network_width = 16, .network_height = 12});
      const auto want = ReferenceStretch(owned.picture, 16, 12, ResizeFilter::kBilinearAntialias);
      for (size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], want[i], 0.55) << i;
    }
  }
}

TEST(Preprocess, EvenAreaKeepsItsValue) {
  for (const int level : {0, 1, 127, 254, 255}) {
    OwnedPicture owned = MakePicture(PixelFormat::kRgb, 701, 333, 5, 3);
    std::fill(owned.planes[0].begin(), owned.planes[0].end(), static_cast<uint8_t>(level));
    for (const uint8_t value :
         Preprocessed(owned.picture, {.network_width = 320, .network_height = 320})) {
      ASSERT_EQ(value, level);
    }
  }
}

TEST(Preprocess, BlackAndWhiteOfLimitedRangeReachTheEnds) {
  for (const auto& [luma, want] : {std::pair{16, 0}, std::pair{235, 255}, std::pair{0, 0}}) {
    OwnedPicture owned = MakePicture(PixelFormat::kI420, 64, 64, 0, 3);
    std::fill(owned.planes[0].begin(), owned.planes[0].end(), static_cast<uint8_t>(luma));
    std::fill(owned.planes[1].begin(), owned.planes[1].end(), 128);
    std::fill(owned.planes[2].begin(), owned.planes[2].end(), 128);
    for (const uint8_t value :
         Preprocessed(owned.picture, {.network_width = 32, .network_height = 32})) {
      ASSERT_EQ(value, want);
    }
  }
}

TEST(Preprocess, Nv12EqualsI420OfTheSamePixels) {
  const OwnedPicture planar = MakePicture(PixelFormat::kI420, 131, 77, 3, 4);
  OwnedPicture nv12 = MakePicture(PixelFormat::kNv12, 131, 77, 11, 5);
  for (int y = 0; y < 77; ++y) {
    for (int x = 0; x < 131; ++x) {
      nv12.planes[0][y * nv12.picture.strides[0] + x] =
          planar.planes[0][y * planar.picture.strides[0] + x];
    }
  }
  for (int y = 0; y < 39; ++y) {
    for (int x = 0; x < 66; ++x) {
      for (int c = 0; c < 2; ++c) {
        nv12.planes[1][y * nv12.picture.strides[1] + 2 * x + c] =
            planar.planes[1 + c][y * planar.picture.strides[1 + c] + x];
      }
    }
  }
  const Preprocessor::Options options = {.network_width = 48, .network_height = 64};
  EXPECT_EQ(Preprocessed(planar.picture, options), Preprocessed(nv12.picture, options));
}

TEST(Preprocess, StridesThatAreNotTheWidthChangeNothing) {
  for (const PixelFormat format : {PixelFormat::kI420, PixelFormat::kNv12, PixelFormat::kBgrx}) {
    const OwnedPicture tight = MakePicture(format, 99, 55, 0, 6);
    const OwnedPicture wide = MakePicture(format, 99, 55, 29, 6);
    const Preprocessor::Options options = {.network_width = 40, .network_height = 40};
    EXPECT_EQ(Preprocessed(tight.picture, options), Preprocessed(wide.picture, options));
  }
}

TEST(Preprocess, BgrIsRgbTurnedRound) {
  for (const PixelFormat format :
       {PixelFormat::kI420, PixelFormat::kNv12, PixelFormat::kBgrx, PixelFormat::kRgb}) {
    const OwnedPicture owned = MakePicture(format, 90, 70, 0, 7);
    const auto rgb = Preprocessed(owned.picture, {.network_width = 40, .network_height = 40});
    auto bgr =
        Preprocessed(owned.picture, {.network_width = 40, .network_height = 40, .bgr = true});
    for (size_t i = 0; i < bgr.size(); i += 3) std::swap(bgr[i], bgr[i + 2]);
    EXPECT_EQ(rgb, bgr);
  }
}

TEST(Preprocess, SizesMayAlternate) {
  const OwnedPicture a = MakePicture(PixelFormat::kI420, 640, 360, 0, 8);
  const OwnedPicture b = MakePicture(PixelFormat::kI420, 33, 1025, 0, 9);
  const Preprocessor::Options options = {.network_width = 64, .network_height = 64};
  const auto want_a = Preprocessed(a.picture, options);
  const auto want_b = Preprocessed(b.picture, options);
  Preprocessor preprocessor(options);
  std::vector<uint8_t> out(preprocessor.OutputBytes());
  for (int i = 0; i < 3; ++i) {
    preprocessor.Run(a.picture, out.data());
    EXPECT_EQ(out, want_a);
    preprocessor.Run(b.picture, out.data());
    EXPECT_EQ(out, want_b);
  }
}

TEST(PlacePicture, KeepsTheAspectRatioAndPads) {
  const auto corner = PlacePicture(1920, 1080, 640, 640, ResizeMode::kLetterboxCorner);
  EXPECT_EQ(corner.left, 0);
  EXPECT_EQ(corner.top, 0);
  EXPECT_EQ(corner.width, 640);
  EXPECT_EQ(corner.height, 360);
  const auto centre = PlacePicture(1920, 1080, 640, 640, ResizeMode::kLetterboxCentre);
  EXPECT_EQ(centre.top, 140);
  EXPECT_EQ(centre.height, 360);
  const auto tall = PlacePicture(1080, 1920, 640, 640, ResizeMode::kLetterboxCentre);
  EXPECT_EQ(tall.left, 140);
  EXPECT_EQ(tall.width, 360);
  const auto thin = PlacePicture(1, 10000, 320, 320, ResizeMode::kLetterboxCorner);
  EXPECT_EQ(thin.width, 1);
  EXPECT_EQ(thin.height, 320);
}

TEST(Preprocess, APictureOfTheNetworksSizeArrivesByteForByte) {
  // Five bytes beyond each row: the stride is not the width.
  const OwnedPicture owned = MakePicture(PixelFormat::kRgb, 61, 33, 5, 17);
  for (const bool bgr : {false, true}) {
    const auto out =
        Preprocessed(owned.picture, {.network_width = 61, .network_height = 33, .bgr = bgr});
    for (int y = 0; y < 33; ++y) {
      for (int x = 0; x < 61; ++x) {
        for (int c = 0; c < 3; ++c) {
          const int from = bgr ? 2 - c : c;
          ASSERT_EQ(out[(y * 61 + x) * 3 + c],
                    owned.picture.planes[0][y * owned.picture.strides[0] + x * 3 + from]);
        }
      }
    }
  }
}

TEST(Preprocess, PaddingIsBlackAndThePictureLiesWhereItSays) {
  OwnedPicture owned = MakePicture(PixelFormat::kRgb, 64, 32, 0, 10);
  std::fill(owned.planes[0].begin(), owned.planes[0].end(), 200);
  for (const ResizeMode mode : {ResizeMode::kLetterboxCorner, ResizeMode::kLetterboxCentre}) {
    Placement place;
    const auto out = Preprocessed(
        owned.picture, {.network_width = 50, .network_height = 50, .resize = mode}, &place);
    EXPECT_EQ(place.top, mode == ResizeMode::kLetterboxCentre ? 12 : 0);
    for (int y = 0; y < 50; ++y) {
      for (int x = 0; x < 150; ++x) {
        const bool inside = y >= place.top && y < place.top + place.height;
        ASSERT_EQ(out[y * 150 + x], inside ? 200 : 0) << y << " " << x;
      }
    }
  }
}

TEST(Resample, FastAndPlainGiveTheSameBytes) {
  const ResampleKernels& fast = FastKernels();
  const ResampleKernels& plain = PlainKernels();
  if (fast.name == plain.name) GTEST_SKIP() << "this processor has only the plain kernels";
  std::mt19937 random(11);
  constexpr int kCount = 333;
  std::vector<std::vector<uint8_t>> rows(12, std::vector<uint8_t>(kCount));
  std::vector<const uint8_t*> pointers;
  for (auto& row : rows) {
    for (uint8_t& value : row) value = static_cast<uint8_t>(random());
    pointers.push_back(row.data());
  }
  for (int taps = 1; taps <= 12; ++taps) {
    std::vector<int16_t> weights(taps, static_cast<int16_t>((1 << kWeightBits) / taps));
    std::vector<int16_t> a(kCount), b(kCount);
    fast.vertical(pointers.data(), weights.data(), taps, kCount, a.data());
    plain.vertical(pointers.data(), weights.data(), taps, kCount, b.data());
    EXPECT_EQ(a, b) << taps;
  }
  for (const int padded : {8, 16, 24}) {
    constexpr int kOutputs = 77;
    std::vector<int16_t> in(kCount), weights(kOutputs * padded), paired(weights.size());
    std::vector<int> first(kOutputs);
    for (int16_t& value : in) value = static_cast<int16_t>(random() % 32641);
    for (int16_t& value : weights) value = static_cast<int16_t>(random() % 1200 / (padded / 8));
    for (int& value : first) value = static_cast<int>(random() % (kCount - padded));
    PairWeights(weights.data(), padded, kOutputs, paired.data());
    std::vector<int16_t> a(kOutputs), b(kOutputs);
    fast.horizontal(in.data(), first.data(), weights.data(), paired.data(), padded, kOutputs,
                    a.data());
    plain.horizontal(in.data(), first.data(), weights.data(), paired.data(), padded, kOutputs,
                     b.data());
    EXPECT_EQ(a, b) << padded;
  }
  const ColourWeights colours = {2048, 9539, 13075, -3209, -6660, 16525};
  std::vector<int16_t> y(kCount), u(kCount), v(kCount);
  for (auto* row : {&y, &u, &v}) {
    for (int16_t& value : *row) value = static_cast<int16_t>(random() % 32641);
  }
  std::vector<uint8_t> a(kCount * 3), b(kCount * 3);
  fast.yuv_to_rgb(y.data(), u.data(), v.data(), colours, true, kCount, a.data());
  plain.yuv_to_rgb(y.data(), u.data(), v.data(), colours, true, kCount, b.data());
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace sg
