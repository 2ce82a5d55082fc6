// Schema of mirror::side_by_side, and the choice of how its branches are run.
//
// The op is composite: gradients, vmap, tracing and so on are those of the branches. While somebody
// watches the calls (torch.compile's AOTAutograd, a dispatch mode, hooks on saved tensors) the
// branches are called one after the other, so that he sees the original ops in their order.
#include "side_by_side/side_by_side.h"

#include <ATen/Parallel.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/autocast_mode.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>

#include "common/choices.h"
#include "common/parallel_op_settings.h"
#include "common/threads.h"

namespace mirror {
namespace {

using Kind = BranchArgument::Kind;

// Work is counted in nanoseconds, roughly.
constexpr int64_t kCallWork = 4000;       // of calling an op at all
constexpr int64_t kElementsPerWork = 1;   // read by an op
constexpr int64_t kProductsPerWork = 10;  // multiplied and added by a matrix product
// On a GPU, which is about a hundred times as fast: of a kernel that takes as long as its launch.
constexpr int64_t kStreamWork = 1 << 20;
constexpr int64_t kStreams = 4;

// Whether nobody but autograd and autocast sees the calls of the branches, and all inputs are
// ordinary tensors on one device.
bool unwatched(at::TensorList inputs) {
  using c10::DispatchKey;
  static const c10::DispatchKeySet plain =
      c10::DispatchKeySet({DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::AutogradCPU,
                           DispatchKey::AutogradCUDA, DispatchKey::ADInplaceOrView,
                           DispatchKey::BackendSelect}) |
      c10::autocast_dispatch_keyset;
  c10::DispatchKeySet keys = c10::impl::tls_local_dispatch_key_set().included_;
  for (const at::Tensor& input : inputs) {
    keys = keys | input.key_set();
    if (input.device() != inputs[0].device()) return false;
  }
  // Not operator-, which leaves the bits of backends.
  return (keys.raw_repr() & ~plain.raw_repr()) == 0 &&
         at::SavedTensorDefaultHooks::get_tls_state().stack.empty() &&
         !torch::autograd::AnomalyMode::is_enabled();
}

void run_on_threads(SideBySideCall& call, int64_t threads) {
  const at::ThreadLocalState state;
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int64_t> next{0};
  at::parallel_for(0, threads, 1, [&](int64_t, int64_t) {
    std::optional<at::ThreadLocalStateGuard> guard;
    if (std::this_thread::get_id() != caller) guard.emplace(state);
    for (int64_t i; (i = next++) < call.size();) call.run(call.order()[i]);
  });
}

// The caller takes branches too, and waits for none that no thread has taken: the pool may be full
// of callers like this one.
void run_on_interop_threads(SideBySideCall& call, int64_t threads) {
  struct Progress {
    std::atomic<int64_t> next{0}, done{0};
  };
  const auto progress = std::make_shared<Progress>();
  const int64_t size = call.size();
  // A thread that comes late finds nothing to take, and must not touch the call, which may be over.
  const auto work = [progress, size, &call] {
    for (int64_t i; (i = progress->next++) < size;) {
      call.run(call.order()[i]);
      if (++progress->done == size) progress->done.notify_one();
    }
  };
  for (int64_t t = 1; t < threads; ++t) at::launch(work);
  work();
  for (int64_t done; (done = progress->done) < size;) progress->done.wait(done);
}

// Whether kernels take longer on the device than their launches on the host: else each is over
// before the next one is there.
bool worth_streams(const SideBySideCall& call) { return call.work(call.order()[1]) >= kStreamWork; }

// Branches go round a few streams, which begin after what the current stream has, and which it
// waits for.
void run_on_streams(SideBySideCall& call) {
  const c10::Device device = call.inputs()[0].device();
  const c10::impl::VirtualGuardImpl backend(device.type());
  const c10::Stream current = backend.getStream(device);
  c10::Event ready(device.type());
  ready.record(current);
  std::vector<c10::Stream> streams;
  for (int64_t s = 0; s < std::min(kStreams, call.size()); ++s) {
    streams.push_back(backend.getStreamFromGlobalPool(device));
    ready.block(streams.back());
  }
  for (int64_t i = 0; i < call.size(); ++i) {
    const int64_t branch = call.order()[i];
    const c10::Stream stream = streams[i % streams.size()];
    const c10::StreamGuard guard(stream);
    const at::Tensor& output = call.run(branch);
    // Memory belongs to the stream it was allocated on: that of inputs may be needed here, in the
    // backward pass, after the current stream has freed it, and that of outputs the other way
    // round.
    if (output.defined()) output.record_stream(current);
    for (const BranchArgument& argument : call.plan().branches[branch].arguments) {
      for (const int64_t input : argument.inputs) call.inputs()[input].record_stream(stream);
    }
  }
  for (const c10::Stream& stream : streams) {
    c10::Event done(device.type());
    done.record(stream);
    done.block(current);
  }
}

// Runs the branches in order or side by side, whichever was measured as the faster for such calls:
// those of one plan, of equal work to a factor of two, of one type, that may use as many threads,
// and whose branches may as well where they are called in order.
void run_the_faster_way(SideBySideCall& call, int64_t threads, bool nested) {
  int64_t work = 0;
  for (int64_t b = 0; b < call.size(); ++b) work += call.work(b);
  const int octave = std::bit_width(static_cast<uint64_t>(work));
  const int torch_threads = at::get_num_threads();
  const bool grad = at::GradMode::is_enabled();
  const at::ScalarType dtype = call.inputs()[0].scalar_type();
  const bool autocast = at::autocast::is_autocast_enabled(at::kCPU);
  const at::ScalarType cast =
      autocast ? at::autocast::get_autocast_dtype(at::kCPU) : at::ScalarType::Undefined;
  uint64_t kind = call.plan().hash;
  for (const int64_t part :
       {int64_t{octave}, threads, int64_t{torch_threads}, int64_t{nested}, int64_t{grad},
        static_cast<int64_t>(dtype), static_cast<int64_t>(cast)}) {
    kind = mixed(kind, static_cast<uint64_t>(part));
  }
  Choice& measured = choice(
      kind,
      [&] {
        return "side_by_side branches=" + std::to_string(call.size()) + " work<2^" +
               std::to_string(octave) + " threads=" + std::to_string(threads) + " of " +
               std::to_string(torch_threads) + " nested=" + std::to_string(nested) +
               " grad=" + std::to_string(grad) + " dtype=" + c10::toString(dtype) +
               " autocast=" + (autocast ? c10::toString(cast) : "off") +
               " plan=" + hexadecimal(call.plan().hash);
      },
      [&] { return std::vector<std::string>{"side by side", "in order"}; });
  run_chosen(measured, [&](int way) {
    if (way == 1) {
      call.run_in_order();
    } else if (nested) {
      run_on_interop_threads(call, threads);
    } else {
      run_on_threads(call, threads);
    }
  });
}

std::vector<at::Tensor> side_by_side(at::TensorList inputs, std::string_view text) {
  const SideBySidePlan& plan = side_by_side_plan(text);
  TORCH_CHECK_VALUE(static_cast<int64_t>(inputs.size()) == plan.num_inputs,
                    "the plan of ops side by side takes ", plan.num_inputs, " inputs, not ",
                    inputs.size());
  SideBySideCall call(plan, inputs);
  const ParallelOpSettings settings = parallel_op_settings();
  const int64_t most =
      settings.nested ? static_cast<int64_t>(at::get_num_interop_threads()) : at::get_num_threads();
  const int64_t asked = settings.threads > 0 ? settings.threads : most;
  const int64_t threads = std::min({asked, most, call.size()});
  if (inputs.empty() || call.size() < 2 || !unwatched(inputs)) {
    call.run_in_order();
  } else if (inputs[0].is_cuda()) {
    call.estimate();
    worth_streams(call) ? run_on_streams(call) : call.run_in_order();
  } else if (threads < 2 || !may_run_parallel()) {
    call.run_in_order();
  } else {
    call.estimate();
    run_the_faster_way(call, threads, settings.nested);
  }
  return std::move(call).finish();
}

}  // namespace

SideBySideCall::SideBySideCall(const SideBySidePlan& plan, at::TensorList inputs)
    : plan_(plan), inputs_(inputs), outputs_(plan.branches.size()), errors_(plan.branches.size()) {}

void SideBySideCall::estimate() {
  work_.assign(outputs_.size(), kCallWork);
  for (size_t b = 0; b < work_.size(); ++b) {
    const Branch& branch = plan_.branches[b];
    for (const BranchArgument& argument : branch.arguments) {
      for (const int64_t input : argument.inputs) {
        work_[b] += inputs_[input].numel() / kElementsPerWork;
      }
    }
    if (branch.product < 0) continue;
    const at::Tensor& left = inputs_[branch.arguments[branch.product].inputs[0]];
    const at::Tensor& right = inputs_[branch.arguments[branch.product + 1].inputs[0]];
    if (left.dim() && left.numel()) {
      work_[b] += left.numel() * (right.numel() / left.size(-1)) / kProductsPerWork;
    }
  }
  order_.resize(outputs_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(),
                   [this](int64_t a, int64_t b) { return work_[a] > work_[b]; });
}

at::Tensor SideBySideCall::call(int64_t branch) const {
  const Branch& planned = plan_.branches[branch];
  torch::jit::Stack stack;
  stack.reserve(planned.arguments.size());
  for (const BranchArgument& argument : planned.arguments) {
    switch (argument.kind) {
      case Kind::kConstant:
        stack.push_back(argument.constant);
        break;
      case Kind::kInput:
        stack.emplace_back(inputs_[argument.inputs[0]]);
        break;
      case Kind::kInputs: {
        c10::List<at::Tensor> list;
        for (const int64_t input : argument.inputs) list.push_back(inputs_[input]);
        stack.emplace_back(std::move(list));
      }
    }
  }
  planned.op.callBoxed(&stack);
  return std::move(stack[0]).toTensor();
}

const at::Tensor& SideBySideCall::run(int64_t branch) noexcept {
  try {
    outputs_[branch] = call(branch);
  } catch (...) {
    errors_[branch] = std::current_exception();
  }
  return outputs_[branch];
}

std::vector<at::Tensor> SideBySideCall::finish() && {
  for (const std::exception_ptr& error : errors_) {
    if (error) std::rethrow_exception(error);
  }
  return std::move(outputs_);
}

TORCH_LIBRARY_FRAGMENT(mirror, m) {
  m.def("side_by_side(Tensor[] inputs, str plan) -> Tensor[]", &side_by_side);
}

// vmap wants to be told that an op is made of others.
TORCH_LIBRARY_IMPL(mirror, FuncTorchBatchedDecomposition, m) {
  m.impl("side_by_side", &side_by_side);
}

}  // namespace mirror
