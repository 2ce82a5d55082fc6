// Sums over rows that come again and again, so that the slots of each are found and added to once.
// Part of what is compiled once per instruction set, so everything is in an unnamed namespace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "hashed/cpu/vectors.h"
#include "hashed/hash.h"

namespace mirror::hashed {
namespace {

// One at a time in a thread: its memory stays with the thread, since fresh pages would cost more
// than what is done there.
template <typename A>
class DistinctRows {
 public:
  // `width` numbers a row; at most so many ids are added before `clear`.
  DistinctRows(int64_t width, int64_t ids)
      : width_(width),
        capacity_(std::min(ids, std::clamp<int64_t>(kSums / width, kFewest, kMost))),
        shift_(64 - log2_at_least(2 * capacity_)) {
    static thread_local Room room;
    const size_t places = size_t{1} << (64 - shift_), sums = capacity_ * width_;
    if (room.places.size() < places) room.places.resize(places);
    if (room.rows.size() < static_cast<size_t>(capacity_)) room.rows.resize(capacity_);
    if (room.size < sums) {
      room.sums = std::make_unique_for_overwrite<A[]>(sums);
      room.size = sums;
    }
    places_ = room.places.data();
    rows_ = room.rows.data();
    sums_ = room.sums.get();
  }
  DistinctRows(const DistinctRows&) = delete;
  ~DistinctRows() { clear(); }

  // Adds `values` (width,) times `factor` to the sum of a row. Not when full.
  MIRROR_INLINE void add(int64_t row, const A* __restrict__ values, A factor) {
    ++added_;
    uint64_t at = static_cast<uint64_t>(row) * kGoldenRatio >> shift_;
    for (; places_[at] != 0; at = (at + 1) & (~uint64_t{0} >> shift_)) {
      if (rows_[places_[at] - 1] != row) continue;
      A* __restrict__ sum = sums_ + (places_[at] - 1) * width_;
      for (int64_t d = 0; d < width_; ++d) sum[d] += values[d] * factor;
      return;
    }
    A* __restrict__ sum = sums_ + count_ * width_;
    for (int64_t d = 0; d < width_; ++d) sum[d] = values[d] * factor;
    rows_[count_] = row;
    places_[at] = static_cast<int32_t>(++count_);
  }

  bool full() const { return count_ == capacity_; }

  // Whether rows came again so seldom that adding each id by itself is cheaper.
  bool in_vain() const { return 4 * count_ > 3 * added_; }

  int64_t count() const { return count_; }
  const int64_t* rows() const { return rows_; }
  const A* sum(int64_t i) const { return sums_ + i * width_; }

  void clear() {
    std::fill_n(places_, size_t{1} << (64 - shift_), 0);
    count_ = added_ = 0;
  }

 private:
  // Numbers that stay in a second-level cache, in so many rows.
  static constexpr int64_t kSums = int64_t{1} << 18, kFewest = 64, kMost = 16384;

  struct Room {
    std::vector<int32_t> places;  // zeros where nobody is at work
    std::vector<int64_t> rows;
    std::unique_ptr<A[]> sums;
    size_t size = 0;  // of sums
  };

  static int log2_at_least(int64_t n) {
    int bits = 1;
    while ((int64_t{1} << bits) < n) ++bits;
    return bits;
  }

  int64_t width_, capacity_;
  int shift_;
  int64_t count_ = 0, added_ = 0;
  int32_t* places_;  // by the row's hash: its number plus one; 0 where there is none
  int64_t* rows_;
  A* sums_;
};

}  // namespace
}  // namespace mirror::hashed
