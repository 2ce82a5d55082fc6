// Schema, checks and dispatch of the hashed embedding bag. Gradients and fake kernels are
// registered from bench_engine/kernels/hashed/hashed_ops.py.
#include "hashed/embedding_bag.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace mirror {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;

Pooling parse_mode(std::string_view mode) {
  if (mode == "sum") return Pooling::kSum;
  if (mode == "mean") return Pooling::kMean;
  if (mode == "max") return Pooling::kMax;
  TORCH_CHECK_VALUE(false, "mode must be sum, mean or max, not '", mode, "'");
}

HashKind parse_hash(std::string_view hash) {
  if (hash == "reference") return HashKind::kReference;
  if (hash == "mix64") return HashKind::kMix64;
  TORCH_CHECK_VALUE(false, "hash must be reference or mix64, not '", hash, "'");
}

HashedLayout check_layout(std::string_view hash, int64_t seed, bool signs, int64_t block,
                          int64_t dim, int64_t num_slots) {
  const HashKind kind = parse_hash(hash);
  TORCH_CHECK_VALUE(!signs || kind == HashKind::kMix64, "the reference hash has no signs");
  TORCH_CHECK_VALUE(block >= 1, "block_size must be at least 1, not ", block);
  TORCH_CHECK_VALUE(dim >= 1, "embedding_dim must be at least 1, not ", dim);
  TORCH_CHECK_VALUE(num_slots >= 1 && num_slots < (int64_t{1} << 61),
                    "the weight must have at least one slot and fewer than 2^61, not ", num_slots);
  return {kind, static_cast<uint64_t>(seed), signs, block, dim, num_slots};
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

void check_no_offsets(int64_t num_indices, bool include_last) {
  TORCH_CHECK_VALUE(!include_last,
                    "with include_last_offset, offsets hold at least the end of the last bag, and "
                    "these are empty");
  TORCH_CHECK_VALUE(num_indices == 0, "there are ", num_indices,
                    " indices and no bag: offsets is empty");
}

// Where the last bag ends.
int64_t check_offsets(const Tensor& offsets, int64_t num_indices, bool include_last) {
  const int64_t* at = offsets.const_data_ptr<int64_t>();
  const int64_t count = offsets.numel();
  if (count == 0) return 0;
  TORCH_CHECK_VALUE(at[0] == 0, "offsets must start at 0, not at ", at[0]);
  for (int64_t b = 1; b < count; ++b) {
    TORCH_CHECK_VALUE(at[b] >= at[b - 1], "offsets must not fall: ", at[b], " at position ", b,
                      " follows ", at[b - 1]);
  }
  TORCH_CHECK_VALUE(at[count - 1] <= num_indices, "offset ", at[count - 1], " at position ",
                    count - 1, " runs past the ", num_indices, " indices");
  return include_last ? at[count - 1] : num_indices;
}

// `element` is a tensor of the type and on the device of the weight.
HashedBags check_bags(const HashedDevice& device, const Tensor& indices, const Optional& offsets,
                      const Optional& sample_weights, const HashedLayout& layout,
                      int64_t num_embeddings, int64_t padding_idx, bool include_last, Pooling mode,
                      const Tensor& element) {
  TORCH_CHECK_TYPE(is_index(indices), "indices must be int32 or int64, not ",
                   indices.scalar_type());
  TORCH_CHECK_VALUE(indices.device() == element.device(),
                    "indices must be on the device of the weight, ", element.device(), ", not on ",
                    indices.device());
  TORCH_CHECK_VALUE(num_embeddings >= 1, "num_embeddings must be at least 1, not ", num_embeddings);
  TORCH_CHECK_VALUE(padding_idx >= -1 && padding_idx < num_embeddings,
                    "padding_idx must be an id of the table or -1 for none, not ", padding_idx);
  HashedBags bags{};
  bags.layout = layout;
  bags.indices = indices.contiguous();
  bags.num_embeddings = num_embeddings;
  bags.num_ids = indices.numel();
  bags.padding_idx = padding_idx;
  bags.mode = mode;
  if (offsets) {
    TORCH_CHECK_VALUE(indices.dim() == 1, "indices must have one dimension beside offsets, not ",
                      indices.dim());
    TORCH_CHECK_VALUE(offsets->dim() == 1, "offsets must have one dimension, not ", offsets->dim());
    TORCH_CHECK_TYPE(is_index(*offsets), "offsets must be int32 or int64, not ",
                     offsets->scalar_type());
    TORCH_CHECK_VALUE(offsets->device() == element.device(),
                      "offsets must be on the device of the weight, ", element.device(),
                      ", not on ", offsets->device());
    bags.offsets = offsets->to(at::kLong).contiguous();
    if (offsets->numel() == 0) check_no_offsets(indices.numel(), include_last);
    if (!device.checks_values) {
      bags.num_ids = check_offsets(bags.offsets, indices.numel(), include_last);
    }
    bags.num_bags = bags.offsets.numel() - (include_last ? 1 : 0);
  } else {
    TORCH_CHECK_VALUE(indices.dim() == 2,
                      "indices must have two dimensions, or one and offsets, not ", indices.dim());
    bags.num_bags = indices.size(0);
    bags.bag_size = indices.size(1);
  }
  if (sample_weights) {
    TORCH_CHECK_VALUE(mode != Pooling::kMax,
                      "per_sample_weights are for sum and mean, not for max");
    TORCH_CHECK_VALUE(sample_weights->sizes() == indices.sizes(),
                      "per_sample_weights must have the shape of the indices, ", indices.sizes(),
                      ", not ", sample_weights->sizes());
    TORCH_CHECK_TYPE(sample_weights->scalar_type() == element.scalar_type(),
                     "per_sample_weights must be ", element.scalar_type(), " as the weight, not ",
                     sample_weights->scalar_type());
    TORCH_CHECK_VALUE(sample_weights->device() == element.device(),
                      "per_sample_weights must be on the device of the weight, ", element.device(),
                      ", not on ", sample_weights->device());
    bags.sample_weights = sample_weights->contiguous();
  }
  if (device.checks_values) return bags;
  if (indices.scalar_type() == at::kInt) {
    check_range<int32_t>(bags.indices, num_embeddings);
  } else {
    check_range<int64_t>(bags.indices, num_embeddings);
  }
  return bags;
}

void check_element(const Tensor& t, const char* name) {
  const at::ScalarType type = t.scalar_type();
  TORCH_CHECK_TYPE(
      type == at::kFloat || type == at::kDouble || type == at::kBFloat16 || type == at::kHalf, name,
      " must be float32, float64, bfloat16 or float16, not ", type);
}

void check_grad(const Tensor& grad, const HashedBags& bags) {
  TORCH_CHECK_VALUE(grad.size(0) == bags.num_bags, "grad must be (bags, embedding_dim) with ",
                    bags.num_bags, " bags, not ", grad.sizes());
}

std::tuple<Tensor, Tensor> forward(const HashedDevice& device, const Tensor& weight,
                                   const Tensor& indices, const Optional& offsets,
                                   const Optional& sample_weights, int64_t num_embeddings,
                                   int64_t embedding_dim, std::string_view mode,
                                   std::string_view hash, int64_t seed, bool signs,
                                   int64_t block_size, int64_t padding_idx,
                                   bool include_last_offset, bool winners_wanted) {
  TORCH_CHECK_VALUE(weight.dim() == 1, "weight must have one dimension, not ", weight.dim());
  check_element(weight, "weight");
  const HashedLayout layout =
      check_layout(hash, seed, signs, block_size, embedding_dim, weight.numel());
  const HashedBags bags =
      check_bags(device, indices, offsets, sample_weights, layout, num_embeddings, padding_idx,
                 include_last_offset, parse_mode(mode), weight);
  const bool keep = bags.mode == Pooling::kMax && winners_wanted;
  const Tensor output = at::empty({bags.num_bags, embedding_dim}, weight.options());
  const Tensor winners = at::empty({keep ? bags.num_bags : 0, embedding_dim},
                                   weight.options().dtype(winner_type(weight.numel(), signs)));
  device.pool(bags, weight.contiguous(), output, winners);
  return {output, winners};
}

HashedBags check_backward(const HashedDevice& device, const Tensor& grad, const Tensor& indices,
                          const Optional& offsets, const Optional& sample_weights,
                          int64_t num_slots, int64_t num_embeddings, std::string_view mode,
                          std::string_view hash, int64_t seed, bool signs, int64_t block_size,
                          int64_t padding_idx, bool include_last_offset) {
  TORCH_CHECK_VALUE(grad.dim() == 2, "grad must be (bags, embedding_dim), not ", grad.sizes());
  check_element(grad, "grad");
  const Pooling pooling = parse_mode(mode);
  TORCH_CHECK_VALUE(pooling != Pooling::kMax, "the gradient of max goes to its winners: use them");
  const HashedLayout layout = check_layout(hash, seed, signs, block_size, grad.size(1), num_slots);
  const HashedBags bags =
      check_bags(device, indices, offsets, sample_weights, layout, num_embeddings, padding_idx,
                 include_last_offset, pooling, grad);
  check_grad(grad, bags);
  return bags;
}

Tensor backward(const HashedDevice& device, const Tensor& grad, const Tensor& indices,
                const Optional& offsets, const Optional& sample_weights, int64_t num_slots,
                int64_t num_embeddings, std::string_view mode, std::string_view hash, int64_t seed,
                bool signs, int64_t block_size, int64_t padding_idx, bool include_last_offset) {
  const HashedBags bags =
      check_backward(device, grad, indices, offsets, sample_weights, num_slots, num_embeddings,
                     mode, hash, seed, signs, block_size, padding_idx, include_last_offset);
  return device.backward(bags, grad.contiguous());
}

Tensor sample_gradient(const HashedDevice& device, const Tensor& grad, const Tensor& weight,
                       const Tensor& indices, const Optional& offsets, int64_t num_embeddings,
                       std::string_view mode, std::string_view hash, int64_t seed, bool signs,
                       int64_t block_size, int64_t padding_idx, bool include_last_offset) {
  TORCH_CHECK_VALUE(weight.dim() == 1 && weight.scalar_type() == grad.scalar_type() &&
                        weight.device() == grad.device(),
                    "weight must have one dimension, and the type and device of grad");
  const HashedBags bags =
      check_backward(device, grad, indices, offsets, std::nullopt, weight.numel(), num_embeddings,
                     mode, hash, seed, signs, block_size, padding_idx, include_last_offset);
  return device.sample_gradient(bags, grad.contiguous(), weight.contiguous());
}

Tensor max_backward(const HashedDevice& device, const Tensor& grad, const Tensor& winners,
                    int64_t num_slots, bool signs) {
  check_element(grad, "grad");
  TORCH_CHECK_VALUE(grad.dim() == 2 && grad.sizes() == winners.sizes(),
                    "grad must have the shape of the winners, ", winners.sizes(), ", not ",
                    grad.sizes());
  TORCH_CHECK_VALUE(num_slots >= 1, "the weight must have at least one slot, not ", num_slots);
  TORCH_CHECK_TYPE(winners.scalar_type() == winner_type(num_slots, signs),
                   "winners must be of the type that max pooling gives for this weight");
  return device.max_backward(grad.contiguous(), winners.contiguous(), num_slots, signs);
}

// The op, told which device's kernels to run.
template <typename Result, typename... Arguments>
auto on(const HashedDevice& device, Result (*op)(const HashedDevice&, Arguments...)) {
  return [device, op](Arguments... arguments) -> Result {
    return op(device, std::forward<Arguments>(arguments)...);
  };
}

}  // namespace

