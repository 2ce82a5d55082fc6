// The hashed embedding bag as the original project computes it (wanmeihuali/HashedEmbeddingBag),
// for comparison: a scalar loop with two 64-bit modulos per element, the slot of every element kept
// for the backward, and a backward that sorts them. Called from
// bench_engine/kernels/hashed/hashed_original.py, which checks what is not checked here.
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>

#include "hashed/hash.h"

namespace mirror {
namespace {

using at::Tensor;

// Elements that one thread should have at least: the grain of torch's own embedding bag.
constexpr int64_t kGrainElements = 32768;

// Bag b holds ids[begin(b)] .. ids[end(b) - 1].
struct Bags {
  const int64_t* offsets;
  int64_t count;
  int64_t num_ids;

  int64_t begin(int64_t b) const { return offsets[b]; }
  int64_t end(int64_t b) const { return b + 1 < count ? offsets[b + 1] : num_ids; }
};

Bags bags_of(const Tensor& offsets, int64_t num_ids) {
  return {offsets.const_data_ptr<int64_t>(), offsets.numel(), num_ids};
}

// The same, in bags.
int64_t grain_of(const Bags& bags, int64_t dim) {
  const int64_t per_bag = std::max<int64_t>(1, bags.num_ids / std::max<int64_t>(1, bags.count));
  return std::max<int64_t>(1, kGrainElements / (per_bag * dim));
}

template <typename index_t>
void check_ids(const index_t* ids, int64_t count, int64_t num_embeddings) {
  const index_t* wrong =
      std::find_if(ids, ids + count, [&](index_t id) { return id < 0 || id >= num_embeddings; });
  TORCH_CHECK_INDEX(wrong == ids + count, "index ", *wrong, " at position ", wrong - ids,
                    " is out of range: ids of this table run from 0 to ", num_embeddings - 1);
}

int64_t slot_of(uint64_t row, uint64_t d, uint64_t num_slots) {
  return static_cast<int64_t>(reference_hash(row, d) % num_slots);
}

// Sum or mean. `slots` is (ids, D) or null.
template <typename scalar_t, typename index_t>
void add_up(const scalar_t* weight, int64_t num_slots, const index_t* ids, const Bags& bags,
            int64_t dim, bool mean, scalar_t* output, int64_t* slots) {
  at::parallel_for(0, bags.count, grain_of(bags, dim), [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      scalar_t* out = output + b * dim;
      std::fill(out, out + dim, scalar_t(0));
      for (int64_t i = bags.begin(b); i < bags.end(b); ++i) {
        for (int64_t d = 0; d < dim; ++d) {
          const int64_t slot = slot_of(ids[i], d, num_slots);
          out[d] += weight[slot];
          if (slots != nullptr) slots[i * dim + d] = slot;
        }
      }
      const int64_t size = bags.end(b) - bags.begin(b);
      if (!mean || size == 0) continue;
      for (int64_t d = 0; d < dim; ++d) out[d] /= static_cast<scalar_t>(size);
    }
  });
}

// Max: of equals the first, a NaN before all. `winners` is (bags, D), -1 in an empty bag, or null.
template <typename scalar_t, typename index_t>
void take_largest(const scalar_t* weight, int64_t num_slots, const index_t* ids, const Bags& bags,
                  int64_t dim, scalar_t* output, int64_t* winners) {
  at::parallel_for(0, bags.count, grain_of(bags, dim), [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      const int64_t begin = bags.begin(b);
      scalar_t* out = output + b * dim;
      int64_t* won = winners == nullptr ? nullptr : winners + b * dim;
      std::fill(out, out + dim, scalar_t(0));
      if (won != nullptr) std::fill(won, won + dim, int64_t(-1));
      for (int64_t i = begin; i < bags.end(b); ++i) {
        for (int64_t d = 0; d < dim; ++d) {
          const int64_t slot = slot_of(ids[i], d, num_slots);
          const scalar_t value = weight[slot];
          const bool wins = i == begin || (!(value <= out[d]) && !std::isnan(out[d]));
          out[d] = wins ? value : out[d];
          if (won != nullptr) won[d] = wins ? slot : won[d];
        }
      }
    }
  });
}

