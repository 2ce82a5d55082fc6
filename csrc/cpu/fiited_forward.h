// Sums of bags over any form of a FIITED table.
#pragma once

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>

#include "../fiited_storage.h"
#include "fiited_parallel.h"

namespace mirror::fiited {

// Lookups ahead at which the index and then the weights are asked for: about what a lookup from
// memory takes.
inline constexpr int64_t kIndexAhead = 24, kWeightsAhead = 12;

// How a form is read: `prefetch(row)`, `Place find(row)`, `prefetch(place)`, and `add(place, out)`,
// which adds the row's vector. `Form::Place` is small.
template <typename Form>
void sum_bags(const Form& form, int64_t dim, const int64_t* rows, const int64_t* offsets, bool mean,
              int64_t first_bag, int64_t end_bag, float* out) {
  const int64_t begin = offsets[first_bag], end = offsets[end_bag];
  typename Form::Place places[kWeightsAhead];
  const auto found = [&](int64_t i) {
    places[i % kWeightsAhead] = form.find(rows[i]);
    form.prefetch(places[i % kWeightsAhead]);
  };
  for (int64_t i = begin; i < std::min(end, begin + kIndexAhead); ++i) form.prefetch(rows[i]);
  for (int64_t i = begin; i < std::min(end, begin + kWeightsAhead); ++i) found(i);
  for (int64_t b = first_bag; b < end_bag; ++b) {
    float* const sum = out + b * dim;
    std::fill(sum, sum + dim, 0.0f);
    for (int64_t i = offsets[b]; i < offsets[b + 1]; ++i) {
      form.add(places[i % kWeightsAhead], sum);
      if (i + kIndexAhead < end) form.prefetch(rows[i + kIndexAhead]);
      if (i + kWeightsAhead < end) found(i + kWeightsAhead);
    }
    const int64_t length = offsets[b + 1] - offsets[b];
    if (mean && length > 1)
      for (int64_t d = 0; d < dim; ++d) sum[d] /= static_cast<float>(length);
  }
}

template <typename Form>
at::Tensor forward(const Form& form, int64_t dim, const at::Tensor& rows, const at::Tensor& offsets,
                   bool mean) {
  const int64_t bags = offsets.numel() - 1;
  const at::Tensor output = at::empty({bags, dim}, rows.options().dtype(at::kFloat));
  const int64_t* const ids = rows.const_data_ptr<int64_t>();
  const int64_t* const ends = offsets.const_data_ptr<int64_t>();
  float* const out = output.mutable_data_ptr<float>();
  in_parallel(bags, rows.numel() + bags, [&](int64_t begin, int64_t end) {
    sum_bags(form, dim, ids, ends, mean, begin, end, out);
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
