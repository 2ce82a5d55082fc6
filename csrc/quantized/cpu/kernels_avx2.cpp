// The kernels of quantized rows for AVX2; the build compiles this file for such CPUs.
#if defined(__AVX2__)
#include "quantized/cpu/kernels.h"

namespace mirror::quantized {

const Kernels* avx2_kernels() {
  static constexpr Kernels kKernels = kernels_named("avx2");
  return &kKernels;
}

}  // namespace mirror::quantized
#else
#include "quantized/cpu/rows.h"

const mirror::quantized::Kernels* mirror::quantized::avx2_kernels() { return nullptr; }
#endif
