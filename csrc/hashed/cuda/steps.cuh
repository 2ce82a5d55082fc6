// What every thread of the kernels of the hashed embedding bag does, and in which order the kernels
// run. A group of `lanes` threads works on a bag, or on an id: neighbours in the group take
// neighbours in the row, whose slots are neighbours too where blocks are longer than one.
#pragma once

#include <algorithm>
#include <limits>

#include "hashed/cuda/sums.cuh"

namespace mirror::hashed::cuda {

// Dimensions of one thread that share the hash of a row: lane, lane + lanes and so on.
constexpr int kTile = 4;

template <typename slot_t>
struct Tile {
  int64_t first;
  int lanes;
  int count;  // of the thread's dimensions that there are
  Place<slot_t> places[kTile];

  MIRROR_BOTH Tile(const Call& call, int64_t first) : first(first), lanes(call.lanes), count(0) {
#pragma unroll
    for (int k = 0; k < kTile; ++k) {
      if (dim(k) >= call.dim) continue;
      places[k] = Place<slot_t>(call, dim(k));
      count = k + 1;
    }
  }

  MIRROR_BOTH int64_t dim(int k) const { return first + int64_t{k} * lanes; }

  MIRROR_BOTH Found<slot_t> find(const Call& call, int k, int64_t id,
                                 const RowHash<slot_t>& row) const {
    return places[k].of(call, id, row, dim(k));
  }
};

// The code of a winner.
template <typename code_t>
MIRROR_BOTH code_t code_of(const Call& call, const Found<Slot<code_t>>& found) {
  const auto slot = static_cast<code_t>(found.slot);
  return call.signs ? static_cast<code_t>(slot * 2 + found.minus) : slot;
}

// --- forward
// --------------------------------------------------------------------------------------

constexpr int kAhead = 2;  // rows whose elements are on their way at once

// Sum or mean of a bag, added up in the order of its ids.
template <typename scalar_t, typename code_t>
struct PoolSums {
  Call call;
  scalar_t* output;  // (num_bags, dim)

  MIRROR_BOTH void operator()(int64_t group, int lane) const {
    using sum_t = Sum<scalar_t>;
    using slot_t = Slot<code_t>;
    const Bag bag = bag_of(call, group);
    const auto* const weight = static_cast<const scalar_t*>(call.weight);
    const auto* const factors = static_cast<const scalar_t*>(call.sample_weights);
    for (int64_t first = lane; first < call.dim; first += int64_t{kTile} * call.lanes) {
      const Tile<slot_t> tile(call, first);
      sum_t sums[kTile] = {};
      int64_t members = 0;
      for (int64_t i = bag.begin; i < bag.end; i += kAhead) {
        sum_t read[kAhead][kTile], factor[kAhead];
        bool counts[kAhead];
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
          const int64_t id = i + a < bag.end ? checked_id(call, i + a) : call.padding;
          counts[a] = i + a < bag.end && id != call.padding;
          if (!counts[a]) continue;
          factor[a] = factors ? static_cast<sum_t>(factors[i + a]) : sum_t(1);
          const RowHash<slot_t> row = hash_row<slot_t>(call, id);
#pragma unroll
          for (int k = 0; k < kTile; ++k) {
            if (k >= tile.count) continue;
            const Found<slot_t> found = tile.find(call, k, id, row);
            const auto value = static_cast<sum_t>(weight[found.slot]);
            read[a][k] = found.minus ? -value : value;
          }
        }
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
          if (!counts[a]) continue;
          ++members;
#pragma unroll
          for (int k = 0; k < kTile; ++k) {
            if (k < tile.count) sums[k] += read[a][k] * factor[a];
          }
        }
      }
      const sum_t divisor = call.mean ? static_cast<sum_t>(members > 1 ? members : 1) : sum_t(1);
#pragma unroll
      for (int k = 0; k < kTile; ++k) {
        if (k >= tile.count) continue;
        output[group * call.dim + tile.dim(k)] = static_cast<scalar_t>(sums[k] / divisor);
      }
    }
  }
};

