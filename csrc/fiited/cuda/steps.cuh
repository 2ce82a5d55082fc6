// What the threads of the kernels of a FIITED table do. A body says how many threads it takes, and
// is called with the number of each.
#pragma once

#include <cstdint>
#include <variant>

#include "fiited/cuda/table.cuh"
#include "fiited/hash.h"

namespace mirror::fiited::cuda {

// Threads that share a bag or a row: a power of two, no more than a warp.
inline int lanes_for(int64_t work) {
  int lanes = 1;
  while (lanes < work && lanes < 32) lanes *= 2;
  return lanes;
}

MIRROR_HOST_DEVICE inline int64_t read_index(const void* from, bool is_long, int64_t at) {
  return is_long ? static_cast<const int64_t*>(from)[at] : static_cast<const int32_t*>(from)[at];
}

// -- ids

struct IdsOfTable {
  const void* ids;
  const void* offsets;  // null: all bags have `bag_size` ids
  bool long_ids, long_offsets;
  int64_t num_ids, num_bags, bag_size;
  int64_t first_row, rows;      // of the table
  int64_t first_id, first_bag;  // among those of all tables
  uint64_t seed;
};

// Writes rows and ends of bags; sets `wrong` where an id or an offset is out of range.
struct ReadIds {
  static constexpr int kMostTables = 64;  // so that they fit into the parameters of a launch
  IdsOfTable table[kMostTables];
  int64_t first_thread[kMostTables + 1];
  int32_t tables;
  bool hashed;
  int64_t* rows;
  int64_t* ends;
  int32_t* wrong;

  int64_t threads() const { return first_thread[tables] + 1; }

  MIRROR_HOST_DEVICE void operator()(int64_t i) const {
    if (i == first_thread[tables]) {
      ends[0] = 0;
      return;
    }
    int low = 0, high = tables;  // the last table whose first thread is not after this one
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (first_thread[middle] <= i ? low : high) = middle;
    }
    const IdsOfTable& t = table[low];
    const int64_t at = i - first_thread[low];
    const bool fits = at < t.num_ids ? read_id(t, at) : read_bag(t, at - t.num_ids);
    if (!fits) *wrong = 1;
  }

 private:
  MIRROR_HOST_DEVICE bool read_id(const IdsOfTable& t, int64_t at) const {
    const int64_t id = read_index(t.ids, t.long_ids, at);
    if (hashed) {
      rows[t.first_id + at] = t.first_row + hashed_row(id, t.seed, t.rows);
      return true;
    }
    const bool fits = static_cast<uint64_t>(id) < static_cast<uint64_t>(t.rows);
    rows[t.first_id + at] = t.first_row + (fits ? id : 0);
    return fits;
  }

  MIRROR_HOST_DEVICE bool read_bag(const IdsOfTable& t, int64_t bag) const {
    int64_t* const end = ends + 1 + t.first_bag + bag;
    if (!t.offsets) {
      *end = t.first_id + (bag + 1) * t.bag_size;
      return true;
    }
    const int64_t from = read_index(t.offsets, t.long_offsets, bag);
    const int64_t to =
        bag + 1 < t.num_bags ? read_index(t.offsets, t.long_offsets, bag + 1) : t.num_ids;
    *end = t.first_id + to;
    return from <= to && (bag > 0 || from == 0);
  }
};

// -- reading

template <int kWidth>
struct alignas(sizeof(float) * kWidth) Pack {
  float at[kWidth];
};

// Sums the rows of each bag, in their order.
struct Pool {
  Table table;
  const int64_t* rows;
  const int64_t* offsets;
  float* out;
  int64_t bags;
  int32_t lanes;
  bool wide;  // chunks may be read 4 weights at a time
  bool mean;

  int64_t threads() const { return bags * lanes; }

