#include "python/thread_state.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/SavedTensorHooks.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/forward_grad.h>
#include <torch/csrc/jit/frontend/tracer.h>

namespace mirror {

std::optional<ThreadState> thread_state() {
  const auto& keys = c10::impl::tls_local_dispatch_key_set();
  static const c10::DispatchKeySet usually_excluded =
      c10::default_excluded_set | c10::autograd_dispatch_keyset |
      c10::DispatchKeySet(c10::DispatchKey::ADInplaceOrView);
  if (!c10::default_included_set.has_all(keys.included_) ||
      !usually_excluded.has_all(keys.excluded_) || at::impl::torch_function_mode_enabled() ||
      torch::jit::tracer::isTracing() || at::SavedTensorDefaultHooks::get_hooks(true).has_value() ||
      torch::autograd::ForwardADLevel::try_get_by_idx(0)) {
    return std::nullopt;
  }
  return ThreadState{c10::GradMode::is_enabled(), c10::InferenceMode::is_enabled(),
                     keys.included_.raw_repr(), keys.excluded_.raw_repr()};
}

std::optional<ThreadState> usual_state() {
  const auto state = thread_state();
  const bool autocast =
      !c10::impl::tls_local_dispatch_key_set().excluded_.has_all(c10::autocast_dispatch_keyset);
  return autocast ? std::nullopt : state;
}

}  // namespace mirror