// Maximum of a bag: a NaN wins, and of equals the first stays.
template <typename scalar_t, typename code_t>
struct PoolMaxima {
  Call call;
  scalar_t* output;  // (num_bags, dim)
  code_t* winners;   // (num_bags, dim) or null

  MIRROR_BOTH void operator()(int64_t group, int lane) const {
    using sum_t = Sum<scalar_t>;
    using slot_t = Slot<code_t>;
    const Bag bag = bag_of(call, group);
    const auto* const weight = static_cast<const scalar_t*>(call.weight);
    for (int64_t first = lane; first < call.dim; first += int64_t{kTile} * call.lanes) {
      const Tile<slot_t> tile(call, first);
      sum_t best[kTile] = {};
      code_t winner[kTile];
#pragma unroll
      for (int k = 0; k < kTile; ++k) winner[k] = code_t(-1);
      for (int64_t i = bag.begin; i < bag.end; ++i) {
        const int64_t id = checked_id(call, i);
        if (id == call.padding) continue;
        const RowHash<slot_t> row = hash_row<slot_t>(call, id);
#pragma unroll
        for (int k = 0; k < kTile; ++k) {
          if (k >= tile.count) continue;
          const Found<slot_t> found = tile.find(call, k, id, row);
          const auto read = static_cast<sum_t>(weight[found.slot]);
          const sum_t value = found.minus ? -read : read;
          const bool wins =
              winner[k] == code_t(-1) || value > best[k] || (value != value && best[k] == best[k]);
          if (!wins) continue;
          best[k] = value;
          winner[k] = code_of<code_t>(call, found);
        }
      }
#pragma unroll
      for (int k = 0; k < kTile; ++k) {
        if (k >= tile.count) continue;
        const int64_t to = group * call.dim + tile.dim(k);
        output[to] = static_cast<scalar_t>(best[k]);
        if (winners) winners[to] = winner[k];
      }
    }
  }
};

// --- gradients
// ------------------------------------------------------------------------------------

// Counts the ids of a bag that are not padding. As all bodies with partial and store: partial is of
// one thread of a group, and store gets the sum of its threads, added up in the order of a tree.
struct CountMembers {
  Call call;
  using sum_t = int64_t;

  MIRROR_BOTH int64_t partial(int64_t group, int lane) const {
    const Bag bag = bag_of(call, group);
    int64_t count = 0;
    for (int64_t i = bag.begin + lane; i < bag.end; i += call.lanes) {
      count += mirror::cuda::read_index(call.ids, call.long_ids, i) != call.padding;
    }
    return count;
  }

  MIRROR_BOTH void store(int64_t group, int64_t count) const { call.members[group] = count; }
};

// Gives the slots of some ids, neighbours, what they receive of the gradients of their bags.
template <typename scalar_t, typename code_t, typename Slots>
struct Scatter {
  Call call;
  Slots slots;           // called with a slot and what to add to it
  int64_t ids_of_group;  // one after the other

  MIRROR_BOTH void operator()(int64_t group, int lane) const {
    using sum_t = Sum<scalar_t>;
    using slot_t = Slot<code_t>;
    const auto* const grad = static_cast<const scalar_t*>(call.grad);
    const auto* const factors = static_cast<const scalar_t*>(call.sample_weights);
    const int64_t begin = group * ids_of_group;
    const int64_t end = begin + ids_of_group < call.num_ids ? begin + ids_of_group : call.num_ids;
    for (int64_t first = lane; first < call.dim; first += int64_t{kTile} * call.lanes) {
      const Tile<slot_t> tile(call, first);
      sum_t share[kTile];
      Bag bag{-1, 0, 0};
      for (int64_t i = begin; i < end; ++i) {
        if (i >= bag.end) {
          bag = bag_around(call, i, bag);
          if (bag.number == call.num_bags) break;  // behind the last bag
          const sum_t divisor = divisor_of<sum_t>(call, bag);
#pragma unroll
          for (int k = 0; k < kTile; ++k) {
            if (k >= tile.count) continue;
            share[k] = static_cast<sum_t>(grad[bag.number * call.dim + tile.dim(k)]) / divisor;
          }
        }
        const int64_t id = checked_id(call, i);
        if (id == call.padding) continue;
        const sum_t factor = factors ? static_cast<sum_t>(factors[i]) : sum_t(1);
        const RowHash<slot_t> row = hash_row<slot_t>(call, id);
#pragma unroll
        for (int k = 0; k < kTile; ++k) {
          if (k >= tile.count) continue;
          const Found<slot_t> found = tile.find(call, k, id, row);
          const sum_t value = share[k] * factor;
          slots(found.slot, found.minus ? -value : value);
        }
      }
    }
  }
};

