// Which instruction set's kernels run.
#include <cstdlib>
#include <string_view>

#include "quantized/cpu/rows.h"

namespace mirror::quantized {

const Kernels& kernels() {
  static const Kernels& chosen = []() -> const Kernels& {
    const char* wish = std::getenv("MIRROR_SIMD");
    const std::string_view most = wish ? wish : "avx512";
#if defined(__x86_64__)
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("f16c");
    if (avx512 && avx512_kernels() && most == "avx512") return *avx512_kernels();
    if (avx2 && avx2_kernels() && most != "portable") return *avx2_kernels();
#endif
    return *portable_kernels();
  }();
  return chosen;
}

}  // namespace mirror::quantized
