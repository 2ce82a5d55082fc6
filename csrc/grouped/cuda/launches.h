// The kernels of the grouped embedding, as the binding to torch calls them: all on one stream,
// without waiting for it.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "grouped/cuda/tables.cuh"

namespace mirror::cuda {

// The stream, and memory on the device that lives until the call is over.
struct Launcher {
  cudaStream_t stream;
  std::function<void*(size_t bytes)> allocate;
};

// See pool_all and its neighbours in steps.cuh. Each returns the first error of a launch.
cudaError_t launch_pool(Launcher launcher, const std::vector<Table>& tables);
cudaError_t launch_gradients(Launcher launcher, const std::vector<Table>& tables,
                             const std::vector<void*>& gradients);
cudaError_t launch_sparse(Launcher launcher, const std::vector<Table>& tables,
                          const std::vector<SparsePlace>& places);
cudaError_t launch_sample_gradient(Launcher launcher, const Table& table, void* gradient,
                                   int64_t bag_stride, int64_t stride);

}  // namespace mirror::cuda
