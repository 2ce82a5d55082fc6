// Whether anything was set, added or removed in a tree of modules since it was looked at.
#pragma once

#include <torch/csrc/python_headers.h>

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace mirror {

// The versions of a tree's classes and dictionaries. Nothing is kept alive: all that is looked at
// again hangs on a dictionary that was found unchanged before, and in the end on the root.
class ModuleStamps {
 public:
  // False where this Python has no versions, or something in the tree has none, or a parameter,
  // buffer or child is hidden by an attribute of its name.
  bool take(PyObject* root);
  bool hold(PyObject* root) const;
  bool operator==(const ModuleStamps&) const = default;

 private:
  struct Dict {
    PyObject* dict;
    uint64_t version;
    bool operator==(const Dict&) const = default;
  };
  struct Module {
    PyObject* module;
    PyTypeObject* type;
    unsigned type_version;
    size_t dicts;  // its own, and those of its parameters, children and hooks
    bool operator==(const Module&) const = default;
  };

  bool add(PyObject* module, std::unordered_set<PyObject*>& seen);

  std::vector<Module> modules_;
  std::vector<Dict> dicts_;
};

}  // namespace mirror
