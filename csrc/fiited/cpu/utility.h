// Utilities as they are stored: bfloat16, which has float's range in half of the memory. They are
// only compared with one another, and 8 bits tell chunks near a threshold apart well enough.
#pragma once

#include <cstdint>

#include "common/host_device.h"
#include "fiited/hash.h"

namespace mirror::fiited {

using Utility = uint16_t;  // bits of a bfloat16; never negative, so they are ordered as the values

inline constexpr Utility kLargestUtility = 0x7F7F;

MIRROR_HOST_DEVICE inline float value_of(Utility utility) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(utility) << 16);
}

// Of a number that is not negative and not NaN: the nearest, of two the even one, at most the
// largest.
MIRROR_HOST_DEVICE inline Utility nearest_utility(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return rounded < kLargestUtility ? static_cast<Utility>(rounded) : kLargestUtility;
}

// The bfloat16 above or below, the nearer the likelier: rounded to the nearest, what a step adds to
// a large utility would be lost every time. Drawn from the virtual chunk and the step's number, so
// that it is the same in every form and for any number of threads and processes.
MIRROR_HOST_DEVICE inline Utility drawn_utility(float value, int64_t chunk, int64_t step) {
  const uint64_t draw = scramble(static_cast<uint64_t>(chunk), static_cast<uint64_t>(step)) >> 48;
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + static_cast<uint32_t>(draw)) >> 16;
  return rounded < kLargestUtility ? static_cast<Utility>(rounded) : kLargestUtility;
}

}  // namespace mirror::fiited
