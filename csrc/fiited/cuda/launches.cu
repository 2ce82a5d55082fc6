// Launches of a FIITED table's kernels; what a thread does is in steps.cuh and train.cuh.
#include <algorithm>

#include "fiited/cuda/launches.h"

namespace mirror::fiited::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;

// Bodies live in the parameters of the launch, where all threads read them from one place.
template <typename Of>
__global__ void __launch_bounds__(kThreads) run(const __grid_constant__ Of body, int64_t threads) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < threads) body(i);
}

// Groups are parts of a warp, so that warps are all that waits.
__global__ void __launch_bounds__(kThreads) train(const __grid_constant__ TrainRows body) {
  extern __shared__ float shared[];
  const int32_t group = threadIdx.x / body.lanes, lane = threadIdx.x % body.lanes;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * (blockDim.x / body.lanes) + group;
  float* const of_group = shared + group * body.shared_floats();
  const bool begins = body.begins(i);
  if (begins) body.sum(i, lane, of_group);
  __syncwarp();
  if (begins) body.gain(i, lane, of_group);
  __syncwarp();
  if (begins) body.update(i, lane, of_group);
}

}  // namespace

cudaError_t launch(cudaStream_t stream, const Body& body) {
  return std::visit(
      [&](const auto& of) {
        const int64_t threads = of.threads();
        if (threads == 0) return cudaSuccess;
        static_assert(sizeof(of) + sizeof(threads) <= 32764,
                      "more than the parameters of a kernel hold");
        run<<<static_cast<unsigned>((threads + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
            of, threads);
        return cudaGetLastError();
      },
      body);
}

cudaError_t launch_training(cudaStream_t stream, const TrainRows& body) {
  if (body.size == 0) return cudaSuccess;
  const int64_t of_warp = int64_t{kWarp / body.lanes} * body.shared_floats();
  const int64_t warps = std::clamp<int64_t>(kMostSharedFloats / of_warp, 1, kThreads / kWarp);
  const int64_t groups = warps * kWarp / body.lanes;
  train<<<static_cast<unsigned>((body.size + groups - 1) / groups),
          static_cast<unsigned>(warps * kWarp), warps * of_warp * sizeof(float), stream>>>(body);
  return cudaGetLastError();
}

}  // namespace mirror::fiited::cuda
