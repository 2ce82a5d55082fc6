// What every thread of the kernels of the grouped embedding does, and in which order the kernels
// run.
//
// The order of all additions follows from the arguments alone: results are the same bits every
// time.
#pragma once

#include <algorithm>
#include <vector>

#include "grouped/cuda/tables.cuh"

namespace mirror::cuda {

// --- forward
// ------------------------------------------------------------------------------------------

// Pools the rows of one bag, kWidth elements at a time.
template <typename scalar_t, int kWidth>
MIRROR_BOTH void pool_bag(const Table& table, const Place& at) {
  using sum_t = typename SumOf<scalar_t>::type;
  using Read = Pack<scalar_t, kWidth>;
  constexpr int kAhead = 4;  // rows whose reads are under way at once
  const Bag bag(table, at.bag);
  const scalar_t* const weight = static_cast<const scalar_t*>(table.weight);
  const scalar_t* const scales = static_cast<const scalar_t*>(table.sample_weights);
  // Of plain rows padding has no gradient but is read like any other.
  const int64_t padding = table.mode == Mode::kRow ? -1 : table.padding;
  for (int64_t d = at.lane * kWidth; d < table.dim; d += at.lanes * kWidth) {
    sum_t sum[kWidth];
    // Minus zero, since adding to it changes nothing, not even the sign of a zero.
    for (int v = 0; v < kWidth; ++v) sum[v] = sum_t(-0.0);
    int64_t count = 0;
    for (int64_t first = bag.begin; first < bag.end; first += kAhead) {
      int64_t id[kAhead];
      Read read[kAhead];
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        id[a] = first + a < bag.end ? bag.checked_id(first + a) : -1;
        if (id[a] == padding) id[a] = -1;
      }
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        if (id[a] >= 0)
          read[a] = *reinterpret_cast<const Read*>(weight + id[a] * table.row_stride + d);
      }
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        if (id[a] < 0) continue;
        const sum_t scale = scales ? static_cast<sum_t>(scales[bag.sample(first + a)]) : sum_t(1);
#pragma unroll
        for (int v = 0; v < kWidth; ++v) {
          const sum_t value = static_cast<sum_t>(read[a].at[v]);
          if (table.mode == Mode::kMax) {
            sum[v] = count == 0 || value > sum[v] ? value : sum[v];
          } else {
            sum[v] += scale * value;
          }
        }
        ++count;
      }
    }
    Read result;
    const sum_t divisor =
        table.mode == Mode::kMean && count > 1 ? static_cast<sum_t>(count) : sum_t(1);
    for (int v = 0; v < kWidth; ++v) {
      result.at[v] = static_cast<scalar_t>(count ? sum[v] / divisor : sum_t(0));
    }
    *reinterpret_cast<Read*>(static_cast<scalar_t*>(table.out) + bag.bag * table.out_stride + d) =
        result;
  }
}

template <int kCapacity>
struct Pool {
  Tables<kCapacity> tables;

  MIRROR_BOTH void operator()(int64_t warp, int thread) const {
    const Place at = place(tables, warp, thread);
    if (at.bag < 0) return;
    const Table& table = tables.table[at.table];
    with_element(table.element, [&](auto zero) {
      using scalar_t = decltype(zero);
      if (table.wide) {
        pool_bag<scalar_t, 16 / sizeof(scalar_t)>(table, at);
      } else {
        pool_bag<scalar_t, 1>(table, at);
      }
    });
  }
};

// --- gradients of tables
// ------------------------------------------------------------------------------

constexpr uint32_t kNobody = ~uint32_t{0};

// Where the gradient of one table comes from and goes to.
struct GradientPlace {
  int64_t first_row;     // the key of its first row; keys count rows of all tables
  int64_t first_id;      // of its ids among those of all tables
  int64_t first_bag;     // of its bags in `counts`
  int64_t first_winner;  // of its bags x dim in `winners`
  void* gradient;        // (rows, dim), zeros
};

// What is known of all ids: an occurrence is its bag, in the upper half, and its number in the
// table.
struct Occurrences {
  uint64_t* keys;  // of the row
  uint64_t* occurrences;
  uint32_t* counts;   // ids of a bag that are not padding, where they are needed
  uint32_t* winners;  // of maxima: the number of the id that each element came from
  uint64_t no_row;    // the key of padding
};

// Writes keys, occurrences and counts of the ids of a bag.
template <int kCapacity>
struct ListIds {
  Tables<kCapacity> tables;
  GradientPlace places[kCapacity];
  Occurrences all;

