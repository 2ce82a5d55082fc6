// The kernels of quantized rows for AVX-512; the build compiles this file for such CPUs.
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "quantized/cpu/kernels.h"

namespace mirror::quantized {

const Kernels* avx512_kernels() {
  static constexpr Kernels kKernels = kernels_named("avx512");
  return &kKernels;
}

}  // namespace mirror::quantized
#else
#include "quantized/cpu/rows.h"

const mirror::quantized::Kernels* mirror::quantized::avx512_kernels() { return nullptr; }
#endif