void implement_hashed(torch::Library& library, const HashedDevice& device) {
  library.impl("hashed_embedding_bag", on(device, &forward));
  library.impl("hashed_embedding_bag_backward", on(device, &backward));
  library.impl("hashed_embedding_bag_sample_gradient", on(device, &sample_gradient));
  library.impl("hashed_embedding_bag_max_backward", on(device, &max_backward));
}

TORCH_LIBRARY_FRAGMENT(mirror, m) {
  m.def(
      "hashed_embedding_bag(Tensor weight, Tensor indices, Tensor? offsets, "
      "Tensor? per_sample_weights, SymInt num_embeddings, SymInt embedding_dim, str mode, str "
      "hash, "
      "int seed, bool signs, int block_size, SymInt padding_idx, bool include_last_offset, "
      "bool winners_wanted) -> (Tensor output, Tensor winners)");
  m.def(
      "hashed_embedding_bag_backward(Tensor grad, Tensor indices, Tensor? offsets, "
      "Tensor? per_sample_weights, SymInt num_slots, SymInt num_embeddings, str mode, str hash, "
      "int seed, bool signs, int block_size, SymInt padding_idx, bool include_last_offset) -> "
      "Tensor");
  m.def(
      "hashed_embedding_bag_sample_gradient(Tensor grad, Tensor weight, Tensor indices, "
      "Tensor? offsets, SymInt num_embeddings, str mode, str hash, int seed, bool signs, "
      "int block_size, SymInt padding_idx, bool include_last_offset) -> Tensor");
  m.def(
      "hashed_embedding_bag_max_backward(Tensor grad, Tensor winners, SymInt num_slots, bool "
      "signs) "
      "-> Tensor");
}

TORCH_LIBRARY_IMPL(mirror, CPU, m) {
  implement_hashed(
      m, {false, &hashed_embedding_bag_cpu, &hashed_embedding_bag_backward_cpu,
          &hashed_embedding_bag_sample_gradient_cpu, &hashed_embedding_bag_max_backward_cpu});
}

}  // namespace mirror
