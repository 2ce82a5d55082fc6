// The op mirror::side_by_side: independent aten ops ("branches"), named by a plan text, run at the
// same time.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace mirror {

// One argument of a branch: a constant, an input tensor, or a list of input tensors.
struct BranchArgument {
  enum class Kind { kConstant, kInput, kInputs } kind = Kind::kConstant;
  c10::IValue constant = {};
  std::vector<int64_t> inputs = {};
};

struct Branch {
  c10::OperatorHandle op;
  std::vector<BranchArgument> arguments;
  int64_t product;  // position of the left factor of a matrix product, before the right; else -1
};

struct SideBySidePlan {
  std::vector<Branch> branches;
  int64_t num_inputs = 0;
  uint64_t hash = 0;  // of the text, the same in every process
};

// Parsed once per text; the reference stays valid. One line per branch, as in
//   aten::layer_norm(%0, [16], %1, %2, 1e-05, True)
// an aten op (its overload after a dot) and its arguments in the order of its schema: %N is input
// N; None, True, False, numbers, 'text', and lists of numbers or of inputs. Those left out at the
// end take their defaults. Raises ValueError that quotes the line that is wrong, also for an op
// that writes to an argument, returns a view, draws random numbers or does not return one tensor.
const SideBySidePlan& side_by_side_plan(std::string_view text);

// One call; branches may be run in any order and from any thread, each once.
class SideBySideCall {
 public:
  SideBySideCall(const SideBySidePlan& plan, at::TensorList inputs);

  // Estimates the work of every branch, and puts the longest first.
  void estimate();

  int64_t size() const { return static_cast<int64_t>(outputs_.size()); }
  const SideBySidePlan& plan() const { return plan_; }
  at::TensorList inputs() const { return inputs_; }
  // Branches by falling work, and their work in nanoseconds, as `estimate` found them.
  const std::vector<int64_t>& order() const { return order_; }
  int64_t work(int64_t branch) const { return work_[branch]; }

  // Runs a branch and returns its output; an error it raises is kept for `finish`.
  const at::Tensor& run(int64_t branch) noexcept;
  void run_in_order() {
    for (int64_t b = 0; b < size(); ++b) outputs_[b] = call(b);
  }

  // The outputs; raises the error of the first branch of the plan that raised one.
  std::vector<at::Tensor> finish() &&;

 private:
  at::Tensor call(int64_t branch) const;

  const SideBySidePlan& plan_;
  at::TensorList inputs_;
  std::vector<int64_t> order_, work_;
  std::vector<at::Tensor> outputs_;
  std::vector<std::exception_ptr> errors_;
};

}  // namespace mirror
