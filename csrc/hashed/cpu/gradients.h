// Gradients of bags: to the buffer and to the sample weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hashed/cpu/bags.h"
#include "hashed/cpu/distinct.h"

namespace mirror::hashed {
namespace {

template <typename T, typename code_t, bool signs>
class Gradients : public Bags<T, code_t, signs> {
 public:
  using Base = Bags<T, code_t, signs>;
  using typename Base::A;
  using typename Base::Run;
  using V = Vector<A>;

  explicit Gradients(const Call& call)
      : Base(call), grad_(static_cast<const T*>(call.grad)), share_(Base::padded_) {}

  // Adds the gradients of bags [first, last) to those slots of target that are in [low, high).
  void scatter(int64_t first, int64_t last, A* target, int64_t low, int64_t high) {
    const Slots slots{target, low, high, low == 0 && high == layout_.num_slots};
    // Blocks are added as fast as they would be summed by row.
    if (!layout_.whole_blocks) first = scatter_distinct(first, last, slots);
    std::vector<A> row(padded_);
    for_each_run(first, last, [&](int64_t bag, const Run& run) {
      if (run.opens) share_of(bag);
      for (int64_t i = 0; i < run.count; ++i) {
        if (skips(run.rows[i])) continue;
        const A* add = share_.data();
        if (run.sample_weights) {
          const A factor = widen(run.sample_weights[i]);
          for (int64_t d = 0; d < padded_; ++d) row[d] = share_[d] * factor;
          add = row.data();
        }
        scatter_row(run.codes + i * row_step_, add, slots);
      }
    });
  }

  void sample_gradient(int64_t first, int64_t last, T* gradient) {
    for_each_run(first, last, [&](int64_t bag, const Run& run) {
      if (run.opens) share_of(bag);
      for (int64_t i = 0; i < run.count; ++i) {
        V sum{};
        if (!skips(run.rows[i])) {
          for (int64_t d = 0; d < padded_; d += kLanes) {
            V product = Base::template elements<kLanes>(run, i, d) * load_raw<V>(share_.data() + d);
            // Nor may a NaN get in from behind the last dimension.
            for (int64_t k = layout_.dim - d; k < kLanes; ++k) product[k] = 0;
            sum += product;
          }
        }
        A total = 0;
        for (int64_t k = 0; k < kLanes; ++k) total += sum[k];
        gradient[run.first + i] = narrow<T>(total);
      }
    });
  }

 private:
  using Base::call_, Base::codes_, Base::for_each_run, Base::layout_, Base::members, Base::padded_,
      Base::place_step_, Base::row_step_, Base::sign_of, Base::skips;

  // Where gradients go: slots [low, high) of target.
  struct Slots {
    A* target;
    int64_t low, high;
    bool all;  // there are no others
  };

  static constexpr int64_t kFewIds = 64;  // not worth a table of their rows

  // Bags from `first` on, rows that come again summed before they are scattered; returns the bag
  // from which on too few do.
  int64_t scatter_distinct(int64_t first, int64_t last, const Slots& slots) {
    const int64_t ids = first < last ? call_.end(last - 1) - call_.begin(first) : 0;
    if (ids < kFewIds) return first;
    DistinctRows<A> distinct(padded_, ids);
    const T* sample_weights = static_cast<const T*>(call_.sample_weights);
    for (int64_t bag = first; bag < last; ++bag) {
      const int64_t begin = call_.begin(bag), end = call_.end(bag);
      if (begin == end) continue;
      bool in_vain = false;
      share_of(bag);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = call_.row(i);
        if (skips(row)) continue;
        distinct.add(row, share_.data(), sample_weights ? widen(sample_weights[i]) : A(1));
        if (!distinct.full()) continue;
        in_vain = distinct.in_vain();
        scatter_sums(distinct, slots);
      }
      if (in_vain) {
        scatter_sums(distinct, slots);
        return bag + 1;
      }
    }
    scatter_sums(distinct, slots);
    return last;
  }

