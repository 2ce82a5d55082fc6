// What the device kernels of the hashed embedding bag implement, and the arguments they may rely
// on.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "hashed/hash.h"

namespace torch {
class Library;
}

namespace mirror {

enum class Pooling { kSum, kMean, kMax };

// Which slot of the buffer holds which element of the virtual table; see hash.h.
struct HashedLayout {
  HashKind hash;
  uint64_t seed;  // mix64 only
  bool signs;     // mix64 only
  int64_t block;
  int64_t dim;
  int64_t num_slots;
};

// Checked arguments of one call. Where the device's kernels check values, those of indices and
// offsets are still to be checked, and num_ids is N.
struct HashedBags {
  HashedLayout layout;
  at::Tensor indices;  // (N,) int32 or int64, contiguous, each in [0, num_embeddings)
  at::Tensor offsets;  // (B,) or, with the end of the last bag, (B + 1,), int64, contiguous: starts
                       // at 0, never falls, ends at N or before; or undefined: each bag has
                       // `bag_size` ids
  at::Tensor sample_weights;  // (N,) contiguous, of the weight's type; or undefined
  int64_t num_embeddings;
  int64_t num_ids;  // where the last bag ends, N or before
  int64_t num_bags;
  int64_t bag_size;
  int64_t padding_idx;  // ids that take no part; -1 for none
  Pooling mode;
};

// Max pooling keeps a code of each element that won: its slot or, with signs, twice the slot plus
// one where the sign is minus. This is the codes' type.
inline at::ScalarType winner_type(int64_t num_slots, bool signs) {
  return num_slots <= (int64_t{1} << (signs ? 30 : 31)) - 1 ? at::kInt : at::kLong;
}

// The kernels of one kind of device.
struct HashedDevice {
  // Whether they check the values of indices, offsets and winners, which then are not read before:
  // the host would have to wait for a device.
  bool checks_values;

  // Fills `output` (B, D) from `weight` (num_slots,). For max also `winners` (B, D), where it is
  // not empty: the code that each output element came from, -1 in a bag without ids.
  void (*pool)(const HashedBags& bags, const at::Tensor& weight, const at::Tensor& output,
               const at::Tensor& winners);

  // Gradient (num_slots,) of sum or mean pooling for `grad` (B, D), contiguous.
  at::Tensor (*backward)(const HashedBags& bags, const at::Tensor& grad);

  // Gradient (N,) of the sample weights of sum or mean pooling; 0 for ids that take no part.
  at::Tensor (*sample_gradient)(const HashedBags& bags, const at::Tensor& grad,
                                const at::Tensor& weight);

  // Gradient (num_slots,) of max pooling for `grad` (B, D), contiguous.
  at::Tensor (*max_backward)(const at::Tensor& grad, const at::Tensor& winners, int64_t num_slots,
                             bool signs);
};

// Registers the ops with a library's dispatch key, to run on such a device.
void implement_hashed(torch::Library& library, const HashedDevice& device);

// Those of the CPU. The order of every addition depends on the arguments alone, not on the number
// of threads.
void hashed_embedding_bag_cpu(const HashedBags& bags, const at::Tensor& weight,
                              const at::Tensor& output, const at::Tensor& winners);
at::Tensor hashed_embedding_bag_backward_cpu(const HashedBags& bags, const at::Tensor& grad);
at::Tensor hashed_embedding_bag_sample_gradient_cpu(const HashedBags& bags, const at::Tensor& grad,
                                                    const at::Tensor& weight);
at::Tensor hashed_embedding_bag_max_backward_cpu(const at::Tensor& grad, const at::Tensor& winners,
                                                 int64_t num_slots, bool signs);

}  // namespace mirror