  MIRROR_BOTH void operator()(int64_t warp, int thread) const {
    const Place at = place(tables, warp, thread);
    if (at.bag < 0) return;
    const Table& table = tables.table[at.table];
    const GradientPlace& to = places[at.table];
    const Bag bag(table, at.bag);
    if (at.lane == 0 && table.mode == Mode::kMean) {
      all.counts[to.first_bag + bag.bag] = static_cast<uint32_t>(bag.count());
    }
    for (int64_t i = bag.begin + at.lane; i < bag.end; i += at.lanes) {
      const int64_t id = bag.checked_id(i);
      all.keys[to.first_id + i] = id == table.padding ? all.no_row : to.first_row + id;
      all.occurrences[to.first_id + i] =
          static_cast<uint64_t>(bag.bag) << 32 | static_cast<uint64_t>(i);
    }
    if (bag.bag + 1 < table.bags) return;
    for (int64_t i = bag.end + at.lane; i < table.num_ids; i += at.lanes) {  // ids in no bag
      all.keys[to.first_id + i] = all.no_row;
    }
  }
};

// Finds the id that each element of a maximum came from: the first of equals.
template <int kCapacity>
struct FindWinners {
  Tables<kCapacity> tables;
  GradientPlace places[kCapacity];
  uint32_t* winners;

  MIRROR_BOTH void operator()(int64_t warp, int thread) const {
    const Place at = place(tables, warp, thread);
    if (at.bag < 0) return;
    const Table& table = tables.table[at.table];
    uint32_t* const to = winners + places[at.table].first_winner + at.bag * table.dim;
    with_element(table.element, [&](auto zero) {
      using scalar_t = decltype(zero);
      const Bag bag(table, at.bag);
      for (int64_t d = at.lane; d < table.dim; d += at.lanes) {
        uint32_t winner = kNobody;
        auto best = static_cast<typename SumOf<scalar_t>::type>(zero);
        for (int64_t i = bag.begin; i < bag.end; ++i) {
          const int64_t id = bag.checked_id(i);
          if (id == table.padding) continue;
          const auto value = static_cast<decltype(best)>(
              static_cast<const scalar_t*>(table.weight)[id * table.row_stride + d]);
          if (winner != kNobody && !(value > best)) continue;
          winner = static_cast<uint32_t>(i);
          best = value;
        }
        to[d] = winner;
      }
    });
  }
};

// The factor of a bag's gradient for one of its ids.
template <typename scalar_t>
MIRROR_BOTH typename SumOf<scalar_t>::type factor(const Bag& bag, int64_t number, int64_t count) {
  using sum_t = typename SumOf<scalar_t>::type;
  const scalar_t* const scales = static_cast<const scalar_t*>(bag.table.sample_weights);
  if (scales) return static_cast<sum_t>(scales[bag.sample(number)]);
  return bag.table.mode == Mode::kMean ? sum_t(1) / static_cast<sum_t>(count) : sum_t(1);
}

// Sorted occurrences are cut into windows of so many. What a row receives within a window is a
// piece; a row with one piece gets it at once, else the pieces are added up by JoinPieces.
constexpr int64_t kWindow = 64;

template <int kCapacity>
struct SumPieces {
  Table table[kCapacity];
  GradientPlace places[kCapacity];
  int count;
  int lanes;        // that work on one piece
  Occurrences all;  // sorted by key
  int64_t num_ids;
  void*
      pieces;  // (windows, 2, max_dim): the piece that a window begins with, and that it ends with
  int64_t max_dim;

