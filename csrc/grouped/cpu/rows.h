// Rows in vector registers, eight elements at a time: loaded in the type of the table, added up in
// float or double.
#pragma once

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cstdint>
#include <cstring>

namespace mirror {

using Float8 = float __attribute__((vector_size(32)));
using Double8 = double __attribute__((vector_size(64)));

constexpr int64_t kLanes = 8;

// The type that elements of a table are added up in.
template <typename scalar_t>
struct Sum {
  using vector = Float8;
  using scalar = float;
};
template <>
struct Sum<double> {
  using vector = Double8;
  using scalar = double;
};

template <typename scalar_t>
inline typename Sum<scalar_t>::vector load(const scalar_t* from) {
  typename Sum<scalar_t>::vector value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <>
inline Float8 load(const c10::BFloat16* from) {
  using Bits = uint16_t __attribute__((vector_size(16)));
  using Wide = uint32_t __attribute__((vector_size(32)));
  Bits bits;
  std::memcpy(&bits, from, sizeof(bits));
  const Wide wide = __builtin_convertvector(bits, Wide) << 16;
  return reinterpret_cast<Float8>(wide);
}

#ifdef __F16C__
template <>
inline Float8 load(const c10::Half* from) {
  using Half8 = _Float16 __attribute__((vector_size(16)));
  Half8 halves;
  std::memcpy(&halves, from, sizeof(halves));
  return __builtin_convertvector(halves, Float8);
}
#else
template <>
inline Float8 load(const c10::Half* from) {
  Float8 value;
  for (int i = 0; i < kLanes; ++i) value[i] = from[i];
  return value;
}
#endif

template <typename scalar_t>
inline void store(scalar_t* to, typename Sum<scalar_t>::vector value) {
  if constexpr (sizeof(scalar_t) >= sizeof(float)) {
    std::memcpy(to, &value, sizeof(value));
  } else {
    for (int i = 0; i < kLanes; ++i) to[i] = static_cast<scalar_t>(value[i]);
  }
}

}  // namespace mirror