  MIRROR_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t bag = i / lanes;
    const int32_t lane = static_cast<int32_t>(i % lanes);
    if (wide) {
      pool<4>(bag, lane);
    } else {
      pool<1>(bag, lane);
    }
  }

 private:
  template <int kWidth>
  MIRROR_HOST_DEVICE void pool(int64_t bag, int32_t lane) const {
    using Read = Pack<kWidth>;
    constexpr int kAhead = 4;  // rows whose reads are under way at once
    const int64_t begin = offsets[bag], end = offsets[bag + 1];
    const int32_t dim = table.dim(), chunks = table.chunks, width = table.width;
    for (int32_t d = lane * kWidth; d < dim; d += lanes * kWidth) {
      const int32_t chunk = d / width;
      const float* const from = table.weights + (d - chunk * width);
      Read sum{};
      for (int64_t first = begin; first < end; first += kAhead) {
        int64_t address[kAhead];
        Read read[kAhead];
#pragma unroll
        for (int a = 0; a < kAhead; ++a)
          address[a] = first + a < end ? table.address[rows[first + a] * chunks + chunk] : 0;
        // A missing chunk is the null chunk, whose weights are zero.
#pragma unroll
        for (int a = 0; a < kAhead; ++a)
          read[a] = *reinterpret_cast<const Read*>(from + address[a] * width);
#pragma unroll
        for (int a = 0; a < kAhead; ++a)
          for (int v = 0; v < kWidth; ++v) sum.at[v] += read[a].at[v];
      }
      if (mean && end - begin > 1)
        for (int v = 0; v < kWidth; ++v) sum.at[v] /= static_cast<float>(end - begin);
      *reinterpret_cast<Read*>(out + bag * dim + d) = sum;
    }
  }
};

// -- training

// Where the gradient of a lookup lies, and what it is multiplied with.
struct Source {
  const float* grad;
  float scale;
};

// The sources of one call's lookups.
struct ListLookups {
  const int64_t* offsets;
  const float* grad;
  Source* sources;
  int64_t bags, dim;
  bool mean;
  static constexpr int kLanes = 4;

  int64_t threads() const { return bags * kLanes; }

  MIRROR_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t bag = i / kLanes, begin = offsets[bag], end = offsets[bag + 1];
    const float scale = mean && end - begin > 1 ? 1.0f / static_cast<float>(end - begin) : 1;
    for (int64_t at = begin + i % kLanes; at < end; at += kLanes)
      sources[at] = {grad + bag * dim, scale};
  }
};

// The least element that is not finite.
struct FindNotFinite {
  const float* grad;
  int64_t size;
  int64_t* first;

  int64_t threads() const { return size; }
  MIRROR_HOST_DEVICE void operator()(int64_t i) const {
    constexpr uint32_t kExponent = 0x7F800000;
    if ((__builtin_bit_cast(uint32_t, grad[i]) & kExponent) == kExponent) keep_least(first, i);
  }
};

// Which of these rows have a live chunk or a utility.
struct FindKnown {
  Table table;
  const int32_t* rows;
  uint8_t* known;
  int64_t size;

  int64_t threads() const { return size; }
  MIRROR_HOST_DEVICE void operator()(int64_t i) const { known[i] = table.known(rows[i]); }
};

// -- pruning

enum class Counted { kChunkDigits, kRowDigits, kMoves, kLive };

// Counts what is found in rows: sums (groups, values), zeros before.
struct CountRows {
  Table table;
  Counted what;
  Digit digit;
  const Threshold* keep;  // or the prefix, of each group
  int64_t* sums;
  int64_t values;

  int64_t threads() const { return table.rows; }

  MIRROR_HOST_DEVICE void operator()(int64_t row) const {
    if (what == Counted::kLive) return add_one(sums, table.live_chunks(row));
    if (what == Counted::kRowDigits) {
      const Utility best = table.best_without_live(row);
      if (best > 0) add_digit(0, best, row);
      return;
    }
    for (int32_t j = 0; j < table.chunks; ++j) {
      const int64_t q = row * table.chunks + j, group = table.group(row, j);
      const Utility utility = table.utility[q];
      const bool live = table.address[q] != 0;
      if (!live && utility == 0) continue;
      if (what == Counted::kChunkDigits) {
        add_digit(group, utility, q);
      } else if (keep[group].keeps(utility, q) != live) {
        add_one(sums, group * values + (live ? 0 : 1));
      }
    }
  }

