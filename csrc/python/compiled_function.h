// A function whose calls a captured graph gives, as long as nothing has changed that it rests on.
#pragma once

#include <torch/csrc/python_headers.h>

namespace mirror {

// Adds the type CompiledFunction. False with an error set.
bool add_compiled_function_type(PyObject* module);

}  // namespace mirror
