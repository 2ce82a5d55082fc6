// The optimizers, with the very roundings of torch.optim: sums are fused with a product where torch
// fuses them (add_ with alpha, addcmul_), and nowhere else, so that a table of which nothing is
// pruned trains as torch.nn.EmbeddingBag does, bit for bit.
//
// Before all headers: what is inlined from them must have the same options.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off", "no-math-errno")
#endif

#include "fiited/cpu/optimizer.h"

namespace mirror::fiited {
namespace {

void sgd(const Numbers& n, const float* __restrict__ grad, int64_t width, float* __restrict__ w) {
  for (int64_t d = 0; d < width; ++d) w[d] = after_sgd(n, grad[d], w[d]);
}

void adagrad(const Numbers& n, const float* __restrict__ grad, int64_t width, float* __restrict__ w,
             float* __restrict__ sum) {
  for (int64_t d = 0; d < width; ++d) w[d] = after_adagrad(n, grad[d], w[d], sum[d]);
}

void rowwise_adagrad(const Numbers& n, const float* __restrict__ grad, int64_t width,
                     float* __restrict__ w, float* sum) {
  const float scale = rowwise_scale(n, grad, width, *sum);
  for (int64_t d = 0; d < width; ++d) w[d] = after_rowwise_adagrad(n, grad[d], w[d], scale);
}

void adam(const Numbers& n, const float* __restrict__ grad, int64_t width, float* __restrict__ w,
          float* __restrict__ first, float* __restrict__ second) {
  for (int64_t d = 0; d < width; ++d) w[d] = after_adam(n, grad[d], w[d], first[d], second[d]);
}

}  // namespace

Numbers::Numbers(const Step& step)
    : rule(step.rule),
      number(step.number),
      minus_lr(static_cast<float>(-step.lr)),
      eps(static_cast<float>(step.eps)),
      from_first(static_cast<float>(1 - step.beta1)),
      from_second(static_cast<float>(1 - step.beta2)) {
  const double n = static_cast<double>(step.number);
  minus_step = static_cast<float>(-step.lr * std::sqrt(1 - std::pow(step.beta2, n)) /
                                  (1 - std::pow(step.beta1, n)));
}

void update_chunk(const Numbers& numbers, const float* grad, int64_t width, float* weights,
                  float* slots) {
  switch (numbers.rule) {
    case Rule::kSgd:
      return sgd(numbers, grad, width, weights);
    case Rule::kAdagrad:
      return adagrad(numbers, grad, width, weights, slots);
    case Rule::kRowwiseAdagrad:
      return rowwise_adagrad(numbers, grad, width, weights, slots);
    case Rule::kAdam:
      return adam(numbers, grad, width, weights, slots, slots + width);
  }
}

void add_scaled(const float* __restrict__ grad, float scale, int64_t dim, float* __restrict__ sum) {
  for (int64_t d = 0; d < dim; ++d) sum[d] = sum_of(sum[d], product(scale, grad[d]));
}

float norm(const float* grad, int64_t width) { return length_of(grad, width); }

}  // namespace mirror::fiited
