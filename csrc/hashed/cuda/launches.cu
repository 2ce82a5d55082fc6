// Launches of the hashed embedding bag's kernels; what a thread does is in steps.cuh.
#include <algorithm>

#include "hashed/cuda/launches.h"
#include "hashed/cuda/steps.cuh"

namespace mirror::hashed::cuda {
namespace {

constexpr int kThreads = 256;
// Above so many blocks each thread works on several groups.
constexpr int64_t kMostBlocks = 1 << 20;

// Calls work(group, lane) for all groups. Groups are parts of a warp, which do not leave the loop
// one thread at a time.
template <typename Work>
__device__ void for_each_group(int64_t groups, int lanes, const Work& work) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * (kThreads / lanes);
  int64_t group = static_cast<int64_t>(blockIdx.x) * (kThreads / lanes) + threadIdx.x / lanes;
  for (; group < groups; group += step) work(group, static_cast<int>(threadIdx.x % lanes));
}

// Bodies live in the parameters of the launch, where all threads read them from one place.
template <typename Body>
__global__ void __launch_bounds__(kThreads)
    run_body(const __grid_constant__ Body body, int64_t groups, int lanes) {
  for_each_group(groups, lanes, [&](int64_t group, int lane) { body(group, lane); });
}

template <typename Body>
__global__ void __launch_bounds__(kThreads)
    sum_body(const __grid_constant__ Body body, int64_t groups, int lanes) {
  const unsigned first = threadIdx.x % kWarp / lanes * lanes;  // thread of the warp
  const unsigned mask = (lanes == kWarp ? ~0u : (1u << lanes) - 1) << first;
  for_each_group(groups, lanes, [&](int64_t group, int lane) {
    typename Body::sum_t sum = body.partial(group, lane);
    __syncwarp(mask);
    for (int other = lanes / 2; other > 0; other /= 2) sum += __shfl_xor_sync(mask, sum, other);
    if (lane == 0) body.store(group, sum);
  });
}

// Runs the kernels on a stream and keeps the first error.
class Run {
 public:
  explicit Run(cudaStream_t stream) : stream_(stream) {}

  template <typename Body>
  void launch(const Body& body, int64_t groups, int lanes) {
    if (groups == 0 || error_ != cudaSuccess) return;
    run_body<<<blocks(groups, lanes), kThreads, 0, stream_>>>(body, groups, lanes);
    error_ = cudaGetLastError();
  }

  template <typename Body>
  void launch_sums(const Body& body, int64_t groups, int lanes) {
    if (groups == 0 || error_ != cudaSuccess) return;
    sum_body<<<blocks(groups, lanes), kThreads, 0, stream_>>>(body, groups, lanes);
    error_ = cudaGetLastError();
  }

  cudaError_t error() const { return error_; }

 private:
  static unsigned blocks(int64_t groups, int lanes) {
    const int64_t of_block = kThreads / lanes;
    return static_cast<unsigned>(std::min(kMostBlocks, (groups + of_block - 1) / of_block));
  }

  cudaStream_t stream_;
  cudaError_t error_ = cudaSuccess;
};

}  // namespace

cudaError_t launch_pool_sums(cudaStream_t stream, const Call& call, void* output) {
  Run run(stream);
  pool_sums(run, call, output);
  return run.error();
}

cudaError_t launch_pool_maxima(cudaStream_t stream, const Call& call, void* output, void* winners) {
  Run run(stream);
  pool_maxima(run, call, output, winners);
  return run.error();
}

cudaError_t launch_scatter(cudaStream_t stream, const Call& call, const GradientPlace& to) {
  Run run(stream);
  scatter_all(run, call, to);
  return run.error();
}

cudaError_t launch_scatter_winners(cudaStream_t stream, Element element, bool narrow,
                                   const void* grad, const void* winners, int64_t count, bool signs,
                                   const GradientPlace& to) {
  Run run(stream);
  scatter_winners(run, element, narrow, grad, winners, count, signs, to);
  return run.error();
}

cudaError_t launch_dot_rows(cudaStream_t stream, const Call& call, void* gradient) {
  Run run(stream);
  dot_rows(run, call, gradient);
  return run.error();
}

}  // namespace mirror::hashed::cuda
