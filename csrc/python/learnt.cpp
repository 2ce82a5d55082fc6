#include "python/learnt.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>

#include "python/plain_tensor.h"

namespace mirror {
namespace {

InputView view_of(PyObject* told) {
  InputView view;
  if (told == Py_None) return view;
  if (!PyArg_ParseTuple(told, "LLLL", &view.input, &view.dim, &view.start, &view.length))
    throw python_error();
  return view;
}

// Of the object's own dictionary, so that none of its code runs. Borrowed: the object holds it.
PyObject* attribute(PyObject* object, PyObject* name) {
  if (Py_TYPE(object)->tp_dictoffset == 0) return nullptr;
  THPObjectPtr attributes(PyObject_GenericGetDict(object, nullptr));
  PyObject* const found = attributes ? PyDict_GetItemWithError(attributes.get(), name) : nullptr;
  if (!found) PyErr_Clear();
  return found;
}

PyObject* step_into(PyObject* object, PyObject* step) {
  if (PyTuple_CheckExact(step)) return attribute(object, PyTuple_GET_ITEM(step, 0));
  if (PyDict_CheckExact(object)) {
    PyObject* const found = PyDict_GetItemWithError(object, step);
    if (!found) PyErr_Clear();
    return found;
  }
  const bool sequence = PyList_CheckExact(object) || PyTuple_CheckExact(object);
  if (!sequence || !PyLong_CheckExact(step)) return nullptr;
  const Py_ssize_t at = PyLong_AsSsize_t(step);
  return at < PySequence_Fast_GET_SIZE(object) ? PySequence_Fast_GET_ITEM(object, at) : nullptr;
}

// A tensor, or a view of one, as rows of numbers.
struct Rows {
  int64_t sizes[2] = {1, 1}, strides[2] = {0, 0};
  int dims = 0;

  void add(int64_t size, int64_t stride) {
    if (dims < 2) {
      sizes[dims] = size;
      strides[dims] = stride;
    }
    ++dims;
  }
};

template <typename Number>
bool equal(const Number* one, const Rows& rows, const int64_t* other, const Rows& others) {
  bool different = false;
  for (int64_t i = 0; i < rows.sizes[0]; ++i) {
    const Number* const row = one + i * rows.strides[0];
    const int64_t* const row_of_other = other + i * others.strides[0];
    for (int64_t j = 0; j < rows.sizes[1]; ++j)
      different |= row[j * rows.strides[1]] != row_of_other[j * others.strides[1]];
  }
  return !different;
}

}  // namespace

PyObject* InputPath::follow(PyObject* args, PyObject* kwargs) const {
  PyObject* found = PyLong_CheckExact(steps[0].get()) ? args : kwargs;
  for (const THPObjectPtr& step : steps) {
    if (found) found = step_into(found, const_cast<PyObject*>(step.get()));
  }
  return found && THPVariable_CheckExact(found) ? found : nullptr;
}

bool InputView::is(const at::Tensor& tensor, const at::Tensor& base) const {
  if (dim < 0) {
    if (tensor.unsafeGetTensorImpl() == base.unsafeGetTensorImpl()) return true;
    return tensor.is_alias_of(base) && tensor.storage_offset() == base.storage_offset() &&
           tensor.scalar_type() == base.scalar_type() && tensor.sizes() == base.sizes() &&
           tensor.strides() == base.strides();
  }
  if (dim >= base.dim() || !tensor.is_alias_of(base) || tensor.scalar_type() != base.scalar_type())
    return false;
  if (tensor.storage_offset() != base.storage_offset() + start * base.stride(dim)) return false;
  int64_t at = 0;
  for (int64_t d = 0; d < base.dim(); ++d) {
    if (d == dim && length < 0) continue;
    if (at >= tensor.dim() || tensor.size(at) != (d == dim ? length : base.size(d))) return false;
    if (tensor.size(at) > 1 && tensor.stride(at) != base.stride(d)) return false;
    ++at;
  }
  return at == tensor.dim();
}

bool InputView::equals(const at::Tensor& tensor, const at::Tensor& base) const {
  if (dim >= base.dim() || !is_plain(tensor)) return false;
  Rows given, own;
  for (int64_t d = 0; d < tensor.dim(); ++d) given.add(tensor.size(d), tensor.stride(d));
  for (int64_t d = 0; d < base.dim(); ++d) {
    if (d != dim || length >= 0) own.add(d == dim ? length : base.size(d), base.stride(d));
  }
  if (given.dims != own.dims || given.dims > 2) return false;
  if (!std::equal(given.sizes, given.sizes + 2, own.sizes)) return false;
  const int64_t ahead = dim < 0 ? 0 : start * base.stride(dim);
  if (dim >= 0 && start + std::max<int64_t>(length, 1) > base.size(dim)) return false;
  const int64_t* const numbers = base.const_data_ptr<int64_t>() + ahead;
  if (tensor.scalar_type() == at::kLong)
    return equal(tensor.const_data_ptr<int64_t>(), given, numbers, own);
  return tensor.scalar_type() == at::kInt &&
         equal(tensor.const_data_ptr<int32_t>(), given, numbers, own);
}

Learnt::Learnt(PyObject* told, size_t tables) : of_table(tables) {
  const char* text;
  PyObject *paths, *roles, *found;
  int wrote;
  if (!PyArg_ParseTuple(told, "sO!O!O!p", &text, &PyTuple_Type, &paths, &PyTuple_Type, &roles,
                        &PyTuple_Type, &found, &wrote))
    throw python_error();
  plan = text;
  writes = wrote;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(paths); ++i) {
    PyObject* path;
    int copied;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(paths, i), "O!p", &PyTuple_Type, &path, &copied))
      throw python_error();
    LearntInput& input = inputs.emplace_back();
    input.copied = copied != 0;
    for (Py_ssize_t s = 0; s < PyTuple_GET_SIZE(path); ++s)
      input.path.steps.emplace_back(Py_NewRef(PyTuple_GET_ITEM(path, s)));
  }
  for (size_t role = 0; role < lists.size(); ++role) {
    PyObject* const list = PyTuple_GetItem(roles, static_cast<Py_ssize_t>(role));
    if (!list) throw python_error();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list); ++i) {
      lists[role].push_back(PyLong_AsSize_t(PyTuple_GET_ITEM(list, i)));
      inputs.at(lists[role].back()).places.emplace_back(role, i);
    }
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(found); ++i) {
    Py_ssize_t table, padding;
    int bag;
    PyObject *ids, *offsets, *sample_weights;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(found, i), "npnOOO", &table, &bag, &padding, &ids,
                          &offsets, &sample_weights))
      throw python_error();
    of_table.at(table).push_back(lookups.size());
    lookups.push_back({static_cast<size_t>(table), bag != 0, padding, view_of(ids),
                       view_of(offsets), view_of(sample_weights)});
  }
}

}  // namespace mirror
