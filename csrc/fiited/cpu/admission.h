// Which new rows are let in: those that were seen often enough.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "fiited/cpu/array.h"

namespace mirror::fiited {

// Counts rows in a counting Bloom filter with conservative update, so that a row may be counted
// too high and never too low, and halves all counts when it has seen several times as many lookups
// as it has counters (TinyLFU, Einziger et al. 2017, arXiv:1512.00727).
class AdmissionFilter {
 public:
  // Lets rows in at the `times`-th lookup; 0 and 1 let all in, and then nothing is counted. `rows`
  // is how many rows it is made for.
  AdmissionFilter(int64_t times, int64_t rows);

  bool counts() const { return times_ > 1; }
  // Whether a row that was looked up `count` times more is let in.
  bool admits(int64_t row, int64_t count);
  int64_t bytes() const { return counters_.bytes(); }

  at::Tensor counters() const;  // (n,) uint8
  at::Tensor seen() const;      // (1,) int64
  void load(const at::Tensor& counters, const at::Tensor& seen);

 private:
  void halve();

  int64_t times_;
  int64_t seen_ = 0;
  Array<uint8_t> counters_;
};

}  // namespace mirror::fiited
