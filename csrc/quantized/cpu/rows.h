// The kernels of quantized rows, compiled once per instruction set. Plain pointers, so that no code
// of torch is compiled for a CPU that may not be this one.
//
// A row is stored as
//   int8     its scale (bfloat16, 2 bytes), then D numbers q of a byte, -127 to 127
//   int4     its scale, then blocks of 16 numbers, -7 to 7, in 8 bytes: byte k has number k in its
//            low half and number k + 8 in its high one; the last block is filled with zeros
//   float16  D numbers of two bytes; there is no scale, which counts as 1
// and stands for the vector scale * q.
#pragma once

#include <cstdint>

namespace mirror::quantized {

enum class Kind { kInt8, kInt4, kFloat16 };

struct Format {
  Kind kind;
  int64_t dim;
  int64_t stride;  // bytes of a row

  static Format of(Kind kind, int64_t dim) {
    switch (kind) {
      case Kind::kInt8:
        return {kind, dim, 2 + dim};
      case Kind::kInt4:
        return {kind, dim, 2 + (dim + 15) / 16 * 8};
      default:
        return {kind, dim, 2 * dim};
    }
  }
};

// A table of rows, and which of them make the vector of an id: row `id`, or the element-wise
// product of rows `id mod R` and `R + id div R`.
struct Table {
  Format format;
  const uint8_t* rows;
  int64_t num_rows;
  int64_t remainders;  // R; 0 for one row an id

  const uint8_t* row(int64_t i) const { return rows + i * format.stride; }
  int64_t quotient(int64_t id) const {  // a short division is a quick one
    if ((static_cast<uint64_t>(id) | static_cast<uint64_t>(remainders)) >> 32) {
      return id / remainders;
    }
    return static_cast<uint32_t>(id) / static_cast<uint32_t>(remainders);
  }
};

// One call.
struct Bags {
  const int64_t* ids;      // (num_ids,)
  const int64_t* offsets;  // (num_bags,): where bags start; or null: `bag_size` ids a bag
  const float* samples;    // (num_ids,) factors, or null
  int64_t num_ids, num_bags, bag_size;
  int64_t padding;  // id that takes no part; -1 for none
  bool mean;

  int64_t begin(int64_t bag) const { return offsets ? offsets[bag] : bag * bag_size; }
  int64_t end(int64_t bag) const {
    if (!offsets) return (bag + 1) * bag_size;
    return bag + 1 < num_bags ? offsets[bag + 1] : num_ids;
  }
};

// What random numbers are drawn for: the same for the same four numbers, wherever and in whatever
// order it is drawn.
struct Draw {
  uint64_t seed;
  uint64_t step;   // its lower 32 bits count
  uint32_t table;  // below 2^24
  int64_t row;     // below 2^40
};

// What a step does to a row: w -= lr * g / d, with d = sqrt(sum) + eps for row-wise Adagrad, whose
// `sum` first gains the mean of g^2, and d = 1 for SGD, which has no sum. With `step_lr` the scale
// of a row of int8 or int4 is learned at that rate, by the same d, else the largest number says it.
struct Rule {
  float lr, eps;
  float step_lr = 0;
};

struct Kernels {
  const char* name;
  // Vectors of bags [first, last) into output (num_bags, dim).
  void (*pool)(const Table&, const Bags&, int64_t first, int64_t last, float* output);
  // A row as numbers (dim,).
  void (*read)(const Format&, const uint8_t* row, float* values);
  // Numbers as a row, each rounded up or down at random so that its expectation is the number.
  void (*write)(const Format&, const float* values, const Draw&, uint8_t* row);
  // A step of one row by its gradient (dim,); `room` has place for dim numbers.
  void (*update)(const Format&, const float* grad, const Rule&, const Draw&, float* sum,
                 float* room, uint8_t* row);
};

// Those for the best instruction set that this CPU and the compiler have; MIRROR_SIMD=avx2 or
// portable asks for a lesser one.
const Kernels& kernels();

// Null where the compiler's target has no such instructions.
const Kernels* avx512_kernels();
const Kernels* avx2_kernels();
const Kernels* portable_kernels();

}  // namespace mirror::quantized
