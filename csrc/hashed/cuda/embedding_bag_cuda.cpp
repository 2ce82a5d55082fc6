// The hashed embedding bag on CUDA tensors. Nothing here waits for the device or reads what lies
// there, and memory comes from torch alone, so calls can be captured in a CUDA graph.
#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <limits>

#include "hashed/cuda/launches.h"
#include "hashed/embedding_bag.h"

namespace mirror {
namespace {

using at::Tensor;
namespace cuda = hashed::cuda;

cudaStream_t stream_of(const Tensor& t) {
  return c10::cuda::getCurrentCUDAStream(t.device().index()).stream();
}

cuda::Element element_of(const Tensor& t) {
  switch (t.scalar_type()) {
    case at::kDouble:
      return cuda::Element::kDouble;
    case at::kBFloat16:
      return cuda::Element::kBFloat16;
    case at::kHalf:
      return cuda::Element::kHalf;
    default:
      return cuda::Element::kFloat;
  }
}

cuda::Call call_of(const HashedBags& bags, const Tensor& element) {
  const HashedLayout& layout = bags.layout;
  cuda::Call call{};
  call.hash = layout.hash;
  call.seed = layout.seed;
  call.block = layout.block;
  call.dim = layout.dim;
  call.num_slots = static_cast<uint64_t>(layout.num_slots);
  call.inverse = std::numeric_limits<uint64_t>::max() / call.num_slots;
  call.no_wrap = no_wrap_rows(static_cast<uint64_t>((layout.dim - 1) / layout.block + 1));
  call.prime_slots = kPrime % call.num_slots;
  call.ids = bags.indices.const_data_ptr();
  call.long_ids = bags.indices.scalar_type() == at::kLong;
  call.num_ids = bags.num_ids;
  if (bags.offsets.defined()) {
    call.offsets = bags.offsets.const_data_ptr<int64_t>();
    call.num_offsets = bags.offsets.numel();
  }
  if (bags.sample_weights.defined()) call.sample_weights = bags.sample_weights.const_data_ptr();
  call.num_bags = bags.num_bags;
  call.bag_size = bags.bag_size;
  call.num_embeddings = bags.num_embeddings;
  call.padding = bags.padding_idx;
  call.element = element_of(element);
  call.signs = layout.signs;
  call.mean = bags.mode == Pooling::kMean;
  call.narrow = winner_type(layout.num_slots, layout.signs) == at::kInt;
  return call;
}

// Room for the members of bags, where gradients need them: means of bags with padding.
Tensor room_for_members(cuda::Call& call, const Tensor& grad) {
  if (!call.mean || call.padding < 0) return {};
  const Tensor members = at::empty({call.num_bags}, grad.options().dtype(at::kLong));
  call.members = members.mutable_data_ptr<int64_t>();
  return members;
}

// Calls scatter(place), which adds so many numbers, and returns the gradient (num_slots,) that
// comes together there.
template <typename Scatter>
Tensor gradient_by(const Tensor& grad, int64_t num_slots, int64_t contributions,
                   const Scatter& scatter) {
  if (contributions == 0) return at::zeros({num_slots}, grad.options());
  const bool wide = grad.scalar_type() == at::kDouble;
  const auto zeros = [&](int64_t count, at::ScalarType type) {
    return at::zeros({count}, grad.options().dtype(type));
  };
  cuda::GradientPlace to{};
  to.num_slots = num_slots;
  to.exact = at::globalContext().deterministicAlgorithms();
  if (!to.exact) {
    const Tensor sums = zeros(num_slots, wide ? at::kDouble : at::kFloat);
    to.sums = sums.mutable_data_ptr();
    C10_CUDA_CHECK(scatter(to));
    return sums.to(grad.scalar_type());
  }
  const int64_t limbs_each = wide ? cuda::Bits<double>::kLimbs : cuda::Bits<float>::kLimbs;
  const Tensor tops = zeros(num_slots, wide ? at::kLong : at::kInt);
  const Tensor limbs = zeros(num_slots * limbs_each, at::kLong);
  const Tensor gradient = at::empty({num_slots}, grad.options());
  to.tops = tops.mutable_data_ptr();
  to.limbs = limbs.mutable_data_ptr<int64_t>();
  to.gradient = gradient.mutable_data_ptr();
  C10_CUDA_CHECK(scatter(to));
  return gradient;
}

void pool(const HashedBags& bags, const Tensor& weight, const Tensor& output,
          const Tensor& winners) {
  const c10::DeviceGuard guard(weight.device());
  cuda::Call call = call_of(bags, weight);
  call.weight = weight.const_data_ptr();
  void* const to = output.mutable_data_ptr();
  if (bags.mode != Pooling::kMax) {
    C10_CUDA_CHECK(cuda::launch_pool_sums(stream_of(weight), call, to));
  } else {
    void* const won = winners.numel() ? winners.mutable_data_ptr() : nullptr;
    C10_CUDA_CHECK(cuda::launch_pool_maxima(stream_of(weight), call, to, won));
  }
}

Tensor backward(const HashedBags& bags, const Tensor& grad) {
  const c10::DeviceGuard guard(grad.device());
  cuda::Call call = call_of(bags, grad);
  call.grad = grad.const_data_ptr();
  const Tensor members = room_for_members(call, grad);
  const int64_t contributions = bags.num_ids * bags.layout.dim;
  return gradient_by(grad, bags.layout.num_slots, contributions,
                     [&](const cuda::GradientPlace& to) {
                       return cuda::launch_scatter(stream_of(grad), call, to);
                     });
}

Tensor sample_gradient(const HashedBags& bags, const Tensor& grad, const Tensor& weight) {
  const c10::DeviceGuard guard(grad.device());
  cuda::Call call = call_of(bags, grad);
  call.grad = grad.const_data_ptr();
  call.weight = weight.const_data_ptr();
  const Tensor members = room_for_members(call, grad);
  const Tensor gradient = at::empty(bags.indices.sizes(), grad.options());
  if (bags.num_ids == 0) return gradient;
  C10_CUDA_CHECK(cuda::launch_dot_rows(stream_of(grad), call, gradient.mutable_data_ptr()));
  return gradient;
}

Tensor max_backward(const Tensor& grad, const Tensor& winners, int64_t num_slots, bool signs) {
  TORCH_CHECK_VALUE(winners.device() == grad.device(), "winners must be on the device of grad, ",
                    grad.device(), ", not on ", winners.device());
  const c10::DeviceGuard guard(grad.device());
  return gradient_by(grad, num_slots, grad.numel(), [&](const cuda::GradientPlace& to) {
    return cuda::launch_scatter_winners(stream_of(grad), element_of(grad),
                                        winners.scalar_type() == at::kInt, grad.const_data_ptr(),
                                        winners.const_data_ptr(), grad.numel(), signs, to);
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(mirror, CUDA, m) {
  implement_hashed(m, {true, &pool, &backward, &sample_gradient, &max_backward});
}

}  // namespace mirror
