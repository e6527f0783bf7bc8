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
constexpr int kChromaZero = 128 << kSampleBits;
constexpr int kWide = 8;

#define SG_INLINE inline __attribute__((always_inline))

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

// Sixteen samples at a time, rows in pairs: the bytes of two rows interleaved and widened are what
// one multiply-add takes.
SG_AVX2 void VerticalAvx2(const uint8_t* const* rows, const int16_t* weights, int taps, int count,
                          int16_t* out) {
  constexpr int kStep = 16;
  const int whole = count / kStep * kStep;
  const __m256i half = _mm256_set1_epi32(kVerticalHalf);
  for (int i = 0; i < whole; i += kStep) {
    __m256i low = half;
    __m256i high = half;
    for (int k = 0; k < taps; k += 2) {
      const bool pair = k + 1 < taps;
      const auto load = [i](const uint8_t* row) __attribute__((always_inline, target("avx2"))) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + i));
      };
      const __m128i first = load(rows[k]);
      const __m128i second = pair ? load(rows[k + 1]) : first;
      const int second_weight = pair ? weights[k + 1] : 0;
      const __m256i weight =
          _mm256_set1_epi32((second_weight << 16) | static_cast<uint16_t>(weights[k]));
      const __m256i low_pairs = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(first, second));
      const __m256i high_pairs = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(first, second));
      low = _mm256_add_epi32(low, _mm256_madd_epi16(low_pairs, weight));
      high = _mm256_add_epi32(high, _mm256_madd_epi16(high_pairs, weight));
    }
    const __m256i packed = _mm256_packs_epi32(_mm256_srai_epi32(low, kVerticalShift),
                                              _mm256_srai_epi32(high, kVerticalShift));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                        _mm256_permute4x64_epi64(packed, 0xD8));
  }
  for (int i = whole; i < count; ++i) {
    int32_t sum = kVerticalHalf;
    for (int k = 0; k < taps; ++k) sum += weights[k] * rows[k][i];
    out[i] = static_cast<int16_t>(sum >> kVerticalShift);
  }
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

/// The pair (first, second) as one multiply-add takes it.
SG_AVX2 __m256i PairOf(int32_t first, int32_t second) {
  return _mm256_set1_epi32((second << 16) | static_cast<uint16_t>(first));
}

/// Sixteen bytes of one channel from the sums of its low and its high samples.
SG_AVX2 void StoreChannel(__m256i low, __m256i high, uint8_t* out) {
  const __m256i half = _mm256_set1_epi32(kColourHalf);
  const __m256i words =
      _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(low, half), kColourShift),
                         _mm256_srai_epi32(_mm256_add_epi32(high, half), kColourShift));
  const __m128i bytes =
      _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
}

SG_AVX2 void YuvToRgbAvx2(const int16_t* y, const int16_t* u, const int16_t* v,
                          const ColourWeights& weights, bool bgr, int count, uint8_t* out) {
  constexpr int kBlock = 512;
  constexpr int kStep = 16;
  std::array<uint8_t, kBlock> r, g, b;
  const int whole = count / kStep * kStep;
  const __m256i luma_zero = _mm256_set1_epi16(static_cast<int16_t>(weights.y_offset));
  const __m256i chroma_zero = _mm256_set1_epi16(kChromaZero);
  const __m256i to_r = PairOf(weights.y, weights.v_to_r);
  const __m256i to_b = PairOf(weights.y, weights.u_to_b);
  const __m256i luma_u_to_g = PairOf(weights.y, weights.u_to_g);
  const __m256i v_to_g = PairOf(weights.v_to_g, 0);
  for (int start = 0; start < whole; start += kBlock) {
    const int n = std::min(kBlock, whole - start);
    for (int i = 0; i < n; i += kStep) {
      const auto load = [&](const int16_t* from, __m256i zero)
          __attribute__((always_inline, target("avx2"))) {
        return _mm256_sub_epi16(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + start + i)), zero);
      };
      const __m256i luma = load(y, luma_zero);
      const __m256i cb = load(u, chroma_zero);
      const __m256i cr = load(v, chroma_zero);
      const __m256i luma_cr_low = _mm256_unpacklo_epi16(luma, cr);
      const __m256i luma_cr_high = _mm256_unpackhi_epi16(luma, cr);
      const __m256i luma_cb_low = _mm256_unpacklo_epi16(luma, cb);
      const __m256i luma_cb_high = _mm256_unpackhi_epi16(luma, cb);
      const __m256i cr_low = _mm256_unpacklo_epi16(cr, cr);
      const __m256i cr_high = _mm256_unpackhi_epi16(cr, cr);
      StoreChannel(_mm256_madd_epi16(luma_cr_low, to_r), _mm256_madd_epi16(luma_cr_high, to_r),
                   r.data() + i);
      StoreChannel(_mm256_add_epi32(_mm256_madd_epi16(luma_cb_low, luma_u_to_g),
                                    _mm256_madd_epi16(cr_low, v_to_g)),
                   _mm256_add_epi32(_mm256_madd_epi16(luma_cb_high, luma_u_to_g),
                                    _mm256_madd_epi16(cr_high, v_to_g)),
                   g.data() + i);
      StoreChannel(_mm256_madd_epi16(luma_cb_low, to_b), _mm256_madd_epi16(luma_cb_high, to_b),
                   b.data() + i);
    }
    libyuv::MergeRGBPlane(bgr ? b.data() : r.data(), n, g.data(), n, bgr ? r.data() : b.data(), n,
                          out + static_cast<ptrdiff_t>(start) * 3, n * 3, n, 1);
  }
  if (whole < count) {
    YuvToRgbBody(y + whole, u + whole, v + whole, weights, bgr, count - whole,
                 out + static_cast<ptrdiff_t>(whole) * 3);
  }
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
