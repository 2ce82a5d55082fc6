// The codes of rows: which slots hold their elements. Part of the kernels that are compiled once
// per instruction set, so everything is in an unnamed namespace; loops are written for vector
// registers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "hashed/cpu/rows.h"
#include "hashed/cpu/vectors.h"

namespace mirror::hashed {
namespace {

// Of num / divisor, by a product with 1.0 / divisor: off by one at most, since num / divisor is
// below 2^48 or num below 2^53. Divisions in whole numbers do not run in vector registers.
inline int64_t remainder(uint64_t num, double num_as_double, double inverse, int64_t divisor) {
  const int64_t quotient = static_cast<int64_t>(num_as_double * inverse);
  int64_t rest =
      static_cast<int64_t>(num - static_cast<uint64_t>(quotient) * static_cast<uint64_t>(divisor));
  rest += rest < 0 ? divisor : 0;
  rest -= rest >= divisor ? divisor : 0;
  return rest;
}

// Finds the codes of many rows at a time.
template <typename code_t>
class Codes {
 public:
  explicit Codes(const Layout& layout)
      : layout_(layout),
        capacity_(std::clamp<int64_t>(kCodes / layout.stride, 4, 512)),
        rows_(capacity_),
        hash_(capacity_),
        slot_(capacity_),
        starts_(layout.whole_blocks || layout.block == 1 ? 0 : capacity_ * layout.blocks),
        codes_(capacity_ * layout.stride) {
    if (layout.hash == HashKind::kReference) {
      step_.assign(layout.step.begin(), layout.step.end());
      wrapped_step_.assign(layout.wrapped_step.begin(), layout.wrapped_step.end());
    }
  }

  // How many rows at most.
  int64_t capacity() const { return capacity_; }

  // The rows (count,) whose codes were asked for last.
  const int64_t* rows() const { return rows_.data(); }

  // From a row's code to that of the next row, and from a place in a row to the next one. For whole
  // blocks the codes of many rows at one place lie side by side.
  int64_t row_step() const { return layout_.whole_blocks ? 1 : layout_.stride; }
  int64_t place_step() const { return layout_.whole_blocks ? capacity_ : 1; }

  // The codes of `count` of the call's ids.
  const code_t* of(const Call& call, int64_t first, int64_t count) {
    return call.narrow_ids ? of_rows(static_cast<const int32_t*>(call.ids) + first, count)
                           : of_rows(static_cast<const int64_t*>(call.ids) + first, count);
  }

  // The codes of `count` rows.
  template <typename index_t>
  const code_t* of_rows(const index_t* rows, int64_t count) {
    std::copy_n(rows, count, rows_.begin());
    const bool expand = !layout_.whole_blocks && layout_.block > 1;
    code_t* out = expand ? starts_.data() : codes_.data();
    const int64_t step = expand ? layout_.blocks : row_step();
    if (layout_.hash == HashKind::kMix64) {
      mixed(count, out, step);
    } else {
      reference(count, out, step);
    }
    if (expand) expand_blocks(count);
    return codes_.data();
  }

 private:
  static constexpr int64_t kCodes = 2048;  // in a first-level cache, beside the rows they lead to

  // Those of `count` rows at one place, `step` apart.
  template <typename Code>
  static MIRROR_INLINE void column(code_t* __restrict__ out, int64_t step, int64_t count,
                                   const Code& code) {
    if (step == 1) {
      for (int64_t i = 0; i < count; ++i) out[i] = code(i);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i * step] = code(i);
    }
  }

  // Whether codes are found place by place, which keeps vectors full where rows have few.
  bool by_columns() const { return layout_.whole_blocks || layout_.blocks < kAlongRows; }

