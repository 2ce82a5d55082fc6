// Bags of one id each, whatever their type and pooling: the vector of a bag is the row itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "grouped/cpu/fetch.h"
#include "grouped/cpu/ids.h"

namespace mirror {

// Whether pooling comes to copying rows.
inline bool copies_rows(const TableCall& table) {
  return table.bag_size == 1 && !table.sample_weights;
}

// Bytes of a vector register that every processor has, or takes two of.
using Block = uint64_t __attribute__((vector_size(32)));

// Copies a row: kBlocks blocks of 32 bytes, or where that is 0 any number of bytes.
template <int kBlocks>
inline void copy_row(char* to, const char* from, int64_t bytes) {
  if constexpr (kBlocks == 0) {
    std::memcpy(to, from, bytes);
  } else {
#pragma GCC unroll 16
    for (int block = 0; block < kBlocks; ++block) {
      Block value;
      std::memcpy(&value, from + block * sizeof(Block), sizeof(Block));
      std::memcpy(to + block * sizeof(Block), &value, sizeof(Block));
    }
  }
}

template <int kBlocks, typename index_t>
void copy_rows_of(const TableCall& table, int64_t begin, int64_t end, int ahead) {
  const index_t* const ids = static_cast<const index_t*>(table.ids);
  const int64_t element = c10::elementSize(table.dtype), stride = table.bag_stride;
  const int64_t bytes = kBlocks ? kBlocks * sizeof(Block) : table.dim * element;
  const int64_t row_bytes = table.row_stride * element, out_bytes = table.out_stride * element;
  const char* const weight = static_cast<const char*>(table.weight);
  const uint64_t rows = table.rows;
  // Of plain rows padding has no gradient but is read like any other.
  const int64_t padding = table.plan->mode == GroupedMode::kRow ? -1 : table.plan->padding;
  char* out = table.out + begin * out_bytes;
  for (int64_t bag = begin; bag < end; ++bag, out += out_bytes) {
    if (ahead)
      fetch_lines(weight + ids[std::min(bag + ahead, end - 1) * stride] * row_bytes, bytes);
    const int64_t id = ids[bag * stride];
    if (static_cast<uint64_t>(id) >= rows) refuse_id(table, bag, 0, id);
    if (id == padding) {
      std::memset(out, 0, bytes);
    } else {
      copy_row<kBlocks>(out, weight + id * row_bytes, bytes);
    }
  }
}

// The rows of bags from `begin` to `end`, whose first `ahead` rows have been fetched.
template <typename index_t>
void copy_rows(const TableCall& table, int64_t begin, int64_t end, int ahead) {
  switch (table.dim * c10::elementSize(table.dtype)) {
    case 32:
      return copy_rows_of<1, index_t>(table, begin, end, ahead);
    case 64:
      return copy_rows_of<2, index_t>(table, begin, end, ahead);
    case 128:
      return copy_rows_of<4, index_t>(table, begin, end, ahead);
    case 256:
      return copy_rows_of<8, index_t>(table, begin, end, ahead);
    case 512:
      return copy_rows_of<16, index_t>(table, begin, end, ahead);
    default:
      return copy_rows_of<0, index_t>(table, begin, end, ahead);
  }
}

}  // namespace mirror
