// CPU kernels of the grouped embedding's gradients: every table in stripes, one thread to a stripe,
// so that no two threads add to one element and the order of additions is torch's.
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sort.h>

#include <bit>
#include <cstring>

#include "grouped/cpu/ids.h"
#include "grouped/cpu/rows.h"
#include "grouped/cpu/work.h"

namespace mirror {
namespace {

// What one thread fills of one table's gradient: some of its rows, or of its columns for a maximum,
// whose winners are found column by column.
struct Stripe {
  size_t table;
  int64_t begin, end;
};

// A stripe of rows reads all ids of its table, so there are no more stripes than keep all threads
// busy.
std::vector<Stripe> stripes(const GroupedCall& call, const std::vector<at::Tensor>& weights,
                            int threads) {
  const int64_t tables = static_cast<int64_t>(call.tables.size());
  const int64_t parts =
      threads == 1 ? 1 : std::clamp<int64_t>((2 * threads + tables - 1) / tables, 1, threads);
  std::vector<Stripe> found;
  for (int64_t t = 0; t < tables; ++t) {
    if (!weights[t].defined()) continue;
    const TableCall& table = call.tables[t];
    const int64_t whole = table.plan->mode == GroupedMode::kMax ? table.dim : table.rows;
    for (int64_t part = 0; part < parts; ++part) {
      found.push_back({static_cast<size_t>(t), whole * part / parts, whole * (part + 1) / parts});
    }
  }
  return found;
}

// Calls visit(bag, ids in the bag that are not padding, position of the id in per_sample_weights,
// id) for all ids.
template <typename index_t, typename Visit>
void visit_ids(const TableCall& table, const Visit& visit) {
  const Ids<index_t> ids(table);
  const bool count_padding = table.plan->mode == GroupedMode::kMean && table.plan->padding >= 0;
  for (int64_t bag = 0; bag < table.bags; ++bag) {
    const auto [from, to] = ids.bag(bag);
    int64_t count = to - from;
    if (count_padding) {
      for (int64_t i = from; i < to; ++i) count -= *ids.at(bag, i) == table.plan->padding;
    }
    for (int64_t i = from; i < to; ++i) {
      const int64_t id = ids.checked(bag, i);
      if (id == table.plan->padding) continue;
      visit(bag, count, i, id);
    }
  }
}

// Places of a table's ids, in the order in which they are added up; empty: as they are.
struct AddingOrder {
  at::Tensor places;         // int64
  std::vector<int64_t> bag;  // of each place
};

// Whether a row is named three times or more: the sum of two gradients has no order.
template <typename index_t>
bool named_thrice(const TableCall& table) {
  const size_t mask = std::bit_ceil(static_cast<size_t>(2 * table.num_ids + 1)) - 1;
  std::vector<std::pair<int64_t, int>> found(mask + 1, {-1, 0});
  bool thrice = false;
  visit_ids<index_t>(table, [&](int64_t, int64_t, int64_t, int64_t id) {
    size_t at = static_cast<size_t>(id) * 0x9E3779B97F4A7C15u >> 20 & mask;
    while (found[at].first >= 0 && found[at].first != id) at = (at + 1) & mask;
    found[at].first = id;
    thrice |= ++found[at].second > 2;
  });
  return thrice;
}

// torch sorts the ids of its bags, and adds up what a row gets in the order in which that leaves
// them, which is not that of the ids: its sort is not stable.
template <typename index_t>
AddingOrder adding_order(const TableCall& table) {
  if (table.num_ids < 3 || !named_thrice<index_t>(table)) return {};
  const Ids<index_t> ids(table);
  AddingOrder order;
  order.bag.reserve(table.num_ids);
  at::Tensor flat = at::empty({table.num_ids}, at::CppTypeToScalarType<index_t>::value);
  index_t* const out = flat.mutable_data_ptr<index_t>();
  for (int64_t bag = 0; bag < table.bags; ++bag) {
    const auto [from, to] = ids.bag(bag);
    for (int64_t i = from; i < to; ++i) {
      out[order.bag.size()] = *ids.at(bag, i);
      order.bag.push_back(bag);
    }
  }
  // What no bag has, as behind the last offset, torch would not have sorted either.
  const auto listed = static_cast<int64_t>(order.bag.size());
  order.places = std::get<1>(at::sort(flat.narrow(0, 0, listed), 0));
  return order;
}

template <typename scalar_t>
void add_scaled(scalar_t* __restrict__ row, const scalar_t* __restrict__ grad, int64_t dim,
                typename Sum<scalar_t>::scalar scale) {
  using scalar = typename Sum<scalar_t>::scalar;
  int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    store(row + d, load(row + d) + scale * load(grad + d));
  }
  for (; d < dim; ++d) {
    row[d] =
        static_cast<scalar_t>(static_cast<scalar>(row[d]) + scale * static_cast<scalar>(grad[d]));
  }
}

// Has pages that are not there yet mapped to be written. Reading first would map a page of zeros,
// to be exchanged at the write, of which all processors must be told.
void map_to_write(void* row, int64_t bytes) {
  __atomic_fetch_or(static_cast<char*>(row), 0, __ATOMIC_RELAXED);
  __atomic_fetch_or(static_cast<char*>(row) + bytes - 1, 0, __ATOMIC_RELAXED);
}

// Calls visit as visit_ids does, in an order.
template <typename index_t, typename Visit>
void visit_in_order(const TableCall& table, const AddingOrder& order, const Visit& visit) {
  const Ids<index_t> ids(table);
  const bool count_padding = table.plan->mode == GroupedMode::kMean && table.plan->padding >= 0;
  const int64_t* const places = order.places.const_data_ptr<int64_t>();
  for (int64_t k = 0; k < order.places.numel(); ++k) {
    const int64_t place = places[k], bag = order.bag[place];
    const auto [from, to] = ids.bag(bag);
    const int64_t i = table.bag_size >= 0 ? place - bag * table.bag_size : place;
    const int64_t id = *ids.at(bag, i);
    if (id == table.plan->padding) continue;
    int64_t count = to - from;
    if (count_padding) {
      for (int64_t j = from; j < to; ++j) count -= *ids.at(bag, j) == table.plan->padding;
    }
    visit(bag, count, i, id);
  }
}

// `mapped`: pages may not be there yet.
template <typename scalar_t, typename index_t>
void fill_rows(const TableCall& table, const AddingOrder& order, scalar_t* weight, int64_t begin,
               int64_t end, bool mapped) {
  using scalar = typename Sum<scalar_t>::scalar;
  const int64_t dim = table.dim;
  const scalar_t* const scales = static_cast<const scalar_t*>(table.sample_weights);
  const bool mean = table.plan->mode == GroupedMode::kMean;
  const auto add = [&](int64_t bag, int64_t count, int64_t i, int64_t id) {
    if (id < begin || id >= end) return;
    scalar scale = 1;
    if (scales) scale = scales[bag * table.sample_bag_stride + i * table.sample_stride];
    if (mean) scale /= static_cast<scalar>(count);
    const scalar_t* const grad =
        reinterpret_cast<const scalar_t*>(table.out) + bag * table.out_stride;
    if (mapped) map_to_write(weight + id * dim, dim * sizeof(scalar_t));
    add_scaled(weight + id * dim, grad, dim, scale);
  };
  if (order.places.defined()) {
    visit_in_order<index_t>(table, order, add);
  } else {
    visit_ids<index_t>(table, add);
  }
}

// Columns of the gradient of a maximum, which goes to the first row that holds it.
template <typename scalar_t, typename index_t>
void fill_max_columns(const TableCall& table, scalar_t* weight, int64_t begin, int64_t end) {
  const Ids<index_t> ids(table);
  const scalar_t* const values = static_cast<const scalar_t*>(table.weight);
  std::vector<int64_t> winner(end - begin);
  for (int64_t bag = 0; bag < table.bags; ++bag) {
    const auto [from, to] = ids.bag(bag);
    std::fill(winner.begin(), winner.end(), -1);
    for (int64_t i = from; i < to; ++i) {
      const int64_t id = ids.checked(bag, i);
      if (id == table.plan->padding) continue;
      for (int64_t d = begin; d < end; ++d) {
        int64_t& best = winner[d - begin];
        if (best < 0 || values[id * table.row_stride + d] > values[best * table.row_stride + d])
          best = id;
      }
    }
    const scalar_t* const grad =
        reinterpret_cast<const scalar_t*>(table.out) + bag * table.out_stride;
    for (int64_t d = begin; d < end; ++d) {
      if (winner[d - begin] >= 0) weight[winner[d - begin] * table.dim + d] += grad[d];
    }
  }
}

// d output / d per_sample_weight of an id is its row.
template <typename scalar_t, typename index_t>
void fill_sample_weights(const TableCall& table, const at::Tensor& gradient) {
  using scalar = typename Sum<scalar_t>::scalar;
  const int64_t bag_stride = table.bag_size >= 0 ? gradient.stride(0) : 0;
  const int64_t stride = gradient.stride(-1);
  scalar_t* const out = gradient.mutable_data_ptr<scalar_t>();
  const scalar_t* const values = static_cast<const scalar_t*>(table.weight);
  visit_ids<index_t>(table, [&](int64_t bag, int64_t, int64_t i, int64_t id) {
    const scalar_t* const grad =
        reinterpret_cast<const scalar_t*>(table.out) + bag * table.out_stride;
    const scalar_t* const row = values + id * table.row_stride;
    scalar dot = 0;
    for (int64_t d = 0; d < table.dim; ++d)
      dot += static_cast<scalar>(grad[d]) * static_cast<scalar>(row[d]);
    out[bag * bag_stride + i * stride] += static_cast<scalar_t>(dot);
  });
}

template <typename Run>
void dispatch(const TableCall& table, const Run& run) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, table.dtype,
                                  "grouped_embedding_backward", [&] {
                                    table.long_ids ? run.template operator()<scalar_t, int64_t>()
                                                   : run.template operator()<scalar_t, int32_t>();
                                  });
}

}  // namespace

