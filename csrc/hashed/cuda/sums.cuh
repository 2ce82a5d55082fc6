// How gradients are added to slots that many threads meet at.
//
// By default with atomic additions of floating-point numbers, in whatever order they come. Where
// torch asks for determinism, as whole numbers, whose sum does not depend on the order:
//   1. FindTops finds the largest magnitude that each slot receives.
//   2. AddExactly adds what the slot receives in units that follow from it: as fine as the sum of
//      all possible contributions fits into 63 bits. For double there are two such numbers, the
//      second for what the first cuts off, so nothing is lost that a sum in double would keep.
//   3. Finish makes floating-point numbers of them.
// One unit for all slots would need no step 1 but cost slots that receive little their last bits
// beside one that receives much. Contributions are computed twice, so that they need not be kept.
// Where one of them is not finite, the slot's number holds which of NaN, inf and -inf came instead.
#pragma once

#include <cmath>
#include <cstring>

#include "hashed/cuda/call.cuh"

namespace mirror::hashed::cuda {

template <typename sum_t>
MIRROR_BOTH void add_atomically(sum_t* to, sum_t value) {
#ifdef __CUDA_ARCH__
  atomicAdd(to, value);
#else
  *to += value;
#endif
}

MIRROR_BOTH void add_atomically(int64_t* to, int64_t value) {
#ifdef __CUDA_ARCH__
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
#else
  *to += value;
#endif
}

MIRROR_BOTH void or_atomically(int64_t* to, int64_t bits) {
#ifdef __CUDA_ARCH__
  atomicOr(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(bits));
#else
  *to |= bits;
#endif
}

template <typename bits_t>
MIRROR_BOTH void raise_atomically(bits_t* to, bits_t value) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(bits_t) == 8) {
    atomicMax(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
  } else {
    atomicMax(to, value);
  }
#else
  *to = *to < value ? value : *to;
#endif
}

template <typename sum_t>
struct AddInAnyOrder {
  sum_t* sums;  // (num_slots,)

  MIRROR_BOTH void operator()(uint64_t slot, sum_t value) const {
    add_atomically(sums + slot, value);
  }
};

// The bits of a floating-point number, which are in the order of magnitudes once the sign is gone.
template <typename sum_t>
struct Bits;
template <>
struct Bits<float> {
  using type = uint32_t;
  static constexpr int kMantissa = 23, kBias = 127;
  static constexpr int kLimbs = 1;
};
template <>
struct Bits<double> {
  using type = uint64_t;
  static constexpr int kMantissa = 52, kBias = 1023;
  static constexpr int kLimbs = 2;
};

template <typename sum_t>
MIRROR_BOTH typename Bits<sum_t>::type magnitude_of(sum_t value) {
  typename Bits<sum_t>::type bits;
  memcpy(&bits, &value, sizeof bits);
  return bits << 1 >> 1;
}

template <typename sum_t>
MIRROR_BOTH constexpr typename Bits<sum_t>::type infinite() {
  using bits_t = typename Bits<sum_t>::type;
  return (~bits_t{0} >> (Bits<sum_t>::kMantissa + 1)) << Bits<sum_t>::kMantissa;
}

// The largest magnitude that each slot (num_slots,) receives; that of inf where it is not finite.
template <typename sum_t>
struct FindTops {
  using bits_t = typename Bits<sum_t>::type;
  bits_t* tops;  // zeros

  MIRROR_BOTH void operator()(uint64_t slot, sum_t value) const {
    const bits_t found = magnitude_of(value), most = infinite<sum_t>();
    const bits_t top = found < most ? found : most;
    if (top > tops[slot]) raise_atomically(tops + slot, top);  // what is read may be old, not wrong
  }
};

enum : int64_t { kNan = 1, kPositive = 2, kNegative = 4 };

template <typename sum_t>
struct AddExactly {
  using bits_t = typename Bits<sum_t>::type;
  static constexpr int kLimbs = Bits<sum_t>::kLimbs;
  const bits_t* tops;
  int64_t* limbs;  // (num_slots, kLimbs), zeros
  int width;       // bits of a contribution in each limb: as many as let no sum overflow

  // The power of two that contributions are multiplied with: their magnitudes are then below
  // 2^width.
  MIRROR_BOTH int scale(uint64_t slot) const {
    const int exponent = static_cast<int>(tops[slot] >> Bits<sum_t>::kMantissa);
    return width - (exponent - Bits<sum_t>::kBias + 1);
  }

  MIRROR_BOTH void operator()(uint64_t slot, sum_t value) const {
    int64_t* const to = limbs + slot * kLimbs;
    if (tops[slot] == infinite<sum_t>()) {
      if (value != value) {
        or_atomically(to, kNan);
      } else if (magnitude_of(value) == infinite<sum_t>()) {
        or_atomically(to, value > 0 ? kPositive : kNegative);
      }
      return;
    }
    const double scaled = scalbn(static_cast<double>(value), scale(slot));
    if constexpr (kLimbs == 1) {
      add_atomically(to, static_cast<int64_t>(llrint(scaled)));
    } else {
      const double whole = trunc(scaled);
      const auto rest = static_cast<int64_t>(llrint(scalbn(scaled - whole, width)));
      add_atomically(to, static_cast<int64_t>(whole));
      if (rest != 0) add_atomically(to + 1, rest);
    }
  }

  MIRROR_BOTH sum_t result(uint64_t slot) const {
    const int64_t* const from = limbs + slot * kLimbs;
    if (tops[slot] == infinite<sum_t>()) {
      const float sum = *from == kPositive ? INFINITY : *from == kNegative ? -INFINITY : NAN;
      return static_cast<sum_t>(sum);
    }
    if constexpr (kLimbs == 1) {
      return static_cast<sum_t>(scalbn(static_cast<double>(*from), -scale(slot)));
    } else {
      const int64_t carry = from[1] >> width, high = from[0] + carry;
      const int64_t low = from[1] - (carry << width);
      const double most = static_cast<double>(high);  // and what that rounds away
      const double rest = static_cast<double>(high - static_cast<int64_t>(most)) +
                          scalbn(static_cast<double>(low), -width);
      return scalbn(most + rest, -scale(slot));
    }
  }
};

template <typename scalar_t>
struct Finish {
  AddExactly<Sum<scalar_t>> sums;
  scalar_t* gradient;  // (num_slots,)

  MIRROR_BOTH void operator()(int64_t slot, int) const {
    gradient[slot] = static_cast<scalar_t>(sums.result(static_cast<uint64_t>(slot)));
  }
};

// Where the gradient (num_slots,) of a weight comes together, all zeros before. In any order:
// `sums`, of the type that elements are added up in. Exactly: tops and limbs, and
// `gradient`, of the elements' type, which is filled from them.
struct GradientPlace {
  bool exact;
  void* sums;
  void* tops;
  int64_t* limbs;
  void* gradient;
  int64_t num_slots;
};

// Bits that a whole number of a slot has for each of so many contributions.
inline int exact_width(int64_t contributions) {
  int bits = 0;
  while (bits < 61 && (int64_t{1} << bits) < contributions) ++bits;
  return 62 - bits;
}

}  // namespace mirror::hashed::cuda
