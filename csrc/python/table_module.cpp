#include "python/table_module.h"

#include <torch/csrc/Exceptions.h>

#include <algorithm>

namespace mirror {
namespace {

PyObject* interned(const char* text) {
  PyObject* const name = PyUnicode_InternFromString(text);
  if (!name) throw python_error();
  return name;
}

// An entry of a dictionary, borrowed.
PyObject* entry(PyObject* dict, PyObject* name) {
  PyObject* const found = PyDict_GetItemWithError(dict, name);
  if (!found) PyErr_Clear();
  return found;
}

// No subclass: some of those find in them what is not there.
bool is_plain_dict(PyObject* object) {
  return object && (PyDict_CheckExact(object) || PyODict_CheckExact(object));
}

struct Names {
  PyObject* forward = interned("forward");
  PyObject* weight = interned("weight");
  PyObject* call = interned("_call_impl");
  PyObject* compiled = interned("_compiled_call_impl");
  PyObject* parameters = interned("_parameters");
  PyObject* hooks[4] = {interned("_forward_hooks"), interned("_forward_pre_hooks"),
                        interned("_backward_hooks"), interned("_backward_pre_hooks")};
};

const Names& names() {
  static const Names all;
  return all;
}

}  // namespace

uint64_t dict_version(PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  static_cast<void>(dict);
  return 0;
#endif
}

TableModule::TableModule(PyObject* module, PyObject* attributes, PyObject* stand_in)
    : reference_(PyWeakref_NewRef(module, nullptr)), type_(Py_TYPE(module)), stand_in_(stand_in) {
  if (!reference_) throw python_error();
  Py_ssize_t at = 0;
  PyObject *name, *value;
  while (PyDict_Next(attributes, &at, &name, &value)) {
    attributes_.emplace_back(Py_NewRef(name), Py_NewRef(value));
  }
}

PyObject* TableModule::module() {
  PyObject* const found = PyWeakref_GetObject(reference_.get());
  return found == Py_None ? nullptr : Py_NewRef(found);
}

bool TableModule::unchanged(PyObject* module) {
  if (Py_TYPE(module) != type_) return false;
  THPObjectPtr dict(PyObject_GenericGetDict(module, nullptr));
  if (!dict) {
    PyErr_Clear();
    return false;
  }
  dict_ = dict.get();
  const uint64_t version = dict_version(dict.get());
  if (version == 0 || version != version_) {
    version_ = 0;
    if (!read(dict.get())) return false;
    version_ = version;
  }
  return std::all_of(std::begin(hooks_), std::end(hooks_),
                     [](PyObject* hooks) { return PyDict_GET_SIZE(hooks) == 0; });
}

bool TableModule::read(PyObject* dict) {
  const Names& known = names();
  if (entry(dict, known.forward) || entry(dict, known.weight) || entry(dict, known.call))
    return false;
  if (entry(dict, known.compiled) != stand_in_) return false;
  for (auto& [name, value] : attributes_) {
    if (entry(dict, name.get()) != value.get()) return false;
  }
  parameters_ = entry(dict, known.parameters);
  if (!is_plain_dict(parameters_)) return false;
  keys_ = reinterpret_cast<PyDictObject*>(parameters_)->ma_keys;
  for (int i = 0; i < 4; ++i) {
    hooks_[i] = entry(dict, known.hooks[i]);
    if (!is_plain_dict(hooks_[i])) return false;
  }
  return true;
}

void TableModule::prefetch() const {
  const char* const module = reinterpret_cast<char*>(PyWeakref_GET_OBJECT(reference_.get()));
  // An object's dictionary is named in front of it.
  for (const void* place : {static_cast<const void*>(module - 64), static_cast<const void*>(module),
                            static_cast<const void*>(stand_in_), static_cast<const void*>(dict_),
                            static_cast<const void*>(parameters_), keys_}) {
    __builtin_prefetch(place);
  }
  __builtin_prefetch(static_cast<const char*>(keys_) + 64);
  for (const PyObject* const hooks : hooks_) __builtin_prefetch(hooks);
}

PyObject* TableModule::weight() { return entry(parameters_, names().weight); }

}  // namespace mirror
