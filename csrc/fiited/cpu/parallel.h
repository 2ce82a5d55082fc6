// Work on ranges, on all threads where that pays and is allowed.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

#include "common/share_out.h"
#include "common/threads.h"

namespace mirror::fiited {

inline constexpr int64_t kSerialWork = 4096;  // lookups or rows that one thread does as quickly

inline int threads_for(int64_t work) {
  return work > kSerialWork && may_run_parallel() ? at::get_num_threads() : 1;
}

// run(begin, end) on ranges of [0, count), whose elements make `work` lookups in all.
template <typename Run>
void in_parallel(int64_t count, int64_t work, const Run& run) {
  const int threads = threads_for(work);
  if (threads == 1 || count < 2) {
    if (count) run(int64_t{0}, count);
    return;
  }
  const int64_t grain = std::max<int64_t>(1, count / (threads * 4));
  const int64_t ranges = (count + grain - 1) / grain;
  share_out(ranges, threads, [&](int64_t i) { run(i * grain, std::min(count, (i + 1) * grain)); });
}

// run(i) for each of `count` large pieces of work.
template <typename Run>
void pieces(int64_t count, const Run& run) {
  share_out(count, count > 1 && may_run_parallel() ? at::get_num_threads() : 1, run);
}

}  // namespace mirror::fiited
