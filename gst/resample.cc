#include "gst/resample.h"

#include <algorithm>
#include <array>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <libyuv.h>

namespace sg {
namespace {

constexpr int kHalf = 1 << (kWeightBits - 1);
constexpr int kVerticalShift = kWeightBits - kSampleBits;
constexpr int kVerticalHalf = 1 << (kVerticalShift - 1);
constexpr int kColourShift = kColourBits + kSampleBits;
constexpr int kColourHalf = 1 << (kColourShift - 1);
constexpr int kWide = 8;

#define SG_INLINE inline __attribute__((always_inline))

template <int kTaps>
SG_INLINE void VerticalTaps(const uint8_t* const* rows, const int16_t* weights, int count,
                            int16_t* __restrict out) {
  for (int i = 0; i < count; ++i) {
    int32_t sum = kVerticalHalf;
    for (int k = 0; k < kTaps; ++k) sum += weights[k] * rows[k][i];
    out[i] = static_cast<int16_t>(sum >> kVerticalShift);
  }
}

SG_INLINE void VerticalBody(const uint8_t* const* rows, const int16_t* weights, int taps, int count,
                            int16_t* out) {
  switch (taps) {
    case 1:
      return VerticalTaps<1>(rows, weights, count, out);
    case 2:
      return VerticalTaps<2>(rows, weights, count, out);
    case 3:
      return VerticalTaps<3>(rows, weights, count, out);
    case 4:
      return VerticalTaps<4>(rows, weights, count, out);
    case 5:
      return VerticalTaps<5>(rows, weights, count, out);
    case 6:
      return VerticalTaps<6>(rows, weights, count, out);
    default:
      break;
  }
  constexpr int kBlock = 256;
  std::array<int32_t, kBlock> sums;
  for (int start = 0; start < count; start += kBlock) {
    const int n = std::min(kBlock, count - start);
    sums.fill(kVerticalHalf);
    for (int k = 0; k < taps; ++k) {
      const uint8_t* row = rows[k] + start;
      const int32_t weight = weights[k];
      for (int i = 0; i < n; ++i) sums[i] += weight * row[i];
    }
    for (int i = 0; i < n; ++i) out[start + i] = static_cast<int16_t>(sums[i] >> kVerticalShift);
  }
}

SG_INLINE void HorizontalBody(const int16_t* in, const int* first, const int16_t* weights,
                              int padded_taps, int begin, int count, int16_t* out) {
  for (int i = begin; i < count; ++i) {
    const int16_t* from = in + first[i];
    const int16_t* weight = weights + static_cast<ptrdiff_t>(i) * padded_taps;
    int32_t sum = kHalf;
    for (int k = 0; k < padded_taps; ++k) sum += weight[k] * from[k];
    out[i] = static_cast<int16_t>(sum >> kWeightBits);
  }
}

SG_INLINE uint8_t ToByte(int32_t value) {
  return static_cast<uint8_t>(std::clamp(value >> kColourShift, 0, 255));
}

SG_INLINE void YuvToRgbBody(const int16_t* y, const int16_t* u, const int16_t* v,
                            const ColourWeights& weights, bool bgr, int count, uint8_t* out) {
  constexpr int kBlock = 512;
  constexpr int kChromaZero = 128 << kSampleBits;
  std::array<uint8_t, kBlock> r, g, b;
  const ColourWeights w = weights;
  for (int start = 0; start < count; start += kBlock) {
    const int n = std::min(kBlock, count - start);
    for (int i = 0; i < n; ++i) {
      const int32_t luma = (y[start + i] - w.y_offset) * w.y + kColourHalf;
      const int32_t cb = u[start + i] - kChromaZero;
      const int32_t cr = v[start + i] - kChromaZero;
      r[i] = ToByte(luma + w.v_to_r * cr);
      g[i] = ToByte(luma + w.u_to_g * cb + w.v_to_g * cr);
      b[i] = ToByte(luma + w.u_to_b * cb);
    }
    libyuv::MergeRGBPlane(bgr ? b.data() : r.data(), n, g.data(), n, bgr ? r.data() : b.data(), n,
                          out + static_cast<ptrdiff_t>(start) * 3, n * 3, n, 1);
  }
}

void VerticalPlain(const uint8_t* const* rows, const int16_t* weights, int taps, int count,
                   int16_t* out) {
  VerticalBody(rows, weights, taps, count, out);
}
void HorizontalPlain(const int16_t* in, const int* first, const int16_t* weights,
                     const int16_t* /*paired_weights*/, int padded_taps, int count, int16_t* out) {
  HorizontalBody(in, first, weights, padded_taps, 0, count, out);
}
void YuvToRgbPlain(const int16_t* y, const int16_t* u, const int16_t* v,
                   const ColourWeights& weights, bool bgr, int count, uint8_t* out) {
  YuvToRgbBody(y, u, v, weights, bgr, count, out);
}

#if defined(__x86_64__)
#define SG_AVX2 __attribute__((target("avx2")))

SG_AVX2 void VerticalAvx2(const uint8_t* const* rows, const int16_t* weights, int taps, int count,
                          int16_t* out) {
  VerticalBody(rows, weights, taps, count, out);
}

// Eight outputs at a time: register j holds output j in its low half and j + 4 in its high half, so
// that three levels of pairwise addition leave the outputs in order.
SG_AVX2 void HorizontalAvx2(const int16_t* in, const int* first, const int16_t* weights,
                            const int16_t* paired_weights, int padded_taps, int count,
                            int16_t* out) {
  const int whole = count / kWide * kWide;
  const __m256i half = _mm256_set1_epi32(kHalf);
  const int16_t* paired = paired_weights;
  for (int i = 0; i < whole; i += kWide) {
    __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                       _mm256_setzero_si256()};
    for (int k = 0; k < padded_taps; k += kWide) {
      for (int j = 0; j < 4; ++j) {
        const __m256i samples =
            _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(in + first[i + j + 4] + k),
                                reinterpret_cast<const __m128i*>(in + first[i + j] + k));
        const __m256i weight = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(paired));
        paired += 2 * kWide;
        sums[j] = _mm256_add_epi32(sums[j], _mm256_madd_epi16(samples, weight));
      }
    }
    const __m256i sum =
        _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
    const __m256i rounded = _mm256_srai_epi32(_mm256_add_epi32(sum, half), kWeightBits);
    const __m128i packed =
        _mm_packs_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), packed);
  }
  HorizontalBody(in, first, weights, padded_taps, whole, count, out);
}