void grouped_embedding_backward_cpu(const GroupedCall& call, const std::vector<at::Tensor>& weights,
                                    const std::vector<bool>& zero,
                                    const std::vector<at::Tensor>& sample_weights, int threads) {
  const std::vector<Stripe> work = stripes(call, weights, threads);
  for (const Stripe& stripe : work) {
    // The columns of a maximum share its rows' memory, so they are cleared before any is filled.
    const bool max = call.tables[stripe.table].plan->mode == GroupedMode::kMax;
    if (max && stripe.begin == 0 && !zero[stripe.table]) weights[stripe.table].zero_();
  }
  // Here, and not by several threads: how torch sorts depends on where it is called.
  std::vector<AddingOrder> orders(call.tables.size());
  for (size_t t = 0; t < orders.size(); ++t) {
    const TableCall& table = call.tables[t];
    const GroupedMode mode = table.plan->mode;
    if (!weights[t].defined() || (mode != GroupedMode::kSum && mode != GroupedMode::kMean))
      continue;
    orders[t] = table.long_ids ? adding_order<int64_t>(table) : adding_order<int32_t>(table);
  }
  share_out(work.size(), threads, [&](int64_t number) {
    const Stripe& stripe = work[number];
    const TableCall& table = call.tables[stripe.table];
    dispatch(table, [&]<typename scalar_t, typename index_t>() {
      scalar_t* const weight = weights[stripe.table].mutable_data_ptr<scalar_t>();
      if (table.plan->mode == GroupedMode::kMax) {
        fill_max_columns<scalar_t, index_t>(table, weight, stripe.begin, stripe.end);
        return;
      }
      if (!zero[stripe.table]) {
        std::memset(weight + stripe.begin * table.dim, 0,
                    (stripe.end - stripe.begin) * table.dim * sizeof(scalar_t));
      }
      fill_rows<scalar_t, index_t>(table, orders[stripe.table], weight, stripe.begin, stripe.end,
                                   zero[stripe.table]);
    });
  });
  // One table after the other where several share one tensor.
  share_out(sample_weights.size(), threads, [&](int64_t tensor) {
    if (!sample_weights[tensor].defined()) return;
    for (const TableCall& table : call.tables) {
      if (table.plan->weights.tensor != tensor || !table.bags) continue;
      const at::Tensor gradient = slice(table.plan->weights, sample_weights);
      dispatch(table, [&]<typename scalar_t, typename index_t>() {
        fill_sample_weights<scalar_t, index_t>(table, gradient);
      });
    }
  });
}

