// Philox 4x32-10 (Salmon et al. 2011, doi:10.1145/2063384.2063405): a counter of 128 bits and a key
// of 64 give 128 random bits. Several counters at a time.
// Part of what is compiled once per instruction set, so everything is in an unnamed namespace.
#pragma once

#include <cstdint>

#include "hashed/cpu/vectors.h"
#include "quantized/cpu/rows.h"

namespace mirror::quantized {
namespace {

// Counters in the lower halves of 64-bit lanes; in place.
template <int64_t lanes>
MIRROR_INLINE void philox(hashed::Vector<uint64_t, lanes> (&c)[4], uint32_t key0, uint32_t key1) {
  using Lanes = hashed::Vector<uint64_t, lanes>;
  constexpr uint64_t kFactor0 = 0xD2511F53, kFactor1 = 0xCD9E8D57, kLow = 0xFFFFFFFF;
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const Lanes a = c[0] * kFactor0, b = c[2] * kFactor1;
    c[0] = (b >> 32) ^ c[1] ^ key0;
    c[1] = b & kLow;
    c[2] = (a >> 32) ^ c[3] ^ key1;
    c[3] = a & kLow;
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
}

// 16 random bits for each number of a row, eight numbers a counter: `bits` has place for whole
// blocks of 8 * lanes. Number 8 k + 2 j + h has half h of word j of counter k.
template <int64_t lanes>
MIRROR_INLINE void draw_block(const Draw& draw, int64_t first, uint16_t* bits) {
  const uint64_t row = static_cast<uint64_t>(draw.row);
  const uint64_t of_row[3] = {row & 0xFFFFFFFF,
                              (row >> 32) | (static_cast<uint64_t>(draw.table) << 8),
                              draw.step & 0xFFFFFFFF};
  uint64_t counters[4][lanes];
  for (int64_t k = 0; k < lanes; ++k) {
    counters[0][k] = static_cast<uint64_t>(first + k);
    for (int j = 0; j < 3; ++j) counters[j + 1][k] = of_row[j];
  }
  using Lanes = hashed::Vector<uint64_t, lanes>;
  Lanes c[4] = {hashed::load_raw<Lanes>(counters[0]), hashed::load_raw<Lanes>(counters[1]),
                hashed::load_raw<Lanes>(counters[2]), hashed::load_raw<Lanes>(counters[3])};
  philox<lanes>(c, static_cast<uint32_t>(draw.seed), static_cast<uint32_t>(draw.seed >> 32));
  for (int64_t k = 0; k < lanes; ++k) {
    for (int j = 0; j < 4; ++j) {
      bits[8 * k + 2 * j] = static_cast<uint16_t>(c[j][k]);
      bits[8 * k + 2 * j + 1] = static_cast<uint16_t>(c[j][k] >> 16);
    }
  }
}

}  // namespace
}  // namespace mirror::quantized