  void scatter_sums(DistinctRows<A>& distinct, const Slots& slots) {
    for (int64_t from = 0; from < distinct.count(); from += codes_.capacity()) {
      const int64_t count = std::min(codes_.capacity(), distinct.count() - from);
      const code_t* codes = codes_.of_rows(distinct.rows() + from, count);
      for (int64_t i = 0; i < count; ++i) {
        scatter_row(codes + i * row_step_, distinct.sum(from + i), slots);
      }
    }
    distinct.clear();
  }

  // What each id of a bag has of its gradient, before sample weights.
  void share_of(int64_t bag) {
    const A count =
        call_.mode == Pool::kMean ? static_cast<A>(std::max<int64_t>(1, members(bag))) : A(1);
    const T* grad = grad_ + bag * layout_.dim;
    for (int64_t d = 0; d < layout_.dim; ++d) share_[d] = widen(grad[d]) / count;
  }

  MIRROR_INLINE void scatter_row(const code_t* codes, const A* add, const Slots& slots) const {
    if (layout_.whole_blocks) {
      scatter_blocks(codes, add, slots);
    } else if (slots.all) {
      scatter_all(codes, add, slots.target);
    } else {
      scatter_own(codes, add, slots);
    }
  }

  void scatter_all(const code_t* __restrict__ codes, const A* __restrict__ add,
                   A* __restrict__ target) const {
    for (int64_t d = 0; d < layout_.dim; ++d) {
      if constexpr (signs) {
        target[codes[d] >> 1] += add[d] * static_cast<A>(1 - 2 * (codes[d] & 1));
      } else {
        target[codes[d]] += add[d];
      }
    }
  }

  // Without branches: what belongs to another part is added to a number that nobody reads.
  void scatter_own(const code_t* codes, const A* add, const Slots& slots) const {
    A unread[kLanes] = {};
    const uint64_t size = static_cast<uint64_t>(slots.high - slots.low);
    for (int64_t d = 0; d < layout_.dim; ++d) {
      const int64_t slot = signs ? codes[d] >> 1 : codes[d];
      const A value = signs ? add[d] * static_cast<A>(1 - 2 * (codes[d] & 1)) : add[d];
      const bool own = static_cast<uint64_t>(slot - slots.low) < size;
      A* to = own ? slots.target + slot : unread + d % kLanes;
      *to += value;
    }
  }

  void scatter_blocks(const code_t* codes, const A* add, const Slots& slots) const {
    const int64_t num_slots = layout_.num_slots;
    for (int64_t b = 0, d = 0; d < layout_.dim; ++b, d += layout_.block) {
      const int64_t size = std::min(layout_.block, layout_.dim - d);
      const code_t code = codes[b * place_step_];
      const int64_t start = signs ? code >> 1 : code;
      const A sign = signs ? sign_of(code) : A(1);
      if (size % kLanes == 0 && start >= slots.low && start + size <= slots.high) [[likely]] {
        A* to = slots.target + start;
        for (int64_t k = 0; k < size; k += kLanes) {
          store_raw(to + k, load_raw<V>(to + k) + load_raw<V>(add + d + k) * sign);
        }
        continue;
      }
      const int64_t straight = std::min(size, num_slots - start);  // the rest goes on at slot 0
      add_between(add + d, straight, sign, start, slots);
      add_between(add + d + straight, size - straight, sign, 0, slots);
    }
  }

  // slots[start + k] += sign * add[k], for those that are in [low, high).
  static void add_between(const A* __restrict__ add, int64_t count, A sign, int64_t start,
                          const Slots& slots) {
    const int64_t from = std::max<int64_t>(0, slots.low - start);
    const int64_t to = std::min(count, slots.high - start);
    for (int64_t k = from; k < to; ++k) slots.target[start + k] += add[k] * sign;
  }

  const T* grad_;
  std::vector<A> share_;  // what each id of the bag at hand has of its gradient
};

}  // namespace
}  // namespace mirror::hashed
