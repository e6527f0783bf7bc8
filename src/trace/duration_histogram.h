// Percentiles of durations without keeping each: buckets of 1/32 of an octave, so a percentile is
// within 1.6 % of one that was measured.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sg::trace {

class DurationHistogram {
 public:
  void Add(uint64_t ns) {
    ++counts_[BucketOf(ns)];
    ++count_;
  }
  uint64_t count() const { return count_; }

  /// The middle of the bucket where `share` (0 to 1) of the durations end; 0 without any.
  uint64_t Percentile(double share) const {
    if (count_ == 0) return 0;
    auto rank = static_cast<uint64_t>(share * static_cast<double>(count_ - 1));
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (rank < counts_[i]) return MiddleOf(i);
      rank -= counts_[i];
    }
    return 0;
  }

 private:
  static constexpr unsigned kFineBits = 5;
  static constexpr size_t kFine = size_t{1} << kFineBits;
  static constexpr size_t kBuckets = (64 - kFineBits + 1) * kFine;

  static size_t BucketOf(uint64_t ns) {
    if (ns < kFine) return static_cast<size_t>(ns);
    const auto shift = static_cast<unsigned>(std::bit_width(ns)) - 1 - kFineBits;
    return (shift + 1) * kFine + static_cast<size_t>((ns >> shift) & (kFine - 1));
  }
  static uint64_t MiddleOf(size_t bucket) {
    if (bucket < kFine) return bucket;
    const auto shift = static_cast<unsigned>(bucket / kFine - 1);
    const uint64_t low = (kFine + bucket % kFine) << shift;
    return low + (uint64_t{1} << shift) / 2;
  }

  std::array<uint32_t, kBuckets> counts_{};
  uint64_t count_ = 0;
};

}  // namespace sg::trace
