// Sums over rows that come again and again, so that the slots of each are found and added to once.
// Part of what is compiled once per instruction set, so everything is in an unnamed namespace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "hashed_vectors.h"

namespace mirror::hashed {
namespace {

template <typename A>
class DistinctRows {
 public:
  // `width` numbers a row; at most so many ids are added before `clear`.
  DistinctRows(int64_t width, int64_t ids)
      : width_(width),
        capacity_(std::min(ids, std::clamp<int64_t>(kSums / width, 64, 16384))),
        shift_(64 - log2_at_least(2 * capacity_)),
        places_(size_t{1} << (64 - shift_)),
        rows_(capacity_),
        sums_(std::make_unique_for_overwrite<A[]>(capacity_ * width)) {}

  // Adds `values` (width,) times `factor` to the sum of a row. Not when full.
  MIRROR_INLINE void add(int64_t row, const A* __restrict__ values, A factor) {
    ++added_;
    uint64_t at = static_cast<uint64_t>(row) * 0x9E3779B97F4A7C15ULL >> shift_;
    for (; places_[at] != 0; at = (at + 1) & (places_.size() - 1)) {
      if (rows_[places_[at] - 1] != row) continue;
      A* __restrict__ sum = sums_.get() + (places_[at] - 1) * width_;
      for (int64_t d = 0; d < width_; ++d) sum[d] += values[d] * factor;
      return;
    }
    A* __restrict__ sum = sums_.get() + count_ * width_;
    for (int64_t d = 0; d < width_; ++d) sum[d] = values[d] * factor;
    rows_[count_] = row;
    places_[at] = static_cast<int32_t>(++count_);
  }

  bool full() const { return count_ == capacity_; }

  // Whether rows came again so seldom that adding each id by itself is cheaper.
  bool in_vain() const { return 4 * count_ > 3 * added_; }

  int64_t count() const { return count_; }
  const int64_t* rows() const { return rows_.data(); }
  const A* sum(int64_t i) const { return sums_.get() + i * width_; }

  void clear() {
    std::fill(places_.begin(), places_.end(), 0);
    count_ = added_ = 0;
  }

 private:
  static constexpr int64_t kSums = int64_t{1} << 18;  // numbers that stay in a second-level cache

  static int log2_at_least(int64_t n) {
    int bits = 1;
    while ((int64_t{1} << bits) < n) ++bits;
    return bits;
  }

  int64_t width_, capacity_;
  int shift_;
  int64_t count_ = 0, added_ = 0;
  std::vector<int32_t> places_;  // by the row's hash: its number plus one; 0 where there is none
  std::vector<int64_t> rows_;
  std::unique_ptr<A[]> sums_;
};

}  // namespace
}  // namespace mirror::hashed
