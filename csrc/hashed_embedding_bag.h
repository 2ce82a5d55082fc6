// What the device kernels of the hashed embedding bag implement, and the arguments they may rely
// on.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace mirror {

enum class Pooling { kSum, kMean, kMax };

// Checked arguments of one call.
struct HashedBags {
  at::Tensor indices;  // (N,) int32 or int64, contiguous, each in [0, num_embeddings)
  at::Tensor offsets;  // (B,) int64, contiguous: starts at 0, never falls, ends at N or before
  int64_t num_slots;
  int64_t embedding_dim;
  Pooling mode;
};

// Fills `output` (B, D) from `weight` (num_slots,). For max also `winners` (B, D) int64: the slot
// each output element came from, -1 in an empty bag.
void hashed_embedding_bag_cpu(const HashedBags& bags, const at::Tensor& weight,
                              const at::Tensor& output, const at::Tensor& winners);

// Gradient (num_slots,) of sum or mean pooling for `grad` (B, D), contiguous. The order of every
// addition depends on the arguments alone, not on the number of threads.
at::Tensor hashed_embedding_bag_backward_cpu(const HashedBags& bags, const at::Tensor& grad);

}  // namespace mirror
