// What the device knows of the tables of a grouped embedding, and how it reads their ids. Plain
// types: the same code is compiled for the device by nvcc and, to be tested where there is none,
// for the host.
#pragma once

#include <cstdint>

#include "common/cuda/elements.cuh"

namespace mirror::cuda {

enum class Mode : int8_t { kSum, kMean, kMax, kRow };

// One table of a call; strides count elements. As TableCall of csrc/grouped/embedding.h, which
// explains the fields.
struct Table {
  const void* weight;
  int64_t rows, row_stride;
  const void* ids;
  int64_t num_ids, bags, bag_size, bag_stride, id_stride;
  const void* offsets;
  int64_t num_offsets, offset_stride;
  const void* sample_weights;
  int64_t sample_bag_stride, sample_stride;
  void* out;  // (bags, dim): what forward writes, the gradient that backward reads
  int64_t out_stride;
  int64_t padding;  // -1: none
  int64_t dim;
  int32_t number;  // in the plan, for messages
  Element element;
  Mode mode;
  bool long_ids, long_offsets;
  bool wide;  // rows and `out` may be read and written 16 bytes at a time
};

// A sparse gradient: a row and its values per id, zeros for padding and for ids in no bag.
struct SparsePlace {
  int64_t* rows;  // (num_ids,)
  void* values;   // (num_ids, dim)
};

// A kernel's parameters hold at most 32,764 bytes, so that many tables go to the device with the
// launch itself: no copy, nothing to wait for, nothing that a CUDA graph could replay from freed
// memory.
constexpr int kMostTables = 128, kFewTables = 24;

// Tables of one launch. A group of `lanes` threads, a power of two, works on each bag, and a warp
// on bags of one table.
template <int kCapacity>
struct Tables {
  Table table[kCapacity];
  int64_t first_warp[kCapacity + 1];  // of each table
  uint8_t lanes[kCapacity];
  int count;
};

// A bag that a thread works on, and the thread's place among those that work on it; none: bag < 0.
struct Place {
  int table;
  int64_t bag;
  int lane, lanes;
};

template <int kCapacity>
MIRROR_BOTH Place place(const Tables<kCapacity>& tables, int64_t warp, int thread) {
  int low = 0, high = tables.count;  // the last table whose first warp is not after this one
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (tables.first_warp[middle] <= warp ? low : high) = middle;
  }
  const int lanes = tables.lanes[low];
  const int64_t bag = (warp - tables.first_warp[low]) * (kWarp / lanes) + thread / lanes;
  return {low, bag < tables.table[low].bags ? bag : -1, thread % lanes, lanes};
}

[[noreturn]] MIRROR_BOTH void refuse_id(const Table& table, int64_t position, int64_t id) {
  MIRROR_REFUSE(
      "grouped embedding, table %d: index %lld at position %lld is out of range: ids of this table "
      "run from 0 to %lld",
      table.number, static_cast<long long>(id), static_cast<long long>(position),
      static_cast<long long>(table.rows - 1));
}

[[noreturn]] MIRROR_BOTH void refuse_offsets(const Table& table, int64_t bag) {
  MIRROR_REFUSE(
      "grouped embedding, table %d: offsets must start at 0, never fall and not pass the %lld ids: "
      "bag %lld does not",
      table.number, static_cast<long long>(table.num_ids), static_cast<long long>(bag));
}

// The ids of one bag. Numbers count ids of the table, in the order of bags.
struct Bag {
  const Table& table;
  int64_t bag, begin, end;

  MIRROR_BOTH Bag(const Table& of, int64_t which) : table(of), bag(which) {
    if (table.bag_size >= 0) {
      begin = bag * table.bag_size;
      end = begin + table.bag_size;
      return;
    }
    begin = offset(bag);
    end = bag + 1 < table.num_offsets ? offset(bag + 1) : table.num_ids;
    if (begin < 0 || begin > end || end > table.num_ids || (bag == 0 && begin != 0)) {
      refuse_offsets(table, bag);
    }
  }

  MIRROR_BOTH int64_t id(int64_t number) const {
    const int64_t at = table.bag_size >= 0
                           ? bag * table.bag_stride + (number - begin) * table.id_stride
                           : number * table.id_stride;
    return read_index(table.ids, table.long_ids, at);
  }

  MIRROR_BOTH int64_t checked_id(int64_t number) const {
    const int64_t found = id(number);
    if (static_cast<uint64_t>(found) >= static_cast<uint64_t>(table.rows)) {
      refuse_id(table, number, found);
    }
    return found;
  }

  // Where an id's weight lies in per_sample_weights.
  MIRROR_BOTH int64_t sample(int64_t number) const {
    return table.bag_size >= 0
               ? bag * table.sample_bag_stride + (number - begin) * table.sample_stride
               : number * table.sample_stride;
  }

  // Ids that are not padding.
  MIRROR_BOTH int64_t count() const {
    int64_t found = end - begin;
    if (table.padding >= 0) {
      for (int64_t i = begin; i < end; ++i) found -= id(i) == table.padding;
    }
    return found;
  }

 private:
  MIRROR_BOTH int64_t offset(int64_t at) const {
    return read_index(table.offsets, table.long_offsets, at * table.offset_stride);
  }
};

// Elements that are read and written at once.
template <typename scalar_t, int kWidth>
struct alignas(sizeof(scalar_t) * kWidth) Pack {
  scalar_t at[kWidth];
};

}  // namespace mirror::cuda