  MIRROR_BOTH int table_of(uint64_t key) const {
    int low = 0, high = count;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (places[middle].first_row <= static_cast<int64_t>(key) ? low : high) = middle;
    }
    return low;
  }

  // Pieces take eight bytes per element, whatever their type.
  template <typename sum_t>
  MIRROR_BOTH sum_t* piece(int64_t window, bool ends) const {
    return reinterpret_cast<sum_t*>(static_cast<double*>(pieces) + (2 * window + ends) * max_dim);
  }

  template <typename scalar_t>
  MIRROR_BOTH scalar_t* row(int t, uint64_t key) const {
    return static_cast<scalar_t*>(places[t].gradient) +
           (static_cast<int64_t>(key) - places[t].first_row) * table[t].dim;
  }

  // What one occurrence adds to element d of its row.
  template <typename scalar_t>
  MIRROR_BOTH typename SumOf<scalar_t>::type share(int t, uint64_t occurrence, int64_t d) const {
    using sum_t = typename SumOf<scalar_t>::type;
    const Table& from = table[t];
    const int64_t which = occurrence >> 32, number = occurrence & 0xffffffff;
    const sum_t grad =
        static_cast<sum_t>(static_cast<const scalar_t*>(from.out)[which * from.out_stride + d]);
    if (from.mode == Mode::kMax) {
      return all.winners[places[t].first_winner + which * from.dim + d] == number ? grad : sum_t(0);
    }
    if (from.mode == Mode::kMean) {
      return grad / static_cast<sum_t>(all.counts[places[t].first_bag + which]);
    }
    if (!from.sample_weights) return grad;
    return factor<scalar_t>(Bag(from, which), number, 1) * grad;
  }

  MIRROR_BOTH void operator()(int64_t warp, int thread) const {
    const int64_t begin = warp * (kWarp / lanes) + thread / lanes;
    if (begin >= num_ids) return;
    const uint64_t key = all.keys[begin];
    const bool first = begin == 0 || all.keys[begin - 1] != key;
    if (key == all.no_row || (!first && begin % kWindow)) return;
    int64_t end = begin + 1;
    while (end < num_ids && end % kWindow && all.keys[end] == key) ++end;
    const bool last = end == num_ids || all.keys[end] != key;
    const int t = table_of(key);
    with_element(table[t].element, [&](auto zero) {
      using scalar_t = decltype(zero);
      using sum_t = typename SumOf<scalar_t>::type;
      for (int64_t d = thread % lanes; d < table[t].dim; d += lanes) {
        sum_t sum = 0;
        for (int64_t i = begin; i < end; ++i) sum += share<scalar_t>(t, all.occurrences[i], d);
        if (first && last) {
          row<scalar_t>(t, key)[d] = static_cast<scalar_t>(sum);
        } else {
          piece<sum_t>(begin / kWindow, begin % kWindow != 0)[d] = sum;
        }
      }
    });
  }
};

// Adds up the pieces of a row that begins in one window and ends in another.
template <int kCapacity>
struct JoinPieces {
  SumPieces<kCapacity> sums;

  MIRROR_BOTH void operator()(int64_t warp, int thread) const {
    const int64_t window = warp * (kWarp / sums.lanes) + thread / sums.lanes;
    const int64_t begin = window * kWindow, next = begin + kWindow;
    if (next >= sums.num_ids) return;
    const uint64_t* const keys = sums.all.keys;
    const uint64_t key = keys[next];
    if (key == sums.all.no_row || keys[next - 1] != key || (begin > 0 && keys[begin - 1] == key))
      return;
    const int t = sums.table_of(key);
    with_element(sums.table[t].element, [&](auto zero) {
      using scalar_t = decltype(zero);
      using sum_t = typename SumOf<scalar_t>::type;
      for (int64_t d = thread % sums.lanes; d < sums.table[t].dim; d += sums.lanes) {
        sum_t sum = sums.template piece<sum_t>(window, keys[begin] != key)[d];
        for (int64_t w = window + 1; w * kWindow < sums.num_ids && keys[w * kWindow] == key; ++w) {
          sum += sums.template piece<sum_t>(w, false)[d];
        }
        sums.template row<scalar_t>(t, key)[d] = static_cast<scalar_t>(sum);
      }
    });
  }
};

// --- other gradients
// ----------------------------------------------------------------------------------

template <int kCapacity>
struct FillSparse {
  Tables<kCapacity> tables;
  SparsePlace places[kCapacity];

  MIRROR_BOTH void operator()(int64_t warp, int thread) const {
    const Place at = place(tables, warp, thread);
    if (at.bag < 0) return;
    const Table& table = tables.table[at.table];
    const SparsePlace& to = places[at.table];
    const Bag bag(table, at.bag);
    const int64_t count = table.mode == Mode::kMean ? bag.count() : 1;
    const int64_t end = bag.bag + 1 < table.bags ? bag.end : table.num_ids;
    with_element(table.element, [&](auto zero) {
      using scalar_t = decltype(zero);
      using sum_t = typename SumOf<scalar_t>::type;
      const scalar_t* const grad =
          static_cast<const scalar_t*>(table.out) + bag.bag * table.out_stride;
      for (int64_t i = bag.begin; i < end; ++i) {
        const int64_t id = i < bag.end ? bag.checked_id(i) : 0;
        const bool counts = i < bag.end && id != table.padding;
        const sum_t scale = counts ? factor<scalar_t>(bag, i, count) : sum_t(0);
        if (at.lane == 0) to.rows[i] = id;
        for (int64_t d = at.lane; d < table.dim; d += at.lanes) {
          static_cast<scalar_t*>(to.values)[i * table.dim + d] =
              counts ? static_cast<scalar_t>(scale * static_cast<sum_t>(grad[d])) : zero;
        }
      }
    });
  }
};