SG_AVX2 void YuvToRgbAvx2(const int16_t* y, const int16_t* u, const int16_t* v,
                          const ColourWeights& weights, bool bgr, int count, uint8_t* out) {
  YuvToRgbBody(y, u, v, weights, bgr, count, out);
}
#endif

}  // namespace

const ResampleKernels& PlainKernels() {
  static constexpr ResampleKernels kKernels = {VerticalPlain, HorizontalPlain, YuvToRgbPlain,
                                               "plain"};
  return kKernels;
}

const ResampleKernels& FastKernels() {
#if defined(__x86_64__)
  static constexpr ResampleKernels kKernels = {VerticalAvx2, HorizontalAvx2, YuvToRgbAvx2, "avx2"};
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) return kKernels;
#endif
  return PlainKernels();
}

void PairWeights(const int16_t* weights, int padded_taps, int count, int16_t* out) {
  for (int i = 0; i + kWide <= count; i += kWide) {
    for (int k = 0; k < padded_taps; k += kWide) {
      for (int j = 0; j < 4; ++j) {
        for (const int output : {i + j, i + j + 4}) {
          const int16_t* from = weights + static_cast<ptrdiff_t>(output) * padded_taps + k;
          out = std::copy(from, from + kWide, out);
        }
      }
    }
  }
}

}  // namespace sg
