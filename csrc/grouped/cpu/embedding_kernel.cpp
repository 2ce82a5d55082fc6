// CPU kernel of the grouped embedding: all tables in one parallel region.
#include <ATen/Dispatch.h>

#include "grouped/cpu/fetch.h"
#include "grouped/cpu/ids.h"
#include "grouped/cpu/row_copy.h"
#include "grouped/cpu/rows.h"
#include "grouped/cpu/work.h"

namespace mirror {
namespace {

// Ids of bags that do not follow one another in memory are copied, so many at a time.
constexpr int64_t kCopiedIds = 512;

enum class Pooling { kSum, kWeightedSum, kMax };

// A range of bags of one table whose ids follow one another at one distance.
template <typename index_t>
struct Stream {
  const TableCall& table;
  const index_t* ids;  // that of position 0
  int64_t id_stride;
  int64_t last;        // the last position that may be read
  int64_t begin, end;  // bags
  int64_t first_bag;   // the bag that begins at position 0, where all have one size
  bool fetched;        // whether its first rows are on their way into the cache

  int64_t id(int64_t position) const { return ids[position * id_stride]; }
};

// Begin and end of a bag, as positions.
template <bool kUniform, typename index_t>
inline std::pair<int64_t, int64_t> bag_of(const Stream<index_t>& stream, const Ids<index_t>& ids,
                                          int64_t bag) {
  if constexpr (kUniform) {
    const int64_t begin = (bag - stream.first_bag) * stream.table.bag_size;
    return {begin, begin + stream.table.bag_size};
  } else {
    return ids.bag(bag);
  }
}

// Pools kVectors x 8 elements of every row, from element `first` on. A sum stays in registers until
// its bag ends, and the rows of ids that come `ahead` of it are on their way into the cache.
template <typename scalar_t, typename index_t, int kVectors, Pooling kPooling, bool kUniform>
void pool_vectors(const Stream<index_t>& stream, int64_t first, int ahead) {
  using vector = typename Sum<scalar_t>::vector;
  using scalar = typename Sum<scalar_t>::scalar;
  constexpr int64_t kBytes = kVectors * kLanes * sizeof(scalar_t);
  const TableCall& table = stream.table;
  const Ids<index_t> ids(table);
  const scalar_t* const weight = static_cast<const scalar_t*>(table.weight) + first;
  const scalar_t* const scales = static_cast<const scalar_t*>(table.sample_weights);
  const uint64_t rows = table.rows;
  const int64_t row_stride = table.row_stride, last = stream.last;
  const bool mean = table.plan->mode == GroupedMode::kMean;
  // Of plain rows padding has no gradient but is read like any other.
  const int64_t padding = table.plan->mode == GroupedMode::kRow ? -1 : table.plan->padding;
  const auto fetch = [&](int64_t position) __attribute__((always_inline)) {
    const scalar_t* const row = weight + stream.id(std::min(position, last)) * row_stride;
    fetch_lines(reinterpret_cast<const char*>(row), kBytes);
  };
  if (ahead && last >= 0 && !(stream.fetched && first == 0)) {
    const int64_t start = bag_of<kUniform>(stream, ids, stream.begin).first;
    for (int64_t i = 0; i < ahead; ++i) fetch(start + i);
  }
  for (int64_t bag = stream.begin; bag < stream.end; ++bag) {
    const auto [from, to] = bag_of<kUniform>(stream, ids, bag);
    vector sum[kVectors] = {};  // plus zero, as torch's sums begin: minus zeros add up to it
    int64_t count = 0;
    for (int64_t i = from; i < to; ++i) {
      const int64_t id = stream.id(i);
      if (ahead) fetch(i + ahead);
      if (static_cast<uint64_t>(id) >= rows) refuse_id(table, bag, i - (kUniform ? from : 0), id);
      if (id == padding) continue;
      const scalar_t* const row = weight + id * row_stride;
      if constexpr (kPooling == Pooling::kWeightedSum) {
        const int64_t at = kUniform
                               ? bag * table.sample_bag_stride + (i - from) * table.sample_stride
                               : i * table.sample_stride;
        const scalar scale = scales[at];
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) sum[v] += scale * load(row + v * kLanes);
      } else if constexpr (kPooling == Pooling::kMax) {
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
          const vector value = load(row + v * kLanes);
          sum[v] = count == 0 || value > sum[v] ? value : sum[v];
        }
      } else {
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) sum[v] += load(row + v * kLanes);
      }
      ++count;
    }
    if (mean && count > 1) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sum[v] /= static_cast<scalar>(count);
    }
    scalar_t* const out = reinterpret_cast<scalar_t*>(table.out) + bag * table.out_stride + first;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) store(out + v * kLanes, sum[v]);
  }
}