// Adds the gradient of per_sample_weights of one table: the product of an id's row and its bag's
// gradient.
struct AddSampleGradient {
  Tables<1> tables;
  void* gradient;
  int64_t bag_stride, stride;

  MIRROR_BOTH void operator()(int64_t warp, int thread) const {
    const Place at = place(tables, warp, thread);
    if (at.bag < 0) return;
    const Table& table = tables.table[0];
    with_element(table.element, [&](auto zero) {
      using scalar_t = decltype(zero);
      using sum_t = typename SumOf<scalar_t>::type;
      const Bag bag(table, at.bag);
      const scalar_t* const grad =
          static_cast<const scalar_t*>(table.out) + bag.bag * table.out_stride;
      for (int64_t i = bag.begin + at.lane; i < bag.end; i += at.lanes) {
        const int64_t id = bag.checked_id(i);
        if (id == table.padding) continue;
        const scalar_t* const row =
            static_cast<const scalar_t*>(table.weight) + id * table.row_stride;
        sum_t dot = 0;
        for (int64_t d = 0; d < table.dim; ++d) {
          dot += static_cast<sum_t>(grad[d]) * static_cast<sum_t>(row[d]);
        }
        const int64_t number = table.bag_size >= 0 ? i - bag.begin : i;
        scalar_t& to = static_cast<scalar_t*>(gradient)[bag.bag * bag_stride + number * stride];
        to = static_cast<scalar_t>(static_cast<sum_t>(to) + static_cast<scalar_t>(dot));
      }
    });
  }
};

// --- the order of the kernels
// ------------------------------------------------------------------------- `run` is how:
// launch(body, warps) calls body(warp, thread) for all threads of so many warps, after what was
// launched before; scratch(bytes) is memory until the end of the call; sort(keys, values, count,
// bits) sorts both by the lower `bits` of the keys, keeps equals in order, and lets the pointers
// point to the result.

inline uint8_t power_of_two_lanes(int64_t wanted) {
  uint8_t lanes = 1;
  while (lanes < wanted && lanes < kWarp) lanes *= 2;
  return lanes;
}

// Threads for the elements of a row.
inline uint8_t lanes_by_dim(const Table& table, bool wide) {
  const int64_t width = table.element == Element::kDouble  ? 2
                        : table.element == Element::kFloat ? 4
                                                           : 8;
  return power_of_two_lanes(wide ? table.dim / width : table.dim);
}

// Threads for the ids of a bag.
inline uint8_t lanes_by_ids(const Table& table) {
  return power_of_two_lanes((table.num_ids + table.bags - 1) / table.bags);
}

// Sets `tables`, and returns the warps that they need.
template <int kCapacity, typename Lanes>
int64_t set_tables(Tables<kCapacity>& tables, const std::vector<Table>& from, const Lanes& lanes) {
  int64_t warps = 0;
  tables.count = static_cast<int>(from.size());
  for (int t = 0; t < tables.count; ++t) {
    tables.table[t] = from[t];
    tables.lanes[t] = lanes(from[t]);
    tables.first_warp[t] = warps;
    const int64_t per_warp = kWarp / tables.lanes[t];
    warps += (from[t].bags + per_warp - 1) / per_warp;
  }
  tables.first_warp[tables.count] = warps;
  return warps;
}

// Calls body.template operator()<kCapacity>(tables, their numbers) for as many tables at a time as
// go into one launch, leaving out those with nothing to do.
template <typename Body>
void in_launches(const std::vector<Table>& tables, const Body& body) {
  std::vector<Table> now;
  std::vector<size_t> numbers;
  const auto flush = [&] {
    if (now.empty()) return;
    if (now.size() <= kFewTables) {
      body.template operator()<kFewTables>(now, numbers);
    } else {
      body.template operator()<kMostTables>(now, numbers);
    }
    now.clear();
    numbers.clear();
  };
  for (size_t t = 0; t < tables.size(); ++t) {
    if (tables[t].bags == 0 || tables[t].dim == 0) continue;
    now.push_back(tables[t]);
    numbers.push_back(t);
    if (now.size() == kMostTables) flush();
  }
  flush();
}

