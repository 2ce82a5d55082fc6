// One training step on a GPU. A group of threads has a row: it sums the row's gradient, then counts
// what the row's chunks gain, then updates their weights; between these parts all of them wait.
#pragma once

#include <cstdint>

#include "fiited/cuda/steps.cuh"
#include "fiited/formulas.h"

namespace mirror::fiited::cuda {

// Lookups are sorted by row, those of a row in order of their occurrence, and gradients are added
// in this order: sums are the same bits as on the CPU, every time. Group i has the row whose
// lookups begin at i, if there is one.
struct TrainRows {
  Table table;
  const int32_t* rows;     // (size,) sorted
  const int64_t* order;    // (size,) numbers of lookups
  const Source* sources;   // by number
  const uint8_t* refused;  // (size,) by the admission filter; null where it refuses none
  int64_t size;
  int32_t lanes;
  Numbers numbers;
  Score score;
  float scale;  // what stored utilities are multiplied with to give their values

  // Floats that the threads of a group share: a gradient, a number for each chunk, one for all.
  MIRROR_HOST_DEVICE int32_t shared_floats() const { return table.dim() + table.chunks + 1; }

  MIRROR_HOST_DEVICE bool begins(int64_t i) const {
    return i < size && (i == 0 || rows[i] != rows[i - 1]) && !(refused && refused[i]);
  }

  MIRROR_HOST_DEVICE int64_t end_of_row(int64_t i) const {
    const int32_t row = rows[i];
    int64_t last = i, step = 1;
    for (; last + step < size && rows[last + step] == row; step *= 2) last += step;
    int64_t end = last + step < size ? last + step : size;
    while (end - last > 1) {
      const int64_t middle = (last + end) / 2;
      (rows[middle] == row ? last : end) = middle;
    }
    return end;
  }

  MIRROR_HOST_DEVICE void sum(int64_t i, int32_t lane, float* shared) const {
    constexpr int kAhead = 8;  // lookups whose reads are under way at once
    const int32_t dim = table.dim();
    const int64_t end = end_of_row(i);
    const Source& first = sources[order[i]];
    const bool as_it_is = end - i == 1 && first.scale == 1;
    for (int32_t d = lane; d < dim; d += lanes) {
      if (as_it_is) {
        shared[d] = first.grad[d];
        continue;
      }
      float sum = 0;
      for (int64_t at = i; at < end; at += kAhead) {
        float scale[kAhead], grad[kAhead];
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
          if (at + a >= end) continue;
          const Source& source = sources[order[at + a]];
          scale[a] = source.scale;
          grad[a] = source.grad[d];
        }
#pragma unroll
        for (int a = 0; a < kAhead; ++a)
          if (at + a < end) sum = sum_of(sum, product(scale[a], grad[a]));
      }
      shared[d] = sum;
    }
    if (lane == 0) shared[dim + table.chunks] = static_cast<float>(end - i);
  }

  MIRROR_HOST_DEVICE void gain(int64_t i, int32_t lane, float* shared) const {
    const int64_t row = rows[i];
    const int32_t width = table.width, dim = table.dim();
    const float times = shared[dim + table.chunks];
    for (int32_t j = lane; j < table.chunks; j += lanes) {
      const float* const grad = shared + j * width;
      const float length = score == Score::kFrequency ? 0 : length_of(grad, width);
      const float more = quotient(score_of(score, times, length), scale);
      const int64_t q = row * table.chunks + j, at = table.address[q];
      table.utility[q] = drawn_utility(sum_of(value_of(table.utility[q]), more), q, numbers.number);
      if (at && numbers.rule == Rule::kRowwiseAdagrad)
        shared[dim + j] = rowwise_scale(numbers, grad, width, table.slots[at]);
    }
    if (lane == 0 && table.age) table.age[row] = 0;
  }

  MIRROR_HOST_DEVICE void update(int64_t i, int32_t lane, const float* shared) const {
    const int64_t row = rows[i];
    const int32_t width = table.width, dim = table.dim();
    for (int32_t d = lane; d < dim; d += lanes) {
      const int32_t j = d / width, in_chunk = d - j * width;
      const int64_t at = table.address[row * table.chunks + j];
      if (!at) continue;
      float& weight = table.weights[at * width + in_chunk];
      const int64_t slot = at * table.slot_width + in_chunk;  // of Adagrad and Adam
      switch (numbers.rule) {
        case Rule::kSgd:
          weight = after_sgd(numbers, shared[d], weight);
          break;
        case Rule::kAdagrad:
          weight = after_adagrad(numbers, shared[d], weight, table.slots[slot]);
          break;
        case Rule::kRowwiseAdagrad:
          weight = after_rowwise_adagrad(numbers, shared[d], weight, shared[dim + j]);
          break;
        case Rule::kAdam:
          weight =
              after_adam(numbers, shared[d], weight, table.slots[slot], table.slots[slot + width]);
          break;
      }
    }
  }
};

}  // namespace mirror::fiited::cuda
