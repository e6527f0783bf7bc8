// The inner loops of preprocessing, in plain C++ and for AVX2; both give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sg {

/// Samples between the passes are fixed-point numbers: value × 128.
inline constexpr int kSampleBits = 7;
inline constexpr int kWeightBits = 14;

/// Colour conversion in fixed point; see ColourWeights::For in preprocess.cc.
struct ColourWeights {
  int32_t y_offset;  ///< in samples
  int32_t y;
  int32_t v_to_r;
  int32_t u_to_g;
  int32_t v_to_g;
  int32_t u_to_b;
};
inline constexpr int kColourBits = 13;

struct ResampleKernels {
  /// out[i] = Σ weights[k] · rows[k][i], as samples. `count` output samples.
  void (*vertical)(const uint8_t* const* rows, const int16_t* weights, int taps, int count,
                   int16_t* out);
  /// out[i] = Σ weights[i][k] · in[first[i] + k]. Reads padded_taps samples from each first;
  /// `paired_weights` is `weights` in groups of eight outputs (PairWeights).
  void (*horizontal)(const int16_t* in, const int* first, const int16_t* weights,
                     const int16_t* paired_weights, int padded_taps, int count, int16_t* out);
  /// One row of samples to interleaved bytes, R G B or with `bgr` B G R.
  void (*yuv_to_rgb)(const int16_t* y, const int16_t* u, const int16_t* v,
                     const ColourWeights& weights, bool bgr, int count, uint8_t* out);
  const char* name;
};

/// The fastest for this processor.
const ResampleKernels& FastKernels();
const ResampleKernels& PlainKernels();

/// Reorders `weights` (count × padded_taps) for the wide horizontal pass. `out` has room for count
/// rounded down to a multiple of 8, × padded_taps.
void PairWeights(const int16_t* weights, int padded_taps, int count, int16_t* out);

}  // namespace sg
