// Sums and means of the rows of bags, read and pooled in one go.
// Part of what is compiled once per instruction set, so everything is in an unnamed namespace.
#pragma once

#include <algorithm>
#include <cstdint>

#include "quantized/cpu/formats.h"
#include "quantized/cpu/rows.h"

namespace mirror::quantized {
namespace {

// Ids ahead at which rows are asked for: about what a row from memory takes.
constexpr int64_t kAhead = 16;
// What is read of smaller tables is in a cache of the core, where asking costs more than it gains.
constexpr int64_t kCached = 1 << 20;

MIRROR_INLINE void ask_for(const uint8_t* row, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(row + at);
  __builtin_prefetch(row + bytes - 1);
}

template <bool product>
MIRROR_INLINE void ask_for(const Table& table, int64_t id) {
  if constexpr (product) {
    const int64_t quotient = table.quotient(id);
    ask_for(table.row(id - quotient * table.remainders), table.format.stride);
    ask_for(table.row(table.remainders + quotient), table.format.stride);
  } else {
    ask_for(table.row(id), table.format.stride);
  }
}

// The row of an id, and the one it is multiplied with where there are two.
template <typename F, bool product>
struct Vector {
  const uint8_t* row;
  const uint8_t* other;
  float scale;

  MIRROR_INLINE Vector(const Table& table, int64_t id) {
    if constexpr (product) {
      const int64_t quotient = table.quotient(id);
      row = table.row(id - quotient * table.remainders);
      other = table.row(table.remainders + quotient);
      scale = F::scale(row) * F::scale(other);  // exact
    } else {
      row = other = table.row(id);
      scale = F::scale(row);
    }
  }
  MIRROR_INLINE Numbers block(int64_t d) const {
    if constexpr (product) return F::block(row, d) * F::block(other, d);
    return F::block(row, d);
  }
  MIRROR_INLINE float one(int64_t d) const {
    if constexpr (product) return F::one(row, d) * F::one(other, d);
    return F::one(row, d);
  }
};

// Calls add(vector, factor) for the ids of bag after bag that take part, and done(bag, divisor).
template <typename F, bool product, typename Add, typename Done>
MIRROR_INLINE void over_bags(const Table& table, const Bags& bags, int64_t first, int64_t last,
                             const Add& add, const Done& done) {
  const bool far = table.num_rows * table.format.stride > kCached;
  const int64_t end = first < last ? bags.end(last - 1) : 0;
  if (far && first < last) {
    const int64_t begin = bags.begin(first);
    for (int64_t i = begin; i < std::min(end, begin + kAhead); ++i)
      ask_for<product>(table, bags.ids[i]);
  }
  for (int64_t b = first; b < last; ++b) {
    int64_t members = 0;
    const int64_t stop = bags.end(b);
    for (int64_t i = bags.begin(b); i < stop; ++i) {
      if (far && i + kAhead < end) ask_for<product>(table, bags.ids[i + kAhead]);
      if (bags.ids[i] == bags.padding) continue;
      ++members;
      add(Vector<F, product>(table, bags.ids[i]), bags.samples ? bags.samples[i] : 1.0f);
    }
    done(b, bags.mean && members > 1 ? static_cast<float>(members) : 1.0f);
  }
}

// In `width` blocks of numbers, summed in registers.
template <typename F, bool product, int width>
void pool_wide(const Table& table, const Bags& bags, int64_t first, int64_t last, float* output) {
  Numbers sums[width] = {};
  over_bags<F, product>(
      table, bags, first, last,
      [&](const Vector<F, product>& vector, float factor) __attribute__((always_inline)) {
        const float scale = vector.scale * factor;
#pragma GCC unroll 8
        for (int v = 0; v < width; ++v) sums[v] += vector.block(v * kWidth) * scale;
      },
      [&](int64_t bag, float divisor) __attribute__((always_inline)) {
        float* const to = output + bag * width * kWidth;
#pragma GCC unroll 8
        for (int v = 0; v < width; ++v) {
          if (divisor != 1) sums[v] /= divisor;
          store_raw(to + v * kWidth, sums[v]);
          sums[v] = Numbers{};
        }
      });
}

// In any number of dimensions.
template <typename F, bool product>
void pool_any(const Table& table, const Bags& bags, int64_t first, int64_t last, float* output) {
  const int64_t dim = table.format.dim;
  std::fill(output + first * dim, output + last * dim, 0.0f);
  float* to = output + first * dim;
  over_bags<F, product>(
      table, bags, first, last,
      [&](const Vector<F, product>& vector, float factor) __attribute__((always_inline)) {
        const float scale = vector.scale * factor;
        int64_t d = 0;
        for (; d + kWidth <= dim; d += kWidth)
          store_raw(to + d, load_raw<Numbers>(to + d) + vector.block(d) * scale);
        for (; d < dim; ++d) to[d] += vector.one(d) * scale;
      },
      [&](int64_t, float divisor) __attribute__((always_inline)) {
        if (divisor != 1)
          for (int64_t d = 0; d < dim; ++d) to[d] /= divisor;
        to += dim;
      });
}

template <typename F, bool product>
void pool_bags(const Table& table, const Bags& bags, int64_t first, int64_t last, float* output) {
  switch (table.format.dim) {
    case 16:
      return pool_wide<F, product, 1>(table, bags, first, last, output);
    case 32:
      return pool_wide<F, product, 2>(table, bags, first, last, output);
    case 64:
      return pool_wide<F, product, 4>(table, bags, first, last, output);
    case 128:
      return pool_wide<F, product, 8>(table, bags, first, last, output);
    default:
      return pool_any<F, product>(table, bags, first, last, output);
  }
}

}  // namespace
}  // namespace mirror::quantized
