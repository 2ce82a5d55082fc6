// What a lookup adds to a utility, and what an optimizer does to a weight: one text for the CPU and
// for kernels, with the same roundings on both.
//
// Where nothing is said, a compiler may fuse a product with a sum. On a GPU the operations below
// forbid it; a file for the CPU that includes this and updates weights has to forbid it itself.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "fiited/types.h"

namespace mirror::fiited {

#ifdef __CUDA_ARCH__
__device__ inline float sum_of(float a, float b) { return __fadd_rn(a, b); }
__device__ inline float product(float a, float b) { return __fmul_rn(a, b); }
__device__ inline float quotient(float a, float b) { return __fdiv_rn(a, b); }
__device__ inline float root(float a) { return __fsqrt_rn(a); }
__device__ inline float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
#else
MIRROR_HOST_DEVICE inline float sum_of(float a, float b) { return a + b; }
MIRROR_HOST_DEVICE inline float product(float a, float b) { return a * b; }
MIRROR_HOST_DEVICE inline float quotient(float a, float b) { return a / b; }
MIRROR_HOST_DEVICE inline float root(float a) { return std::sqrt(a); }
MIRROR_HOST_DEVICE inline float fused(float a, float b, float c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return a * b + c;  // as torch on a CPU that cannot
#endif
}
#endif

// -- utilities

// Length of a chunk's gradient, summed in double and at most the largest float. Squares of floats
// are exact in double, so that fusing changes nothing here.
MIRROR_HOST_DEVICE inline float length_of(const float* grad, int64_t width) {
  constexpr int64_t kLanes = 8;
  double lanes[kLanes] = {}, squares = 0;
  int64_t d = 0;
  for (; d + kLanes <= width; d += kLanes)
    for (int64_t i = 0; i < kLanes; ++i)
      lanes[i] += static_cast<double>(grad[d + i]) * static_cast<double>(grad[d + i]);
  for (int64_t i = 0; i < kLanes; ++i) squares += lanes[i];
  for (; d < width; ++d) squares += static_cast<double>(grad[d]) * static_cast<double>(grad[d]);
  const double length = std::sqrt(squares), most = FLT_MAX;
  return static_cast<float>(most < length ? most : length);
}

// What a row's `times` lookups add to a chunk's utility.
MIRROR_HOST_DEVICE inline float score_of(Score score, float times, float length) {
  if (score == Score::kFrequency) return times;
  return score == Score::kGradient ? length : product(times, length);
}

// -- optimizers

// The numbers of a step in float32, rounded as torch.optim rounds them.
struct Numbers {
  explicit Numbers(const Step& step);

  Rule rule;
  int64_t number;                 // of the step
  float minus_lr, eps;            // SGD and Adagrad
  float from_first, from_second;  // Adam: 1 - beta1, 1 - beta2
  float minus_step;               // Adam: - lr * sqrt(bias correction 2) / bias correction 1
};

// Slots that a chunk of `width` weights needs.
MIRROR_HOST_DEVICE inline int64_t slots_of(Rule rule, int64_t width) {
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

// The gradients below are of one weight.
MIRROR_HOST_DEVICE inline float after_sgd(const Numbers& n, float grad, float weight) {
  return fused(grad, n.minus_lr, weight);
}

MIRROR_HOST_DEVICE inline float after_adagrad(const Numbers& n, float grad, float weight,
                                              float& sum) {
  sum = fused(grad, grad, sum);
  return sum_of(weight, quotient(product(n.minus_lr, grad), sum_of(root(sum), n.eps)));
}

// Adds the mean of a chunk's squared gradient, and gives what the chunk's steps are divided by.
MIRROR_HOST_DEVICE inline float rowwise_scale(const Numbers& n, const float* grad, int64_t width,
                                              float& sum) {
  double squares = 0;
  for (int64_t d = 0; d < width; ++d) squares += static_cast<double>(grad[d]) * grad[d];
  sum = sum_of(sum, static_cast<float>(squares / static_cast<double>(width)));
  return sum_of(root(sum), n.eps);
}

MIRROR_HOST_DEVICE inline float after_rowwise_adagrad(const Numbers& n, float grad, float weight,
                                                      float scale) {
  return sum_of(weight, quotient(product(n.minus_lr, grad), scale));
}

// torch.optim.SparseAdam.
MIRROR_HOST_DEVICE inline float after_adam(const Numbers& n, float grad, float weight, float& first,
                                           float& second) {
  const float to_first = product(sum_of(grad, -first), n.from_first);
  const float to_second = product(sum_of(product(grad, grad), -second), n.from_second);
  first = sum_of(first, to_first);
  second = sum_of(second, to_second);
  return sum_of(weight, product(n.minus_step, quotient(first, sum_of(root(second), n.eps))));
}

}  // namespace mirror::fiited
