// What an optimizer does to one chunk.
#pragma once

#include <cstdint>

#include "fiited/formulas.h"

namespace mirror::fiited {

void update_chunk(const Numbers& numbers, const float* grad, int64_t width, float* weights,
                  float* slots);

// Adds a gradient times a scale; the product is rounded, as where torch makes sparse gradients.
void add_scaled(const float* grad, float scale, int64_t dim, float* sum);

// Length of a chunk's gradient, summed in double and at most the largest float.
float norm(const float* grad, int64_t width);

}  // namespace mirror::fiited