std::vector<int64_t> named_rows_cpu(const TableCall& table) {
  std::vector<int64_t> rows;
  std::vector<bool> seen(table.rows);
  const auto visit = [&](int64_t, int64_t, int64_t, int64_t id) {
    if (!seen[id]) rows.push_back(id);
    seen[id] = true;
  };
  table.long_ids ? visit_ids<int64_t>(table, visit) : visit_ids<int32_t>(table, visit);
  return rows;
}

std::pair<at::Tensor, at::Tensor> sparse_gradient_cpu(const TableCall& table) {
  at::Tensor rows = at::empty({table.num_ids}, at::kLong);
  at::Tensor values = at::empty({table.num_ids, table.dim}, at::TensorOptions(table.dtype));
  int64_t filled = 0;
  dispatch(table, [&]<typename scalar_t, typename index_t>() {
    using scalar = typename Sum<scalar_t>::scalar;
    int64_t* const row = rows.mutable_data_ptr<int64_t>();
    scalar_t* const value = values.mutable_data_ptr<scalar_t>();
    const scalar_t* const scales = static_cast<const scalar_t*>(table.sample_weights);
    const bool mean = table.plan->mode == GroupedMode::kMean;
    visit_ids<index_t>(table, [&](int64_t bag, int64_t count, int64_t i, int64_t id) {
      scalar scale = 1;
      if (scales) scale = scales[bag * table.sample_bag_stride + i * table.sample_stride];
      if (mean) scale /= static_cast<scalar>(count);
      const scalar_t* const grad =
          reinterpret_cast<const scalar_t*>(table.out) + bag * table.out_stride;
      for (int64_t d = 0; d < table.dim; ++d) {
        value[filled * table.dim + d] = static_cast<scalar_t>(scale * static_cast<scalar>(grad[d]));
      }
      row[filled++] = id;
    });
  });
  return {rows.narrow(0, 0, filled), values.narrow(0, 0, filled)};
}

}  // namespace mirror
