#include "python/call_kind.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/python_variable.h>

#include <bit>

#include "common/choices.h"
#include "python/thread_state.h"

namespace mirror {
namespace {

// Whether a tensor is among the values that is a subclass's.
bool foreign(PyObject* value) { return THPVariable_Check(value) && !THPVariable_CheckExact(value); }

constexpr int kDepth = 8;  // of collections in one another; what is deeper is alike

uint64_t with(uint64_t hash, PyObject* value, int depth = 0) {
  if (THPVariable_Check(value)) {
    const at::Tensor& tensor = THPVariable_Unpack(value);
    hash = mixed(hash, std::bit_width(static_cast<uint64_t>(tensor.numel())));
    return mixed(hash, 256 * static_cast<uint64_t>(tensor.device().type()) +
                           static_cast<uint64_t>(tensor.scalar_type()));
  }
  // Of a collection the first is looked at: the others are mostly alike.
  if (depth < kDepth && (PyList_Check(value) || PyTuple_Check(value))) {
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
    hash = mixed(hash, 1 + std::bit_width(static_cast<uint64_t>(size)));
    return size ? with(hash, PySequence_Fast_GET_ITEM(value, 0), depth + 1) : hash;
  }
  if (depth < kDepth && PyDict_Check(value)) {
    hash = mixed(hash, 100 + std::bit_width(static_cast<uint64_t>(PyDict_GET_SIZE(value))));
    Py_ssize_t at = 0;
    PyObject* first;
    return PyDict_Next(value, &at, nullptr, &first) ? with(hash, first, depth + 1) : hash;
  }
  return mixed(hash, reinterpret_cast<uint64_t>(Py_TYPE(value)));
}

}  // namespace

uint64_t call_kind(bool training, PyObject* args, PyObject* kwargs) {
  const auto state = thread_state();
  if (!state) return 0;
  uint64_t hash = mixed(state->included, state->excluded);
  hash = mixed(hash, 8 * static_cast<uint64_t>(at::get_num_threads()) + 4 * training +
                         2 * state->grad + state->inference);
  hash = mixed(hash, at::globalContext().deterministicAlgorithms());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    if (foreign(PyTuple_GET_ITEM(args, i))) return 0;
    hash = with(hash, PyTuple_GET_ITEM(args, i));
  }
  if (!kwargs) return hash | 1;
  Py_ssize_t at = 0;
  PyObject *name, *value;
  while (PyDict_Next(kwargs, &at, &name, &value)) {
    if (foreign(value)) return 0;
    hash = with(mixed(hash, static_cast<uint64_t>(PyObject_Hash(name))), value);
  }
  return hash | 1;
}

uint64_t call_form(bool training, PyObject* args, PyObject* kwargs) {
  uint64_t hash = mixed(training, static_cast<uint64_t>(PyTuple_GET_SIZE(args)));
  if (!kwargs) return hash;
  Py_ssize_t at = 0;
  PyObject* name;
  while (PyDict_Next(kwargs, &at, &name, nullptr))
    hash = mixed(hash, static_cast<uint64_t>(PyObject_Hash(name)));
  return hash;
}

}  // namespace mirror
