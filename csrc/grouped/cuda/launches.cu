// Launches of the grouped embedding's kernels; what a thread does is in steps.cuh.
#include <cub/device/device_radix_sort.cuh>

#include "grouped/cuda/launches.h"
#include "grouped/cuda/steps.cuh"

namespace mirror::cuda {
namespace {

constexpr int kWarpsPerBlock = 8;

// Bodies live in the parameters of the launch, where all threads read them from one place.
template <typename Body>
__global__ void __launch_bounds__(kWarpsPerBlock* kWarp)
    run_body(const __grid_constant__ Body body, int64_t warps) {
  const int64_t warp = static_cast<int64_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / kWarp;
  if (warp < warps) body(warp, static_cast<int>(threadIdx.x % kWarp));
}

// Runs the kernels on a stream and keeps the first error.
class Run {
 public:
  explicit Run(Launcher launcher) : launcher_(std::move(launcher)) {}

  template <typename Body>
  void launch(const Body& body, int64_t warps) {
    static_assert(sizeof(Body) + sizeof(warps) <= 32764,
                  "more than the parameters of a kernel hold");
    if (warps == 0 || error_ != cudaSuccess) return;
    const auto blocks = static_cast<unsigned>((warps + kWarpsPerBlock - 1) / kWarpsPerBlock);
    run_body<<<blocks, kWarpsPerBlock * kWarp, 0, launcher_.stream>>>(body, warps);
    keep(cudaGetLastError());
  }

  void* scratch(size_t bytes) { return launcher_.allocate(bytes); }

  void sort(uint64_t*& keys, uint64_t*& values, int64_t count, int bits) {
    auto* const sorted_keys = static_cast<uint64_t*>(scratch(count * sizeof(uint64_t)));
    auto* const sorted_values = static_cast<uint64_t*>(scratch(count * sizeof(uint64_t)));
    const auto sort_pairs = [&](void* temporary, size_t& bytes) {
      keep(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, sorted_keys, values,
                                           sorted_values, static_cast<int>(count), 0, bits,
                                           launcher_.stream));
    };
    size_t bytes = 0;
    sort_pairs(nullptr, bytes);
    sort_pairs(scratch(bytes), bytes);
    keys = sorted_keys;
    values = sorted_values;
  }

  cudaError_t error() const { return error_; }

 private:
  void keep(cudaError_t error) {
    if (error_ == cudaSuccess) error_ = error;
  }

  Launcher launcher_;
  cudaError_t error_ = cudaSuccess;
};

}  // namespace

cudaError_t launch_pool(Launcher launcher, const std::vector<Table>& tables) {
  Run run(std::move(launcher));
  pool_all(run, tables);
  return run.error();
}

cudaError_t launch_gradients(Launcher launcher, const std::vector<Table>& tables,
                             const std::vector<void*>& gradients) {
  Run run(std::move(launcher));
  sum_gradients(run, tables, gradients);
  return run.error();
}

cudaError_t launch_sparse(Launcher launcher, const std::vector<Table>& tables,
                          const std::vector<SparsePlace>& places) {
  Run run(std::move(launcher));
  fill_sparse(run, tables, places);
  return run.error();
}

cudaError_t launch_sample_gradient(Launcher launcher, const Table& table, void* gradient,
                                   int64_t bag_stride, int64_t stride) {
  Run run(std::move(launcher));
  add_sample_gradient(run, table, gradient, bag_stride, stride);
  return run.error();
}

}  // namespace mirror::cuda
