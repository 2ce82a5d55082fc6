// The types of elements and ids in kernels, and how a kernel refuses what is wrong. Plain types:
// the same code is compiled for the device by nvcc and, to be tested where there is none, for the
// host.
#pragma once

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cassert>
#include <cstdint>
#include <cstdio>

#ifdef __CUDACC__
#define MIRROR_BOTH __host__ __device__ inline
// The function template that follows calls what it is given, on the host or on the device.
#define MIRROR_CALLS_EITHER _Pragma("nv_exec_check_disable")
#else
#include <stdexcept>
#define MIRROR_BOTH inline
#define MIRROR_CALLS_EITHER
#endif

// Ends the kernel as torch's own do, by an assertion, after a line that says where: a format of
// printf and its arguments. On the host an exception.
#ifdef __CUDA_ARCH__
#define MIRROR_REFUSE(...)                         \
  do {                                             \
    printf(__VA_ARGS__);                           \
    printf("\n");                                  \
    assert(false && "wrong argument of a kernel"); \
    __trap();                                      \
  } while (false)
#elif defined(__CUDACC__)
#define MIRROR_REFUSE(...) __builtin_trap()
#else
#define MIRROR_REFUSE(...)                         \
  do {                                             \
    char text[300];                                \
    std::snprintf(text, sizeof text, __VA_ARGS__); \
    throw std::out_of_range(text);                 \
  } while (false)
#endif

namespace mirror::cuda {

enum class Element : int8_t { kFloat, kDouble, kBFloat16, kHalf };

constexpr int kWarp = 32;

MIRROR_BOTH int64_t read_index(const void* from, bool is_long, int64_t at) {
  return is_long ? static_cast<const int64_t*>(from)[at] : static_cast<const int32_t*>(from)[at];
}

// The type that elements are added up in.
template <typename scalar_t>
struct SumOf {
  using type = float;
};
template <>
struct SumOf<double> {
  using type = double;
};

// Calls body(scalar_t()) with the type of the elements.
MIRROR_CALLS_EITHER
template <typename Body>
MIRROR_BOTH void with_element(Element element, const Body& body) {
  switch (element) {
    case Element::kFloat:
      return body(float());
    case Element::kDouble:
      return body(double());
    case Element::kBFloat16:
      return body(c10::BFloat16());
    case Element::kHalf:
      return body(c10::Half());
  }
}

}  // namespace mirror::cuda
