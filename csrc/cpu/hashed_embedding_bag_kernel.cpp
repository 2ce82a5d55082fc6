// CPU kernels of the hashed embedding bag: parallel over bags, each row hashed once per id.
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "../hash.h"
#include "../hashed_embedding_bag.h"

namespace mirror {
namespace {

// Elements (ids x dimension) one thread should have at least: about 20 µs of work.
constexpr int64_t kGrainElements = 16384;
// The backward splits its bags into at most so many parts, each with a private gradient buffer.
constexpr int64_t kMaxParts = 16;
// At least so many elements are scattered per slot of a private buffer: clearing one is not free.
constexpr int64_t kElementsPerSlot = 2;

template <typename index_t>
struct BagView {
  const index_t* ids;
  const int64_t* offsets;
  int64_t num_ids;
  int64_t num_bags;
  int64_t dim;

  explicit BagView(const HashedBags& bags)
      : ids(bags.indices.const_data_ptr<index_t>()),
        offsets(bags.offsets.const_data_ptr<int64_t>()),
        num_ids(bags.indices.numel()),
        num_bags(bags.offsets.numel()),
        dim(bags.embedding_dim) {}

  int64_t begin(int64_t bag) const { return offsets[bag]; }
  int64_t end(int64_t bag) const { return bag + 1 < num_bags ? offsets[bag + 1] : num_ids; }
  int64_t elements() const { return num_ids * dim; }

  // Bags per task, so that a task has kGrainElements on average.
  int64_t grain() const {
    const int64_t per_bag = std::max<int64_t>(1, elements() / std::max<int64_t>(1, num_bags));
    return std::max<int64_t>(1, kGrainElements / per_bag);
  }
};

// The inner loops are functions of their own: restrict on arguments is what lets them vectorize.
template <typename scalar_t>
void add_row(const scalar_t* __restrict__ weight, const int64_t* __restrict__ slots, int64_t dim,
             scalar_t* __restrict__ out) {
  for (int64_t d = 0; d < dim; ++d) out[d] += weight[slots[d]];
}

// As torch.max: a NaN wins, and of equals the first stays.
template <typename scalar_t>
void max_row(const scalar_t* __restrict__ weight, const int64_t* __restrict__ slots, int64_t dim,
             scalar_t* __restrict__ out, int64_t* __restrict__ winner) {
  for (int64_t d = 0; d < dim; ++d) {
    const scalar_t value = weight[slots[d]];
    const scalar_t best = out[d];
    const bool wins = (value > best) | ((value != value) & (best == best));
    out[d] = wins ? value : best;
    winner[d] = wins ? slots[d] : winner[d];
  }
}

template <typename scalar_t, typename index_t>
void pool_sum(const BagView<index_t>& bags, const SlotHasher& hasher, bool mean,
              const scalar_t* weight, scalar_t* output) {
  at::parallel_for(0, bags.num_bags, bags.grain(), [&](int64_t first, int64_t last) {
    std::vector<int64_t> slots(bags.dim);
    for (int64_t bag = first; bag < last; ++bag) {
      scalar_t* out = output + bag * bags.dim;
      std::fill_n(out, bags.dim, scalar_t(0));
      for (int64_t i = bags.begin(bag); i < bags.end(bag); ++i) {
        hasher.slots(bags.ids[i], slots.data());
        add_row(weight, slots.data(), bags.dim, out);
      }
      const int64_t count = bags.end(bag) - bags.begin(bag);
      if (mean && count > 1) {
        for (int64_t d = 0; d < bags.dim; ++d) out[d] /= static_cast<scalar_t>(count);
      }
    }
  });
}

template <typename scalar_t, typename index_t>
void pool_max(const BagView<index_t>& bags, const SlotHasher& hasher, const scalar_t* weight,
              scalar_t* output, int64_t* winners) {
  at::parallel_for(0, bags.num_bags, bags.grain(), [&](int64_t first, int64_t last) {
    std::vector<int64_t> slots(bags.dim);
    for (int64_t bag = first; bag < last; ++bag) {
      scalar_t* out = output + bag * bags.dim;
      int64_t* winner = winners + bag * bags.dim;
      const int64_t start = bags.begin(bag);
      if (start == bags.end(bag)) {
        std::fill_n(out, bags.dim, scalar_t(0));
        std::fill_n(winner, bags.dim, int64_t{-1});
        continue;
      }
      hasher.slots(bags.ids[start], winner);
      for (int64_t d = 0; d < bags.dim; ++d) out[d] = weight[winner[d]];
      for (int64_t i = start + 1; i < bags.end(bag); ++i) {
        hasher.slots(bags.ids[i], slots.data());
        max_row(weight, slots.data(), bags.dim, out, winner);
      }
    }
  });
}

// Bags of parts 0 .. parts-1 such that each part has about the same number of ids.
template <typename index_t>
std::vector<int64_t> split_bags(const BagView<index_t>& bags, int64_t parts) {
  std::vector<int64_t> bounds(parts + 1, bags.num_bags);
  bounds[0] = 0;
  for (int64_t p = 1; p < parts; ++p) {
    const int64_t* found =
        std::lower_bound(bags.offsets, bags.offsets + bags.num_bags, bags.num_ids / parts * p);
    bounds[p] = found - bags.offsets;
  }
  return bounds;
}

template <typename scalar_t, typename index_t>
void scatter(const BagView<index_t>& bags, const SlotHasher& hasher, bool mean, int64_t first,
             int64_t last, const scalar_t* grad, scalar_t* target) {
  std::vector<int64_t> slots(bags.dim);
  std::vector<scalar_t> share(bags.dim);
  for (int64_t bag = first; bag < last; ++bag) {
    const int64_t count = bags.end(bag) - bags.begin(bag);
    const scalar_t divisor = mean ? static_cast<scalar_t>(count) : scalar_t(1);
    for (int64_t d = 0; d < bags.dim; ++d) share[d] = grad[bag * bags.dim + d] / divisor;
    for (int64_t i = bags.begin(bag); i < bags.end(bag); ++i) {
      hasher.slots(bags.ids[i], slots.data());
      for (int64_t d = 0; d < bags.dim; ++d) target[slots[d]] += share[d];
    }
  }
}

template <typename scalar_t, typename index_t>
void backward_sum(const BagView<index_t>& bags, const SlotHasher& hasher, bool mean,
                  int64_t num_slots, const scalar_t* grad, scalar_t* target) {
  // A function of the sizes alone: the number of threads must not change the result.
  const int64_t by_work = bags.elements() / kGrainElements;
  const int64_t by_memory = bags.elements() / kElementsPerSlot / num_slots;
  const int64_t parts = std::min({kMaxParts, by_work, by_memory});
  if (parts <= 1) {
    scatter(bags, hasher, mean, 0, bags.num_bags, grad, target);
    return;
  }
  const std::vector<int64_t> bounds = split_bags(bags, parts);
  std::vector<std::vector<scalar_t>> buffers(parts);
  at::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      buffers[p].assign(num_slots, scalar_t(0));
      scatter(bags, hasher, mean, bounds[p], bounds[p + 1], grad, buffers[p].data());
    }
  });
  at::parallel_for(0, num_slots, kGrainElements, [&](int64_t first, int64_t last) {
    for (const auto& buffer : buffers) {
      for (int64_t s = first; s < last; ++s) target[s] += buffer[s];
    }
  });
}

