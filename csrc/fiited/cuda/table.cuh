// What a GPU knows of a FIITED table. Plain types: the same code is compiled for the device by nvcc
// and, to be tested where there is none, for the host.
#pragma once

#include <cstdint>

#include "fiited/cpu/utility.h"
#include "fiited/types.h"

namespace mirror::fiited::cuda {

struct Table {
  int32_t* address;  // of virtual chunks; 0 is the null chunk
  Utility* utility;  // of virtual chunks
  float* weights;    // of physical chunks
  float* slots;
  int32_t* owner;       // virtual chunk of a physical one; -1 of a free one
  int32_t* free;        // a stack of addresses
  uint16_t* age;        // of rows; null where they do not age
  const int64_t* ends;  // of tables
  int32_t tables, chunks, width, slot_width;
  Scope scope;
  int64_t rows;

  MIRROR_HOST_DEVICE int32_t dim() const { return chunks * width; }
  MIRROR_HOST_DEVICE int64_t virtual_chunks() const { return rows * chunks; }

  // The budget that a chunk counts towards.
  MIRROR_HOST_DEVICE int64_t group(int64_t row, int64_t chunk) const {
    if (scope == Scope::kGlobal) return 0;
    if (scope == Scope::kColumn) return chunk;
    int32_t low = 0, high = tables - 1;  // the first table that ends after the row
    while (low < high) {
      const int32_t middle = (low + high) / 2;
      if (ends[middle] > row) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  MIRROR_HOST_DEVICE bool known(int64_t row) const {
    for (int64_t q = row * chunks; q < (row + 1) * chunks; ++q)
      if (address[q] || utility[q] > 0) return true;
    return false;
  }

  // The row's best utility, or 0 where it has a live chunk.
  MIRROR_HOST_DEVICE Utility best_without_live(int64_t row) const {
    Utility best = 0;
    for (int64_t q = row * chunks; q < (row + 1) * chunks; ++q) {
      if (address[q]) return 0;
      if (utility[q] > best) best = utility[q];
    }
    return best;
  }

  MIRROR_HOST_DEVICE int live_chunks(int64_t row) const {
    int live = 0;
    for (int64_t q = row * chunks; q < (row + 1) * chunks; ++q) live += address[q] != 0;
    return live;
  }
};

// Whole numbers, so that the order of additions does not matter.
MIRROR_HOST_DEVICE inline void add_one(int64_t* counts, int64_t at) {
#ifdef __CUDA_ARCH__
  // Threads of a warp that count the same thing add together.
  const unsigned same = __match_any_sync(__activemask(), at);
  if (static_cast<int>(threadIdx.x % 32) == __ffs(static_cast<int>(same)) - 1)
    atomicAdd(reinterpret_cast<unsigned long long*>(counts + at), __popc(same));
#else
  ++counts[at];
#endif
}

// Of numbers that are not negative.
MIRROR_HOST_DEVICE inline void keep_least(int64_t* least, int64_t value) {
#ifdef __CUDA_ARCH__
  atomicMin(reinterpret_cast<unsigned long long*>(least), static_cast<unsigned long long>(value));
#else
  if (value < *least) *least = value;
#endif
}

}  // namespace mirror::fiited::cuda
