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

#include "fiited_optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mirror::fiited {
namespace {

inline float fused(float a, float b, float c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return a * b + c;  // as torch on a CPU that cannot
#endif
}

void sgd(const Numbers& n, const float* __restrict__ grad, int64_t width, float* __restrict__ w) {
  for (int64_t d = 0; d < width; ++d) w[d] = fused(grad[d], n.minus_lr, w[d]);
}

void adagrad(const Numbers& n, const float* __restrict__ grad, int64_t width, float* __restrict__ w,
             float* __restrict__ sum) {
  for (int64_t d = 0; d < width; ++d) {
    sum[d] = fused(grad[d], grad[d], sum[d]);
    w[d] = w[d] + n.minus_lr * grad[d] / (std::sqrt(sum[d]) + n.eps);
  }
}

void rowwise_adagrad(const Numbers& n, const float* __restrict__ grad, int64_t width,
                     float* __restrict__ w, float* sum) {
  double squares = 0;
  for (int64_t d = 0; d < width; ++d) squares += static_cast<double>(grad[d]) * grad[d];
  *sum += static_cast<float>(squares / static_cast<double>(width));
  const float scale = std::sqrt(*sum) + n.eps;
  for (int64_t d = 0; d < width; ++d) w[d] = w[d] + n.minus_lr * grad[d] / scale;
}

// torch.optim.SparseAdam.
void adam(const Numbers& n, const float* __restrict__ grad, int64_t width, float* __restrict__ w,
          float* __restrict__ first, float* __restrict__ second) {
  for (int64_t d = 0; d < width; ++d) {
    const float to_first = (grad[d] - first[d]) * n.from_first;
    const float to_second = (grad[d] * grad[d] - second[d]) * n.from_second;
    first[d] = first[d] + to_first;
    second[d] = second[d] + to_second;
    w[d] = w[d] + n.minus_step * (first[d] / (std::sqrt(second[d]) + n.eps));
  }
}

}  // namespace

Numbers::Numbers(const Step& step)
    : rule(step.rule),
      minus_lr(static_cast<float>(-step.lr)),
      eps(static_cast<float>(step.eps)),
      from_first(static_cast<float>(1 - step.beta1)),
      from_second(static_cast<float>(1 - step.beta2)) {
  const double n = static_cast<double>(step.number);
  minus_step = static_cast<float>(-step.lr * std::sqrt(1 - std::pow(step.beta2, n)) /
                                  (1 - std::pow(step.beta1, n)));
}

int64_t slots_of(Rule rule, int64_t width) {
  switch (rule) {
    case Rule::kSgd:
      return 0;
    case Rule::kAdagrad:
      return width;
    case Rule::kRowwiseAdagrad:
      return 1;
    case Rule::kAdam:
      return 2 * width;
  }
  return 0;
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
  for (int64_t d = 0; d < dim; ++d) sum[d] = sum[d] + scale * grad[d];
}

float norm(const float* grad, int64_t width) {
  constexpr int64_t kLanes = 8;
  double lanes[kLanes] = {}, squares = 0;
  int64_t d = 0;
  for (; d + kLanes <= width; d += kLanes)
    for (int64_t i = 0; i < kLanes; ++i)
      lanes[i] += static_cast<double>(grad[d + i]) * static_cast<double>(grad[d + i]);
  for (const double lane : lanes) squares += lane;
  for (; d < width; ++d) squares += static_cast<double>(grad[d]) * static_cast<double>(grad[d]);
  return static_cast<float>(
      std::min(std::sqrt(squares), static_cast<double>(std::numeric_limits<float>::max())));
}

}  // namespace mirror::fiited
