// What an optimizer does to one chunk.
#pragma once

#include <cstdint>

#include "../fiited_storage.h"

namespace mirror::fiited {

// The numbers of a step in float32, rounded as torch.optim rounds them.
struct Numbers {
  explicit Numbers(const Step& step);

  Rule rule;
  float minus_lr, eps;            // SGD and Adagrad
  float from_first, from_second;  // Adam: 1 - beta1, 1 - beta2
  float minus_step;               // Adam: - lr * sqrt(bias correction 2) / bias correction 1
};

// Slots that a chunk of `width` weights needs.
int64_t slots_of(Rule rule, int64_t width);

void update_chunk(const Numbers& numbers, const float* grad, int64_t width, float* weights,
                  float* slots);

// Adds a gradient times a scale; the product is rounded, as where torch makes sparse gradients.
void add_scaled(const float* grad, float scale, int64_t dim, float* sum);

// Length of a chunk's gradient, summed in double and at most the largest float.
float norm(const float* grad, int64_t width);

}  // namespace mirror::fiited
