#include "python/module_stamps.h"

#include <torch/csrc/Exceptions.h>

#include "python/table_module.h"

namespace mirror {
namespace {

constexpr const char* kDicts[] = {"_parameters",        "_buffers",        "_modules",
                                  "_forward_hooks",     "_backward_hooks", "_forward_pre_hooks",
                                  "_backward_pre_hooks"};
constexpr int kChildren = 2;

// Whether an attribute stands in front of what a module has under its name elsewhere, which the
// guards of compilers do not see.
bool hides_one(PyObject* own, PyObject* dict) {
  Py_ssize_t at = 0;
  PyObject* name;
  while (PyDict_Next(dict, &at, &name, nullptr)) {
    if (PyDict_Contains(own, name) != 0) return true;
  }
  return false;
}

PyObject* own_dict(PyObject* object) {
  PyObject** const place = _PyObject_GetDictPtr(object);
  return place ? *place : nullptr;
}

unsigned version_of(PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030C0000
  return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) ? type->tp_version_tag : 0;
#else
  static_cast<void>(type);
  return 0;
#endif
}

}  // namespace

bool ModuleStamps::take(PyObject* root) {
  modules_.clear();
  dicts_.clear();
  std::unordered_set<PyObject*> seen;
  return add(root, seen);
}

bool ModuleStamps::add(PyObject* module, std::unordered_set<PyObject*>& seen) {
  if (!seen.insert(module).second) return true;
  static PyObject* const names[] = {
      PyUnicode_InternFromString(kDicts[0]), PyUnicode_InternFromString(kDicts[1]),
      PyUnicode_InternFromString(kDicts[2]), PyUnicode_InternFromString(kDicts[3]),
      PyUnicode_InternFromString(kDicts[4]), PyUnicode_InternFromString(kDicts[5]),
      PyUnicode_InternFromString(kDicts[6])};
  PyTypeObject* const type = Py_TYPE(module);
  _PyType_Lookup(type, names[0]);  // gives a class its version
  PyObject* const own = own_dict(module);
  if (!own || !PyDict_CheckExact(own) || !version_of(type) || !dict_version(own)) return false;
  const size_t place = modules_.size(), first = dicts_.size();
  modules_.push_back({module, type, version_of(type), 0});
  dicts_.push_back({own, dict_version(own)});
  PyObject* children = nullptr;
  for (size_t i = 0; i < std::size(names); ++i) {
    PyObject* const dict = PyDict_GetItemWithError(own, names[i]);
    if (!dict || !(PyDict_CheckExact(dict) || PyODict_CheckExact(dict)) || !dict_version(dict)) {
      PyErr_Clear();
      return false;
    }
    if (i <= kChildren && hides_one(own, dict)) {
      PyErr_Clear();
      return false;
    }
    if (i == kChildren) children = dict;
    dicts_.push_back({dict, dict_version(dict)});
  }
  modules_[place].dicts = dicts_.size() - first;
  Py_ssize_t at = 0;
  PyObject* child;
  while (PyDict_Next(children, &at, nullptr, &child)) {
    if (child != Py_None && !add(child, seen)) return false;
  }
  return true;
}

bool ModuleStamps::hold(PyObject* root) const {
  if (modules_.empty() || modules_[0].module != root) return false;
  const Dict* dict = dicts_.data();
  for (const Module& module : modules_) {
    if (Py_TYPE(module.module) != module.type || version_of(module.type) != module.type_version ||
        own_dict(module.module) != dict->dict) {
      return false;
    }
    for (const Dict* const end = dict + module.dicts; dict != end; ++dict) {
      if (dict_version(dict->dict) != dict->version) return false;
    }
  }
  return true;
}

}  // namespace mirror
