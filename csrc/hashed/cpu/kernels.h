// The kernels of the hashed embedding bag for one instruction set: included by a file that is
// compiled for it and names it. See rows.h for what they compute.
#pragma once

#include <cstdint>

#include "hashed/cpu/gradients.h"
#include "hashed/cpu/pooling.h"
#include "hashed/cpu/rows.h"

namespace mirror::hashed {
namespace {

// Calls body(Work) for the types of a call.
template <template <typename, typename, bool> class Work, typename Body>
void with_types(const Call& call, const Body& body) {
  const auto with_element = [&](auto element) {
    using T = decltype(element);
    const bool signs = call.layout->signs;
    if (call.layout->narrow) {
      signs ? body(Work<T, int32_t, true>(call)) : body(Work<T, int32_t, false>(call));
    } else {
      signs ? body(Work<T, int64_t, true>(call)) : body(Work<T, int64_t, false>(call));
    }
  };
  switch (call.element) {
    case Element::kFloat:
      return with_element(float{});
    case Element::kDouble:
      return with_element(double{});
    case Element::kBFloat16:
      return with_element(BFloat16{});
    case Element::kHalf:
      return with_element(Half{});
  }
}

void pool(const Call& call, int64_t first, int64_t last, void* output) {
  with_types<Pooling>(call, [&](auto bags) {
    bags.pool(first, last, static_cast<typename decltype(bags)::T*>(output));
  });
}

void pool_max(const Call& call, int64_t first, int64_t last, void* output, void* winners) {
  with_types<Pooling>(call, [&](auto bags) {
    using Work = decltype(bags);
    bags.pool_max(first, last, static_cast<typename Work::T*>(output),
                  static_cast<typename Work::code_t*>(winners));
  });
}

void scatter(const Call& call, int64_t first, int64_t last, void* target, int64_t low,
             int64_t high) {
  with_types<Gradients>(call, [&](auto bags) {
    bags.scatter(first, last, static_cast<typename decltype(bags)::A*>(target), low, high);
  });
}

void sample_gradient(const Call& call, int64_t first, int64_t last, void* gradient) {
  with_types<Gradients>(call, [&](auto bags) {
    bags.sample_gradient(first, last, static_cast<typename decltype(bags)::T*>(gradient));
  });
}

constexpr Kernels kernels_named(const char* name) {
  return {name, pool, pool_max, scatter, sample_gradient};
}

}  // namespace
}  // namespace mirror::hashed
