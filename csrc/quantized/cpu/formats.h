// How numbers are read from the bytes of a row and written to them.
// Part of what is compiled once per instruction set, so everything is in an unnamed namespace.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "hashed/cpu/vectors.h"
#include "quantized/cpu/philox.h"
#include "quantized/cpu/rows.h"

namespace mirror::quantized {
namespace {

using hashed::BFloat16;
using hashed::load_raw;
using hashed::store_raw;

constexpr int64_t kWidth = 16;  // numbers that are read together
using Numbers = hashed::Vector<float, kWidth>;

constexpr int64_t kScaleBytes = 2;
constexpr float kMost = 0x1p+120f;   // larger numbers are stored as this: their row has a scale yet
constexpr float kLeast = 0x1p-100f;  // a row of smaller numbers is stored as zeros

MIRROR_INLINE float scale_of(const uint8_t* row) { return hashed::widen(load_raw<BFloat16>(row)); }

// Compilers turn neither of these conversions of vectors into the one instruction that it is.
MIRROR_INLINE Numbers widened(const hashed::Vector<int8_t, kWidth>& q) {
#if defined(__AVX512F__)
  return (Numbers)_mm512_maskz_cvtepi32_ps(0xFFFF, _mm512_maskz_cvtepi8_epi32(0xFFFF, (__m128i)q));
#elif defined(__AVX2__)
  const __m128i bytes = (__m128i)q;
  const __m256 halves[2] = {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
                            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
  return load_raw<Numbers>(halves);
#else
  return __builtin_convertvector(__builtin_convertvector(q, hashed::Vector<int32_t, kWidth>),
                                 Numbers);
#endif
}

MIRROR_INLINE Numbers widened(const hashed::Vector<_Float16, kWidth>& q) {
#if defined(__AVX512F__)
  return (Numbers)_mm512_maskz_cvtph_ps(0xFFFF, (__m256i)q);
#elif defined(__AVX2__) && defined(__F16C__)
  const __m256i numbers = (__m256i)q;
  const __m256 halves[2] = {_mm256_cvtph_ps(_mm256_castsi256_si128(numbers)),
                            _mm256_cvtph_ps(_mm256_extracti128_si256(numbers, 1))};
  return load_raw<Numbers>(halves);
#else
  return __builtin_convertvector(q, Numbers);
#endif
}

// The least bfloat16 of at least a positive number.
MIRROR_INLINE BFloat16 rounded_up(float x) {
  return {static_cast<uint16_t>((std::bit_cast<uint32_t>(x) + 0xFFFF) >> 16)};
}

// `x` or the whole number above its floor: above with the probability of its fraction, to 2^-17.
MIRROR_INLINE int32_t rounded_at_random(float x, uint16_t bits) {
  int32_t below = static_cast<int32_t>(x);
  below -= static_cast<float>(below) > x;
  const float fraction = x - static_cast<float>(below);  // exact
  return below + (fraction * 65536.0f - 0.5f > static_cast<float>(bits));
}

struct Int8 {
  static constexpr float kLargest = 127;
  static MIRROR_INLINE float scale(const uint8_t* row) { return scale_of(row); }
  // Numbers from `d` on, a multiple of kWidth; none of them behind the last.
  static MIRROR_INLINE Numbers block(const uint8_t* row, int64_t d) {
    const auto q = load_raw<hashed::Vector<int8_t, kWidth>>(row + kScaleBytes + d);
    return widened(q);
  }
  static MIRROR_INLINE float one(const uint8_t* row, int64_t d) {
    return static_cast<float>(static_cast<int8_t>(row[kScaleBytes + d]));
  }
  // Writes `count` numbers from `d` on, a multiple of kWidth.
  static MIRROR_INLINE void put(uint8_t* row, int64_t d, const int8_t* q, int64_t count) {
    std::memcpy(row + kScaleBytes + d, q, count);
  }
};

struct Int4 {
  static constexpr float kLargest = 7;
  static MIRROR_INLINE float scale(const uint8_t* row) { return scale_of(row); }
  static MIRROR_INLINE Numbers block(const uint8_t* row, int64_t d) {
    using Bytes = hashed::Vector<int8_t, 8>;
    const auto both = load_raw<Bytes>(row + kScaleBytes + d / 2);
    const Bytes high = both >> 4;
    const Bytes low = (Bytes)((hashed::Vector<uint8_t, 8>)both << 4) >> 4;
    const auto q =
        __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return widened(q);
  }
  static MIRROR_INLINE float one(const uint8_t* row, int64_t d) {
    const uint8_t both = row[kScaleBytes + d / 16 * 8 + d % 8];
    return static_cast<float>(static_cast<int8_t>(d % 16 < 8 ? both << 4 : both & 0xF0) >> 4);
  }
  static MIRROR_INLINE void put(uint8_t* row, int64_t d, const int8_t* q, int64_t count) {
    uint8_t* const to = row + kScaleBytes + d / 2;
    std::memset(to, 0, (count + 15) / 16 * 8);
    for (int64_t k = 0; k < count; ++k) {
      const uint8_t half = static_cast<uint8_t>(q[k]) & 0x0F;
      to[k / 16 * 8 + k % 8] |= static_cast<uint8_t>(k % 16 < 8 ? half : half << 4);
    }
  }
};

struct Float16 {
  static constexpr float kLargest = 65504;
  static MIRROR_INLINE float scale(const uint8_t*) { return 1; }
  static MIRROR_INLINE Numbers block(const uint8_t* row, int64_t d) {
    const auto q = load_raw<hashed::Vector<_Float16, kWidth>>(row + 2 * d);
    return widened(q);
  }
  static MIRROR_INLINE float one(const uint8_t* row, int64_t d) {
    return static_cast<float>(load_raw<_Float16>(row + 2 * d));
  }
};

// The largest absolute value, found as whole numbers, which the compiler puts into vectors.
MIRROR_INLINE float largest(const float* values, int64_t dim) {
  uint32_t most = 0;
  for (int64_t d = 0; d < dim; ++d) {
    const uint32_t bits = std::bit_cast<uint32_t>(values[d]) & 0x7FFFFFFF;
    most = bits > most ? bits : most;
  }
  return std::bit_cast<float>(most);
}

constexpr int64_t kOfScale = int64_t{1} << 30;  // eights of numbers: beyond those of any row
constexpr int64_t kDrawn = 64;                  // numbers that bits are drawn for at a time

// Calls body(d, count, bits) for all numbers of a row, in blocks.
template <typename Body>
MIRROR_INLINE void with_bits(int64_t dim, const Draw& draw, const Body& body) {
  uint16_t bits[kDrawn];
  int64_t d = 0;
  for (; d + kDrawn / 2 < dim; d += kDrawn) {
    draw_block<8>(draw, d / 8, bits);
    body(d, std::min(kDrawn, dim - d), bits);
  }
  for (; d < dim; d += kWidth) {
    draw_block<2>(draw, d / 8, bits);
    body(d, std::min(kWidth, dim - d), bits);
  }
}

// Writes the numbers of a row whose scale stands there.
template <typename F>
MIRROR_INLINE void write_numbers(const float* values, int64_t dim, const Draw& draw, uint8_t* row) {
  const float scale = scale_of(row);
  int8_t q[kDrawn] = {};
  with_bits(dim, draw, [&](int64_t d, int64_t count, const uint16_t* bits) {
    constexpr int32_t kEnd = static_cast<int32_t>(F::kLargest);
    if (scale == 0) {
      std::fill_n(q, count, int8_t{0});
    } else {
      for (int64_t k = 0; k < count; ++k) {
        const float value = std::clamp(values[d + k], -kMost, kMost);
        // Beyond the last number first, where the scale was learned: no whole number holds it.
        const float times = std::clamp(value / scale, -F::kLargest - 1, F::kLargest + 1);
        q[k] = static_cast<int8_t>(std::clamp(rounded_at_random(times, bits[k]), -kEnd, kEnd));
      }
    }
    F::put(row, d, q, count);
  });
}

template <typename F>
void write_row(const float* values, int64_t dim, const Draw& draw, uint8_t* row) {
  const float most = std::min(largest(values, dim), kMost);
  store_raw(row, most < kLeast ? BFloat16{0} : rounded_up(most / F::kLargest));
  write_numbers<F>(values, dim, draw, row);
}

// With the scale s learned (ALPT, Li et al. 2023, arXiv:2212.05735; its gradient as in LSQ, Esser
// et al. 2020, arXiv:1902.08153): s loses rate * sum of g * slope / sqrt(dim * largest), where
// slope is round(w / s) - w / s within the range and its end beyond. `values` are the weights after
// their own step. A row of zeros has no scale yet: its largest number says the first. Products are
// exact in double, so that a compiler that fuses changes no bit.
template <typename F>
void write_learned(const float* values, const float* grad, float rate, int64_t dim,
                   const Draw& draw, uint8_t* row) {
  const float scale = scale_of(row);
  if (scale == 0) return write_row<F>(values, dim, draw, row);
  double total = 0;
  for (int64_t d = 0; d < dim; ++d) {
    const float times = std::clamp(values[d] / scale, -F::kLargest, F::kLargest);
    const float slope = std::abs(times) < F::kLargest ? std::nearbyint(times) - times : times;
    total += static_cast<double>(grad[d]) * slope;
  }
  const float change =
      rate * static_cast<float>(total / std::sqrt(static_cast<double>(dim) * F::kLargest));
  constexpr float kEnd = kMost / F::kLargest;
  const float now = std::clamp(std::clamp(scale - change, scale / 2, scale * 2), kLeast, kEnd);
  uint16_t bits[16];
  draw_block<2>(draw, kOfScale, bits);  // small changes of a bfloat16 add up as those of numbers do
  store_raw(row, BFloat16{static_cast<uint16_t>((std::bit_cast<uint32_t>(now) + bits[0]) >> 16)});
  write_numbers<F>(values, dim, draw, row);
}

template <>
void write_row<Float16>(const float* values, int64_t dim, const Draw& draw, uint8_t* row) {
  with_bits(dim, draw, [&](int64_t d, int64_t count, const uint16_t* bits) {
    for (int64_t k = 0; k < count; ++k) {
      const float value = std::clamp(values[d + k], -Float16::kLargest, Float16::kLargest);
      // The distance of neighbours in float16: 2^-10 of the power of two below, at least 2^-24.
      const uint32_t power = std::bit_cast<uint32_t>(value) & 0x7F800000;
      const float step = std::max(
          std::bit_cast<float>(std::max(power, uint32_t{0x08000000})) * 0x1p-10f, 0x1p-24f);
      const float rounded = static_cast<float>(rounded_at_random(value / step, bits[k])) * step;
      store_raw(row + 2 * (d + k),
                static_cast<_Float16>(std::clamp(rounded, -Float16::kLargest, Float16::kLargest)));
    }
  });
}

template <typename F>
void read_row(const uint8_t* row, int64_t dim, float* values) {
  const float scale = F::scale(row);
  int64_t d = 0;
  for (; d + kWidth <= dim; d += kWidth) store_raw(values + d, F::block(row, d) * scale);
  for (; d < dim; ++d) values[d] = F::one(row, d) * scale;
}

}  // namespace
}  // namespace mirror::quantized
