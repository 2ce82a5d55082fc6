#include "python/pins.h"

#include <torch/csrc/Exceptions.h>

#include <algorithm>

#include "python/table_module.h"

namespace mirror {
namespace {

PyObject* code_of(PyObject* function) {
  return PyFunction_Check(function) ? PyFunction_GET_CODE(function) : nullptr;
}

PyObject* defaults_of(PyObject* function) {
  return PyFunction_Check(function) ? PyFunction_GET_DEFAULTS(function) : nullptr;
}

PyObject* keyword_defaults_of(PyObject* function) {
  return PyFunction_Check(function) ? PyFunction_GET_KW_DEFAULTS(function) : nullptr;
}

// Changes with every change of a class, its bases or a dictionary; 0 where this is not known.
uint64_t version_of(PyObject* owner) {
  if (PyCell_Check(owner)) return 0;
  if (!PyType_Check(owner)) return dict_version(owner);
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyTypeObject*>(owner)->tp_version_tag;
#else
  return 0;
#endif
}

PyObject* looked_up(PyObject* owner, PyObject* name) {
  if (PyCell_Check(owner)) return PyCell_GET(owner);
  if (PyType_Check(owner)) return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(owner), name);
  PyObject* const found = PyDict_GetItemWithError(owner, name);
  if (!found) PyErr_Clear();
  return found;
}

}  // namespace

Pins::Pins(PyObject* functions, PyObject* hooks) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(functions); ++i) {
    PyObject *owner, *name, *function;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(functions, i), "OUO", &owner, &name, &function))
      throw python_error();
    owner_of(owner).pins.push_back({THPObjectPtr(Py_NewRef(name)),
                                    THPObjectPtr(Py_NewRef(function)),
                                    THPObjectPtr(Py_XNewRef(code_of(function))),
                                    THPObjectPtr(Py_XNewRef(defaults_of(function))),
                                    THPObjectPtr(Py_XNewRef(keyword_defaults_of(function)))});
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(hooks); ++i) {
    PyObject *dict, *own;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(hooks, i), "O!O!", &PyDict_Type, &dict, &PySet_Type,
                          &own))
      throw python_error();
    hooks_.push_back({THPObjectPtr(Py_NewRef(dict)), THPObjectPtr(Py_NewRef(own))});
  }
}

void Pins::pin_all(PyObject* dict) {
  Owner& owner = owners_.emplace_back(Owner{THPObjectPtr(Py_NewRef(dict)), {}});
  owner.size = PyDict_GET_SIZE(dict);
  Py_ssize_t at = 0;
  PyObject *name, *value;
  while (PyDict_Next(dict, &at, &name, &value)) {
    owner.pins.push_back(
        {THPObjectPtr(Py_NewRef(name)), THPObjectPtr(Py_NewRef(value)), {}, {}, {}});
  }
}

bool Pins::hold() {
  return std::all_of(owners_.begin(), owners_.end(), holds) &&
         std::all_of(hooks_.begin(), hooks_.end(), [](Hooks& hooks) {
           if (PyDict_GET_SIZE(hooks.dict.get()) == 0) return true;
           Py_ssize_t at = 0;
           PyObject* number;
           while (PyDict_Next(hooks.dict.get(), &at, &number, nullptr)) {
             if (PySet_Contains(hooks.own.get(), number) != 1) return false;
           }
           return true;
         });
}

Pins::Owner& Pins::owner_of(PyObject* object) {
  for (Owner& owner : owners_) {
    if (owner.object.get() == object) return owner;
  }
  return owners_.emplace_back(Owner{THPObjectPtr(Py_NewRef(object)), {}});
}

bool Pins::hold_with_code() {
  return hold() && std::all_of(owners_.begin(), owners_.end(), [](Owner& owner) {
           return std::all_of(owner.pins.begin(), owner.pins.end(), [](Pin& pin) {
             PyObject* const function = pin.function.get();
             return code_of(function) == pin.code.get() &&
                    defaults_of(function) == pin.defaults.get() &&
                    keyword_defaults_of(function) == pin.keyword_defaults.get();
           });
         });
}

int Pins::visit(visitproc visit, void* arg) const {
  for (const Owner& owner : owners_) {
    Py_VISIT(const_cast<PyObject*>(owner.object.get()));
    for (const Pin& pin : owner.pins) {
      Py_VISIT(const_cast<PyObject*>(pin.name.get()));
      Py_VISIT(const_cast<PyObject*>(pin.function.get()));
      Py_VISIT(const_cast<PyObject*>(pin.code.get()));
      Py_VISIT(const_cast<PyObject*>(pin.defaults.get()));
      Py_VISIT(const_cast<PyObject*>(pin.keyword_defaults.get()));
    }
  }
  for (const Hooks& hooks : hooks_) {
    Py_VISIT(const_cast<PyObject*>(hooks.dict.get()));
    Py_VISIT(const_cast<PyObject*>(hooks.own.get()));
  }
  return 0;
}

bool Pins::holds(Owner& owner) {
  const uint64_t version = version_of(owner.object.get());
  if (version && version == owner.version) return true;
  if (owner.size >= 0 && PyDict_GET_SIZE(owner.object.get()) != owner.size) return false;
  for (Pin& pin : owner.pins) {
    if (looked_up(owner.object.get(), pin.name.get()) != pin.function.get()) return false;
  }
  owner.version = version_of(owner.object.get());  // looking gives a class one
  return true;
}

}  // namespace mirror
