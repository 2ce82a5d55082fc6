// Schema, checks and dispatch of the hashed embedding bag. Gradients and fake kernels are
// registered from bench_engine/kernels/_hashed_ops.py.
#include "hashed_embedding_bag.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <string_view>
#include <tuple>

namespace mirror {
namespace {

using at::Tensor;

Pooling parse_mode(std::string_view mode) {
  if (mode == "sum") return Pooling::kSum;
  if (mode == "mean") return Pooling::kMean;
  if (mode == "max") return Pooling::kMax;
  TORCH_CHECK_VALUE(false, "mode must be sum, mean or max, not '", mode, "'");
}

bool is_index(const Tensor& t) {
  return t.scalar_type() == at::kInt || t.scalar_type() == at::kLong;
}

template <typename index_t>
void check_range(const Tensor& indices, int64_t num_embeddings) {
  const index_t* ids = indices.const_data_ptr<index_t>();
  const int64_t count = indices.numel();
  index_t low = 0, high = 0;
  for (int64_t i = 0; i < count; ++i) {  // without a branch, so that it runs in vector registers
    low = ids[i] < low ? ids[i] : low;
    high = ids[i] > high ? ids[i] : high;
  }
  if (low >= 0 && high < num_embeddings) return;
  for (int64_t i = 0; i < count; ++i) {
    TORCH_CHECK_INDEX(ids[i] >= 0 && ids[i] < num_embeddings, "index ", ids[i], " at position ", i,
                      " is out of range: ids of this table run from 0 to ", num_embeddings - 1);
  }
}

void check_offsets(const Tensor& offsets, int64_t num_indices) {
  const int64_t* at = offsets.const_data_ptr<int64_t>();
  const int64_t bags = offsets.numel();
  if (bags == 0) {
    TORCH_CHECK_VALUE(num_indices == 0, "there are ", num_indices,
                      " indices and no bag: offsets is empty");
    return;
  }
  TORCH_CHECK_VALUE(at[0] == 0, "offsets must start at 0, not at ", at[0]);
  for (int64_t b = 1; b < bags; ++b) {
    TORCH_CHECK_VALUE(at[b] >= at[b - 1], "offsets must not fall: ", at[b], " at position ", b,
                      " follows ", at[b - 1]);
  }
  TORCH_CHECK_VALUE(at[bags - 1] <= num_indices, "offset ", at[bags - 1], " at position ", bags - 1,
                    " runs past the ", num_indices, " indices");
}

HashedBags check_bags(const Tensor& indices, const Tensor& offsets, int64_t num_slots,
                      int64_t num_embeddings, int64_t embedding_dim, Pooling mode) {
  TORCH_CHECK_VALUE(indices.dim() == 1, "indices must have one dimension, not ", indices.dim());
  TORCH_CHECK_VALUE(offsets.dim() == 1, "offsets must have one dimension, not ", offsets.dim());
  TORCH_CHECK_TYPE(is_index(indices), "indices must be int32 or int64, not ",
                   indices.scalar_type());
  TORCH_CHECK_TYPE(is_index(offsets), "offsets must be int32 or int64, not ",
                   offsets.scalar_type());
  TORCH_CHECK_VALUE(indices.is_cpu() && offsets.is_cpu(),
                    "indices and offsets must be on the device of the weight, cpu");
  TORCH_CHECK_VALUE(num_embeddings >= 1 && embedding_dim >= 1,
                    "num_embeddings and embedding_dim must be at least 1, not ", num_embeddings,
                    " and ", embedding_dim);
  TORCH_CHECK_VALUE(num_slots >= 1 && num_slots < (int64_t{1} << 62),
                    "the weight must have at least one slot and fewer than 2^62, not ", num_slots);
  HashedBags bags{indices.contiguous(), offsets.to(at::kLong).contiguous(), num_slots,
                  embedding_dim, mode};
  check_offsets(bags.offsets, indices.numel());
  if (indices.scalar_type() == at::kInt) {
    check_range<int32_t>(bags.indices, num_embeddings);
  } else {
    check_range<int64_t>(bags.indices, num_embeddings);
  }
  return bags;
}

void check_float(const Tensor& t, const char* name) {
  TORCH_CHECK_TYPE(t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble, name,
                   " must be float32 or float64, not ", t.scalar_type());
}

std::tuple<Tensor, Tensor> forward(const Tensor& weight, const Tensor& indices,
                                   const Tensor& offsets, int64_t num_embeddings,
                                   int64_t embedding_dim, std::string_view mode) {
  TORCH_CHECK_VALUE(weight.dim() == 1, "weight must have one dimension, not ", weight.dim());
  check_float(weight, "weight");
  const HashedBags bags =
      check_bags(indices, offsets, weight.numel(), num_embeddings, embedding_dim, parse_mode(mode));
  const int64_t batch = offsets.numel();
  const Tensor output = at::empty({batch, embedding_dim}, weight.options());
  const Tensor winners = at::empty({bags.mode == Pooling::kMax ? batch : 0, embedding_dim},
                                   weight.options().dtype(at::kLong));
  hashed_embedding_bag_cpu(bags, weight.contiguous(), output, winners);
  return {output, winners};
}

Tensor backward(const Tensor& grad, const Tensor& indices, const Tensor& offsets, int64_t num_slots,
                int64_t num_embeddings, std::string_view mode) {
  TORCH_CHECK_VALUE(grad.dim() == 2 && grad.size(0) == offsets.numel(),
                    "grad must be (bags, embedding_dim) with ", offsets.numel(), " bags, not ",
                    grad.sizes());
  check_float(grad, "grad");
  const Pooling pooling = parse_mode(mode);
  TORCH_CHECK_VALUE(pooling != Pooling::kMax, "the gradient of max goes to its winners: use them");
  const HashedBags bags =
      check_bags(indices, offsets, num_slots, num_embeddings, grad.size(1), pooling);
  return hashed_embedding_bag_backward_cpu(bags, grad.contiguous());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(mirror, m) {
  m.def(
      "hashed_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, SymInt num_embeddings, "
      "SymInt embedding_dim, str mode) -> (Tensor output, Tensor winners)");
  m.def(
      "hashed_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, "
      "SymInt num_slots, SymInt num_embeddings, str mode) -> Tensor");
}

TORCH_LIBRARY_IMPL(mirror, CPU, m) {
  m.impl("hashed_embedding_bag", &forward);
  m.impl("hashed_embedding_bag_backward", &backward);
}

}  // namespace mirror