// The elements after the last whole vector.
template <typename scalar_t, typename index_t>
void pool_rest(const TableCall& table, int64_t begin, int64_t end, int64_t first) {
  using scalar = typename Sum<scalar_t>::scalar;
  const Ids<index_t> ids(table);
  const scalar_t* const weight = static_cast<const scalar_t*>(table.weight);
  const scalar_t* const scales = static_cast<const scalar_t*>(table.sample_weights);
  const GroupedMode mode = table.plan->mode;
  const int64_t padding = mode == GroupedMode::kRow ? -1 : table.plan->padding;
  const int64_t rest = table.dim - first;
  for (int64_t bag = begin; bag < end; ++bag) {
    const auto [from, to] = ids.bag(bag);
    scalar sum[kLanes] = {};
    int64_t count = 0;
    for (int64_t i = from; i < to; ++i) {
      const int64_t id = ids.checked(bag, i);
      if (id == padding) continue;
      const scalar_t* const row = weight + id * table.row_stride + first;
      const scalar scale =
          scales ? scalar(scales[bag * table.sample_bag_stride + i * table.sample_stride])
                 : scalar(1);
      for (int64_t d = 0; d < rest; ++d) {
        const scalar value = scale * static_cast<scalar>(row[d]);
        if (mode == GroupedMode::kMax) {
          sum[d] = count == 0 || value > sum[d] ? value : sum[d];
        } else {
          sum[d] += value;
        }
      }
      ++count;
    }
    scalar_t* const out = reinterpret_cast<scalar_t*>(table.out) + bag * table.out_stride + first;
    const scalar divisor = mode == GroupedMode::kMean && count > 1 ? scalar(count) : scalar(1);
    for (int64_t d = 0; d < rest; ++d) out[d] = static_cast<scalar_t>(sum[d] / divisor);
  }
}

template <typename scalar_t, typename index_t, Pooling kPooling, bool kUniform>
void pool_stream(const Stream<index_t>& stream, int ahead) {
  int64_t first = 0;
  for (int64_t vectors = stream.table.dim / kLanes; vectors > 0;) {
    const auto run = [&]<int kVectors>() {
      pool_vectors<scalar_t, index_t, kVectors, kPooling, kUniform>(stream, first, ahead);
      first += kVectors * kLanes;
      vectors -= kVectors;
    };
    if (vectors >= 8) {
      run.template operator()<8>();
    } else if (vectors >= 4) {
      run.template operator()<4>();
    } else if (vectors >= 2) {
      run.template operator()<2>();
    } else {
      run.template operator()<1>();
    }
  }
  const TableCall& table = stream.table;
  if (first < table.dim || table.dim == 0)
    pool_rest<scalar_t, index_t>(table, stream.begin, stream.end, first);
}

