// Ids that are any numbers, hashed to rows.
#pragma once

#include <cstdint>

#include "common/host_device.h"

namespace mirror::fiited {

// splitmix64 (Steele et al. 2014) of an id, with a seed: one to one over all 64-bit numbers.
MIRROR_HOST_DEVICE inline uint64_t scramble(uint64_t id, uint64_t seed) {
  uint64_t x = id + seed * 0xD1342543DE82EF95ULL + 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// One of `rows` rows.
MIRROR_HOST_DEVICE inline int64_t hashed_row(int64_t id, uint64_t seed, int64_t rows) {
  const uint64_t hash = scramble(static_cast<uint64_t>(id), seed);
#ifdef __CUDA_ARCH__
  return static_cast<int64_t>(__umul64hi(hash, static_cast<uint64_t>(rows)));
#else
  return static_cast<int64_t>(static_cast<unsigned __int128>(hash) * static_cast<uint64_t>(rows) >>
                              64);
#endif
}

}  // namespace mirror::fiited
