// What csrc/*/cuda asks of libc10_cuda, where there is none.
#pragma once

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

namespace c10::cuda {

CUDAStream getCurrentCUDAStream(DeviceIndex) {
  return CUDAStream(CUDAStream::UNCHECKED, Stream(Stream::DEFAULT, Device(DeviceType::CUDA, 0)));
}
cudaStream_t CUDAStream::stream() const { return nullptr; }

void c10_cuda_check_implementation(const int32_t error, const char*, const char*, const uint32_t,
                                   const bool) {
  TORCH_CHECK(error == 0, "error ", error);
}

}  // namespace c10::cuda
