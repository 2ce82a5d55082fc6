// Vectors of 16 floats in registers, where the CPU has AVX-512: rows are then added without a
// branch per chunk.
#pragma once

#include <bit>
#include <cstdint>

#include "fiited/storage.h"

#if defined(__AVX512F__) && defined(__BMI2__)
#include <immintrin.h>
#define MIRROR_FIITED_WIDE

namespace mirror::fiited {

template <int kRegisters>
struct Registers {
  __m512 values[kRegisters];
};

// Whether chunks fill registers, or registers chunks.
inline bool fits_registers(const Shape& shape) {
  return std::has_single_bit(static_cast<uint64_t>(shape.width())) && shape.width() >= 4;
}

// Adds packed chunks of which `live` says where they belong. Of 4 or 8 floats: a register holds
// several, and what is packed is spread over it.
template <int kRegisters>
inline void add_packed(const float* packed, uint32_t live, int64_t width,
                       Registers<kRegisters>& sums) {
  if (width < 16) {
    const uint32_t first_lanes = width == 4 ? 0x1111 : 0x0101, lanes = (1u << width) - 1;
    const uint32_t chunks = 16 / static_cast<uint32_t>(width);
    for (int r = 0; r < kRegisters; ++r) {
      const uint32_t here = live & ((1u << chunks) - 1);
      const __mmask16 mask = static_cast<__mmask16>(_pdep_u32(here, first_lanes) * lanes);
      sums.values[r] = _mm512_add_ps(sums.values[r], _mm512_maskz_expandloadu_ps(mask, packed));
      packed += std::popcount(here) * width;
      live >>= chunks;
    }
  } else {
    const uint32_t registers = static_cast<uint32_t>(width) / 16;
    for (uint32_t r = 0; r < kRegisters; ++r) {
      const uint32_t is_live = live >> (r / registers) & 1;
      const __mmask16 mask = static_cast<__mmask16>(0u - is_live);
      sums.values[r] = _mm512_add_ps(sums.values[r], _mm512_maskz_loadu_ps(mask, packed));
      packed += is_live * 16;
    }
  }
}

// Adds chunks that lie apart, each at its address.
template <int kRegisters>
inline void add_apart(const float* pool, const int32_t* address, int64_t width,
                      Registers<kRegisters>& sums) {
  const auto chunk = [&](int64_t j) { return pool + address[j] * width; };
  for (int r = 0; r < kRegisters; ++r) {
    __m512 more;
    if (width == 4) {
      more = _mm512_castps128_ps512(_mm_loadu_ps(chunk(4 * r)));
      more = _mm512_insertf32x4(more, _mm_loadu_ps(chunk(4 * r + 1)), 1);
      more = _mm512_insertf32x4(more, _mm_loadu_ps(chunk(4 * r + 2)), 2);
      more = _mm512_insertf32x4(more, _mm_loadu_ps(chunk(4 * r + 3)), 3);
    } else if (width == 8) {
      const __m256d high = _mm256_castps_pd(_mm256_loadu_ps(chunk(2 * r + 1)));
      more = _mm512_castps256_ps512(_mm256_loadu_ps(chunk(2 * r)));
      more = _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(more), high, 1));
    } else {
      const int64_t registers = width / 16;
      more = _mm512_loadu_ps(chunk(r / registers) + r % registers * 16);
    }
    sums.values[r] = _mm512_add_ps(sums.values[r], more);
  }
}

}  // namespace mirror::fiited
#endif
