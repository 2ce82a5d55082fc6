// Sums of bags over any form of a FIITED table.
#pragma once

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>

#include "fiited/cpu/parallel.h"
#include "fiited/cpu/registers.h"
#include "fiited/storage.h"

namespace mirror::fiited {

// Lookups ahead at which a row's place in the index, then what the index says, and then the weights
// are asked for: about what a lookup from memory takes. The latter two are powers of two.
inline constexpr int64_t kIndexAhead = 32, kSlotsAhead = 16, kWeightsAhead = 8;
// What is read of smaller tables is in a cache of the core, where asking ahead costs more than it
// gains.
inline constexpr int64_t kCached = 1 << 20;

// Calls visit(place) for each lookup of bags [first_bag, end_bag), and done(b) after each bag. A
// form is read in steps: `find(row)` looks into the index, `locate` what was found gives a
// Form::Place. `prefetch(row)`, `prefetch_found(found)` and `prefetch(place)` ask for what a step
// will read.
template <typename Form, typename Visit, typename Done>
void for_lookups(const Form& form, const int64_t* rows, const int64_t* offsets, int64_t first_bag,
                 int64_t end_bag, const Visit& visit, const Done& done) {
  const int64_t begin = offsets[first_bag], end = offsets[end_bag];
  if (form.bytes_to_read() < kCached) {
    for (int64_t b = first_bag; b < end_bag; ++b) {
      for (int64_t i = offsets[b]; i < offsets[b + 1]; ++i) visit(form.locate(form.find(rows[i])));
      done(b);
    }
    return;
  }
  int64_t found[kSlotsAhead];
  typename Form::Place places[kWeightsAhead];
  const auto find = [&](int64_t i) __attribute__((always_inline)) {
    if (i >= end) return;
    found[i & (kSlotsAhead - 1)] = form.find(rows[i]);
    form.prefetch_found(found[i & (kSlotsAhead - 1)]);
  };
  const auto locate = [&](int64_t i) __attribute__((always_inline)) {
    if (i >= end) return;
    places[i & (kWeightsAhead - 1)] = form.locate(found[i & (kSlotsAhead - 1)]);
    form.prefetch(places[i & (kWeightsAhead - 1)]);
  };
  for (int64_t i = begin; i < std::min(end, begin + kIndexAhead); ++i) form.prefetch(rows[i]);
  for (int64_t i = begin; i < begin + kSlotsAhead; ++i) find(i);
  for (int64_t i = begin; i < begin + kWeightsAhead; ++i) locate(i);
  for (int64_t b = first_bag; b < end_bag; ++b) {
    for (int64_t i = offsets[b]; i < offsets[b + 1]; ++i) {
      visit(places[i & (kWeightsAhead - 1)]);
      if (i + kIndexAhead < end) form.prefetch(rows[i + kIndexAhead]);
      locate(i + kWeightsAhead);
      find(i + kSlotsAhead);
    }
    done(b);
  }
}

// Sums of bags [first_bag, end_bag). `form.add(place, out)` adds a row's vector.
template <typename Form>
void sum_bags(const Form& form, int64_t dim, const int64_t* rows, const int64_t* offsets,
              int64_t first_bag, int64_t end_bag, float* out) {
  std::fill(out + first_bag * dim, out + end_bag * dim, 0.0f);
  float* sum = out + first_bag * dim;
  for_lookups(
      form, rows, offsets, first_bag, end_bag, [&](const auto& place) { form.add(place, sum); },
      [&](int64_t) { sum += dim; });
}

#ifdef MIRROR_FIITED_WIDE
// The same in 16 * kRegisters dimensions, summed in registers: `form.add(place, sums)`.
template <int kRegisters, typename Form>
void sum_bags_wide(const Form& form, const int64_t* rows, const int64_t* offsets, int64_t first_bag,
                   int64_t end_bag, float* out) {
  Registers<kRegisters> sums{};
  for_lookups(
      form, rows, offsets, first_bag, end_bag, [&](const auto& place) { form.add(place, sums); },
      [&](int64_t b) {
        for (int r = 0; r < kRegisters; ++r) {
          _mm512_storeu_ps(out + (b * kRegisters + r) * 16, sums.values[r]);
          sums.values[r] = _mm512_setzero_ps();
        }
      });
}
#endif

template <typename Form>
void sum_bags_quickest(const Form& form, const Shape& shape, const int64_t* rows,
                       const int64_t* offsets, int64_t first_bag, int64_t end_bag, float* out) {
#ifdef MIRROR_FIITED_WIDE
  if (fits_registers(shape)) {
    switch (shape.dim) {
      case 16:
        return sum_bags_wide<1>(form, rows, offsets, first_bag, end_bag, out);
      case 32:
        return sum_bags_wide<2>(form, rows, offsets, first_bag, end_bag, out);
      case 64:
        return sum_bags_wide<4>(form, rows, offsets, first_bag, end_bag, out);
      case 128:
        return sum_bags_wide<8>(form, rows, offsets, first_bag, end_bag, out);
    }
  }
#endif
  sum_bags(form, shape.dim, rows, offsets, first_bag, end_bag, out);
}

template <typename Form>
at::Tensor forward(const Form& form, const Shape& shape, const at::Tensor& rows,
                   const at::Tensor& offsets, bool mean) {
  const int64_t bags = offsets.numel() - 1, dim = shape.dim;
  const at::Tensor output = at::empty({bags, dim}, rows.options().dtype(at::kFloat));
  const int64_t* const ids = rows.const_data_ptr<int64_t>();
  const int64_t* const ends = offsets.const_data_ptr<int64_t>();
  float* const out = output.mutable_data_ptr<float>();
  in_parallel(bags, rows.numel() + bags, [&](int64_t begin, int64_t end) {
    sum_bags_quickest(form, shape, ids, ends, begin, end, out);
    if (!mean) return;
    for (int64_t b = begin; b < end; ++b) {
      const int64_t length = ends[b + 1] - ends[b];
      if (length < 2) continue;
      for (int64_t d = 0; d < dim; ++d) out[b * dim + d] /= static_cast<float>(length);
    }
  });
  return output;
}

// Adds a chunk. Widths that are usual are known to the compiler.
inline void add_chunk(const float* __restrict__ from, int64_t width, float* __restrict__ to) {
  const auto add = [&](int64_t n) {
    for (int64_t d = 0; d < n; ++d) to[d] += from[d];
  };
  switch (width) {
    case 4:
      return add(4);
    case 8:
      return add(8);
    case 16:
      return add(16);
    case 32:
      return add(32);
    case 64:
      return add(64);
    default:
      return add(width);
  }
}

inline void prefetch_bytes(const void* start, int64_t bytes) {
  const char* const p = static_cast<const char*>(start);
  for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(p + at);
}

}  // namespace mirror::fiited
