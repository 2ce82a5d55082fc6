// The hash of the hashed embedding bag: which slot holds element (row, d) of the virtual table.
//
//   h(row, d) = (row * 9824516537 + d * 57857966300227 + 104729) mod 2^64 mod 117130198221199
//   slot      = h mod num_slots
//
// bit-exact with wanmeihuali/HashedEmbeddingBag. Slots of one row are found with two divisions for
// the whole row instead of two per element: with h0 = h(row, 0) and T[d] = d * 57857966300227 mod
// P, h(row, d) is h0 + T[d], less P where that reaches P. Slots follow by the same add and
// conditional subtract modulo num_slots. This holds as long as the 64-bit sum does not wrap, which
// is checked per row; rows beyond (from 1,877,623,596 on at dimension 16) take the formula as it
// stands.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace mirror {

inline constexpr uint64_t kRowFactor = 9824516537ULL;
inline constexpr uint64_t kDimFactor = 57857966300227ULL;
inline constexpr uint64_t kOffset = 104729ULL;
inline constexpr uint64_t kPrime = 117130198221199ULL;

inline uint64_t reference_hash(uint64_t row, uint64_t d) {
  return (row * kRowFactor + d * kDimFactor + kOffset) % kPrime;
}

// Finds the slots of a whole row. Immutable after construction, so threads may share one.
class SlotHasher {
 public:
  // Both numbers are at least 1; num_slots is below 2^62.
  SlotHasher(int64_t embedding_dim, int64_t num_slots)
      : dim_(embedding_dim),
        num_slots_(num_slots),
        no_wrap_(no_wrap_rows(static_cast<uint64_t>(embedding_dim))),
        limit_(embedding_dim),
        step_(embedding_dim),
        wrapped_step_(embedding_dim) {
    const uint64_t slots = num_slots_;
    const uint64_t prime_step = slots - kPrime % slots;  // minus P, modulo num_slots
    uint64_t sum = 0;                                    // T[d]
    uint64_t step = 0;                                   // T[d] modulo num_slots
    for (int64_t d = 0; d < dim_; ++d) {
      limit_[d] = kPrime - sum;
      step_[d] = step;
      wrapped_step_[d] = (step + prime_step) % slots;
      sum += kDimFactor;
      step = (step + kDimFactor) % slots;
      if (sum >= kPrime) {
        sum -= kPrime;
        step = (step + prime_step) % slots;
      }
    }
  }

  // Writes the embedding_dim slots of `row` (0 or more) to `out`.
  void slots(int64_t row, int64_t* __restrict__ out) const {
    const uint64_t r = static_cast<uint64_t>(row);
    if (r >= no_wrap_) {
      for (int64_t d = 0; d < dim_; ++d) {
        out[d] = static_cast<int64_t>(reference_hash(r, d) % num_slots_);
      }
      return;
    }
    // Signed on purpose: all values are below 2^63, and vector units compare signed numbers faster.
    const uint64_t first = reference_hash(r, 0);
    const int64_t hash = static_cast<int64_t>(first);
    const int64_t slot = static_cast<int64_t>(first % num_slots_);
    const int64_t num_slots = static_cast<int64_t>(num_slots_);
    const int64_t* __restrict__ limit = limit_.data();
    const int64_t* __restrict__ step = step_.data();
    const int64_t* __restrict__ wrapped_step = wrapped_step_.data();
    for (int64_t d = 0; d < dim_; ++d) {
      const int64_t s = slot + (hash >= limit[d] ? wrapped_step[d] : step[d]);
      out[d] = s >= num_slots ? s - num_slots : s;
    }
  }

 private:
  // Rows below this number never make the 64-bit sum wrap, whatever the dimension.
  static uint64_t no_wrap_rows(uint64_t dim) {
    constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
    if (dim - 1 > (kMax - kOffset) / kDimFactor) return 0;
    return (kMax - kOffset - (dim - 1) * kDimFactor) / kRowFactor + 1;
  }

  int64_t dim_;
  uint64_t num_slots_;
  uint64_t no_wrap_;
  std::vector<int64_t> limit_;         // hashes from here on pass P when T[d] is added
  std::vector<int64_t> step_;          // T[d] modulo num_slots
  std::vector<int64_t> wrapped_step_;  // (T[d] - P) modulo num_slots
};

}  // namespace mirror
