// The launches of csrc/grouped/cuda on the host, one thread after the other, so that what the kernels
// compute can be tested where there is no GPU. Takes the place of csrc/grouped/cuda/launches.cu and
// of libc10_cuda.
#include <numeric>

#include "cuda_host_runtime.h"
#include "grouped/cuda/launches.h"
#include "grouped/cuda/steps.cuh"

namespace mirror::cuda {
namespace {

struct HostRun {
  Launcher launcher;

  template <typename Body>
  void launch(const Body& body, int64_t warps) {
    static_assert(sizeof(Body) + sizeof(warps) <= 32764);
    for (int64_t warp = 0; warp < warps; ++warp) {
      for (int thread = 0; thread < kWarp; ++thread) body(warp, thread);
    }
  }

  void* scratch(size_t bytes) { return launcher.allocate(bytes); }

  void sort(uint64_t* keys, uint64_t* values, int64_t count, int bits) {
    const uint64_t mask = bits < 64 ? (uint64_t{1} << bits) - 1 : ~uint64_t{0};
    const std::vector<uint64_t> old_keys(keys, keys + count), old_values(values, values + count);
    std::vector<int64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return (old_keys[a] & mask) < (old_keys[b] & mask);
    });
    for (int64_t i = 0; i < count; ++i) {
      keys[i] = old_keys[order[i]];
      values[i] = old_values[order[i]];
    }
  }
};

}  // namespace

cudaError_t launch_pool(Launcher launcher, const std::vector<Table>& tables) {
  HostRun run{std::move(launcher)};
  pool_all(run, tables);
  return cudaSuccess;
}

cudaError_t launch_gradients(Launcher launcher, const std::vector<Table>& tables,
                             const std::vector<void*>& gradients) {
  HostRun run{std::move(launcher)};
  sum_gradients(run, tables, gradients);
  return cudaSuccess;
}

cudaError_t launch_sparse(Launcher launcher, const std::vector<Table>& tables,
                          const std::vector<SparsePlace>& places) {
  HostRun run{std::move(launcher)};
  fill_sparse(run, tables, places);
  return cudaSuccess;
}

cudaError_t launch_sample_gradient(Launcher launcher, const Table& table, void* gradient,
                                   int64_t bag_stride, int64_t stride) {
  HostRun run{std::move(launcher)};
  add_sample_gradient(run, table, gradient, bag_stride, stride);
  return cudaSuccess;
}

}  // namespace mirror::cuda
