// Histograms over the candidates of any form of a FIITED table.
#pragma once

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "../fiited_storage.h"
#include "fiited_parallel.h"
#include "fiited_utility.h"

namespace mirror::fiited {

// The age of a row that was never looked up: that of one that was not since the last event.
inline constexpr uint16_t kNeverLookedUp = 1;

template <typename T>
at::Tensor as_tensor(const std::vector<T>& values) {
  const int64_t size = static_cast<int64_t>(values.size());
  const at::Tensor tensor = at::empty({size}, c10::CppTypeToScalarType<T>::value);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<T>());
  return tensor;
}

// The bits of a bfloat16 tensor.
inline Utility* stored(const at::Tensor& utilities) {
  return static_cast<Utility*>(utilities.data_ptr());
}

// Counts into (groups, values), added up over threads: count(add, begin, end) calls
// add(group, value) for what it finds in [begin, end).
template <typename Count>
at::Tensor counted(int64_t groups, int64_t values, int64_t size, const Count& count) {
  const at::Tensor total = at::zeros({groups, values}, at::kLong);
  int64_t* const sums = total.mutable_data_ptr<int64_t>();
  std::mutex adding;
  in_parallel(size, size, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> mine(groups * values);
    count([&](int64_t group, int64_t value) { ++mine[group * values + value]; }, begin, end);
    const std::lock_guard lock(adding);
    for (int64_t i = 0; i < groups * values; ++i) sums[i] += mine[i];
  });
  return total;
}

}  // namespace mirror::fiited
