#include "fiited/cpu/index.h"

#include <utility>

namespace mirror::fiited {
namespace {

// It grows by a fourth when seven eighths are filled, and shrinks below a half.
int64_t slots_for(int64_t rows) { return rows + rows / 3; }
bool is_full(int64_t rows, int64_t slots) { return rows * 8 > slots * 7; }
bool is_wide(int64_t rows, int64_t slots) { return rows * 2 < slots; }

}  // namespace

bool Index::reserve(int64_t more) {
  if (!is_full(size_ + more, slots())) return false;
  rebuild(std::max(slots() + slots() / 4, slots_for(size_ + more)));
  return true;
}

int64_t Index::insert(int64_t row) {
  const int64_t slot = free_slot(row);
  rows_[slot] = static_cast<uint32_t>(row);
  entries_[slot] = {0, 0, 0};
  std::fill_n(utilities(slot), k_, Utility{0});
  ++size_;
  return slot;
}

void Index::rebuild(int64_t slots) {
  slots = (slots + kGroup - 1) / kGroup * kGroup;
  TORCH_CHECK_VALUE(slots < int64_t{1} << 36, "a compact table knows at most 2^32 rows");
  Array<uint32_t> rows(slots);
  Array<Entry> entries(slots + 1);
  Array<Utility> utilities(slots * k_);
  rows.resize(slots);
  entries.resize(slots + 1);
  utilities.resize(slots * k_);
  // Nothing throws from here on.
  std::swap(rows_, rows);
  std::swap(entries_, entries);
  std::swap(utilities_, utilities);
  slots_ = slots;
  groups_ = static_cast<uint64_t>(slots / kGroup);
  std::fill_n(rows_.data(), slots, kNone);
  if (!size_) return;
  for (int64_t slot = 0; slot < rows.size(); ++slot) {
    if (rows[slot] == kNone) continue;
    const int64_t to = free_slot(rows[slot]);
    rows_[to] = rows[slot];
    entries_[to] = entries[slot];
    std::copy_n(utilities.data() + slot * k_, k_, this->utilities(to));
  }
}

void Index::remove(const std::vector<int64_t>& dropped) {
  if (dropped.empty()) return;
  int64_t boundary = 0;  // a group with room: rows on its two sides do not depend on one another
  while (!equal(boundary, kNone)) boundary = after(boundary);
  for (const int64_t slot : dropped) rows_[slot] = kNone;
  size_ -= static_cast<int64_t>(dropped.size());
  if (is_wide(size_, slots()) && slots() > kGroup) {
    try {
      return rebuild(std::max(kGroup, slots_for(size_)));
    } catch (const c10::OutOfMemoryError&) {  // it stays as large as it is
    }
  }
  close_gaps(boundary);
}

// From the group behind one that had room before, each row goes to the first free slot from its
// home on, which is never beyond the one that it leaves.
void Index::close_gaps(int64_t boundary) {
  int64_t group = boundary;
  for (uint64_t i = 0; i < groups_; ++i) {
    group = after(group);
    for (int64_t slot = group; slot < group + kGroup; ++slot) {
      if (!used(slot) || home(rows_[slot]) == group) continue;
      const uint32_t row = std::exchange(rows_[slot], kNone);
      const int64_t to = free_slot(row);
      rows_[to] = row;
      if (to == slot) continue;
      entries_[to] = entries_[slot];
      std::copy_n(utilities(slot), k_, utilities(to));
    }
  }
}

}  // namespace mirror::fiited