// Calls `kernel(BagView<index_t>)` for the index type at hand.
template <typename F>
void with_indices(const HashedBags& bags, const F& kernel) {
  if (bags.indices.scalar_type() == at::kInt) {
    kernel(BagView<int32_t>(bags));
  } else {
    kernel(BagView<int64_t>(bags));
  }
}

}  // namespace

void hashed_embedding_bag_cpu(const HashedBags& bags, const at::Tensor& weight,
                              const at::Tensor& output, const at::Tensor& winners) {
  const SlotHasher hasher(bags.embedding_dim, bags.num_slots);
  AT_DISPATCH_FLOATING_TYPES(weight.scalar_type(), "hashed_embedding_bag", [&] {
    const scalar_t* source = weight.const_data_ptr<scalar_t>();
    scalar_t* target = output.mutable_data_ptr<scalar_t>();
    with_indices(bags, [&](const auto& view) {
      if (bags.mode == Pooling::kMax) {
        pool_max(view, hasher, source, target, winners.mutable_data_ptr<int64_t>());
      } else {
        pool_sum(view, hasher, bags.mode == Pooling::kMean, source, target);
      }
    });
  });
}

at::Tensor hashed_embedding_bag_backward_cpu(const HashedBags& bags, const at::Tensor& grad) {
  const SlotHasher hasher(bags.embedding_dim, bags.num_slots);
  at::Tensor target = at::zeros({bags.num_slots}, grad.options());
  AT_DISPATCH_FLOATING_TYPES(grad.scalar_type(), "hashed_embedding_bag_backward", [&] {
    with_indices(bags, [&](const auto& view) {
      backward_sum(view, hasher, bags.mode == Pooling::kMean, bags.num_slots,
                   grad.const_data_ptr<scalar_t>(), target.mutable_data_ptr<scalar_t>());
    });
  });
  return target;
}

}  // namespace mirror
