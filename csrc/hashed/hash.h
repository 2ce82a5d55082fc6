// The hashes of the hashed embedding: which slot of the buffer holds element (row, d) of the
// virtual table, and with which sign. Blocks of `block` neighbours share one hash: with b = d /
// block, the block starts at slot start(row, b) and element d lies d % block slots behind it, going
// on at slot 0 after the last one (as in ROBE, Desai et al. 2022). With block = 1 each element has
// its own hash.
//
// reference, bit-exact with wanmeihuali/HashedEmbeddingBag:
//   h(row, b) = (row * 9824516537 + b * 57857966300227 + 104729) mod 2^64 mod 117130198221199
//   start     = h mod num_slots
// mix64, with the finalizer of splitmix64 (Steele et al. 2014) as mixer:
//   h(row, b) = mix(mix(row + seed) + b * 0x9E3779B97F4A7C15), modulo 2^64
//   start     = floor(h * num_slots / 2^64); where signs are wanted, an odd h means -1
#pragma once

#include <cstdint>

#include "common/host_device.h"

namespace mirror {

enum class HashKind { kReference, kMix64 };

inline constexpr uint64_t kRowFactor = 9824516537ULL;
inline constexpr uint64_t kDimFactor = 57857966300227ULL;
inline constexpr uint64_t kOffset = 104729ULL;
inline constexpr uint64_t kPrime = 117130198221199ULL;
inline constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15ULL;

MIRROR_HOST_DEVICE inline uint64_t reference_hash(uint64_t row, uint64_t b) {
  return (row * kRowFactor + b * kDimFactor + kOffset) % kPrime;
}

MIRROR_HOST_DEVICE inline uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// floor(hash * n / 2^64): a number below n.
MIRROR_HOST_DEVICE inline uint64_t below(uint64_t hash, uint64_t n) {
#ifdef __CUDA_ARCH__
  return __umul64hi(hash, n);
#else
  return static_cast<uint64_t>(static_cast<unsigned __int128>(hash) * n >> 64);
#endif
}

// Rows below this number never make the 64-bit sum of the reference hash wrap, for `blocks` blocks
// a row: from 1,877,623,596 on at 16 blocks it does.
inline uint64_t no_wrap_rows(uint64_t blocks) {
  constexpr uint64_t kMax = ~uint64_t{0};
  if (blocks - 1 > (kMax - kOffset) / kDimFactor) return 0;
  return (kMax - kOffset - (blocks - 1) * kDimFactor) / kRowFactor + 1;
}

}  // namespace mirror
