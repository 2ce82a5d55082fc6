// A model's call as graphs that a compiler captured, without the compiler's guards as long as
// nothing has changed that they look at.
#pragma once

#include <torch/csrc/python_headers.h>

namespace mirror {

// The result of a CapturedCall, a new reference. `kwargs` may be nullptr.
PyObject* call_captured(PyObject* captured, PyObject* module, PyObject* args, PyObject* kwargs);

bool is_captured_call(PyObject* object);

// Adds the type CapturedCall. False with an error set.
bool add_captured_call_type(PyObject* module);

}  // namespace mirror
