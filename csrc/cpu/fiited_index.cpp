#include "fiited_index.h"

#include <algorithm>
#include <utility>

namespace mirror::fiited {
namespace {

// It grows by a fourth when it is filled to four fifths, and shrinks below a half.
int64_t slots_for(int64_t entries) { return entries + entries / 2; }
bool is_full(int64_t entries, int64_t slots) { return entries * 5 > slots * 4; }
bool is_wide(int64_t entries, int64_t slots) { return entries * 2 < slots; }

}  // namespace

bool Index::reserve(int64_t more) {
  if (!is_full(size_ + more, slots())) return false;
  rebuild(std::max(slots() + slots() / 4, slots_for(size_ + more)));
  return true;
}

int64_t Index::insert(int64_t row) {
  const int64_t slot = free_slot(row);
  entries_[slot] = {static_cast<uint32_t>(row), 0, 0, 0};
  std::fill_n(utilities(slot), k_, 0.0f);
  ++size_;
  return slot;
}

void Index::rebuild(int64_t slots) {
  TORCH_CHECK_VALUE(slots < int64_t{1} << 32, "a compact table knows at most 2^32 rows");
  Array<Entry> entries = std::exchange(entries_, Array<Entry>(slots));
  Array<float> utilities = std::exchange(utilities_, Array<float>(slots * k_));
  const bool again = size_ > 0;
  entries_.resize(slots);
  utilities_.resize(slots * k_);
  for (int64_t slot = 0; slot < slots; ++slot) entries_[slot].row = kNone;
  for (int64_t slot = 0; again && slot < entries.size(); ++slot) {
    if (entries[slot].row == kNone) continue;
    move(entries[slot], utilities.data() + slot * k_, free_slot(entries[slot].row));
  }
}

void Index::move(const Entry& entry, const float* utilities, int64_t to) {
  entries_[to] = entry;
  std::copy_n(utilities, k_, this->utilities(to));
}

void Index::remove(const std::vector<int64_t>& dropped) {
  int64_t boundary = 0;
  while (used(boundary)) ++boundary;  // entries on its two sides do not depend on one another
  for (const int64_t slot : dropped) entries_[slot].row = kNone;
  size_ -= static_cast<int64_t>(dropped.size());
  if (is_wide(size_, slots()) && slots() > kSmallest) {
    rebuild(std::max(kSmallest, slots_for(size_)));
  } else {
    close_gaps(boundary);
  }
}

// From a slot on that was empty before, each entry goes to the first free slot from its home on,
// which is never beyond the one that it leaves.
void Index::close_gaps(int64_t boundary) {
  std::vector<float> utilities(k_);
  int64_t slot = boundary;
  for (int64_t i = 1; i < slots(); ++i) {
    slot = after(slot);
    if (!used(slot)) continue;
    const Entry entry = entries_[slot];
    std::copy_n(this->utilities(slot), k_, utilities.data());
    entries_[slot].row = kNone;
    move(entry, utilities.data(), free_slot(entry.row));
  }
}

}  // namespace mirror::fiited
