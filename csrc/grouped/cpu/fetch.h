// Fetches rows into the cache before they are read.
#pragma once

#include <algorithm>
#include <cstdint>

#include "grouped/embedding.h"

namespace mirror {

constexpr int64_t kCacheLine = 64;
// Lines of a row that are fetched; of what follows the processor fetches by itself.
constexpr int64_t kFetchedLines = 8;

// Inlined by force: GCC 12 takes a function that only prefetches for one without effect, and drops
// its calls.
__attribute__((always_inline)) inline void fetch_lines(const char* row, int64_t bytes) {
  const int64_t lines = std::min((bytes + kCacheLine - 1) / kCacheLine, kFetchedLines);
#pragma GCC unroll 8
  for (int64_t line = 0; line < lines; ++line) __builtin_prefetch(row + line * kCacheLine);
}

// The first `ahead` rows of the bags from `begin` to `end`. Returns how many these are. Reads no
// ids but those of the table, whatever its offsets say: they are checked later.
template <typename index_t>
__attribute__((always_inline)) inline int64_t fetch_first(const TableCall& table, int64_t begin,
                                                          int64_t end, int64_t ahead) {
  if (begin >= end) return 0;
  const index_t* const ids = static_cast<const index_t*>(table.ids);
  const int64_t element = c10::elementSize(table.dtype);
  const char* const weight = static_cast<const char*>(table.weight);
  const int64_t bytes = table.dim * element, row_bytes = table.row_stride * element;
  if (table.bag_size < 0) {
    const int64_t at = begin * table.offset_stride;
    const int64_t first = table.long_offsets ? static_cast<const int64_t*>(table.offsets)[at]
                                             : static_cast<const int32_t*>(table.offsets)[at];
    if (first < 0) return 0;
    const int64_t last = std::min(first + ahead, table.num_ids);
    for (int64_t i = first; i < last; ++i)
      fetch_lines(weight + ids[i * table.id_stride] * row_bytes, bytes);
    return std::max<int64_t>(0, last - first);
  }
  const int64_t size = table.bag_size;
  int64_t fetched = 0;
  for (int64_t bag = begin; bag < end && fetched < ahead; ++bag) {
    for (int64_t i = 0; i < size && fetched < ahead; ++i, ++fetched) {
      const int64_t id = ids[bag * table.bag_stride + i * table.id_stride];
      fetch_lines(weight + id * row_bytes, bytes);
    }
  }
  return fetched;
}

}  // namespace mirror
