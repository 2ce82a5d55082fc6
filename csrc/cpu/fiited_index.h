// Which rows a compact table knows, and where their chunks are.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "fiited_array.h"

namespace mirror::fiited {

// A hash table with linear probing, without tombstones. An entry is a row, the address of its
// packed live chunks, which of them these are, and its age; its utilities lie beside it. Entries
// move when others are added or removed: a slot is good until then.
class Index {
 public:
  struct Entry {
    uint32_t row;
    uint32_t address;
    uint16_t live;  // bit j: chunk j
    uint16_t age;
  };
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  explicit Index(int64_t num_chunks) : k_(num_chunks) { rebuild(kSmallest); }

  int64_t size() const { return size_; }
  int64_t slots() const { return entries_.size(); }
  int64_t bytes() const { return entries_.bytes(); }
  int64_t utility_bytes() const { return utilities_.bytes(); }
  bool used(int64_t slot) const { return entries_[slot].row != kNone; }
  Entry& operator[](int64_t slot) { return entries_[slot]; }
  const Entry& operator[](int64_t slot) const { return entries_[slot]; }
  float* utilities(int64_t slot) { return utilities_.data() + slot * k_; }
  const float* utilities(int64_t slot) const { return utilities_.data() + slot * k_; }

  void prefetch(int64_t row) const { __builtin_prefetch(entries_.data() + home(row)); }

  // The row's slot, or -1.
  int64_t find(int64_t row) const {
    for (int64_t slot = home(row);; slot = after(slot)) {
      const uint32_t found = entries_[slot].row;
      if (found == static_cast<uint32_t>(row)) return slot;
      if (found == kNone) return -1;
    }
  }

  // Makes room for `more` entries. Returns whether entries moved.
  bool reserve(int64_t more);
  // Adds a row that is not there, for which there is room: no live chunk, utilities 0.
  int64_t insert(int64_t row);
  // Removes the entries for which `drop(slot)` holds, and gives memory back. Entries may be looked
  // for until the last of them was decided on.
  template <typename Drop>
  void remove_if(const Drop& drop) {
    std::vector<int64_t> dropped;
    for (int64_t slot = 0; slot < slots(); ++slot)
      if (used(slot) && drop(slot)) dropped.push_back(slot);
    if (!dropped.empty()) remove(dropped);
  }
  void clear() {
    size_ = 0;
    rebuild(kSmallest);
  }

 private:
  static constexpr int64_t kSmallest = 16;

  int64_t home(int64_t row) const {
    // Knuth's multiplicative hash; its upper half times the number of slots (Lemire 2019).
    const uint64_t hash = static_cast<uint64_t>(row) * 0x9E3779B97F4A7C15ULL >> 32;
    return static_cast<int64_t>(hash * static_cast<uint64_t>(entries_.size()) >> 32);
  }
  int64_t after(int64_t slot) const { return slot + 1 == slots() ? 0 : slot + 1; }
  int64_t free_slot(int64_t row) const {
    int64_t slot = home(row);
    while (used(slot)) slot = after(slot);
    return slot;
  }
  void rebuild(int64_t slots);
  void remove(const std::vector<int64_t>& dropped);
  void close_gaps(int64_t boundary);
  void move(const Entry& entry, const float* utilities, int64_t to);

  int64_t k_;
  int64_t size_ = 0;
  Array<Entry> entries_;
  Array<float> utilities_;
};

}  // namespace mirror::fiited
