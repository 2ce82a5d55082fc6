// For functions that the CPU's code and kernels share: nvcc compiles them for both.
#pragma once

#ifdef __CUDACC__
#define MIRROR_HOST_DEVICE __host__ __device__
#else
#define MIRROR_HOST_DEVICE
#endif
