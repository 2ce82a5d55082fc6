// How many threads at::parallel_for really uses in this library: 1 when it was built without
// OpenMP.
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <atomic>

namespace mirror {
namespace {

int64_t parallel_threads() {
  std::atomic<int64_t> used{0};
  at::parallel_for(0, at::get_num_threads(), 1, [&](int64_t, int64_t) { ++used; });
  return used;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(mirror, m) { m.def("parallel_threads() -> int", &parallel_threads); }

}  // namespace mirror