// Gives the slots of winners the gradients of their elements; a group is one thread.
template <typename scalar_t, typename code_t, typename Slots>
struct ScatterWinners {
  const scalar_t* grad;
  const code_t* winners;
  Slots slots;
  int64_t num_slots;
  bool signs;

  MIRROR_BOTH void operator()(int64_t group, int) const {
    const code_t code = winners[group];
    if (code == code_t(-1)) return;
    const int64_t slot = signs ? code >> 1 : code;
    if (slot < 0 || slot >= num_slots) refuse_winner(group, code, num_slots);
    const auto value = static_cast<Sum<scalar_t>>(grad[group]);
    slots(static_cast<uint64_t>(slot), signs && (code & 1) ? -value : value);
  }
};

// The gradient of an id's sample weight: the dot product of its row and its share of the bag's
// gradient.
template <typename scalar_t, typename code_t>
struct DotRows {
  Call call;
  scalar_t* gradient;  // (num_ids,)
  using sum_t = Sum<scalar_t>;

  MIRROR_BOTH sum_t partial(int64_t group, int lane) const {
    using slot_t = Slot<code_t>;
    const Bag bag = bag_around(call, group);
    if (bag.number == call.num_bags) return 0;  // behind the last bag
    const int64_t id = checked_id(call, group);
    if (id == call.padding) return 0;
    const auto* const weight = static_cast<const scalar_t*>(call.weight);
    const auto* const grad = static_cast<const scalar_t*>(call.grad) + bag.number * call.dim;
    const sum_t divisor = divisor_of<sum_t>(call, bag);
    const RowHash<slot_t> row = hash_row<slot_t>(call, id);
    sum_t sum = 0;
    for (int64_t first = lane; first < call.dim; first += int64_t{kTile} * call.lanes) {
      const Tile<slot_t> tile(call, first);
#pragma unroll
      for (int k = 0; k < kTile; ++k) {
        if (k >= tile.count) continue;
        const Found<slot_t> found = tile.find(call, k, id, row);
        const auto value = static_cast<sum_t>(weight[found.slot]);
        sum += (found.minus ? -value : value) * (static_cast<sum_t>(grad[tile.dim(k)]) / divisor);
      }
    }
    return sum;
  }

  MIRROR_BOTH void store(int64_t group, sum_t sum) const {
    gradient[group] = static_cast<scalar_t>(sum);
  }
};

// --- the order of the kernels
// ---------------------------------------------------------------------
// `run` is how, each after what came before: launch(body, groups, lanes) calls body(group, lane)
// for so many groups of so many threads; launch_sums(body, groups, lanes) calls store of what the
// threads' partial add up to.

// Threads that keep a large GPU busy.
constexpr int64_t kBusyThreads = 1 << 17;
// Ids that one group scatters at most.
constexpr int64_t kMostIds = 8;

// Threads for each of so many rows: a tile for each thread or, where that leaves many of them
// without work, fewer elements.
inline int lanes_for(int64_t rows, int64_t dim) {
  int lanes = 1;
  while (lanes < kWarp && int64_t{lanes} * kTile < dim) lanes *= 2;
  while (lanes < kWarp && lanes < dim && rows * lanes < kBusyThreads) lanes *= 2;
  return lanes;
}

// Calls body(scalar_t(), code_t()) with the types of a call.
template <typename Body>
void with_types(Element element, bool narrow, const Body& body) {
  with_element(element,
               [&](auto scalar) { narrow ? body(scalar, int32_t()) : body(scalar, int64_t()); });
}