template <typename scalar_t, typename index_t, Pooling kPooling>
void pool(const TableCall& table, int64_t begin, int64_t end, int ahead) {
  const index_t* const ids = static_cast<const index_t*>(table.ids);
  const int64_t size = table.bag_size;
  if (size < 0) {
    pool_stream<scalar_t, index_t, kPooling, false>(
        Stream<index_t>{table, ids, table.id_stride, table.num_ids - 1, begin, end, 0, true},
        ahead);
  } else if (size <= 1) {  // one id per bag: the distance between bags is the only one
    pool_stream<scalar_t, index_t, kPooling, true>(
        Stream<index_t>{table, ids, table.bag_stride, table.num_ids - 1, begin, end, 0, true},
        ahead);
  } else if (table.bag_stride == size * table.id_stride) {
    pool_stream<scalar_t, index_t, kPooling, true>(
        Stream<index_t>{table, ids, table.id_stride, table.num_ids - 1, begin, end, 0, true},
        ahead);
  } else {
    const int64_t bags = std::max<int64_t>(1, kCopiedIds / size);
    std::vector<index_t> copy(bags * size);
    for (int64_t bag = begin; bag < end; bag += bags) {
      const int64_t stop = std::min(end, bag + bags);
      for (int64_t b = bag; b < stop; ++b) {
        for (int64_t i = 0; i < size; ++i) {
          copy[(b - bag) * size + i] = ids[b * table.bag_stride + i * table.id_stride];
        }
      }
      pool_stream<scalar_t, index_t, kPooling, true>(
          Stream<index_t>{table, copy.data(), 1, (stop - bag) * size - 1, bag, stop, bag, false},
          ahead);
    }
  }
}

template <typename scalar_t, typename index_t>
void pool_bags(const TableCall& table, int64_t begin, int64_t end, int ahead) {
  if (table.sample_weights) {
    pool<scalar_t, index_t, Pooling::kWeightedSum>(table, begin, end, ahead);
  } else if (table.plan->mode == GroupedMode::kMax) {
    pool<scalar_t, index_t, Pooling::kMax>(table, begin, end, ahead);
  } else {
    pool<scalar_t, index_t, Pooling::kSum>(table, begin, end, ahead);
  }
}

int64_t fetch_range(const GroupedCall& call, const Range& range, int ahead) {
  const TableCall& table = call.tables[range.table];
  return table.long_ids ? fetch_first<int64_t>(table, range.begin, range.end, ahead)
                        : fetch_first<int32_t>(table, range.begin, range.end, ahead);
}

// The first `ahead` rows have been fetched.
template <typename index_t>
void run_bags(const TableCall& table, const Range& range, int ahead) {
  if (copies_rows(table)) {
    copy_rows<index_t>(table, range.begin, range.end, ahead);
    return;
  }
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, table.dtype, "grouped_embedding", [&] {
    pool_bags<scalar_t, index_t>(table, range.begin, range.end, ahead);
  });
}

void run_range(const GroupedCall& call, const Range& range, int ahead) {
  const TableCall& table = call.tables[range.table];
  table.long_ids ? run_bags<int64_t>(table, range, ahead) : run_bags<int32_t>(table, range, ahead);
}

template <typename index_t>
void check_ids(const TableCall& table) {
  const Ids<index_t> ids(table);
  for (int64_t bag = 0; bag < table.bags; ++bag) {
    const auto [from, to] = ids.bag(bag);
    for (int64_t i = from; i < to; ++i) {
      ids.checked(bag, i);
    }
  }
}

}  // namespace

void grouped_embedding_cpu(const GroupedCall& call, GroupedWay way) {
  const Pieces pieces(call, way.schedule, way.threads);
  share_out(pieces.pieces(), way.threads, [&](int64_t number) {
    const std::vector<Range> ranges = pieces.piece(number);
    std::vector<int64_t> fetched(ranges.size());
    // A small table ends before its own rows have come: while it is looked up the first rows of
    // those after it are on their way, `under_way` in all.
    int64_t under_way = 0;
    size_t next = 0;
    for (size_t r = 0; r < ranges.size(); ++r) {
      under_way -= fetched[r];
      for (; next < ranges.size() && (next <= r || under_way < way.prefetch); ++next) {
        fetched[next] = fetch_range(call, ranges[next], way.prefetch);
        if (next > r) under_way += fetched[next];
      }
      run_range(call, ranges[r], way.prefetch);
    }
  });
}

void check_ids_cpu(const GroupedCall& call) {
  for (const TableCall& table : call.tables) {
    table.long_ids ? check_ids<int64_t>(table) : check_ids<int32_t>(table);
  }
}

}  // namespace mirror
