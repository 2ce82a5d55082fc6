// The hashed embedding bag's kernels for any CPU of the compiler's target.
#include "hashed/cpu/kernels.h"

namespace mirror::hashed {

const Kernels* portable_kernels() {
  static constexpr Kernels kKernels = kernels_named("portable");
  return &kKernels;
}

}  // namespace mirror::hashed
