// The hashed embedding bag's kernels for AVX2; the build compiles this file for such CPUs.
#if defined(__AVX2__)
#include "hashed/cpu/kernels.h"

namespace mirror::hashed {

const Kernels* avx2_kernels() {
  static constexpr Kernels kKernels = kernels_named("avx2");
  return &kKernels;
}

}  // namespace mirror::hashed
#else
#include "hashed/cpu/rows.h"

const mirror::hashed::Kernels* mirror::hashed::avx2_kernels() { return nullptr; }
#endif
