// The kernels of the hashed embedding bag over a range of bags, compiled once per instruction set.
// Plain pointers, so that no code of torch is compiled for a CPU that may not be this one.
#pragma once

#include <cstdint>
#include <vector>

#include "hashed/hash.h"

namespace mirror::hashed {

enum class Element { kFloat, kDouble, kBFloat16, kHalf };
enum class Pool { kSum, kMean, kMax };

// How a row's slots are found: a code for each of its `codes` places, the slot or, with signs,
// twice the slot plus one where the sign is minus.
struct Layout {
  HashKind hash;
  uint64_t seed;
  bool signs;
  bool narrow;        // codes are int32
  bool whole_blocks;  // a code is where a block starts; else each element has a code of its own
  int64_t block, dim, num_slots;
  int64_t blocks;  // per row
  int64_t stride;  // codes per row, with those that only fill the last vector

  // For the reference hash: with T[b] = b * kDimFactor mod P, h(row, b) is h(row, 0) + T[b], less P
  // where that reaches P, as long as the 64-bit sum does not wrap. Slots follow by the same add and
  // conditional subtract modulo num_slots.
  uint64_t no_wrap;                   // rows from here on take the formula as it stands
  std::vector<int64_t> limit;         // hashes from here on reach P when T[b] is added
  std::vector<int64_t> step;          // T[b] modulo num_slots
  std::vector<int64_t> wrapped_step;  // (T[b] - P) modulo num_slots

  Layout(HashKind hash, uint64_t seed, bool signs, int64_t block, int64_t dim, int64_t num_slots);
};

// One call. The element type is that of weight, grad, output, sample weights and their gradient;
// sums are in double for double and in float for the others.
struct Call {
  const Layout* layout;
  Element element;
  Pool mode;
  const void* ids;  // (num_ids,) int32 or int64
  bool narrow_ids;
  int64_t num_ids, num_bags;
  const int64_t* offsets;  // (num_bags,); or null: `bag_size` ids a bag
  int64_t bag_size;
  int64_t padding;             // ids that take no part; -1 for none
  const void* sample_weights;  // (num_ids,) or null
  const void* weight;          // (num_slots,)
  const void* grad;            // (num_bags, dim)

  int64_t row(int64_t id) const {
    return narrow_ids ? static_cast<const int32_t*>(ids)[id] : static_cast<const int64_t*>(ids)[id];
  }
  int64_t begin(int64_t bag) const { return offsets ? offsets[bag] : bag * bag_size; }
  int64_t end(int64_t bag) const {
    if (!offsets) return (bag + 1) * bag_size;
    return bag + 1 < num_bags ? offsets[bag + 1] : num_ids;
  }
};

struct Kernels {
  const char* name;
  // Sum or mean of bags [first, last) into output (num_bags, dim).
  void (*pool)(const Call&, int64_t first, int64_t last, void* output);
  // Their maximum; winners (num_bags, dim), of the type of codes, or null.
  void (*pool_max)(const Call&, int64_t first, int64_t last, void* output, void* winners);
  // Adds the gradients of the bags to those slots of target (num_slots,) that are in [low, high).
  void (*scatter)(const Call&, int64_t first, int64_t last, void* target, int64_t low,
                  int64_t high);
  // Gradient of the sample weights (num_ids,) of the bags.
  void (*sample_gradient)(const Call&, int64_t first, int64_t last, void* gradient);
};

// Those for the best instruction set that this CPU and the compiler have; MIRROR_SIMD=avx2 or
// portable asks for a lesser one.
const Kernels& kernels();

// Null where the compiler's target has no such instructions.
const Kernels* avx512_kernels();
const Kernels* avx2_kernels();
const Kernels* portable_kernels();

}  // namespace mirror::hashed
