// The hashed embedding bag's kernels for AVX-512; the build compiles this file for such CPUs.
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "hashed/cpu/kernels.h"

namespace mirror::hashed {

const Kernels* avx512_kernels() {
  static constexpr Kernels kKernels = kernels_named("avx512");
  return &kKernels;
}

}  // namespace mirror::hashed
#else
#include "hashed/cpu/rows.h"

const mirror::hashed::Kernels* mirror::hashed::avx512_kernels() { return nullptr; }
#endif
