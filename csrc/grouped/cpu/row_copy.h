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

// Whether a bag is its row. A sum of one in half precision is left to the kernel that adds.
inline bool copies_rows(const TableCall& table) {
  if (table.bag_size != 1 || table.sample_weights) return false;
  const bool adds = table.plan->mode == GroupedMode::kSum || table.plan->mode == GroupedMode::kMean;
  return !adds || table.dtype == at::kFloat || table.dtype == at::kDouble;
}

// Copies a row: kBlocks blocks of 32 bytes, or where that is 0 any number of bytes. A sum begins at
// plus zero, as torch's does, so that of float and double elements a minus zero becomes one; bytes
// stay what they are.
template <int kBlocks, typename element_t>
inline void copy_row(char* to, const char* from, int64_t bytes) {
  if constexpr (kBlocks == 0) {
    std::memcpy(to, from, bytes);
    if constexpr (std::is_floating_point_v<element_t>) {
      element_t* const row = reinterpret_cast<element_t*>(to);
      const int64_t elements = bytes / sizeof(element_t);
      for (int64_t d = 0; d < elements; ++d) row[d] += element_t(0);
    }
  } else {
    // A vector register that every processor has, or takes two of.
    using Block = element_t __attribute__((vector_size(kBlockBytes)));
#pragma GCC unroll 16
    for (int block = 0; block < kBlocks; ++block) {
      Block value;
      std::memcpy(&value, from + block * kBlockBytes, kBlockBytes);
      value += Block{};
      std::memcpy(to + block * kBlockBytes, &value, kBlockBytes);
    }
  }
}

template <int kBlocks, typename element_t, typename index_t>
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
      copy_row<kBlocks, element_t>(out, weight + id * row_bytes, bytes);
    }
  }
}

template <typename element_t, typename index_t>
void copy_elements(const TableCall& table, int64_t begin, int64_t end, int ahead) {
  switch (table.dim * c10::elementSize(table.dtype)) {
    case 32:
      return copy_rows_of<1, element_t, index_t>(table, begin, end, ahead);
    case 64:
      return copy_rows_of<2, element_t, index_t>(table, begin, end, ahead);
    case 128:
      return copy_rows_of<4, element_t, index_t>(table, begin, end, ahead);
    case 256:
      return copy_rows_of<8, element_t, index_t>(table, begin, end, ahead);
    case 512:
      return copy_rows_of<16, element_t, index_t>(table, begin, end, ahead);
    default:
      return copy_rows_of<0, element_t, index_t>(table, begin, end, ahead);
  }
}

// The rows of bags from `begin` to `end`, whose first `ahead` rows have been fetched.
template <typename index_t>
void copy_rows(const TableCall& table, int64_t begin, int64_t end, int ahead) {
  const GroupedMode mode = table.plan->mode;
  if (mode == GroupedMode::kRow || mode == GroupedMode::kMax) {
    copy_elements<uint8_t, index_t>(table, begin, end, ahead);
  } else if (table.dtype == at::kFloat) {
    copy_elements<float, index_t>(table, begin, end, ahead);
  } else {
    copy_elements<double, index_t>(table, begin, end, ahead);
  }
}

}  // namespace mirror
