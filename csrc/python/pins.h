// Functions that a lookup goes through, as they were: scripts and libraries put others in their
// place.
#pragma once

#include <torch/csrc/python_headers.h>
#include <torch/csrc/utils/object_ptr.h>

#include <cstdint>
#include <vector>

namespace mirror {

class Pins {
 public:
  // `functions`: (owner, name, function), where the owner is a class, the dictionary of a module or
  // the cell of a closure, and the function is what it had under that name. `hooks`: (dictionary,
  // numbers): hooks of all modules, and the set of the numbers of those that need not see a lookup.
  // Raises python_error.
  Pins(PyObject* functions, PyObject* hooks);

  // All that is in a dictionary is to stay, and nothing may come.
  void pin_all(PyObject* dict);

  // Whether all functions are in their places, and no hook of all modules is to see a lookup.
  bool hold();
  // Whether they have their own code and defaults too.
  bool hold_with_code();

  // For Python's garbage collector.
  int visit(visitproc visit, void* arg) const;

 private:
  struct Pin {
    THPObjectPtr name, function;
    THPObjectPtr code, defaults, keyword_defaults;  // of a Python function
  };
  struct Owner {
    THPObjectPtr object;
    std::vector<Pin> pins;
    uint64_t version = 0;  // when it was looked at last
    Py_ssize_t size = -1;  // how many entries it is to have; -1: any number
  };
  struct Hooks {
    THPObjectPtr dict, own;
  };
  Owner& owner_of(PyObject* object);
  static bool holds(Owner& owner);

  std::vector<Owner> owners_;
  std::vector<Hooks> hooks_;
};

}  // namespace mirror
