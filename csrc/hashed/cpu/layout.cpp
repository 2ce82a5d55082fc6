// How the slots of rows are found, and by which instruction set's kernels.
#include <cstdlib>
#include <limits>
#include <string_view>

#include "hashed/cpu/rows.h"

namespace mirror::hashed {

namespace {
constexpr int64_t kLanes = 8;  // elements that are loaded together

int64_t whole_vectors(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }
}  // namespace

Layout::Layout(HashKind hash, uint64_t seed, bool signs, int64_t block, int64_t dim,
               int64_t num_slots)
    : hash(hash),
      seed(seed),
      signs(signs),
      narrow(num_slots <= std::numeric_limits<int32_t>::max() / (signs ? 2 : 1)),
      whole_blocks(block % kLanes == 0 && block <= num_slots),
      block(block),
      dim(dim),
      num_slots(num_slots),
      blocks((dim - 1) / block + 1),
      stride(whole_blocks ? blocks : whole_vectors(dim)),
      no_wrap(no_wrap_rows(static_cast<uint64_t>(blocks))) {
  if (hash != HashKind::kReference) return;
  const int64_t factor = static_cast<int64_t>(kDimFactor % static_cast<uint64_t>(num_slots));
  const int64_t prime = static_cast<int64_t>(kPrime % static_cast<uint64_t>(num_slots));
  const auto less_prime = [&](int64_t slot) {
    return slot >= prime ? slot - prime : slot - prime + num_slots;
  };
  limit.resize(blocks);
  step.resize(blocks);
  wrapped_step.resize(blocks);
  uint64_t sum = 0;  // T[b]
  int64_t slot = 0;  // T[b] modulo num_slots
  for (int64_t b = 0; b < blocks; ++b) {
    limit[b] = static_cast<int64_t>(kPrime - sum);
    step[b] = slot;
    wrapped_step[b] = less_prime(slot);
    sum += kDimFactor;
    slot = slot >= num_slots - factor ? slot - (num_slots - factor) : slot + factor;
    if (sum >= kPrime) {
      sum -= kPrime;
      slot = less_prime(slot);
    }
  }
}

const Kernels& kernels() {
  static const Kernels& chosen = []() -> const Kernels& {
    const char* wish = std::getenv("MIRROR_SIMD");
    const std::string_view most = wish ? wish : "avx512";
#if defined(__x86_64__)
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx512 && avx512_kernels() && most == "avx512") return *avx512_kernels();
    if (avx2 && avx2_kernels() && most != "portable") return *avx2_kernels();
#endif
    return *portable_kernels();
  }();
  return chosen;
}

}  // namespace mirror::hashed
