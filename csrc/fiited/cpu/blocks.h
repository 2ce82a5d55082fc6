// Packed chunks: rows with m live chunks have m chunks side by side in an array of such blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "fiited/cpu/array.h"

namespace mirror::fiited {

// The blocks of one size. They stay dense: where one is freed, the last takes its place.
class Blocks {
 public:
  // Of `chunks` chunks of `width` weights, at most `max_blocks` of them.
  Blocks(int64_t chunks, int64_t width, int64_t max_blocks)
      : chunks_(chunks),
        width_(width),
        max_blocks_(max_blocks),
        weights_(max_blocks * chunks * width),
        owner_(max_blocks) {}

  int64_t size() const { return owner_.size(); }
  uint32_t owner(int64_t block) const { return owner_[block]; }
  float* weights(int64_t block) { return weights_.data() + block * chunks_ * width_; }
  const float* weights(int64_t block) const { return weights_.data() + block * chunks_ * width_; }
  float* slots(int64_t block) { return slots_.data() + block * chunks_ * slot_width_; }

  // Room for so many slots for every chunk, to be given to `set_slots`.
  Array<float> room_for_slots(int64_t width) const {
    Array<float> slots(max_blocks_ * chunks_ * width);
    slots.reserve(size() * chunks_ * width);
    return slots;
  }
  // Gives every chunk so many slots, filled with `value`.
  void set_slots(Array<float> slots, int64_t width, float value) {
    slot_width_ = width;
    slots_ = Array<float>();
    slots_ = std::move(slots);
    slots_.resize(size() * chunks_ * width);
    std::fill_n(slots_.data(), slots_.size(), value);
  }

  // As those of Array, for so many blocks.
  void reserve(int64_t blocks) {
    owner_.reserve(blocks);
    weights_.reserve(blocks * chunks_ * width_);
    slots_.reserve(blocks * chunks_ * slot_width_);
  }
  void keep_room(bool keep) noexcept {
    owner_.keep_room(keep);
    weights_.keep_room(keep);
    slots_.keep_room(keep);
  }

  int64_t add(uint32_t row) {
    reserve(size() + 1);
    owner_.push_back(row);
    weights_.resize(size() * chunks_ * width_);
    slots_.resize(size() * chunks_ * slot_width_);
    return size() - 1;
  }
  // Frees a block and returns the row whose block has its number now, if there is one.
  uint32_t remove(int64_t block, uint32_t none) {
    const int64_t last = size() - 1;
    uint32_t moved = none;
    if (block != last) {
      moved = owner_[block] = owner_[last];
      std::copy_n(weights(last), chunks_ * width_, weights(block));
      std::copy_n(slots(last), chunks_ * slot_width_, slots(block));
    }
    owner_.resize(last);
    weights_.resize(last * chunks_ * width_);
    slots_.resize(last * chunks_ * slot_width_);
    return moved;
  }
  void clear() {
    owner_.resize(0);
    weights_.resize(0);
    slots_.resize(0);
  }

  int64_t weight_bytes() const { return weights_.bytes(); }
  int64_t slot_bytes() const { return slots_.bytes(); }
  int64_t owner_bytes() const { return owner_.bytes(); }

 private:
  int64_t chunks_;
  int64_t width_;
  int64_t max_blocks_;
  int64_t slot_width_ = 0;
  Array<float> weights_;
  Array<float> slots_;
  Array<uint32_t> owner_;
};

}  // namespace mirror::fiited
