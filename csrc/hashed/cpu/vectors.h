// Eight or sixteen numbers at a time: loads, gathers and conversions of the hashed embedding bag's
// kernels.
// Part of what is compiled once per instruction set, so everything is in an unnamed namespace.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are only passed to functions that are inlined

#define MIRROR_INLINE inline __attribute__((always_inline))

namespace mirror::hashed {
namespace {

constexpr int64_t kLanes = 8;

template <typename T, int64_t lanes>
struct VectorOf {
  typedef T type __attribute__((vector_size(lanes * sizeof(T))));
};
template <typename T, int64_t lanes = kLanes>
using Vector = typename VectorOf<T, lanes>::type;

struct BFloat16 {
  uint16_t bits;
};
struct Half {
  _Float16 value;
};

// What elements are summed in.
template <typename T>
struct SumOf {
  using type = float;
};
template <>
struct SumOf<double> {
  using type = double;
};
template <typename T>
using Sum = typename SumOf<T>::type;

MIRROR_INLINE float widen(float x) { return x; }
MIRROR_INLINE double widen(double x) { return x; }
MIRROR_INLINE float widen(Half x) { return static_cast<float>(x.value); }
MIRROR_INLINE float widen(BFloat16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename T>
MIRROR_INLINE T narrow(Sum<T> x) {
  if constexpr (std::is_same_v<T, Half>) {
    return {static_cast<_Float16>(x)};
  } else if constexpr (std::is_same_v<T, BFloat16>) {  // to nearest, ties to even
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    if (x != x) return {0x7FC0};
    return {static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)};
  } else {
    return x;
  }
}

template <typename V, typename T>
MIRROR_INLINE V load_raw(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <typename V, typename T>
MIRROR_INLINE void store_raw(T* to, const V& v) {
  std::memcpy(to, &v, sizeof v);
}

// Neighbours.
template <int64_t lanes, typename T>
MIRROR_INLINE Vector<Sum<T>, lanes> load(const T* from) {
  if constexpr (std::is_same_v<T, Sum<T>>) {
    return load_raw<Vector<T, lanes>>(from);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const auto bits = load_raw<Vector<uint16_t, lanes>>(from);
    return (Vector<float, lanes>)(__builtin_convertvector(bits, Vector<uint32_t, lanes>) << 16);
  } else {
    return __builtin_convertvector(load_raw<Vector<_Float16, lanes>>(from), Vector<float, lanes>);
  }
}

// The first `count` of them, as elements.
template <int64_t lanes, typename T>
MIRROR_INLINE void store(T* to, const Vector<Sum<T>, lanes>& v, int64_t count) {
  if constexpr (std::is_same_v<T, Sum<T>>) {
    if (count >= lanes) return store_raw(to, v);
  } else if (count >= lanes) {
    for (int64_t k = 0; k < lanes; ++k) to[k] = narrow<T>(v[k]);
    return;
  }
  for (int64_t k = 0; k < count; ++k) to[k] = narrow<T>(v[k]);
}

// The elements at eight slots.
template <typename T, typename code_t>
MIRROR_INLINE Vector<Sum<T>> gather(const T* from, const Vector<code_t>& slots) {
#if defined(__AVX2__)
  if constexpr (std::is_same_v<T, float> && sizeof(code_t) == 4) {
    return (Vector<float>)_mm256_i32gather_ps(from, (__m256i)slots, 4);
  }
#endif
  Vector<Sum<T>> v;
  for (int64_t k = 0; k < kLanes; ++k) v[k] = widen(from[slots[k]]);
  return v;
}

// The elements behind eight codes.
template <bool signs, typename T, typename code_t>
MIRROR_INLINE Vector<Sum<T>> gather_codes(const T* from, const code_t* codes) {
  const auto c = load_raw<Vector<code_t>>(codes);
  if constexpr (!signs) {
    return gather<T, code_t>(from, c);
  } else {
    const Vector<code_t> sign = 1 - 2 * (c & 1);
    return gather<T, code_t>(from, c >> 1) * __builtin_convertvector(sign, Vector<Sum<T>>);
  }
}

}  // namespace
}  // namespace mirror::hashed