// `kept`: slots of all elements (ids, D), for max those of the winners (bags, D); empty where they
// are not wanted.
std::tuple<Tensor, Tensor> forward(const Tensor& weight, const Tensor& ids, const Tensor& offsets,
                                   int64_t num_embeddings, int64_t dim, std::string_view mode,
                                   bool wanted) {
  const Tensor buffer = weight.contiguous(), indices = ids.contiguous();
  const Tensor starts = offsets.to(at::kLong).contiguous();
  const Bags bags = bags_of(starts, indices.numel());
  const bool max = mode == "max";
  const Tensor output = at::empty({bags.count, dim}, weight.options());
  const int64_t rows_kept = max ? bags.count : bags.num_ids;
  const Tensor kept = at::empty({wanted ? rows_kept : 0, dim}, weight.options().dtype(at::kLong));
  int64_t* slots = wanted ? kept.mutable_data_ptr<int64_t>() : nullptr;
  AT_DISPATCH_INDEX_TYPES(indices.scalar_type(), "hashed_original", [&] {
    const index_t* rows = indices.const_data_ptr<index_t>();
    check_ids(rows, bags.num_ids, num_embeddings);
    AT_DISPATCH_FLOATING_TYPES(weight.scalar_type(), "hashed_original", [&] {
      const scalar_t* from = buffer.const_data_ptr<scalar_t>();
      scalar_t* to = output.mutable_data_ptr<scalar_t>();
      if (max) {
        take_largest(from, buffer.numel(), rows, bags, dim, to, slots);
      } else {
        add_up(from, buffer.numel(), rows, bags, dim, mode == "mean", to, slots);
      }
    });
  });
  return {output, kept};
}

// For each id, or for max each bag: which row of the gradient it has.
Tensor bag_of_each(const Bags& bags, bool max) {
  const Tensor bag = at::empty({max ? bags.count : bags.num_ids}, at::kLong);
  int64_t* to = bag.mutable_data_ptr<int64_t>();
  for (int64_t b = 0; b < bags.count; ++b) {
    if (max) {
      to[b] = b;
    } else {
      std::fill(to + bags.begin(b), to + bags.end(b), b);
    }
  }
  return bag;
}

// The gradient of the weight: equal slots become neighbours by a sort, and each run is added up.
Tensor backward(const Tensor& grad, const Tensor& kept, const Tensor& offsets, int64_t num_slots,
                std::string_view mode) {
  const int64_t dim = grad.size(1), count = kept.numel();
  const bool max = mode == "max", mean = mode == "mean";
  const Tensor upper = grad.contiguous(), starts = offsets.to(at::kLong).contiguous();
  const Bags bags = bags_of(starts, max ? 0 : kept.size(0));
  const Tensor bag_of = bag_of_each(bags, max);
  const auto [sorted, order] = at::sort(kept.view(-1), /*stable=*/true, /*dim=*/0,
                                        /*descending=*/false);
  const int64_t* slot = sorted.const_data_ptr<int64_t>();
  const int64_t* element = order.const_data_ptr<int64_t>();
  const int64_t* bag = bag_of.const_data_ptr<int64_t>();
  const Tensor target = at::zeros({num_slots}, grad.options());
  AT_DISPATCH_FLOATING_TYPES(grad.scalar_type(), "hashed_original_backward", [&] {
    const scalar_t* from = upper.const_data_ptr<scalar_t>();
    scalar_t* to = target.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, count, kGrainElements, [&](int64_t first, int64_t last) {
      int64_t i = first;
      while (i > 0 && i < last && slot[i] == slot[i - 1]) ++i;  // a run is of whom it begins with
      while (i < last) {
        const int64_t run = slot[i];
        double sum = 0;
        for (; i < count && slot[i] == run; ++i) {
          const int64_t b = bag[element[i] / dim];
          const scalar_t part = from[b * dim + element[i] % dim];
          sum += mean ? part / static_cast<scalar_t>(bags.end(b) - bags.begin(b)) : part;
        }
        if (run >= 0) to[run] = static_cast<scalar_t>(sum);
      }
    });
  });
  return target;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(mirror, m) {
  m.def(
      "hashed_original(Tensor weight, Tensor ids, Tensor offsets, int num_embeddings, "
      "int embedding_dim, str mode, bool kept_wanted) -> (Tensor output, Tensor kept)");
  m.def(
      "hashed_original_backward(Tensor grad, Tensor kept, Tensor offsets, int num_slots, "
      "str mode) -> Tensor");
}

TORCH_LIBRARY_IMPL(mirror, CPU, m) {
  m.impl("hashed_original", &forward);
  m.impl("hashed_original_backward", &backward);
}

}  // namespace mirror
