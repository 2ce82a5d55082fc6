// Which rows a compact table knows, and where their chunks are.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "fiited/cpu/array.h"
#include "fiited/cpu/utility.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace mirror::fiited {

// A hash table whose slots are in groups of 16: the row numbers of a group fill a cache line and
// are compared at once (as in Abseil's Swiss tables). A row is in the first group from its home on
// that had room. The address of the row's packed live chunks, which of them these are, its age and
// its utilities lie in arrays beside the numbers. Rows move when others are added or removed: a
// slot is good until then.
class Index {
 public:
  struct Entry {
    uint32_t address;
    uint16_t live;  // bit j: chunk j
    uint16_t age;
  };
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  explicit Index(int64_t num_chunks) : k_(num_chunks) { rebuild(kGroup); }

  int64_t size() const { return size_; }
  int64_t slots() const { return slots_; }
  int64_t bytes() const { return rows_.bytes() + entries_.bytes(); }
  int64_t utility_bytes() const { return utilities_.bytes(); }
  bool used(int64_t slot) const { return rows_[slot] != kNone; }
  int64_t row(int64_t slot) const { return rows_[slot]; }
  Entry& operator[](int64_t slot) { return entries_[slot]; }
  const Entry& operator[](int64_t slot) const { return entries_[slot]; }
  Utility* utilities(int64_t slot) { return utilities_.data() + slot * k_; }
  const Utility* utilities(int64_t slot) const { return utilities_.data() + slot * k_; }

  void prefetch(int64_t row) const { __builtin_prefetch(rows_.data() + home(row)); }

  // The row's slot, or -1.
  int64_t find(int64_t row) const {
    const int64_t slot = find_or_end(row);
    return slot == slots() ? -1 : slot;
  }
  // The row's slot, or the one behind the last, whose entry has no live chunk. Whether a row is
  // known costs no branch.
  int64_t find_or_end(int64_t row) const {
    for (int64_t group = home(row);; group = after(group)) {
      const uint32_t here = equal(group, static_cast<uint32_t>(row));
      if (here | equal(group, kNone)) [[likely]]
        return here ? group + std::countr_zero(here) : slots();
    }
  }

  // Makes room for `more` rows, or throws and has changed nothing. Returns whether rows moved.
  bool reserve(int64_t more);
  // Adds a row that is not there, for which there is room: no live chunk, utilities 0.
  int64_t insert(int64_t row);
  // Removes the rows in these slots, and gives memory back. Does not throw.
  void remove(const std::vector<int64_t>& dropped);

 private:
  static constexpr int64_t kGroup = 16;

  // First slot of the group where looking for a row begins.
  int64_t home(int64_t row) const {
    // Knuth's multiplicative hash; its upper half times the number of groups (Lemire 2019).
    const uint64_t hash = static_cast<uint64_t>(row) * 0x9E3779B97F4A7C15ULL >> 32;
    return static_cast<int64_t>(hash * groups_ >> 32) * kGroup;
  }
  int64_t after(int64_t group) const { return group + kGroup == slots() ? 0 : group + kGroup; }
  // Which of a group's slots hold a number.
  uint32_t equal(int64_t group, uint32_t number) const {
    const uint32_t* const rows = rows_.data() + group;
#ifdef __AVX512F__
    return _mm512_cmpeq_epi32_mask(_mm512_load_si512(rows), _mm512_set1_epi32(number));
#else
    uint32_t equals = 0;
    for (int i = 0; i < kGroup; ++i) equals |= uint32_t{rows[i] == number} << i;
    return equals;
#endif
  }
  int64_t free_slot(int64_t row) const {
    for (int64_t group = home(row);; group = after(group))
      if (const uint32_t free = equal(group, kNone)) return group + std::countr_zero(free);
  }
  void rebuild(int64_t slots);
  void close_gaps(int64_t boundary);

  int64_t k_;
  int64_t size_ = 0;
  int64_t slots_ = 0;
  uint64_t groups_ = 0;
  Array<uint32_t> rows_;
  Array<Entry> entries_;  // one more than slots
  Array<Utility> utilities_;
};

}  // namespace mirror::fiited
