// Histograms over the candidates of any form of a FIITED table.
#pragma once

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "fiited/cpu/parallel.h"
#include "fiited/cpu/utility.h"
#include "fiited/storage.h"

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
  const int threads = threads_for(size);
  const int64_t part = (size + threads - 1) / threads;
  std::mutex adding;
  share_out(threads, threads, [&](int64_t i) {
    std::vector<int64_t> mine(threads > 1 ? groups * values : 0);
    int64_t* const into = threads > 1 ? mine.data() : sums;
    count([&](int64_t group, int64_t value) { ++into[group * values + value]; }, i * part,
          std::min(size, (i + 1) * part));
    if (threads == 1) return;
    const std::lock_guard lock(adding);
    for (int64_t v = 0; v < groups * values; ++v) sums[v] += mine[v];
  });
  return total;
}

}  // namespace mirror::fiited