// Fills `out` of all tables.
template <typename Run>
void pool_all(Run& run, const std::vector<Table>& tables) {
  in_launches(
      tables, [&]<int kCapacity>(const std::vector<Table>& now, const std::vector<size_t>&) {
        Pool<kCapacity> body;
        const int64_t warps =
            set_tables(body.tables, now, [](const Table& t) { return lanes_by_dim(t, t.wide); });
        run.launch(body, warps);
      });
}

// Fills gradients[t] (rows, dim), zeros, with the gradient of table t. At most 2^31 - 1 ids per
// launch.
template <typename Run>
void sum_gradients(Run& run, const std::vector<Table>& tables,
                   const std::vector<void*>& gradients) {
  in_launches(tables, [&]<int kCapacity>(const std::vector<Table>& now,
                                         const std::vector<size_t>& numbers) {
    const size_t count = now.size();
    SumPieces<kCapacity> sums;
    int64_t rows = 0, ids = 0, bags = 0, winners = 0;
    sums.count = static_cast<int>(count);
    sums.max_dim = 0;
    std::vector<Table> maxima;
    std::vector<GradientPlace> places;
    for (size_t t = 0; t < count; ++t) {
      sums.table[t] = now[t];
      sums.places[t] = {rows, ids, bags, winners, gradients[numbers[t]]};
      sums.max_dim = std::max(sums.max_dim, now[t].dim);
      rows += now[t].rows;
      ids += now[t].num_ids;
      if (now[t].mode == Mode::kMean) bags += now[t].bags;
      if (now[t].mode != Mode::kMax) continue;
      maxima.push_back(now[t]);
      places.push_back(sums.places[t]);
      winners += now[t].bags * now[t].dim;
    }
    if (ids == 0) return;
    sums.num_ids = ids;
    sums.lanes = power_of_two_lanes(sums.max_dim);
    const int64_t windows = (ids + kWindow - 1) / kWindow;
    sums.pieces = run.scratch(windows * 2 * sums.max_dim * sizeof(double));
    sums.all = {static_cast<uint64_t*>(run.scratch(ids * sizeof(uint64_t))),
                static_cast<uint64_t*>(run.scratch(ids * sizeof(uint64_t))),
                static_cast<uint32_t*>(run.scratch(bags * sizeof(uint32_t))),
                static_cast<uint32_t*>(run.scratch(winners * sizeof(uint32_t))),
                static_cast<uint64_t>(rows)};
    if (!maxima.empty()) {
      FindWinners<kCapacity> body;
      const int64_t warps =
          set_tables(body.tables, maxima, [](const Table& t) { return lanes_by_dim(t, false); });
      std::copy(places.begin(), places.end(), body.places);
      body.winners = sums.all.winners;
      run.launch(body, warps);
    }
    {
      ListIds<kCapacity> body;
      const int64_t warps = set_tables(body.tables, now, lanes_by_ids);
      std::copy(sums.places, sums.places + count, body.places);
      body.all = sums.all;
      run.launch(body, warps);
    }
    int bits = 0;
    while (rows >> bits) ++bits;
    run.sort(sums.all.keys, sums.all.occurrences, ids, bits);
    const auto warps_for = [&](int64_t groups) {
      const int64_t per_warp = kWarp / sums.lanes;
      return (groups + per_warp - 1) / per_warp;
    };
    run.launch(sums, warps_for(ids));
    run.launch(JoinPieces<kCapacity>{sums}, warps_for(windows));
  });
}

// Fills places[t] for table t.
template <typename Run>
void fill_sparse(Run& run, const std::vector<Table>& tables,
                 const std::vector<SparsePlace>& places) {
  in_launches(tables, [&]<int kCapacity>(const std::vector<Table>& now,
                                         const std::vector<size_t>& numbers) {
    FillSparse<kCapacity> body;
    for (size_t t = 0; t < now.size(); ++t) body.places[t] = places[numbers[t]];
    const int64_t warps =
        set_tables(body.tables, now, [](const Table& t) { return lanes_by_dim(t, false); });
    run.launch(body, warps);
  });
}

// Adds to the gradient of the per_sample_weights of one table. Strides are those of the gradient.
template <typename Run>
void add_sample_gradient(Run& run, const Table& table, void* gradient, int64_t bag_stride,
                         int64_t stride) {
  if (table.bags == 0 || table.num_ids == 0) return;
  AddSampleGradient body{{}, gradient, bag_stride, stride};
  run.launch(body, set_tables(body.tables, {table}, lanes_by_ids));
}

}  // namespace mirror::cuda
