// The kernels of the hashed embedding bag, as the binding to torch calls them: all on one stream,
// without waiting for it.
#pragma once

#include <cuda_runtime_api.h>

#include "hashed/cuda/sums.cuh"

namespace mirror::hashed::cuda {

// See pool_sums and its neighbours in steps.cuh. Each returns the first error of a launch.
cudaError_t launch_pool_sums(cudaStream_t stream, const Call& call, void* output);
cudaError_t launch_pool_maxima(cudaStream_t stream, const Call& call, void* output, void* winners);
cudaError_t launch_scatter(cudaStream_t stream, const Call& call, const GradientPlace& to);
cudaError_t launch_scatter_winners(cudaStream_t stream, Element element, bool narrow,
                                   const void* grad, const void* winners, int64_t count, bool signs,
                                   const GradientPlace& to);
cudaError_t launch_dot_rows(cudaStream_t stream, const Call& call, void* gradient);

}  // namespace mirror::hashed::cuda
