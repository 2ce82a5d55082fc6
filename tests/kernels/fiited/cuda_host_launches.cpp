// The launches of FIITED's kernels on the host, one thread after the other, so that what they
// compute can be tested where there is no GPU. Takes the place of csrc/fiited/cuda/launches.cu and
// of libc10_cuda.
//
// Before all headers, as in csrc/fiited/cpu/optimizer.cpp: a product is not fused with a sum.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#include "../cuda_host_runtime.h"
#include "fiited/cuda/launches.h"

namespace mirror::fiited::cuda {

cudaError_t launch(cudaStream_t, const Body& body) {
  std::visit(
      [](const auto& of) {
        for (int64_t i = 0; i < of.threads(); ++i) of(i);
      },
      body);
  return cudaSuccess;
}

cudaError_t launch_training(cudaStream_t, const TrainRows& body) {
  std::vector<float> shared(body.shared_floats());
  for (int64_t i = 0; i < body.size; ++i) {
    if (!body.begins(i)) continue;
    for (int32_t lane = 0; lane < body.lanes; ++lane) body.sum(i, lane, shared.data());
    for (int32_t lane = 0; lane < body.lanes; ++lane) body.gain(i, lane, shared.data());
    for (int32_t lane = 0; lane < body.lanes; ++lane) body.update(i, lane, shared.data());
  }
  return cudaSuccess;
}

}  // namespace mirror::fiited::cuda
