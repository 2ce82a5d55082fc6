// The grouped embedding, called without the way through torch.ops.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/python_headers.h>

#include <array>
#include <string_view>
#include <vector>

namespace mirror {

// weights, ids, offsets, per_sample_weights, extras.
constexpr Py_ssize_t kLists = 5;
using TensorLists = std::array<std::vector<at::Tensor>, kLists>;

// The op; other threads may run Python meanwhile.
std::vector<at::Tensor> call_grouped_embedding(const TensorLists& lists, std::string_view plan);

// Five lists of tensors and the plan, as the op has them. None where somebody wants to see the call
// of the op itself: a subclass of Tensor, a torch function mode.
PyObject* grouped_embedding(PyObject*, PyObject* const* arguments, Py_ssize_t count);

}  // namespace mirror
