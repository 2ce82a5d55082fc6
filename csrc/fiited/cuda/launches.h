// The kernels of a FIITED table, as the binding to torch calls them: all on one stream, without
// waiting for it.
#pragma once

#include <cuda_runtime_api.h>

#include "fiited/cuda/steps.cuh"
#include "fiited/cuda/train.cuh"

namespace mirror::fiited::cuda {

inline constexpr int64_t kMostSharedFloats = 48 * 1024 / sizeof(float);  // of a block

// Each returns the error of its launch.
cudaError_t launch(cudaStream_t stream, const Body& body);
cudaError_t launch_training(cudaStream_t stream, const TrainRows& body);

}  // namespace mirror::fiited::cuda