 private:
  MIRROR_HOST_DEVICE void add_digit(int64_t group, Utility utility, int64_t id) const {
    const int64_t value = digit_of(digit, keep[group], utility, id);
    if (value >= 0) add_one(sums, group * values + value);
  }
};

// Marks chunks: 1 of live ones that go, 2 of missing ones that come.
struct MarkMoves {
  Table table;
  const Threshold* keep;
  uint8_t* marks;

  int64_t threads() const { return table.virtual_chunks(); }
  MIRROR_HOST_DEVICE void operator()(int64_t q) const {
    const int64_t row = q / table.chunks;
    const bool live = table.address[q] != 0;
    const bool kept = keep[table.group(row, q % table.chunks)].keeps(table.utility[q], q);
    marks[q] = live && !kept ? 1 : !live && kept && table.utility[q] > 0 ? 2 : 0;
  }
};

// Marks live chunks of rows whose time is over.
struct MarkExpired {
  Table table;
  int64_t ttl;
  uint8_t* marks;

  int64_t threads() const { return table.virtual_chunks(); }
  MIRROR_HOST_DEVICE void operator()(int64_t q) const {
    marks[q] = table.address[q] && table.age[q / table.chunks] >= ttl;
  }
};

// Drops the utilities of rows whose time is over; others get older.
struct Age {
  Table table;
  int64_t ttl;

  int64_t threads() const { return table.rows; }
  MIRROR_HOST_DEVICE void operator()(int64_t row) const {
    if (table.age[row] < ttl) {
      ++table.age[row];
      return;
    }
    for (int64_t q = row * table.chunks; q < (row + 1) * table.chunks; ++q) table.utility[q] = 0;
  }
};

// Frees the chunks `which`; the last will be the first to be popped.
struct Evict {
  Table table;
  const int64_t* which;
  int64_t size;
  int64_t free;    // addresses on the stack before
  float* weights;  // (size, width) copies, where they are wanted

  int64_t threads() const { return size; }
  MIRROR_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t q = which[i], at = table.address[q];
    if (weights)
      for (int32_t d = 0; d < table.width; ++d)
        weights[i * table.width + d] = table.weights[at * table.width + d];
    table.free[free + i] = static_cast<int32_t>(at);
    table.owner[at] = -1;
    table.address[q] = 0;
  }
};

// Gives the chunks `which` an address each, zero weights and new slots.
struct Admit {
  Table table;
  const int64_t* which;
  int64_t size;
  int64_t free;  // addresses on the stack before
  float slot_value;

  int64_t threads() const { return size; }
  MIRROR_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t q = which[i], at = table.free[free - 1 - i];
    for (int32_t d = 0; d < table.width; ++d) table.weights[at * table.width + d] = 0;
    for (int32_t d = 0; d < table.slot_width; ++d)
      table.slots[at * table.slot_width + d] = slot_value;
    table.owner[at] = static_cast<int32_t>(q);
    table.address[q] = static_cast<int32_t>(at);
  }
};

// Rows without a live chunk that the threshold does not keep lose their utilities.
struct Forget {
  Table table;
  Threshold keep;

  int64_t threads() const { return table.rows; }
  MIRROR_HOST_DEVICE void operator()(int64_t row) const {
    const Utility best = table.best_without_live(row);
    if (best == 0 || keep.keeps(best, row)) return;
    for (int64_t q = row * table.chunks; q < (row + 1) * table.chunks; ++q) table.utility[q] = 0;
  }
};

struct ScaleUtilities {
  Table table;
  float by;

  int64_t threads() const { return table.virtual_chunks(); }
  MIRROR_HOST_DEVICE void operator()(int64_t q) const {
    table.utility[q] = nearest_utility(value_of(table.utility[q]) * by);
  }
};

using Body = std::variant<ReadIds, Pool, ListLookups, FindNotFinite, FindKnown, CountRows,
                          MarkMoves, MarkExpired, Age, Evict, Admit, Forget, ScaleUtilities>;

}  // namespace mirror::fiited::cuda
