// A module that is a table: whether it is still what it was when its lookups were learnt.
#pragma once

#include <torch/csrc/python_headers.h>
#include <torch/csrc/utils/object_ptr.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace mirror {

// An embedding or embedding bag of torch. It is held weakly, and asked with the interpreter locked.
class TableModule {
 public:
  // `attributes`: (name, value) of what its lookup takes besides the weight, held to be the same as
  // long as they are these very objects; `stand_in`: what it has as _compiled_call_impl, which
  // lives as long as this. Raises python_error.
  TableModule(PyObject* module, PyObject* attributes, PyObject* stand_in);

  // A new reference; nullptr where the module is gone.
  PyObject* module();
  // Whether a call of `module`, which is this one, would do what it did: attributes, no hook, no
  // `forward` of its own. Hooks of all modules are not asked about.
  bool unchanged(PyObject* module);
  // Its weight, borrowed, after unchanged(); nullptr where it has none.
  PyObject* weight();
  // Brings what unchanged() reads into the caches, after unchanged().
  void prefetch() const;

 private:
  bool read(PyObject* dict);

  THPObjectPtr reference_;
  PyTypeObject* type_;
  std::vector<std::pair<THPObjectPtr, THPObjectPtr>> attributes_;
  PyObject* stand_in_;
  // Of the module's own dictionary when it was read last, and what was found there, borrowed.
  uint64_t version_ = 0;
  PyObject* parameters_ = nullptr;
  PyObject* hooks_[4] = {};
  const void *dict_ = nullptr, *keys_ = nullptr;  // the module's own, and the parameters' keys
};

// Changes with every change of a dictionary; 0 where this Python does not tell.
uint64_t dict_version(PyObject* dict);

}  // namespace mirror
