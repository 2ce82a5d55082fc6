// Tensors whose memory is all that they are.
#pragma once

#include <ATen/core/Tensor.h>

namespace mirror {

// A dense tensor of the CPU that nobody has wrapped.
inline bool is_plain(const at::Tensor& tensor) {
  constexpr c10::DispatchKeySet plain({c10::DispatchKey::CPU, c10::DispatchKey::ADInplaceOrView,
                                       c10::DispatchKey::AutogradCPU,
                                       c10::DispatchKey::AutocastCPU});
  return plain.has_all(tensor.key_set()) && tensor.has_storage();
}

}  // namespace mirror
