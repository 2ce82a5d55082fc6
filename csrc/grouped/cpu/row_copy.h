// Bags of one id each, whatever their type and pooling: the vector of a bag is the row itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "grouped/cpu/fetch.h"
#include "grouped/cpu/ids.h"

namespace mirror {

constexpr int kBlockBytes = 32;
// Vector registers that every processor has, or takes two of. Written out, for GCC 12 drops the
// attribute in a template.
using ByteBlock = uint8_t __attribute__((vector_size(kBlockBytes)));
using FloatBlock = float __attribute__((vector_size(kBlockBytes)));
using DoubleBlock = double __attribute__((vector_size(kBlockBytes)));

// Whether a bag is its row. A sum of one in half precision is left to the kernel that adds.
inline bool copies_rows(const TableCall& table) {
  if (table.bag_size != 1 || table.sample_weights) return false;
  const bool adds = table.plan->mode == GroupedMode::kSum || table.plan->mode == GroupedMode::kMean;
  return !adds || table.dtype == at::kFloat || table.dtype == at::kDouble;
}

// Copies a row: kBlocks blocks of 32 bytes, or where that is 0 any number of bytes. A sum begins at
// plus zero, as torch's does, so that of float and double elements a minus zero becomes one; bytes
// stay what they are.
template <int kBlocks, typename block_t>
inline void copy_row(char* to, const char* from, int64_t bytes) {
  if constexpr (kBlocks == 0) {
    using element_t = std::decay_t<decltype(block_t{}[0])>;
    std::memcpy(to, from, bytes);
    if constexpr (std::is_floating_point_v<element_t>) {
      element_t* const row = reinterpret_cast<element_t*>(to);
      const int64_t elements = bytes / sizeof(element_t);
      for (int64_t d = 0; d < elements; ++d) row[d] += element_t(0);
    }
  } else {
    static_assert(sizeof(block_t) == kBlockBytes);
#pragma GCC unroll 16
    for (int block = 0; block < kBlocks; ++block) {
      block_t value;
      std::memcpy(&value, from + block * kBlockBytes, kBlockBytes);
      value += block_t{};
      std::memcpy(to + block * kBlockBytes, &value, kBlockBytes);
    }
  }
}

template <int kBlocks, typename block_t, typename index_t>
void copy_rows_of(const TableCall& table, int64_t begin, int64_t end, int ahead) {
  const index_t* const ids = static_cast<const index_t*>(table.ids);
  const int64_t element = c10::elementSize(table.dtype), stride = table.bag_stride;
  const int64_t bytes = kBlocks ? kBlocks * kBlockBytes : table.dim * element;
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
      copy_row<kBlocks, block_t>(out, weight + id * row_bytes, bytes);
    }
  }
}

template <typename block_t, typename index_t>
void copy_elements(const TableCall& table, int64_t begin, int64_t end, int ahead) {
  switch (table.dim * c10::elementSize(table.dtype)) {
    case 32:
      return copy_rows_of<1, block_t, index_t>(table, begin, end, ahead);
    case 64:
      return copy_rows_of<2, block_t, index_t>(table, begin, end, ahead);
    case 128:
      return copy_rows_of<4, block_t, index_t>(table, begin, end, ahead);
    case 256:
      return copy_rows_of<8, block_t, index_t>(table, begin, end, ahead);
    case 512:
      return copy_rows_of<16, block_t, index_t>(table, begin, end, ahead);
    default:
      return copy_rows_of<0, block_t, index_t>(table, begin, end, ahead);
  }
}

// The rows of bags from `begin` to `end`, whose first `ahead` rows have been fetched.
template <typename index_t>
void copy_rows(const TableCall& table, int64_t begin, int64_t end, int ahead) {
  const GroupedMode mode = table.plan->mode;
  if (mode == GroupedMode::kRow || mode == GroupedMode::kMax) {
    copy_elements<ByteBlock, index_t>(table, begin, end, ahead);
  } else if (table.dtype == at::kFloat) {
    copy_elements<FloatBlock, index_t>(table, begin, end, ahead);
  } else {
    copy_elements<DoubleBlock, index_t>(table, begin, end, ahead);
  }
}

}  // namespace mirror
