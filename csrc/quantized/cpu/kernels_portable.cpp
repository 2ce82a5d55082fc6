// The kernels of quantized rows for any CPU of the compiler's target.
#include "quantized/cpu/kernels.h"

namespace mirror::quantized {

const Kernels* portable_kernels() {
  static constexpr Kernels kKernels = kernels_named("portable");
  return &kKernels;
}

}  // namespace mirror::quantized