// Fills output (num_bags, dim) with sums or means.
template <typename Run>
void pool_sums(Run& run, Call call, void* output) {
  call.lanes = lanes_for(call.num_bags, call.dim);
  with_types(call.element, call.narrow, [&](auto scalar, auto code) {
    run.launch(
        PoolSums<decltype(scalar), decltype(code)>{call, static_cast<decltype(scalar)*>(output)},
        call.num_bags, call.lanes);
  });
}

// Fills output (num_bags, dim) with maxima, and winners (num_bags, dim), if not null, with codes.
template <typename Run>
void pool_maxima(Run& run, Call call, void* output, void* winners) {
  call.lanes = lanes_for(call.num_bags, call.dim);
  with_types(call.element, call.narrow, [&](auto scalar, auto code) {
    run.launch(
        PoolMaxima<decltype(scalar), decltype(code)>{call, static_cast<decltype(scalar)*>(output),
                                                     static_cast<decltype(code)*>(winners)},
        call.num_bags, call.lanes);
  });
}

// Fills call.members, if wanted.
template <typename Run>
void count_members(Run& run, Call call) {
  if (call.members == nullptr || call.num_bags == 0) return;
  call.lanes = 1;
  while (call.lanes < kWarp && call.lanes * call.num_bags < call.num_ids) call.lanes *= 2;
  run.launch_sums(CountMembers{call}, call.num_bags, call.lanes);
}

// Calls scatter(slots) with each of the kinds of slots that a gradient goes through, of which there
// are at most so many contributions.
template <typename scalar_t, typename Run, typename Body>
void to_slots(Run& run, const GradientPlace& to, int64_t contributions, const Body& scatter) {
  using sum_t = Sum<scalar_t>;
  if (!to.exact) return scatter(AddInAnyOrder<sum_t>{static_cast<sum_t*>(to.sums)});
  auto* const tops = static_cast<typename Bits<sum_t>::type*>(to.tops);
  const AddExactly<sum_t> exact{tops, to.limbs, exact_width(contributions)};
  scatter(FindTops<sum_t>{tops});
  scatter(exact);
  run.launch(Finish<scalar_t>{exact, static_cast<scalar_t*>(to.gradient)}, to.num_slots, 1);
}

// The gradient of the weight for that of sums or means.
template <typename Run>
void scatter_all(Run& run, Call call, const GradientPlace& to) {
  count_members(run, call);
  call.lanes = lanes_for(call.num_ids, call.dim);
  const int64_t of_group =
      std::clamp<int64_t>(call.num_ids * call.lanes / kBusyThreads, 1, kMostIds);
  const int64_t groups = (call.num_ids + of_group - 1) / of_group;
  with_types(call.element, call.narrow, [&](auto scalar, auto code) {
    using scalar_t = decltype(scalar);
    to_slots<scalar_t>(run, to, call.num_ids * call.dim, [&](auto slots) {
      run.launch(Scatter<scalar_t, decltype(code), decltype(slots)>{call, slots, of_group}, groups,
                 call.lanes);
    });
  });
}

// The gradient of the weight for that of maxima, `count` elements of `grad` and winners.
template <typename Run>
void scatter_winners(Run& run, Element element, bool narrow, const void* grad, const void* winners,
                     int64_t count, bool signs, const GradientPlace& to) {
  with_types(element, narrow, [&](auto scalar, auto code) {
    using scalar_t = decltype(scalar);
    using code_t = decltype(code);
    to_slots<scalar_t>(run, to, count, [&](auto slots) {
      run.launch(
          ScatterWinners<scalar_t, code_t, decltype(slots)>{static_cast<const scalar_t*>(grad),
                                                            static_cast<const code_t*>(winners),
                                                            slots, to.num_slots, signs},
          count, 1);
    });
  });
}

// Fills gradient (num_ids,), that of the sample weights.
template <typename Run>
void dot_rows(Run& run, Call call, void* gradient) {
  count_members(run, call);
  call.lanes = lanes_for(call.num_ids, call.dim);
  with_types(call.element, call.narrow, [&](auto scalar, auto code) {
    run.launch_sums(
        DotRows<decltype(scalar), decltype(code)>{call, static_cast<decltype(scalar)*>(gradient)},
        call.num_ids, call.lanes);
  });
}

}  // namespace mirror::hashed::cuda