  void reference(int64_t count, code_t* __restrict__ out, int64_t step) {
    const int64_t* __restrict__ rows = rows_.data();
    constexpr double kInversePrime = 2.0 / static_cast<double>(kPrime);
    const int64_t num_slots = layout_.num_slots, blocks = layout_.blocks;
    const double inverse_slots = 1.0 / static_cast<double>(num_slots);
    int64_t* __restrict__ hash = hash_.data();
    int64_t* __restrict__ slot = slot_.data();
    uint64_t largest = 0;
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t row = static_cast<uint64_t>(rows[i]);
      largest = row > largest ? row : largest;
      const uint64_t sum = row * kRowFactor + kOffset;
      hash[i] = remainder(sum, static_cast<double>(static_cast<int64_t>(sum >> 1)), kInversePrime,
                          static_cast<int64_t>(kPrime));
    }
    if (largest >= layout_.no_wrap) {
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t b = 0; b < blocks; ++b) {
          out[i * step + b * place_step()] = static_cast<code_t>(
              reference_hash(static_cast<uint64_t>(rows[i]), static_cast<uint64_t>(b)) %
              static_cast<uint64_t>(num_slots));
        }
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      slot[i] = remainder(static_cast<uint64_t>(hash[i]), static_cast<double>(hash[i]),
                          inverse_slots, num_slots);
    }
    if (blocks == 1) {
      column(out, step, count, [&](int64_t i) { return static_cast<code_t>(slot[i]); });
    } else if (by_columns()) {
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t limit = layout_.limit[b];
        const code_t straight = step_[b], wrapped = wrapped_step_[b];
        column(out + b * place_step(), step, count, [&](int64_t i) {
          return wrap(static_cast<code_t>(slot[i]), hash[i] >= limit ? wrapped : straight);
        });
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        along_row(hash[i], static_cast<code_t>(slot[i]), layout_.limit.data(), step_.data(),
                  wrapped_step_.data(), blocks, out + i * step);
      }
    }
  }

  // slot + step modulo num_slots, both below it. Unsigned, since the sum may pass the signed range.
  code_t wrap(code_t slot, code_t step) const {
    using unsigned_t = std::make_unsigned_t<code_t>;
    const unsigned_t sum = static_cast<unsigned_t>(slot) + static_cast<unsigned_t>(step);
    const unsigned_t less = sum - static_cast<unsigned_t>(layout_.num_slots);
    return static_cast<code_t>(less < sum ? less : sum);  // below num_slots the difference wraps
  }

  void along_row(int64_t hash, code_t slot, const int64_t* __restrict__ limit,
                 const code_t* __restrict__ step, const code_t* __restrict__ wrapped_step,
                 int64_t blocks, code_t* __restrict__ out) const {
    for (int64_t b = 0; b < blocks; ++b) {
      out[b] = wrap(slot, hash >= limit[b] ? wrapped_step[b] : step[b]);
    }
  }

  void mixed(int64_t count, code_t* __restrict__ out, int64_t step) {
    const int64_t* __restrict__ rows = rows_.data();
    const int64_t blocks = layout_.blocks;
    const uint64_t seed = layout_.seed;
    int64_t* __restrict__ state = hash_.data();
    for (int64_t i = 0; i < count; ++i) {
      state[i] = static_cast<int64_t>(mix64(static_cast<uint64_t>(rows[i]) + seed));
    }
    if (by_columns()) {
      for (int64_t b = 0; b < blocks; ++b) {
        const uint64_t shift = static_cast<uint64_t>(b) * kGoldenRatio;
        column(out + b * place_step(), step, count,
               [&](int64_t i) { return code(mix64(static_cast<uint64_t>(state[i]) + shift)); });
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        const uint64_t first = static_cast<uint64_t>(state[i]);
        column(out + i * step, 1, blocks, [&](int64_t b) {
          return code(mix64(first + static_cast<uint64_t>(b) * kGoldenRatio));
        });
      }
    }
  }

  code_t code(uint64_t hash) const {
    uint64_t slot;
    if constexpr (sizeof(code_t) == 4) {  // products of 32 bits each, which run in vector registers
      const uint64_t slots = static_cast<uint32_t>(layout_.num_slots);
      slot = ((hash >> 32) * slots + ((hash & 0xFFFFFFFFULL) * slots >> 32)) >> 32;
    } else {
      slot = below(hash, static_cast<uint64_t>(layout_.num_slots));
    }
    return static_cast<code_t>(layout_.signs ? slot * 2 + (hash & 1) : slot);
  }

  // A code for each element, from those of its block.
  void expand_blocks(int64_t count) {
    const int64_t num_slots = layout_.num_slots, block = layout_.block, dim = layout_.dim;
    const int shift = layout_.signs ? 1 : 0;
    for (int64_t i = 0; i < count; ++i) {
      const code_t* starts = starts_.data() + i * layout_.blocks;
      code_t* out = codes_.data() + i * layout_.stride;
      for (int64_t b = 0, d = 0; d < dim; ++b) {
        const code_t sign = shift ? starts[b] & 1 : 0;
        int64_t slot = starts[b] >> shift;
        for (const int64_t stop = std::min(dim, d + block); d < stop; ++d) {
          out[d] = static_cast<code_t>((slot << shift) | sign);
          slot = slot + 1 == num_slots ? 0 : slot + 1;
        }
      }
    }
  }

  static constexpr int64_t kAlongRows = 8;  // from so many blocks on, vectors lie along a row

  const Layout& layout_;
  int64_t capacity_;
  std::vector<int64_t> rows_, hash_, slot_;
  std::vector<code_t> starts_, codes_, step_, wrapped_step_;
};

}  // namespace
}  // namespace mirror::hashed
