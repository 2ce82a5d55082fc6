#include "python/call_signature.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>
#include <torch/csrc/autograd/python_variable.h>

#include <bit>

#include "python/thread_state.h"

namespace mirror {
namespace {

constexpr int kDepth = 8;
enum Kind : uint64_t { kTensor = 1, kNumber, kSingle, kList, kTuple, kDict };

}  // namespace

bool append_tensor(Words& words, const at::Tensor& tensor) {
  const c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
  if (impl->has_symbolic_sizes_strides() || impl->layout() != at::kStrided) return false;
  const at::IntArrayRef sizes = impl->sizes(), strides = impl->strides();
  const c10::Device device = impl->device();
  words.push_back(kTensor | static_cast<uint64_t>(tensor.scalar_type()) << 8 |
                  static_cast<uint64_t>(impl->requires_grad()) << 16 |
                  static_cast<uint64_t>(device.type()) << 24 |
                  static_cast<uint64_t>(static_cast<uint8_t>(device.index())) << 32 |
                  static_cast<uint64_t>(sizes.size()) << 40);
  words.push_back(impl->key_set().raw_repr());
  words.push_back(static_cast<uint64_t>(impl->storage_offset()));
  words.append(sizes.begin(), sizes.end());
  words.append(strides.begin(), strides.end());
  return true;
}

bool CallSignature::take(PyObject* args, PyObject* kwargs) {
  const auto state = usual_state();
  if (!state) return false;
  words.push_back(state->included);
  words.push_back(state->excluded);
  words.push_back(4 * static_cast<uint64_t>(at::get_num_threads()) + 2 * state->grad +
                  state->inference);
  const at::Context& context = at::globalContext();
  words.push_back(8 * static_cast<uint64_t>(c10::get_default_dtype_as_scalartype()) +
                  2 * context.deterministicAlgorithms() +
                  context.deterministicAlgorithmsWarnOnly());
  const bool named = kwargs && PyDict_GET_SIZE(kwargs) > 0;
  if (!add(args, 0) || (named && !add(kwargs, 0))) return false;
  add_duplicates();
  return true;
}

bool CallSignature::add(PyObject* value, int depth) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(value)) == THPVariableClass) {
    tensors.push_back(value);
    return append_tensor(words, THPVariable_Unpack(value));
  }
  if (value == Py_None || value == Py_True || value == Py_False) {
    words.push_back(kSingle);
    words.push_back(reinterpret_cast<uint64_t>(value));
    return true;
  }
  if (PyLong_CheckExact(value)) {
    int overflow = 0;
    words.push_back(kNumber);
    words.push_back(static_cast<uint64_t>(PyLong_AsLongLongAndOverflow(value, &overflow)));
    return !overflow;
  }
  if (depth >= kDepth) return false;
  if (PyDict_CheckExact(value)) return add_items(value, depth);
  const bool list = PyList_CheckExact(value);
  if (!list && !PyTuple_CheckExact(value)) return false;
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
  words.push_back(list ? kList : kTuple);
  words.push_back(static_cast<uint64_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!add(PySequence_Fast_GET_ITEM(value, i), depth + 1)) return false;
  }
  return true;
}

bool CallSignature::add_items(PyObject* dict, int depth) {
  words.push_back(kDict);
  words.push_back(static_cast<uint64_t>(PyDict_GET_SIZE(dict)));
  Py_ssize_t at = 0;
  PyObject *name, *value;
  while (PyDict_Next(dict, &at, &name, &value)) {
    if (!PyUnicode_CheckExact(name)) return false;
    names.push_back(name);
    words.push_back(reinterpret_cast<uint64_t>(name));
    if (!add(value, depth + 1)) return false;
  }
  return true;
}

// Which tensors are the same object: a table of places by address, each taken by the first one.
void CallSignature::add_duplicates() {
  const size_t slots = std::bit_ceil(2 * tensors.size() + 1);
  c10::SmallVector<uint32_t, 256> first(slots, 0);
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    size_t slot = (reinterpret_cast<uintptr_t>(tensors[i]) >> 4) * 0x9E3779B97F4A7C15ULL >> 20;
    for (slot &= slots - 1; first[slot] && tensors[first[slot] - 1] != tensors[i];)
      slot = (slot + 1) & (slots - 1);
    if (!first[slot]) first[slot] = i + 1;
    words.push_back(first[slot]);
  }
}

}  // namespace mirror
