// The kernels of quantized rows for one instruction set: included by a file that is compiled for it
// and names it. See rows.h for what they compute.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "quantized/cpu/formats.h"
#include "quantized/cpu/pooling.h"
#include "quantized/cpu/rows.h"

namespace mirror::quantized {
namespace {

// Calls body(F) for the format of a row.
template <typename Body>
MIRROR_INLINE void with_format(Kind kind, const Body& body) {
  switch (kind) {
    case Kind::kInt8:
      return body(Int8{});
    case Kind::kInt4:
      return body(Int4{});
    case Kind::kFloat16:
      return body(Float16{});
  }
}

void pool(const Table& table, const Bags& bags, int64_t first, int64_t last, float* output) {
  with_format(table.format.kind, [&](auto format) {
    using F = decltype(format);
    table.remainders ? pool_bags<F, true>(table, bags, first, last, output)
                     : pool_bags<F, false>(table, bags, first, last, output);
  });
}

void read(const Format& format, const uint8_t* row, float* values) {
  with_format(format.kind, [&](auto f) { read_row<decltype(f)>(row, format.dim, values); });
}

void write(const Format& format, const float* values, const Draw& draw, uint8_t* row) {
  with_format(format.kind, [&](auto f) { write_row<decltype(f)>(values, format.dim, draw, row); });
}

// Products that follow a sum are exact or divided first, so that a compiler that fuses changes no
// bit.
void update(const Format& format, const float* grad, const Rule& rule, const Draw& draw, float* sum,
            float* room, uint8_t* row) {
  double squares = 0;
  for (int64_t d = 0; d < format.dim; ++d) squares += static_cast<double>(grad[d]) * grad[d];
  // Nothing to learn, not even rounded anew; or finite gradients whose sum is not.
  if (squares == 0 || !std::isfinite(squares)) return;
  float divisor = 1;
  if (sum) {
    const double mean = squares / static_cast<double>(format.dim);
    constexpr double largest = std::numeric_limits<float>::max();
    *sum =
        std::min(*sum + static_cast<float>(std::min(mean, largest)), static_cast<float>(largest));
    divisor = std::sqrt(*sum) + rule.eps;
    if (divisor == 0) return;  // squares too small for a float, and no eps
  }
  read(format, row, room);
  for (int64_t d = 0; d < format.dim; ++d) room[d] -= rule.lr * grad[d] / divisor;
  if (rule.step_lr == 0 || format.kind == Kind::kFloat16) return write(format, room, draw, row);
  const float rate = rule.step_lr / divisor;
  format.kind == Kind::kInt8 ? write_learned<Int8>(room, grad, rate, format.dim, draw, row)
                             : write_learned<Int4>(room, grad, rate, format.dim, draw, row);
}

constexpr Kernels kernels_named(const char* name) { return {name, pool, read, write, update}; }

}  // namespace
}  // namespace mirror::quantized
