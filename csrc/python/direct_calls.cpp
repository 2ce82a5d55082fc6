// The grouped embedding as a plain Python function. torch.ops takes lists of tensors apart and puts
// them together one object at a time, and lets go of them while other threads may run Python, for
// which it locks the interpreter again and again: in all as long as a small lookup.
#include "python/direct_calls.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/object_ptr.h>
#include <torch/csrc/utils/pybind.h>

namespace mirror {
namespace {

using at::TensorList;
using Tensors = std::vector<at::Tensor>;

// Tensors of a list or tuple that are tensors and no more; false for anything else.
bool plain_tensors(PyObject* list, Tensors& tensors) {
  if (!PyList_CheckExact(list) && !PyTuple_CheckExact(list)) return false;
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(list);
  tensors.reserve(size);
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(list, i);
    if (!THPVariable_CheckExact(item)) return false;
    tensors.push_back(THPVariable_Unpack(item));
  }
  return true;
}

}  // namespace

Tensors call_grouped_embedding(const TensorLists& lists, std::string_view plan) {
  using Signature =
      Tensors(TensorList, TensorList, TensorList, TensorList, TensorList, std::string_view);
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("mirror::grouped_embedding", "")
                             .typed<Signature>();
  const pybind11::gil_scoped_release others_may_run;
  return op.call(lists[0], lists[1], lists[2], lists[3], lists[4], plan);
}

PyObject* grouped_embedding(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  TensorLists lists;
  bool plain = count == kLists + 1 && PyUnicode_Check(arguments[kLists]) &&
               !at::impl::torch_function_mode_enabled();
  for (Py_ssize_t i = 0; plain && i < kLists; ++i) plain = plain_tensors(arguments[i], lists[i]);
  if (!plain) Py_RETURN_NONE;
  Py_ssize_t length = 0;
  const char* const plan = PyUnicode_AsUTF8AndSize(arguments[kLists], &length);
  if (!plan) throw python_error();
  Tensors outputs = call_grouped_embedding(lists, {plan, static_cast<size_t>(length)});
  THPObjectPtr list(PyList_New(static_cast<Py_ssize_t>(outputs.size())));
  if (!list) throw python_error();
  for (size_t i = 0; i < outputs.size(); ++i) {
    PyObject* const output = THPVariable_Wrap(std::move(outputs[i]));
    if (!output) throw python_error();
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), output);
  }
  return list.release();
  END_HANDLE_TH_ERRORS
}

}  // namespace mirror
