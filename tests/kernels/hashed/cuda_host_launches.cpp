// The launches of the hashed embedding bag's kernels on the host, one thread after the other, so
// that what they compute can be tested where there is no GPU. Takes the place of
// csrc/hashed/cuda/launches.cu and of libc10_cuda.
#include <torch/library.h>

#include <string>
#include <vector>

#include "../cuda_host_runtime.h"
#include "hashed/cuda/launches.h"
#include "hashed/cuda/steps.cuh"

namespace mirror::hashed::cuda {
namespace {

// What threads do first: results that must not depend on it are compared.
std::string order = "forwards";
int64_t launches = 0;

// Calls body(i) for all i below count in the order of the day.
template <typename Body>
void in_order(int64_t count, const Body& body) {
  for (int64_t k = 0; k < count; ++k) {
    if (order == "forwards") {
      body(k);
    } else if (order == "backwards") {
      body(count - 1 - k);
    } else {  // the even ones up, then the odd ones down
      const int64_t evens = (count + 1) / 2;
      body(k < evens ? 2 * k : 2 * (count - 1 - k) + 1);
    }
  }
}

struct HostRun {
  template <typename Body>
  void launch(const Body& body, int64_t groups, int lanes) {
    static_assert(sizeof(Body) <= 4000, "the parameters of a kernel take 4 KiB everywhere");
    launches += groups > 0;
    in_order(groups * lanes, [&](int64_t i) { body(i / lanes, static_cast<int>(i % lanes)); });
  }

  template <typename Body>
  void launch_sums(const Body& body, int64_t groups, int lanes) {
    launches += groups > 0;
    in_order(groups, [&](int64_t group) {
      std::vector<typename Body::sum_t> sums;
      for (int lane = 0; lane < lanes; ++lane) sums.push_back(body.partial(group, lane));
      for (int other = lanes / 2; other > 0; other /= 2) {
        const auto before = sums;
        for (int lane = 0; lane < lanes; ++lane) sums[lane] += before[lane ^ other];
      }
      body.store(group, sums[0]);
    });
  }
};

}  // namespace

cudaError_t launch_pool_sums(cudaStream_t, const Call& call, void* output) {
  HostRun run;
  pool_sums(run, call, output);
  return cudaSuccess;
}

cudaError_t launch_pool_maxima(cudaStream_t, const Call& call, void* output, void* winners) {
  HostRun run;
  pool_maxima(run, call, output, winners);
  return cudaSuccess;
}

cudaError_t launch_scatter(cudaStream_t, const Call& call, const GradientPlace& to) {
  HostRun run;
  scatter_all(run, call, to);
  return cudaSuccess;
}

cudaError_t launch_scatter_winners(cudaStream_t, Element element, bool narrow, const void* grad,
                                   const void* winners, int64_t count, bool signs,
                                   const GradientPlace& to) {
  HostRun run;
  scatter_winners(run, element, narrow, grad, winners, count, signs, to);
  return cudaSuccess;
}

cudaError_t launch_dot_rows(cudaStream_t, const Call& call, void* gradient) {
  HostRun run;
  dot_rows(run, call, gradient);
  return cudaSuccess;
}

TORCH_LIBRARY_FRAGMENT(mirror, m) {
  m.def("hashed_host_order(str order) -> ()", [](std::string name) { order = name; });
  // How many kernels were launched so far.
  m.def("hashed_host_launches() -> int", [] { return launches; });
}

}  // namespace mirror::hashed::cuda
